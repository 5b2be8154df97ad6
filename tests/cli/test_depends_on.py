"""`depends_on` of a case: what comes before it, and what becomes of it where that could not be run."""

from __future__ import annotations

import json

import pytest

from .desk import PYTHON, Desk

AGENT = """\
import pathlib, sys
word = sys.stdin.read().strip()
with open("order.txt", "a") as log:
    log.write(word + "\\n")
if word == "break":
    sys.exit("broken")
print(word)
"""


def suite(desk: Desk, *cases: dict[str, object]) -> None:
    desk.file("agent.py", AGENT)
    usual = {"checks": [{"contains": "good"}]}
    whole = [case if "rubric" in case else {**usual, **case} for case in cases]
    desk.file(
        "s.yaml", json.dumps({"suite": 1, "target": f"cmd:{PYTHON} agent.py", "cases": whole})
    )


def statuses(desk: Desk, *words: str) -> dict[str, str]:
    found = desk.run("eval", "s.yaml", "--json", *words).json
    return {case["id"]: case["status"] for case in found["cases"]}


def test_a_case_is_run_after_those_it_depends_on(desk: Desk) -> None:
    """Whatever the order in the file and however many run at a time; a low score of one of them
    blocks nothing.
    """
    suite(
        desk,
        {"id": "c", "input": "good 3", "depends_on": ["a", "b"]},
        {"id": "b", "input": "good 2", "depends_on": "a"},
        {"id": "a", "input": "bad 1"},
        {"id": "d", "input": "good 4", "depends_on": ["c"]},
    )
    assert statuses(desk, "--concurrency", "4") == {
        "c": "passed",
        "b": "passed",
        "a": "failed",
        "d": "passed",
    }
    assert (desk.folder / "order.txt").read_text().split("\n")[:4] == [
        "bad 1",
        "good 2",
        "good 3",
        "good 4",
    ]


def test_where_the_target_failed_dependents_are_skipped(desk: Desk) -> None:
    """Directly, and those that depend on what was skipped; others are run. A resumed run says the
    same.
    """
    suite(
        desk,
        {"id": "a", "input": "break"},
        {"id": "b", "input": "good 2", "depends_on": ["a"]},
        {"id": "c", "input": "good 3", "depends_on": ["b"]},
        {"id": "d", "input": "good 4"},
    )
    wanted = {"a": "target-error", "b": "skipped", "c": "skipped", "d": "passed"}
    ended = desk.run("eval", "s.yaml", "--json")
    assert (
        ended.code == 3 and {case["id"]: case["status"] for case in ended.json["cases"]} == wanted
    )
    assert sorted((desk.folder / "order.txt").read_text().split("\n")) == ["", "break", "good 4"]
    shown = desk.run("show", "last").out
    assert "the case `a` that it depends on could not be run" in shown
    assert statuses(desk, "--fresh", "--concurrency", "1") == wanted


def test_what_is_not_chosen_is_not_waited_for(desk: Desk) -> None:
    """`--case` runs one case alone."""
    suite(desk, {"id": "a", "input": "break"}, {"id": "b", "input": "good 2", "depends_on": ["a"]})
    assert statuses(desk, "--case", "b")["b"] == "passed"


def test_several_attempts_all_come_first(desk: Desk) -> None:
    """Every attempt of a case ends before a case that depends on it begins."""
    suite(
        desk,
        {"id": "b", "input": "good 2", "depends_on": ["a"]},
        {"id": "a", "input": "good 1", "attempts": 3},
    )
    assert statuses(desk, "--concurrency", "8") == {"b": "passed", "a": "passed"}
    assert (desk.folder / "order.txt").read_text().split("\n") == [
        "good 1",
        "good 1",
        "good 1",
        "good 2",
        "",
    ]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["x"], "it depends on `x`, but the suite has no such case"),
        (["a"], "these cases wait for one another: `a`"),
    ],
)
def test_what_cannot_be_waited_for_is_refused(desk: Desk, names: list[str], why: str) -> None:
    """Exit 2 with its place, before anything is run."""
    suite(desk, {"id": "a", "input": "good 1", "depends_on": names})
    ended = desk.run("eval", "s.yaml")
    assert ended.code == 2 and why in ended.err and "s.yaml:1:" in ended.err
    assert ended.err.count("case `a`") == 1
    assert not (desk.folder / "order.txt").exists()


def test_a_conversion_keeps_it(desk: Desk) -> None:
    """From AgentV to our suite and to AgentV again; what AgentV writes into other formats is lost
    by name there.
    """
    desk.file(
        "x.eval.yaml",
        "tests:\n"
        "  - {id: a, input: x, assertions: [{type: contains, value: y}]}\n"
        "  - {id: b, input: x, depends_on: [a], assertions: [{type: contains, value: y}]}\n",
    )
    assert (
        desk.run(
            "suite", "convert", "x.eval.yaml", "--to", "honestone", "--output", "own.yaml"
        ).code
        == 0
    )
    assert "depends_on: [a]" in (desk.folder / "own.yaml").read_text()
    assert (
        desk.run(
            "suite", "convert", "own.yaml", "--to", "agentv", "--output", "back.eval.yaml"
        ).code
        == 0
    )
    assert "depends_on" in (desk.folder / "back.eval.yaml").read_text()


@pytest.mark.parametrize("judge_says", [True, False])
def test_under_sure_a_case_runs_once_the_outputs_are_there(desk: Desk, judge_says: bool) -> None:
    """Judges are asked by all cases together, so none of them is waited for; where the target
    failed, what depends on it is not run.
    """
    asked = {"rubric": ["It holds"]}
    suite(
        desk,
        {"id": "b", "input": "good 2", "depends_on": "a", **asked},
        {"id": "a", "input": "good 1", **asked},
        {"id": "d", "input": "good 3", "depends_on": "x", **asked},
        {"id": "x", "input": "break", **asked},
    )
    judge = desk.judge("one", _says(judge_says))
    words = ("--sure", "90", "--all-cases", "--min-pass-rate", "0.5", "--judge", judge.spec)
    found = statuses(desk, *words)
    assert found["x"] == "target-error" and found["d"] == "skipped"
    assert {found["a"], found["b"]} == {"passed" if judge_says else "failed"}
    order = (desk.folder / "order.txt").read_text().split("\n")
    assert order.index("good 1") < order.index("good 2") and "good 3" not in order


def test_under_sure_what_an_opened_case_waits_for_is_opened(desk: Desk) -> None:
    """Also where it stands last, and fewer cases have to pass."""
    asked = {"rubric": ["It holds"]}
    suite(
        desk,
        {"id": "c", "input": "good 3", "depends_on": "b", **asked},
        {"id": "d", "input": "good 4", **asked},
        {"id": "b", "input": "good 2", "depends_on": "a", **asked},
        {"id": "a", "input": "good 1", **asked},
    )
    judge = desk.judge("one", _says(True))
    found = statuses(desk, "--sure", "80", "--min-pass-rate", "0.5", "--judge", judge.spec)
    assert "passed" in found.values() and "target-error" not in found.values()
    order = (desk.folder / "order.txt").read_text().split()
    assert order[1::2][:2] == ["1", "2"]


def _says(is_met: bool) -> str:
    return (
        "import random\n"
        f"marks = {{c['id']: {{'met': {is_met}, 'suggestion': str(random.random())}} for c in request['criteria']}}\n"
        "print(json.dumps({'criteria': marks}))\n"
    )
