"""promptfoo's columns in a table of a native suite: what they expect of the output, as the value of
a case's `rubric`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from honestone.core.errors import UsageError
from honestone.core.json_value import JsonObject
from honestone.formats.rubric.rubric_write import criterion_lines
from honestone.formats.syntax.document import MarkedLine
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.nodes import node_of
from honestone.formats.syntax.reader import FileReading, Steps
from honestone.formats.syntax.yaml_lines import entry
from honestone.interop.criteria import left_to_gate, unique_ids
from honestone.interop.promptfoo.assertion import Scope
from honestone.interop.promptfoo.assertion_types import read_assertions
from honestone.interop.promptfoo.layers import test_of_row
from honestone.interop.sibling_files import SiblingFiles

_READ = "`__expected`, `__threshold` and `__metric` are read in a table of a suite"
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
    if "assert" not in test:
        return {}
    reading = FileReading(MarkedLine(str(file), node_of(test, (line, 1)), line))
    has_threshold = "threshold" in test
    scope = Scope(gates=not has_threshold, fill=_as_it_is, siblings=SiblingFiles(file.parent))
    found = unique_ids(read_assertions(reading.at().below("assert"), scope))
    for wrong in reading.problems:
        raise UsageError(wrong.message, place=place, hint=wrong.hint)
    for loss in reading.losses:
        raise UsageError(loss.message, place=place, hint=loss.hint)
    lines = [text for one in found for text in entry(list(criterion_lines(left_to_gate(one))))]
    criteria = parse_marked("\n".join(lines), file.name).value
    if not has_threshold:
        return {"rubric": criteria}
    bar = {"threshold": test["threshold"] * 100, "floor": 0}
    return {"rubric": {**bar, "criteria": criteria}}


def _as_it_is(text: str, _reading: FileReading, _path: Steps) -> str:
    return text
