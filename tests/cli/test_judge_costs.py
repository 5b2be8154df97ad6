"""What each judge of a run cost, in the JSON that `eval` prints and `show` reads back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .desk import Desk

SUITE = """\
suite: 1
target: cmd:cat
cases:
  - {id: one, input: an apple, rubric: [It names the apple], attempts: 2}
  - {id: two, input: a stone, rubric: [It names the apple]}
"""


def sums(judges: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {
        name: sum(one["usage"][name] for one in judges)
        for name in ("judge_calls", "cached_calls", "input_tokens")
    }


def test_the_judges_of_a_file_share_its_cost(ready: Desk) -> None:
    """Each judge has its own calls, and together they are the run's; recorded replies are not
    calls.
    """
    ready.file("note.md", "an apple\n")
    words = [
        "eval",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "-j",
        ready.judge("a").spec,
        "-j",
        ready.judge("b").spec,
    ]
    first = ready.run(*words, "--json").json
    assert [one["usage"]["judge_calls"] for one in first["judges"]] == [1, 1]
    assert sums(first["judges"]) == {name: first["usage"][name] for name in sums(first["judges"])}
    assert ready.run("show", "--json").json["judges"] == first["judges"]
    again = ready.run(*words, "--json").json
    assert [
        (one["usage"]["judge_calls"], one["usage"]["cached_calls"]) for one in again["judges"]
    ] == [(0, 1), (0, 1)]


def test_the_judges_of_a_suite_share_its_cost(ready: Desk) -> None:
    """Over all cases and attempts, and without the calls of the target."""
    ready.file("suite.yaml", SUITE)
    words = [
        "eval",
        "suite.yaml",
        "-j",
        ready.judge("a").spec,
        "-j",
        ready.judge("b").spec,
        "--json",
    ]
    done = ready.run(*words)
    judges = done.json["judges"]
    assert sums(judges) == {name: done.json["usage"][name] for name in sums(judges)}
    assert all(one["usage"]["judge_calls"] + one["usage"]["cached_calls"] == 3 for one in judges)
    assert (
        all("target_calls" not in one["usage"] for one in judges)
        and done.json["usage"]["target_calls"] == 3
    )
    assert ready.run("show", "--json").json["judges"] == judges


def test_the_judges_of_a_loop_have_what_a_version_cost(ready: Desk) -> None:
    """The baseline and the best version each say what the panel's looks at it cost."""
    ready.file("note.md", "a stone\n")
    worker = ready.worker("fixer", "put('an apple and a pear, hello')")
    ready.run(
        "improve",
        "note.md",
        "-r",
        "rubric.yaml",
        "-j",
        ready.judge("a").spec,
        "--worker",
        worker.spec,
        "--json",
    )
    shown = ready.run("show", "--json").json
    for card in (shown["baseline"], shown["final"]):
        (judge,) = [one for one in card["judges"] if "usage" in one]
        assert judge["usage"]["judge_calls"] >= 1
