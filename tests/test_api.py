"""The Python face: the same rules as the command, and no files left behind."""

from __future__ import annotations

import asyncio
import doctest
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.core.ballot import Mark
from honestone.testing import ScriptedJudge

WORDS = "rubric: 1\nthreshold: 50\nfloor: 0\ncriteria:\n  - {id: hello, check: {contains: hello}}\n  - {id: bye, check: {contains: bye}}\n"
JUDGED = "rubric: 1\nfloor: 0\ncriteria: [{id: kind, requirement: It is kind}]\n"


def test_the_example_in_the_package_is_true() -> None:
    """What the package's own page shows is what happens."""
    failed, tried = doctest.testmod(honestone)
    assert failed == 0 and tried == 3


def test_every_public_name_is_there() -> None:
    """Nothing is promised that cannot be imported."""
    for name in honestone.__all__:
        assert getattr(honestone, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        honestone.nonsense  # noqa: B018


def test_a_text_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text meets one of two checks: half the marks, exactly at the bar; nothing is written anywhere."""
    monkeypatch.chdir(tmp_path)
    found = honestone.evaluate("hello there", honestone.parse_rubric(WORDS))
    assert found.passed
    assert found.document["score"] == 50.0
    assert found.document["schema"] == "honestone.scorecard/1"
    assert list(tmp_path.iterdir()) == []


def test_a_file_and_a_rubric_file(tmp_path: Path) -> None:
    """Paths are read; what is wrong with one is a usage error with its name."""
    (tmp_path / "r.yaml").write_text(WORDS.replace("50", "60"))
    (tmp_path / "a.md").write_text("bye\n")
    found = honestone.evaluate(tmp_path / "a.md", tmp_path / "r.yaml")
    assert not found.passed and found.verdict.outcome == "fail"
    with pytest.raises(honestone.UsageError, match="nope"):
        honestone.evaluate(tmp_path / "nope.md", tmp_path / "r.yaml")


def test_judges_may_be_objects() -> None:
    """Two looks of one scripted judge are two voters; without any judge nothing is judged."""
    judge = ScriptedJudge(True, id="friend")
    found = honestone.evaluate("a kind word", honestone.parse_rubric(JUDGED), judges=[judge, judge])
    assert found.passed
    assert [ballot.judge for ballot in found.ballots] == ["friend", "friend#2"]
    assert found.ballots[0].marks["kind", "kind"] == Mark(True)
    with pytest.raises(honestone.CouldNotJudge, match="none was named"):
        honestone.evaluate("a kind word", honestone.parse_rubric(JUDGED))


def test_it_works_inside_a_running_loop() -> None:
    """As in a notebook or an async test."""

    async def inside() -> bool:
        return honestone.evaluate("hello bye", honestone.parse_rubric(WORDS)).passed

    assert asyncio.run(inside())


def test_replies_are_kept_where_the_caller_says(tmp_path: Path) -> None:
    """With a store, the second look at the same bytes costs no call."""
    first, second = ScriptedJudge(False, id="friend"), ScriptedJudge(False, id="friend")
    for judge in (first, second):
        found = honestone.evaluate("word", honestone.parse_rubric(JUDGED), judges=[judge], store=tmp_path)
        assert not found.passed
    assert (first.calls, second.calls) == (1, 0)


SUITE = """
suite: 1
cases:
  - {id: good, input: hello, checks: [{contains: hello}]}
  - {id: bad, input: bye, checks: [{contains: hello}]}
"""


@pytest.mark.parametrize("within", [False, True])
def test_a_suite_is_run(within: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the command does, with its report as the answer; in a notebook's running loop too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)

    async def notebook() -> dict[str, Any]:
        return honestone.run_suite("suite.yaml", target="cmd:cat")

    report = asyncio.run(notebook()) if within else honestone.run_suite("suite.yaml", target="cmd:cat")
    assert [case["status"] for case in report["cases"]] == ["passed", "failed"]
    assert (report["verdict"], report["pass_rate"]) == ("fail", 0.5)
    with pytest.raises(honestone.UsageError):
        honestone.run_suite("suite.yaml")


def test_an_output_is_held_against_a_rubric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes, fails with the reason, or could not be judged: three different ends."""
    monkeypatch.chdir(tmp_path)
    words, judged = honestone.parse_rubric(WORDS), honestone.parse_rubric(JUDGED)
    assert honestone.assert_passes("hello", words)["verdict"] == "pass"
    with pytest.raises(AssertionError, match="threshold"):
        honestone.assert_passes("nothing", words)
    with pytest.raises(honestone.CouldNotJudge):
        honestone.assert_passes("nothing", judged, judge=ScriptedJudge("no JSON at all"))
