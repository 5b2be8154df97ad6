"""Reading a table of ratings: a row a unit, a column a rater; or a row a rating, as `honestone
label` and others write them. In CSV, JSON lines or a JSON list of rows.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.statistics.agreement import Level, Value
from honestone.core.statistics.labels import COLUMNS, SOMEBODY, number_of
from honestone.core.statistics.raters import SETTLED
from honestone.formats.drafts.found import plain_name
from honestone.formats.fields import near
from honestone.formats.labels_file import LABEL
from honestone.formats.syntax.csv_rows import table_rows

Row: TypeAlias = Mapping[str, object]

_NAMES: Final = {
    role: tuple(words.split())
    for role, words in tomllib.loads(
        Path(__file__).with_name("rating_words.toml").read_text("utf-8")
    ).items()
}
_RATER, _VALUE = _NAMES["rater"], _NAMES["value"]
_MISSING: Final = frozenset(_NAMES["missing"])


def is_missing(text: str, *, has_answers: bool = False) -> bool:
    """Whether a cell says that a rating is missing. In labels (`has_answers`) `n/a` is one: what is
    asked does not apply.
    """
    word = text.strip()
    if has_answers and word.casefold() == "n/a":
        return False
    return not word or word == "None" or word.casefold() in _MISSING


class Columns(Struct, frozen=True, kw_only=True):
    """Which columns mean what: `unit` names the unit, `raters` rate (none: all others but
    `ignore`), `truth` is a rater too. What is not in `scale` (both ends included) is a gap.
    """

    unit: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    truth: str | None = None
    scale: tuple[float, float] | None = None


class OffScale(Struct, frozen=True, kw_only=True):
    """A value that is left out because the scale does not have it. `unit` are the words of the
    unit's columns.
    """

    unit: tuple[str, ...]
    rater: str
    value: float


class Ratings(Struct, frozen=True, kw_only=True):
    """A table as it was read: columns of equal length by rater, the truth among them. All values
    are numbers, or all words.

    `notes`: what was taken for what, where the file does not say it.
    """

    columns: Mapping[str, Sequence[Value | None]]
    notes: Sequence[str] = ()
    off_scale: Sequence[OffScale] = ()
    has_words: bool = False
    # Of labels: the criterion that each row is about.
    criteria: Sequence[str] = ()

    def about(self, criterion: str) -> Mapping[str, Sequence[Value | None]]:
        """The columns, with the rows of one criterion alone."""
        at = [number for number, one in enumerate(self.criteria) if one == criterion]
        return {name: [column[one] for one in at] for name, column in self.columns.items()}

    @property
    def gaps(self) -> int:
        return sum(1 for column in self.columns.values() for value in column if value is None)


class _Table(Struct):
    """Rows with the line that each starts in, and the columns in the order in which they are first
    met.
    """

    name: str
    rows: list[tuple[int, Row]] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)
    # The columns that name a unit, where the form of the table says so.
    unit: tuple[str, ...] = ()
    # Columns that are neither raters nor units, unless they are named.
    aside: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    # Of labels, `n/a` is an answer: what is asked does not apply.
    has_answers: bool = False
    # Where some cells are `+`, a `-` is a rating too.
    has_signs: bool = False


def read_ratings(path: Path, columns: Columns, level: Level | None = None) -> Ratings:
    """`level`: at every level but nominal the values have to be numbers.

    Raises UsageError for a column that is not there and a word where numbers are needed, FileError
    and SourceErrors, with the line, for a file that is not such a table.
    """
    return _ratings_of(_read_table(path), columns, level)


def ratings_of_rows(
    rows: Iterable[Row], name: str, columns: Columns, level: Level | None = None
) -> Ratings:
    """The same of rows that Python gives; places are row numbers."""
    return _ratings_of(_table_of(name, enumerate(rows, 1)), columns, level)


def _ratings_of(table: _Table, columns: Columns, level: Level | None) -> Ratings:
    columns = _with_units(table, columns)
    raters = _raters(table, columns)
    table.has_signs = any(
        _cell_text(row.get(name)) == "+" for _, row in table.rows for name in raters
    )
    cells = {
        name: [
            _cell(row.get(name), f"{table.name}:{line}", name, table) for line, row in table.rows
        ]
        for name in raters
    }
    word = _first_word(cells)
    if word is not None and (columns.scale is not None or level not in (None, Level.NOMINAL)):
        at, name = word
        raise UsageError(
            f"`{name}` is {visible(str(cells[name][at]), 60)!r} here, but {f'level {level}' if level else 'a scale'} needs numbers",
            place=f"{table.name}:{table.rows[at][0]}",
            hint="use --level nominal for words, or leave the column out with --ignore",
        )
    values = {
        name: [_value(cell, as_word=word is not None) for cell in column]
        for name, column in cells.items()
    }
    _note_other_labels(table, values)
    off = list(_off_scale(values, table, columns))
    for at, one in off:
        values[one.rater][at] = None
    return Ratings(
        columns=values,
        notes=table.notes,
        off_scale=[one for _, one in off],
        has_words=word is not None,
        criteria=[_cell_text(row.get("criterion")) for _, row in table.rows]
        if "criterion" in table.unit
        else (),
    )


def _cell_text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _first_word(cells: Mapping[str, Sequence[float | str | None]]) -> tuple[int, str] | None:
    """The first row, and in it the first rater, whose cell is not a number."""
    for at, row in enumerate(zip(*cells.values(), strict=True)):
        for name, cell in zip(cells, row, strict=True):
            if isinstance(cell, str) and number_of(cell) is None:
                return at, name
    return None


def _off_scale(
    values: Mapping[str, Sequence[Value | None]], table: _Table, columns: Columns
) -> Iterator[tuple[int, OffScale]]:
    if columns.scale is None:
        return
    low, high = columns.scale
    for at, (_, row) in enumerate(table.rows):
        for name, column in values.items():
            value = column[at]
            if isinstance(value, float) and not low <= value <= high:
                yield (
                    at,
                    OffScale(
                        unit=tuple(str(row.get(key, "")) for key in columns.unit),
                        rater=name,
                        value=value,
                    ),
                )


def parse_scale(text: str) -> tuple[float, float]:
    """`0-3` as (0, 3). Raises UsageError."""
    number = r"\s*(-?\d+(?:\.\d+)?)\s*"
    match = re.fullmatch(f"{number}-{number}", text)
    if match and (ends := (float(match[1]), float(match[2])))[0] < ends[1]:
        return ends
    raise UsageError(
        f"--scale is `{text}`, but must be LOW-HIGH with two numbers",
        hint="for example --scale 0-3",
    )


def _with_units(table: _Table, columns: Columns) -> Columns:
    """The columns with those that name a unit, where the file does not say which do. A name of a
    row is not a rating of it: no two rows have the same, and its column's name or its words say so.
    """
    named = (*columns.raters, *columns.ignore, columns.truth)
    aside = tuple(name for name in table.aside if name not in named)
    ignore = (*columns.ignore, *aside)
    if columns.unit:
        return replace(columns, ignore=ignore)
    if table.unit:
        return replace(columns, unit=table.unit, ignore=ignore)
    if columns.raters:
        return columns
    unit = tuple(name for name in table.columns if name not in named and _names_rows(table, name))
    if unit:
        listed = ", ".join(f"`{name}`" for name in unit)
        problem = (
            f"{listed} names the rows, so it is not a rater"
            if len(unit) == 1
            else f"{listed} name the rows, so they are not raters"
        )
        table.notes.append(f"{problem}; --raters names raters, --unit what names a row")
    return replace(columns, unit=unit, ignore=ignore)


def _names_rows(table: _Table, name: str) -> bool:
    cells = [_cell_text(row.get(name)) for _, row in table.rows]
    if len(set(cells)) < len(cells) or (len(cells) < 2 and plain_name(name) not in _NAMES["unit"]):
        return False
    if plain_name(name) in _NAMES["unit"] or not plain_name(name):
        return True
    if len(cells) < 3:
        return False
    # Words that are different in every row are names. Numbers may be ratings, unless they count the
    # rows of a table whose ratings repeat.
    if all(number_of(cell) is None for cell in cells):
        return True
    others = [other for other in table.columns if other != name]
    return (
        _count_rows(cells)
        and any(_repeats(table, other) for other in others)
        and not _shares_scale(table, cells, others)
    )


def _count_rows(cells: Sequence[str]) -> bool:
    """Whether cells are whole numbers, each one more than that of the row before."""
    if not all(cell.isascii() and cell.isdecimal() and len(cell) <= 18 for cell in cells):
        return False
    first = int(cells[0])
    return all(int(cell) == number for number, cell in enumerate(cells, first))


def _shares_scale(table: _Table, cells: Sequence[str], others: Sequence[str]) -> bool:
    """Whether half or more of the numbers are in other columns, too: then they are ratings."""
    known = {number_of(_cell_text(row.get(other))) for _, row in table.rows for other in others}
    return 2 * sum(number_of(cell) in known for cell in cells) >= len(cells)


def _repeats(table: _Table, name: str) -> bool:
    cells = [_cell_text(row.get(name)) for _, row in table.rows]
    return len(set(cells)) < len(cells)


def _note_other_labels(table: _Table, columns: Mapping[str, Sequence[Value | None]]) -> None:
    """Note a column of words of which no other rater has one: it says something else."""
    if len(columns) < 3:
        return
    labels = {name: {one for one in column if one is not None} for name, column in columns.items()}
    for name, own in labels.items():
        others = [words for other, words in labels.items() if other != name]
        is_apart = own and own.isdisjoint(set().union(*others))
        share = any(one & two for one, two in combinations(others, 2))
        if is_apart and share and all(isinstance(one, str) for one in own):
            table.notes.append(
                f"`{name}` shares no label with the other raters: leave it out with --ignore {name}"
            )


def _raters(table: _Table, columns: Columns) -> list[str]:
    named = {"--unit": columns.unit, "--raters": columns.raters, "--ignore": columns.ignore}
    truth = () if columns.truth is None else (columns.truth,)
    for option, names in {**named, "--truth": truth}.items():
        for name in names:
            if name not in table.columns:
                meant = near(name, list(table.columns))
                raise UsageError(
                    f"{option} names the column `{name}`, which `{table.name}` does not have",
                    hint=f"did you mean `{meant}`?"
                    if meant
                    else f"columns: {', '.join(list(table.columns)[:20])}",
                )
    chosen = columns.raters or [
        name for name in table.columns if name not in (*columns.unit, *columns.ignore)
    ]
    raters = list(dict.fromkeys([*truth, *chosen]))
    if len(raters) < 2:
        raise UsageError(
            f"agreement needs two raters at least, but `{table.name}` has {len(raters)} ({', '.join(raters) or 'none'})",
            hint=_hint_on_raters(table, columns),
        )
    return raters


def _hint_on_raters(table: _Table, columns: Columns) -> str:
    every = "every column that is not named with --unit or --ignore is a rater"
    if table.unit or not columns.unit:
        return every
    return f"`{'`, `'.join(columns.unit)}` names the rows; {every}, and --raters names raters"


# --------------------------------------------------------------------------------------------------------------
# the file


def _read_table(path: Path) -> _Table:
    return _table_of(path.name, table_rows(path, path.name, delimiters=",;\t"))


def _table_of(name: str, rows: Iterable[tuple[int, Row]]) -> _Table:
    table = _Table(name)
    for line, row in rows:
        table.rows.append((line, row))
        table.columns.update(dict.fromkeys(row))
    if not table.rows:
        raise FileError(f"`{name}` has no rows", hint="a row is a unit, a column a rater")
    _refuse_documents(table)
    return _by_rater(table)


def _refuse_documents(table: _Table) -> None:
    """Raises FileError for a document that `--json` printed: it has figures, and no ratings."""
    schema = str(table.rows[0][1].get("schema", ""))
    if not schema.startswith("honestone.") or schema == LABEL:
        return
    labels = table.rows[0][1].get("labels")
    hint = (
        f"the ratings are in its labels: honestone judges agreement {labels}"
        if labels
        else "a row is a unit, a column a rater"
    )
    raise FileError(f"`{table.name}` is a document ({schema}), not a table of ratings", hint=hint)


def _by_rater(table: _Table) -> _Table:
    """The same with a column a rater, where each row is what one rater said: of a label, or of a
    row of labels.
    """
    by_name = {plain_name(name): name for name in reversed(table.columns)}
    rater = next((by_name[name] for name in _RATER if name in by_name), None)
    if rater is None and table.rows[0][1].get("schema") != LABEL:
        return table
    if "artifact" in table.columns and "criterion" in table.columns and "value" in table.columns:
        unit: tuple[str, ...] = ("artifact", "criterion", "item")
        return _turned(table, rater, unit, [(("criterion", "item"), "value")])
    if "artifact" in table.columns and rater == "rater":
        criteria = [name for name in table.columns if name not in COLUMNS]
        return _turned(
            table, rater, ("artifact", "criterion"), [((name,), name) for name in criteria]
        )
    value = next(
        (by_name[name] for name in _VALUE if name in by_name and by_name[name] != rater), None
    )
    if value is None or rater is None:
        return table
    unit = tuple(
        name
        for name in table.columns
        if plain_name(name) in _NAMES["unit"] and name not in (rater, value)
    )
    units = {tuple(_cell_text(row.get(name)) for name in unit) for _, row in table.rows}
    has_rows_of_one_unit = bool(unit) and len(units) < len(
        table.rows
    )  # else `judge` and `score` may be two raters
    return _turned(table, rater, unit, [((), value)]) if has_rows_of_one_unit else table


def _turned(
    table: _Table,
    rater: str | None,
    unit: tuple[str, ...],
    values: Sequence[tuple[tuple[str, ...], str]],
) -> _Table:
    """A row a unit. Of two ratings of one unit by one rater the later one counts, as it does where
    labels are read.
    """
    turned, places = _Table(table.name, has_answers=True), dict[tuple[str, ...], int]()
    rows_by_unit = dict[tuple[str, ...], dict[str, object]]()
    names = dict[str, None]()
    for line, row in table.rows:
        name = _cell_text(row.get(rater)) if rater is not None else ""
        for about, column in values:
            own = {key: _cell_text(row.get(key)) for key in unit if key in row}
            if about and about != ("criterion", "item"):
                own["criterion"] = about[0]
            key = tuple(own.values())
            places.setdefault(key, line)
            rows_by_unit.setdefault(key, {**own})[name or SOMEBODY] = row.get(column)
            names[name or SOMEBODY] = None
    turned.rows = [(places[key], row) for key, row in rows_by_unit.items()]
    own_names = dict.fromkeys(
        name for row in rows_by_unit.values() for name in row if name not in names
    )
    turned.columns = {**own_names, **names}
    turned.unit = tuple(own_names)
    turned.aside = (SETTLED,) if SETTLED in names else ()
    turned.notes = [
        f"each row is what one rater said: `{rater or 'rater'}` is who, {', '.join(own_names)} what it is about"
    ]
    return turned


_WORDS: Final = {True: "true", False: "false"}


def _cell(value: object, place: str, column: str, table: _Table) -> float | str | None:
    """A gap is an empty cell, null, a key that is left out, or a word by which programs mean a
    missing value.
    """
    if isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int | float):
        return None if math.isnan(value) else float(value)
    if value is None or (
        isinstance(value, str)
        and is_missing(value, has_answers=table.has_answers)
        and not (table.has_signs and value.strip() == "-")
    ):
        return None
    if isinstance(value, str):
        return value.strip()
    raise UsageError(
        f"`{column}` is not a value that a rater gives, but {type(value).__name__}", place=place
    )


def _value(cell: float | str | None, *, as_word: bool) -> Value | None:
    if as_word:
        return f"{cell:g}" if isinstance(cell, float) else cell
    return number_of(cell) if isinstance(cell, str) else cell
