"""The rows of a verifiers data set: `prompt` (or `question`), `answer` and `info`. Its rewards are
Python and not in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.document import Document
from honestone.formats.reader import Cases, FileEntry, FileReading, shown
from honestone.formats.source import SuiteSource
from honestone.interop.criteria import (
    MAJORITY,
    as_text,
    expected_answer,
    gated,
    text_of_parts,
    undecided,
)
from honestone.interop.reader import Formats

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

# What a row holds once it was run: such rows are outputs, not a data set.
_OF_A_RUN: Final = frozenset({"completion", "reward", "rewards", "metrics"})


def signs_of_rows(document: Document) -> int:
    value = document.value
    first = value if document.is_lines else value[0] if isinstance(value, list) and value else None
    if not isinstance(first, dict) or _OF_A_RUN & first.keys() or "answer" not in first:
        return 0
    has_own = bool(first.keys() & {"info", "task", "example_id"})
    if "prompt" in first:
        return 70 if has_own or isinstance(first["prompt"], list) else 45
    return 45 if "question" in first and has_own else 0


def read_rows(document: Document) -> SuiteSource:
    """A case for each row. Raises SourceErrors with everything that is wrong."""
    main = FileReading(document.rows[0].marked if document.is_lines else document.marked)
    cases = Cases("rows")
    readings: list[FileReading] = []
    for number, at in enumerate(_rows(document, main)):
        if at.reading is not main:
            readings.append(at.reading)
        if at.read(TABLES["row"]):
            cases.add(_case(at, number), at, key="example_id")
    main.join(*readings)
    main.finish(*FORMATS.defaults("verifiers-dataset"))
    return main.suite_source(document, "verifiers-dataset", Suite(cases=cases.all()), cases)


def _rows(document: Document, main: FileReading) -> Iterator[FileEntry]:
    if document.is_lines:
        yield from (FileReading(row.marked).at() for row in document.rows)
    elif isinstance(document.marked.value, list):
        yield from (main.at((index,)) for index in range(len(document.marked.value)))
    else:
        main.problem(f"a data set is a list of rows, not {shown(document.marked.value)}", ())


def _case(at: FileEntry, number: int) -> Case | None:
    messages = _messages(at, "prompt" if "prompt" in at else "question")
    answer = as_text(at.raw("answer"))
    metadata = {
        key: value
        for key in ("info", "task")
        if (value := _parsed(at.raw(key))) not in (None, "", {})
    }
    known = TABLES["row"].by_name
    metadata |= {
        str(key): value
        for key, value in at.value.items()
        if str(key) not in known and value is not None
    }
    rubric = (
        gated(at.reading, at.path, [expected_answer([answer])], MAJORITY)
        if answer.strip()
        else None
    )
    if not answer.strip():
        at.note(
            "verifiers: a row without an `answer` is skipped, as nothing in it says what a good output is"
        )
    return Case(
        id=at.text("example_id", "id") or str(number),
        rubric=rubric or undecided(),
        messages=messages,
        reference=answer or None,
        metadata=metadata,
        skip=None if rubric else "has no answer",
    )


def _messages(at: FileEntry, key: str) -> tuple[Message, ...]:
    """A text, or messages; data sets that were tables hold them as JSON in a text."""
    value = _parsed(at.raw(key))
    if isinstance(value, str):
        return (Message("user", value),)
    found: list[Message] = []
    for index, one in enumerate(value if isinstance(value, list) else []):
        role = one.get("role") if isinstance(one, dict) else None
        if not isinstance(one, dict) or role not in (
            "system",
            "developer",
            "user",
            "assistant",
            "tool",
        ):
            at.problem(
                f"message number {index + 1} of `{key}` must be a mapping with a `role` and `content`",
                key,
            )
            continue
        if one.get("tool_calls"):
            at.loss("the tool calls of a message have no meaning here", key)
        found.append(
            Message(
                "system" if role == "developer" else role,
                text_of_parts(at.reading, one.get("content"), at.path),
            )
        )
    if not found and not at.reading.problems:
        at.problem(f"`{key}` must be a text or a list of messages, not {shown(value)}", key)
    return tuple(found)


def _parsed(value: Any) -> Any:
    """What a text holds that is JSON of a mapping or a list; any other value as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found if isinstance(found, dict | list) else value
    return value
