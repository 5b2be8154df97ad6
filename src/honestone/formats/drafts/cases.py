"""A draft of a suite from a table of questions and answers: CSV or JSON lines whose columns say what they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from honestone.core.errors import FileError
from honestone.core.rubric import Criterion, Item, Rubric, free_id, slug
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.csv_rows import table_rows
from honestone.formats.drafts.found import Notes, TakenPart, plain_name

TABLES: Final = (".csv", ".jsonl", ".ndjson")
_INPUTS: Final = ("input", "question", "prompt", "query")
_REFERENCES: Final = ("reference", "expected", "answer", "target", "output")
_AGREES: Final = "The output says the same as the reference, in these or other words"
_ANSWERS: Final = "The output answers what the input asks"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteFromTable:
    """`to_check`: what a person should look at; `notes`: what was not taken over."""

    suite: Suite
    taken: tuple[TakenPart, ...]
    to_check: tuple[str, ...]
    notes: tuple[str, ...]


def suite_from_table(path: Path, *, most: int | None = None) -> SuiteFromTable:
    """Raises FileError or SourceErrors where the file is not a table or no column can be the input."""
    rows = list(islice(table_rows(path, str(path), delimiters=",;\t"), most))
    columns = list(dict.fromkeys(column for _, row in rows for column in row if column.strip()))
    input, reference = _first(columns, _INPUTS), _first(columns, _REFERENCES)
    if input is None:
        named = ", ".join(f"`{column}`" for column in columns[:8]) or "none"
        raise FileError(
            f"no column of `{path.name}` can be the input of a case, so nothing was written",
            hint=f"name one `input`, `question`, `prompt` or `query`; there are {named}",
        )
    notes = Notes()
    for column in columns:
        purpose = {input: "input", reference: "reference"}.get(column, "metadata")
        notes.take(column, purpose, f"{path.name}:{next(line for line, row in rows if column in row)}")
    cases, empty = _cases(rows, input, reference)
    if not cases:
        raise FileError(f"no row of `{path.name}` has a text in `{input}`, so nothing was written")
    return SuiteFromTable(
        suite=Suite(cases=cases, title=path.stem),
        taken=notes.taken,
        to_check=_to_check(cases, notes.taken),
        notes=(f"{empty} rows have no text in `{input}` and were left out",) if empty else (),
    )


def _first(columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The column that has one of these names; the names go from the surest on."""
    return next((column for name in names for column in columns if plain_name(column) == name), None)


def _cases(
    rows: Iterable[tuple[int, Mapping[str, object]]], input: str, reference: str | None
) -> tuple[tuple[Case, ...], int]:
    """The cases, and how many rows have no input."""
    cases, taken, empty = [], set[str](), 0
    for _, row in rows:
        messages = _messages(row.get(input))
        if not messages:
            empty += 1
            continue
        expected = None if reference is None else _text(row.get(reference)) or None
        others = {name: value for name, value in row.items() if name.strip() and name not in (input, reference)}
        others = {name: value for name, value in others.items() if value not in (None, "")}
        id = free_id(slug(messages[-1].content), taken)
        taken.add(id)
        cases.append(
            Case(
                id=id,
                rubric=answer_rubric(has_reference=expected is not None),
                messages=messages,
                reference=expected,
                metadata=others,
            )
        )
    return tuple(cases), empty


def answer_rubric(*, has_reference: bool) -> Rubric:
    """One question: whether the output agrees with the reference, or else answers the input."""
    requirement = _AGREES if has_reference else _ANSWERS
    item = Item(id="answer", requirement=requirement, whole=True)
    return Rubric(criteria=(Criterion(id="answer", requirement=requirement, items=(item,)),))


def _messages(value: object) -> tuple[Message, ...]:
    """A text is one message of the user; a list of {role, content} is those messages."""
    if isinstance(value, list) and value and all(_is_message(one) for one in value):
        return tuple(Message(str(one["role"]), str(one["content"])) for one in value)
    text = _text(value)
    return (Message("user", text),) if text.strip() else ()


def _is_message(one: object) -> bool:
    return isinstance(one, dict) and isinstance(one.get("role"), str) and isinstance(one.get("content"), str)


def _text(value: object) -> str:
    """What a cell says; a number, a list or a mapping as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _to_check(cases: Sequence[Case], taken: Sequence[TakenPart]) -> tuple[str, ...]:
    columns = ", ".join(one.words for one in taken)
    bare = sum(case.reference is None for case in cases)
    points = [f"columns: {columns}", "the criterion `answer` is not from that file: say what matters to you"]
    return (*points, f"{bare} cases have no reference") if bare else tuple(points)
