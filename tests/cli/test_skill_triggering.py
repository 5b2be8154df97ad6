"""`eval` of trigger evals: the report says how well a skill is picked up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import Desk
from .skill_desk import skill

AGENT = """\
def run(prompt):
    words = prompt.split()
    if "silent" in words:
        return "no trace"
    return {"output": "done", "skill_loaded": "soup" in words}
"""


def queries(*said: tuple[str, bool]) -> str:
    return json.dumps([{"query": query, "should_trigger": wanted} for query, wanted in said])


def report(
    desk: Desk, *said: tuple[str, bool], more: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any]]:
    desk.file("trigger-eval.json", queries(*said))
    desk.file("agent.py", AGENT)
    ended = desk.run("eval", "trigger-eval.json", "--target", "python:agent:run", "--json", *more)
    found: dict[str, Any] = ended.json
    return ended.code, found


@pytest.mark.parametrize(
    ("said", "code", "triggering"),
    [
        (
            [("soup", True), ("rain", False)],
            0,
            {"cases": 2, "precision": 1.0, "recall": 1.0, "unknown": 0},
        ),
        (
            [("soup", True), ("stew", True), ("a soup opera", False), ("rain", False)],
            1,
            {"cases": 4, "precision": 0.5, "recall": 0.5, "unknown": 0},
        ),
        (
            [("stew", True), ("rain", False)],
            1,
            {"cases": 2, "precision": None, "recall": 0.0, "unknown": 0},
        ),
        ([("rain", False)], 0, {"cases": 1, "precision": None, "recall": None, "unknown": 0}),
        (
            [("soup", True), ("silent", True)],
            3,
            {"cases": 2, "precision": 1.0, "recall": 1.0, "unknown": 1},
        ),
    ],
)
def test_precision_and_recall_of_triggering(
    desk: Desk, said: list[tuple[str, bool]], code: int, triggering: dict[str, Any]
) -> None:
    """Counted over the cases whose trace says whether the skill was read; null where no case
    counts.
    """
    ended, found = report(desk, *said)
    assert (ended, found["triggering"]) == (code, triggering)


def test_the_report_says_it_in_words(desk: Desk) -> None:
    """The terminal's and the Markdown summary have the shares."""
    report(desk, ("soup", True), ("stew", True), ("silent", False))
    assert "precision 100.0%, recall 50.0%, 1 of 3 cases unknown" in desk.run("show", "last").out
    assert "precision 100.0%, recall 50.0%" in desk.run("show", "last", "--format", "markdown").out


def test_a_suite_that_does_not_ask_has_no_figures(desk: Desk) -> None:
    """No case asks whether the skill was read: the key is absent."""
    desk.file("s.yaml", "suite: 1\ncases: [{id: a, input: hello, checks: [{contains: hello}]}]\n")
    assert "triggering" not in desk.run("eval", "s.yaml", "--target", "cmd:cat", "--json").json


def test_an_agent_that_reports_nothing_leaves_it_open(desk: Desk) -> None:
    """With a skill installed for a command that has no trace every case is unknown: exit 3, no
    share is invented.
    """
    desk.file("trigger-eval.json", queries(("soup", True), ("rain", False)))
    skill(desk, "kitchen", ["soup"])
    ended = desk.run(
        "eval", "trigger-eval.json", "--artifact", "kitchen", "--target", "cmd:cat", "--json"
    )
    assert (ended.code, ended.json["triggering"]) == (
        3,
        {"cases": 2, "precision": None, "recall": None, "unknown": 2},
    )
