"""What a person sees of a suite from its first moment on: that it is read, what is going to be done,
and how far that is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from honestone.app.doors.quiet import Quiet
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.suites import planning
from honestone.app.suites.costs import bar_words
from honestone.app.suites.plan import SuiteRequest
from honestone.app.suites.running.table import evaluate_columns
from honestone.app.workspace import Workspace
from honestone.core.numbers import exact


class Heard(Quiet):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, text: str) -> None:
        self.lines.append(text)

    def progress(self, done: int, total: int, doing: str) -> None:
        self.lines.append(f"{done}/{total} {doing}")


def test_it_is_heard_before_the_suite_is_read_and_what_is_done_before_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {"id": "a", "input": "x", "checks": [{"contains": "x"}]}
    (tmp_path / "suite.json").write_text(json.dumps({"suite": 1, "cases": [case]}))
    heard = Heard()
    read = planning.read_with_permission

    def noted(*arguments: Any) -> Any:
        heard.lines.append("READ")
        return read(*arguments)

    monkeypatch.setattr(planning, "read_with_permission", noted)
    request = SuiteRequest(suite=Path("suite.json"), target="cmd:cat", judging=JudgingOptions())
    evaluate_columns(Workspace.at(tmp_path), request, heard)
    assert heard.lines[:4] == [
        "0/0 reading suite.json",
        "READ",
        "0/1 preparing",
        "1 case: up to 1 run of cmd:cat; all have to pass",
    ]
    assert heard.lines[-1] == "1/1 running"


@pytest.mark.parametrize(
    ("least", "sure", "words"),
    [
        (None, None, "; all have to pass"),
        ("1", None, "; all have to pass"),
        ("0.9", None, "; at least 90% have to pass"),
        ("0.5", "0.95", "; at least 50% have to pass, 95% sure"),
        (None, "0.995", "; all have to pass, 99.5% sure"),
        ("0", None, ""),
    ],
)
def test_the_bar_is_stated(least: str | None, sure: str | None, words: str) -> None:
    parts = [None if one is None else exact(one) for one in (least, sure)]
    assert bar_words(*parts) == words
