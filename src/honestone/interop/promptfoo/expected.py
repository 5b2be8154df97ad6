"""promptfoo's columns in a table of a native suite: what they expect of the output, as keys of a
case.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from honestone.core.errors import UsageError
from honestone.core.json_value import JsonObject
from honestone.core.judging.rubric import DEFAULT_FLOOR, DEFAULT_THRESHOLD
from honestone.core.numbers import exact
from honestone.formats.rubric.rubric_write import criterion_lines
from honestone.formats.suite.suite_write import gate_lines
from honestone.formats.syntax.document import MarkedLine
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.nodes import node_of
from honestone.formats.syntax.reader import FileReading, Steps
from honestone.formats.syntax.yaml_lines import entry, indent
from honestone.interop.criteria import gated, usual_gate
from honestone.interop.promptfoo.assertion import Scope
from honestone.interop.promptfoo.assertion_types import read_assertions
from honestone.interop.promptfoo.layers import test_of_row
from honestone.interop.sibling_files import SiblingFiles

_READ = "`__expected`, `__threshold`, `__metric` and `__description` are read in a table of a suite"
_HINT = "write it into the suite, or keep the promptfoo config"


def read_expected(row: Mapping[str, str], file: Path, line: int) -> JsonObject:
    """What the `__` columns of a row add to its case. `{{name}}` in them is filled in with the vars
    of the case, as in any text of it. Raises UsageError for what only a config of promptfoo can say,
    and for code: a row names nothing that is read or run.
    """
    test, unread = test_of_row(row)
    place = f"{file}:{line}:1"
    others = sorted({*test} - {"vars", "assert", "threshold", "description"}) + unread
    if others:
        raise UsageError(f"`{others[0]}` of a row: {_READ}", place=place, hint=_HINT)
    for assertion in test.get("assert", ()):
        value = str(assertion.get("value", ""))
        if assertion["type"].removeprefix("not-") in ("javascript", "python") or "file://" in value:
            raise UsageError(
                "a row of a table names neither files nor code", place=place, hint=_HINT
            )
    described: JsonObject = {}
    if "description" in test:
        described = {"metadata": {"description": test["description"]}}
    if "assert" in test:
        return {**described, "rubric": _rubric(test, file, line)}
    if "threshold" in test:
        hint = "write `threshold` into a rubric of the suite, or give the row an `__expected`"
        raise UsageError("`__threshold` of a row that expects nothing", place=place, hint=hint)
    return described


def _rubric(test: Mapping[str, Any], file: Path, line: int) -> Any:
    """Criteria, with the bars of the gate where it is not the usual one. Raises UsageError."""
    place = f"{file}:{line}:1"
    reading = FileReading(MarkedLine(str(file), node_of(test, (line, 1)), line))
    threshold = exact(test["threshold"]) if "threshold" in test else None
    scope = Scope(gates=threshold is None, fill=_as_it_is, siblings=SiblingFiles(file.parent))
    found = read_assertions(reading.at().below("assert"), scope)
    rubric = gated(reading, (), found, threshold)
    for wrong in reading.problems:
        raise UsageError(wrong.message, place=place, hint=wrong.hint)
    for loss in reading.losses:
        raise UsageError(loss.message, place=place, hint=loss.hint)
    if rubric is None:
        raise UsageError("the row expects nothing that decides", place=place, hint=_HINT)
    rubric = usual_gate(rubric)
    lines = [text for one in rubric.criteria for text in entry(list(criterion_lines(one)))]
    bars = (rubric.threshold, rubric.floor)
    if bars != (DEFAULT_THRESHOLD, DEFAULT_FLOOR):
        lines = [*gate_lines(*bars), "criteria:", *indent(lines)]
    return parse_marked("\n".join(lines), file.name).value


def _as_it_is(text: str, _reading: FileReading, _path: Steps) -> str:
    return text
