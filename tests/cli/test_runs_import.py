"""rulph's state is kept as a run: its numbers, never a verdict of ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import Desk

STATE = {
    "status": "active",
    "round": 2,
    "max_rounds": 5,
    "score": 91.65,
    "threshold": 90,
    "iteration": 3,
}


def put(desk: Desk, **more: Any) -> None:
    desk.file("state.json", json.dumps({"rulph": {**STATE, **more}, "other": 1}))


def test_a_state_becomes_a_run_that_is_listed_and_shown(desk: Desk) -> None:
    put(desk)
    kept = desk.run("runs", "import", "state.json", "--json").json
    assert (kept["schema"], kept["tool"], kept["state"]) == ("honestone.imported/1", "rulph", STATE)
    (listed,) = desk.run("runs", "--json").json
    assert (listed["id"], listed["kind"], listed["result"]) == (kept["run"], "imported", "imported")
    assert desk.run("show", kept["run"], "--json").json == kept
    shown = desk.run("show", "last").out
    assert "score 91.65, threshold 90; round 2 of 5" in shown
    assert "judged nothing" in shown


def test_a_passed_state_is_no_pass_of_ours(desk: Desk) -> None:
    put(desk, status="completed")
    desk.run("runs", "import", "state.json")
    assert "PASS" not in desk.run("show", "last").out.upper().replace("PASSED BY", "")
    rescored = desk.run("rescore", "last")
    assert (rescored.code, "no answers to a rubric" in rescored.err) == (2, True)
    assert desk.run("show", "last", "--format", "junit").code == 2


@pytest.mark.parametrize(
    "text", ["", "no", "[]", "{}", '{"rulph": 1}', '{"rulph": {"score": "x"}}', "[" * 100_000]
)
def test_what_is_no_state_is_refused_and_nothing_is_kept(desk: Desk, text: str) -> None:
    desk.file("state.json", text)
    ended = desk.run("runs", "import", "state.json")
    assert (ended.code, "Traceback" in ended.err) == (2, False)
    assert "state.json" in ended.err
    assert "no store has been made" in desk.run("runs").err
