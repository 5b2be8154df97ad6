"""A draft of a suite from a table of questions and answers: CSV, JSON lines or JSON whose columns
say what they are.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Criterion, Item, Rubric, free_id, slug
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.drafts.found import Notes, TakenPart, plain_name
from honestone.formats.syntax.csv_rows import table_rows

TABLES: Final = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
# What a table may be, for messages.
TABLE_WORDS: Final = "CSV, TSV, JSON lines (.jsonl, .ndjson) or a JSON list of rows"
_NAMES: Final = {
    role: tuple(words.split())
    for role, words in tomllib.loads(
        Path(__file__).with_name("case_columns.toml").read_text("utf-8")
    ).items()
}
# promptfoo's own columns: what is expected of the output, and what is around the input.
PROMPTFOO: Final = "__"
_AGREES: Final = "The output says the same as the reference, in these or other words"
_AGREES_WITH_ONE: Final = (
    "The output says the same as one of the references, in these or other words"
)
_ANSWERS: Final = "The output answers what the input asks"
_LONGEST_LIST: Final = 100_000

_Row: TypeAlias = Mapping[str, object]
# A column, or a column and a key of the mapping in it.
_Place: TypeAlias = tuple[str, ...]


class SuiteFromTable(Struct, frozen=True, kw_only=True):
    """`to_check`: what a person should look at; `notes`: what was not taken over. `outputs` are
    what a
        system answered, by the id of the case; `rows` the numbers of the table's rows, from 0, that
        are cases, and `expecting` those with a text in promptfoo's `__expected`.
    """

    suite: Suite
    taken: tuple[TakenPart, ...]
    to_check: tuple[str, ...]
    notes: tuple[str, ...]
    outputs: Mapping[str, str]
    rows: tuple[int, ...]
    expecting: frozenset[int]
    input: str


class _Roles(Struct, frozen=True, kw_only=True):
    """Where the parts of a case are."""

    input: _Place
    reference: _Place | None
    output: _Place | None

    @property
    def purposes(self) -> dict[_Place, str]:
        """What each place was taken for."""
        places = (("output", self.output), ("reference", self.reference), ("input", self.input))
        return {place: purpose for purpose, place in places if place is not None}

    def of_column(self, column: str) -> dict[str, str]:
        """What a column was taken for, or each key of it: by the name that a person knows it by."""
        return {
            ".".join(place): purpose
            for place, purpose in self.purposes.items()
            if place[0] == column
        }


class NamedColumns(Struct, frozen=True, kw_only=True):
    """The columns that a person named: the right answer, and what a system answered. A key of an
    object in a column is named as `column.key`.
    """

    reference: str | None = None
    output: str | None = None


def suite_from_table(
    path: Path, *, most: int | None = None, named: NamedColumns | None = None
) -> SuiteFromTable:
    """Raises FileError or SourceErrors where the file is not a table or no column can be the input,
    UsageError for a named column that is not there.
    """
    rows = list(islice(table_rows(path, str(path), delimiters=",;\t"), most))
    columns = list(dict.fromkeys(column for _, row in rows for column in row if column.strip()))
    plain = [column for column in columns if not column.startswith(PROMPTFOO)]
    roles = _roles(path, rows, plain, named or NamedColumns())
    notes = Notes()
    for column in columns:
        place = f"{path.name}:{next(line for line, row in rows if column in row)}"
        purpose = _promptfoo_purpose(column) or "metadata"
        for source, taken_for in (roles.of_column(column) or {column: purpose}).items():
            notes.take(source, taken_for, place)
    cases, outputs, numbers = _cases([row for _, row in rows], roles)
    name = ".".join(roles.input)
    if not cases:
        raise FileError(f"no row of `{path.name}` has a text in `{name}`, so nothing was written")
    empty = len(rows) - len(cases)
    return SuiteFromTable(
        suite=Suite(cases=cases, title=path.stem),
        taken=notes.taken,
        to_check=_to_check(
            cases,
            notes.taken,
            has_checks=any(column.startswith("__expected") for column in columns),
        ),
        notes=(f"{empty} rows have no text in `{name}` and were left out",) if empty else (),
        outputs=outputs,
        rows=tuple(numbers),
        expecting=frozenset(number for number, (_, row) in enumerate(rows) if _expects(row)),
        input=roles.input[0],
    )


def _expects(row: _Row) -> bool:
    return any(
        column.startswith("__expected") and str(cell or "").strip() for column, cell in row.items()
    )


def _promptfoo_purpose(column: str) -> str | None:
    if not column.startswith(PROMPTFOO):
        return None
    return "checks" if column.startswith("__expected") else "promptfoo"


# ----------------------------------------------------------------------------------------------
# which column is what


def _roles(
    path: Path, rows: Sequence[tuple[int, _Row]], columns: Sequence[str], named: NamedColumns
) -> _Roles:
    places = [place for column in columns for place in _places(column, [row for _, row in rows])]
    reference = _named(path, places, "--reference", named.reference)
    output = _named(path, places, "--output-column", named.output)
    input = _first([one for one in places if one not in (reference, output)], "input")
    if (
        input is None
        and len(columns) == 1
        and any(one.startswith("__expected") for _, row in rows[:1] for one in row)
    ):
        input = places[0]  # promptfoo's tables have the variable of the prompt, whatever its name
    if input is None:
        listed = ", ".join(f"`{column}`" for column in columns[:8]) or "none"
        raise FileError(
            f"no column of `{path.name}` can be the input of a case, so nothing was written",
            hint=f"name one `input`, `question`, `prompt` or `query`; there are {listed}",
        )
    others = _without(_without(_without(places, input), reference), output)
    reference = reference or _first(others, "gold")
    output = output or _first(_without(others, reference), "output")
    if reference is None:
        reference = _first(_without(others, output), "either")
    if output is None:
        output = _first(_without(others, reference), "either")
    return _Roles(input=input, reference=reference, output=output)


def _named(path: Path, places: Sequence[_Place], option: str, column: str | None) -> _Place | None:
    """The place that a person named. Raises UsageError with those that there are."""
    if column is None:
        return None
    found = next((one for one in places if column in (".".join(one), one[0])), None)
    if found is None:
        listed = ", ".join(f"`{'.'.join(one)}`" for one in places[:12]) or "none"
        raise UsageError(
            f"{option} names the column `{column}`, which `{path.name}` does not have",
            hint=f"its columns: {listed}",
        )
    return found


def _without(places: Sequence[_Place], used: _Place | None) -> list[_Place]:
    """The places that are still free: neither the used one nor what it is a part of, or what is a
    part of it.
    """
    if used is None:
        return list(places)
    return [place for place in places if place[: len(used)] != used and used[: len(place)] != place]


def _places(column: str, rows: Sequence[_Row]) -> list[_Place]:
    """The column; where its cells are mappings, each of their keys too."""
    cells = [value for row in rows if (value := row.get(column)) not in (None, "")]
    if not cells or not all(isinstance(cell, dict) for cell in cells):
        return [(column,)]
    keys = dict.fromkeys(str(key) for cell in cells if isinstance(cell, dict) for key in cell)
    return [(column,), *((column, key) for key in keys)]


def _first(places: Sequence[_Place], role: str) -> _Place | None:
    """The place that has one of the role's names; the names go from the surest on. A column comes
    before a nested key, and that before the last part of a dotted name (`inputs.question`).
    """
    columns = [place for place in places if len(place) == 1]
    for name in _NAMES[role]:
        for place in columns:
            if plain_name(place[0]) == name:
                return _within(place, places, role)
        dotted = [
            place
            for place in columns
            if _parts_of_name(place[0])[0] == name and len(_parts_of_name(place[0])) > 1
        ]
        if dotted:
            return _part_that_names(dotted, role) or dotted[0]
    for last_part in (_last_key, _last_word):
        for name in _NAMES[role]:
            for one in places:
                if last_part(one) == name:
                    return one
    return None


def _last_key(place: _Place) -> str:
    return plain_name(place[-1])


def _last_word(place: _Place) -> str:
    return _parts_of_name(place[-1])[-1]


def _parts_of_name(name: str) -> list[str]:
    """The parts of a dotted name."""
    return [plain_name(part) for part in re.split(r"[./]", name)]


def _within(column: _Place, places: Sequence[_Place], role: str) -> _Place:
    """The key of the mappings in a column that holds the text, or the column where they have none."""
    keys = [place for place in places if len(place) == 2 and place[0] == column[0]]
    return _part_that_names(keys, role) or (keys[0] if len(keys) == 1 else column)


def _part_that_names(places: Sequence[_Place], role: str) -> _Place | None:
    """Of what is in one column, or in columns of one dotted name, the part whose own name says that
    it is the text.
    """
    names = _NAMES["input"] if role == "input" else (*_NAMES[role], *_NAMES["text"])
    return next((place for name in names for place in places if _last_word(place) == name), None)


def _cell_at(row: _Row, place: _Place | None) -> object:
    if place is None:
        return None
    value = row.get(place[0])
    if len(place) == 2:
        return value.get(place[1]) if isinstance(value, dict) else None
    return value


# ----------------------------------------------------------------------------------------------------------
# the cases


def _cases(
    rows: Iterable[_Row], roles: _Roles
) -> tuple[tuple[Case, ...], dict[str, str], list[int]]:
    """The cases, the recorded outputs by their ids, and the numbers of the rows that have an input."""
    cases, outputs, numbers, taken = list[Case](), dict[str, str](), list[int](), set[str]()
    for number, row in enumerate(rows):
        messages = _messages(_cell_at(row, roles.input))
        if not messages:
            continue
        answers = list(_answers(_cell_at(row, roles.reference)))
        id = free_id(slug(messages[-1].content), taken)
        taken.add(id)
        numbers.append(number)
        output = _cell_text(_cell_at(row, roles.output))
        if output.strip():
            outputs[id] = output
        cases.append(
            Case(
                id=id,
                rubric=answer_rubric(
                    has_reference=bool(answers), is_one_of_several=len(answers) > 1
                ),
                messages=messages,
                reference=_reference(answers),
                metadata=dict(_others(row, roles)),
            )
        )
    return tuple(cases), outputs, numbers


def _others(row: _Row, roles: _Roles) -> Iterator[tuple[str, object]]:
    """What of a row is only metadata."""
    for column, value in row.items():
        used = [place for place in roles.purposes if place[0] == column]
        if (column,) in used or not column.strip() or column.startswith(PROMPTFOO):
            continue
        rest = value
        if used and isinstance(value, dict):
            rest = {key: one for key, one in value.items() if (column, key) not in used}
        if rest not in (None, "", {}):
            yield column, rest


def answer_rubric(*, has_reference: bool, is_one_of_several: bool = False) -> Rubric:
    """One question: whether the output agrees with the reference, or else answers the input."""
    agrees = _AGREES_WITH_ONE if is_one_of_several else _AGREES
    requirement = agrees if has_reference else _ANSWERS
    item = Item(id="answer", requirement=requirement, whole=True)
    return Rubric(criteria=(Criterion(id="answer", requirement=requirement, items=(item,)),))


def _reference(answers: Sequence[str]) -> str | None:
    if len(answers) < 2:
        return answers[0] if answers else None
    return "\n".join(f"- {answer}" for answer in answers)


def _answers(value: object) -> Iterator[str]:
    """The right answers in a cell: a text is one; a list, also one that is written out in a text,
    is one after the other.
    """
    for one in _as_list(value):
        text = _cell_text(one)
        if text.strip():
            yield text


def _as_list(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.lstrip().startswith("[") and value.rstrip().endswith("]"):
        found = _written_list(value)
        if found is not None:
            return found
    held = _held_text(value)
    return held if isinstance(held, list) else [value]


def _written_list(text: str) -> list[object] | None:
    """The list that a CSV cell holds, as JSON or as Python writes it; None where it is another
    text.
    """
    if len(text) > _LONGEST_LIST:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    return (
        found
        if found and isinstance(found, list) and all(isinstance(one, str) for one in found)
        else None
    )


def _held_text(value: object) -> object:
    """What a mapping holds under a key that names a text, such as `{"text": ...}`."""
    if not isinstance(value, dict):
        return value
    by_name = {plain_name(key): one for key, one in value.items()}
    return next((by_name[name] for name in _NAMES["text"] if name in by_name), value)


def _messages(value: object) -> tuple[Message, ...]:
    """A text is one message of the user; a list of {role, content} is those messages."""
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        value = value["messages"]
    if isinstance(value, list) and value and all(_is_message(one) for one in value):
        return tuple(Message(str(one["role"]), str(one["content"])) for one in value)
    text = _cell_text(value)
    return (Message("user", text),) if text.strip() else ()


def _is_message(one: object) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("role"), str)
        and isinstance(one.get("content"), str)
    )


def _cell_text(value: object) -> str:
    """What a cell says; of a mapping that names one, its text; a number, a list or another mapping
    as JSON.
    """
    value = _held_text(value)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _to_check(
    cases: Sequence[Case], taken: Sequence[TakenPart], *, has_checks: bool
) -> tuple[str, ...]:
    columns = ", ".join(one.words for one in taken)
    points = [f"columns: {columns}"]
    if has_checks:
        return tuple(points)
    points.append("the criterion `answer` is not from that file: say what matters to you")
    bare = sum(case.reference is None for case in cases)
    return (*points, f"{bare} cases have no reference") if bare else tuple(points)
