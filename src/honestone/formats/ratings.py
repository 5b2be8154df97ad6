"""Reading a table of ratings: a row a unit, a column a rater, in CSV or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from honestone.core.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.labels import number_of
from honestone.core.statistics.agreement import Level, Value
from honestone.formats.csv_rows import table_rows
from honestone.formats.fields import near

Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns mean what: `unit` names the unit, `raters` rate (none: all others but `ignore`), `truth` is a rater too.
    What is not in `scale` (both ends included) is a gap."""

    unit: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    truth: str | None = None
    scale: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffScale:
    """A value that is left out because the scale does not have it. `unit` are the words of the unit's columns."""

    unit: tuple[str, ...]
    rater: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratings:
    """A table as it was read: columns of equal length by rater, the truth among them. All values are numbers, or all words.

    `units` are the words of the unit's columns, a row each; `other` the columns that do not rate, as text,
    without one that alone names the unit.
    """

    columns: Mapping[str, Sequence[Value | None]]
    off_scale: Sequence[OffScale] = ()
    has_words: bool = False
    units: Sequence[tuple[str, ...]] = ()
    other: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def gaps(self) -> int:
        return sum(1 for column in self.columns.values() for value in column if value is None)


@dataclass(slots=True)
class _Table:
    """Rows with the line that each starts in, and the columns in the order in which they are first met."""

    name: str
    rows: list[tuple[int, Row]] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)


def read_ratings(path: Path, columns: Columns, level: Level | None = None) -> Ratings:
    """`level`: at every level but nominal the values have to be numbers.

    Raises UsageError for a column that is not there and a word where numbers are needed, FileError and SourceErrors, with
    the line, for a file that is no such table."""
    table = _read(path)
    raters = _raters(table, columns)
    cells = {name: [_cell(row.get(name), f"{table.name}:{line}", name) for line, row in table.rows] for name in raters}
    word = _first_word(cells)
    if word is not None and (columns.scale is not None or level not in (None, Level.NOMINAL)):
        at, name = word
        raise UsageError(
            f"`{name}` is {visible(str(cells[name][at]), 60)!r} here, but {f'level {level}' if level else 'a scale'} needs numbers",
            place=f"{table.name}:{table.rows[at][0]}",
            hint="use --level nominal for words, or leave the column out with --ignore",
        )
    values = {name: [_value(cell, as_word=word is not None) for cell in column] for name, column in cells.items()}
    off = list(_off_scale(values, table, columns))
    for at, one in off:
        values[one.rater][at] = None
    texts = {name: [_text(row.get(name)) for _, row in table.rows] for name in (*columns.unit, *columns.ignore)}
    return Ratings(
        columns=values,
        off_scale=[one for _, one in off],
        has_words=word is not None,
        units=[tuple(texts[name][at] for name in columns.unit) for at in range(len(table.rows))],
        other={name: text for name, text in texts.items() if len(columns.unit) > 1 or name not in columns.unit},
    )


def _text(value: object) -> str:
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
                yield at, OffScale(unit=tuple(str(row.get(key, "")) for key in columns.unit), rater=name, value=value)


def parse_scale(text: str) -> tuple[float, float]:
    """`0-3` as (0, 3). Raises UsageError."""
    number = r"\s*(-?\d+(?:\.\d+)?)\s*"
    found = re.fullmatch(f"{number}-{number}", text)
    if found and (ends := (float(found[1]), float(found[2])))[0] < ends[1]:
        return ends
    raise UsageError(f"--scale is `{text}`, but must be LOW-HIGH with two numbers", hint="for example --scale 0-3")


def _raters(table: _Table, columns: Columns) -> list[str]:
    named = {"--unit": columns.unit, "--raters": columns.raters, "--ignore": columns.ignore}
    truth = () if columns.truth is None else (columns.truth,)
    for option, names in {**named, "--truth": truth}.items():
        for name in names:
            if name not in table.columns:
                meant = near(name, list(table.columns))
                raise UsageError(
                    f"{option} names the column `{name}`, which `{table.name}` does not have",
                    hint=f"did you mean `{meant}`?" if meant else f"columns: {', '.join(list(table.columns)[:20])}",
                )
    chosen = columns.raters or [name for name in table.columns if name not in (*columns.unit, *columns.ignore)]
    raters = list(dict.fromkeys([*truth, *chosen]))
    if len(raters) < 2:
        raise UsageError(
            f"agreement needs two raters at least, but `{table.name}` has {len(raters)} ({', '.join(raters) or 'none'})",
            hint="every column that is not named with --unit or --ignore is a rater",
        )
    return raters


# -------------------------------------------------------------------------------------------------------------- the file


def _read(path: Path) -> _Table:
    table = _Table(path.name)
    for line, row in table_rows(path, path.name, is_strict=True):
        table.rows.append((line, row))
        table.columns.update(dict.fromkeys(row))
    if not table.rows:
        raise FileError(f"`{path.name}` has no rows", hint="a row is a unit, a column a rater")
    return table


_WORDS: Final = {True: "true", False: "false"}


def _cell(value: object, place: str, column: str) -> float | str | None:
    """A gap is an empty cell, null, or a key that is left out."""
    if isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, int | float):
        return float(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str):
        return value.strip()
    raise UsageError(f"`{column}` is not a value that a rater gives, but {type(value).__name__}", place=place)


def _value(cell: float | str | None, *, as_word: bool) -> Value | None:
    if as_word:
        return f"{cell:g}" if isinstance(cell, float) else cell
    return number_of(cell) if isinstance(cell, str) else cell
