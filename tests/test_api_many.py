"""Many artifacts from Python: one run, the same results as one by one."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import honestone
from honestone import Text
from honestone.testing import ScriptedJudge

CHECKED = honestone.parse_rubric(
    "rubric: 1\nthreshold: 50\nfloor: 0\ncriteria:\n  - {id: hello, check: {contains: hello}}\n"
    "  - {id: bye, check: {regex: 'b.e'}}\n"
)
JUDGED = honestone.parse_rubric(
    "rubric: 1\nfloor: 0\ncriteria: [{id: kind, requirement: It is kind}]\n"
)


def alike(found: honestone.Evaluated) -> dict[str, Any]:
    """A document without what two runs may differ in: names of texts, the run's id."""
    document = json.loads(json.dumps(found.document))
    document["artifact"].pop("path")
    document.pop("run", None)
    return dict(document)


@given(
    st.lists(
        st.sampled_from(
            ["hello", "bye", "hello, bye", "nothing", "\x1b[31mhello", "<b>bye</b>", "ü\n"]
        )
    )
)
def test_many_are_scored_as_they_would_be_alone(texts: list[str]) -> None:
    """Any list of texts, with repetitions and hostile ones: in order, each with the document of its
    own call.
    """
    found = honestone.evaluate_many(texts, CHECKED)
    assert [alike(one) for one in found] == [
        alike(honestone.evaluate(text, CHECKED)) for text in texts
    ]


def test_judges_are_asked_about_several_at_once() -> None:
    """Eight texts meet in the judge at the same time, and each gets its own answer; awaited, it is
    the same.
    """
    meeting = threading.Barrier(8)

    def judge(request: dict[str, Any]) -> bool:
        meeting.wait(60)
        return "kind" in request["artifact"]["text"]

    texts = [f"a {'kind' if number % 2 else 'rude'} word {number}" for number in range(8)]
    for found in (
        honestone.evaluate_many(texts, JUDGED, judges=judge),
        asyncio.run(honestone.aevaluate_many(texts, JUDGED, judges=judge)),
    ):
        assert [one.passed for one in found] == [number % 2 == 1 for number in range(8)]


def test_many_are_one_run_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    """Texts and files together: one run in the store, names that differ, equal texts asked about
    once; again none, nor alone.
    """
    (tmp_path / "a.md").write_text("a kind word\n")
    (tmp_path / "text-2").write_text("a file with the name of a text\n")
    artifacts = ["one", "two", "one", Path("a.md"), Path("text-2")]
    first, second = ScriptedJudge(True, id="friend"), ScriptedJudge(False, id="friend")
    found = honestone.evaluate_many(artifacts, JUDGED, judges=first, folder=tmp_path, store="kept")
    assert [one.path for one in found] == ["text-1", "text-2'", "text-3", "a.md", "text-2"]
    assert len({one.run for one in found}) == 1 and all(one.passed for one in found)
    assert first.calls == 4
    again = honestone.evaluate_many(artifacts, JUDGED, judges=second, folder=tmp_path, store="kept")
    assert all(one.passed for one in again) and second.calls == 0
    assert (
        honestone.evaluate("two", JUDGED, judges=second, folder=tmp_path, store="kept").passed
        and second.calls == 0
    )
    shown = subprocess.run(
        [sys.executable, "-m", "honestone", "show", again[0].run or "", "--json"],
        cwd=tmp_path,
        env={**os.environ, "HONESTONE_HOME": str(tmp_path / "kept")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [one["artifact"]["path"] for one in json.loads(shown.stdout)] == [
        one.path for one in again
    ]


def test_what_is_wrong_is_found_before_anything_is_asked(tmp_path: Path) -> None:
    """A single text instead of a list, something else in the list, the name of a file: with the
    place in the list.
    """
    (tmp_path / "a.md").write_text("a kind word\n")
    judge = ScriptedJudge(True, id="friend")
    wrong: list[tuple[Any, str]] = [
        ("one text", "`artifacts` is 'one text'"),
        (Path("a.md"), "`artifacts` is "),
        (7, "`artifacts` is 7"),
        (["good", 7], r"`artifacts\[1\]` is 7"),
        (["good", "a.md"], r"`artifacts\[1\]` is the text 'a.md', and a file"),
        (["good", Path("missing.md")], "missing.md"),
    ]
    for artifacts, words in wrong:
        with pytest.raises(honestone.UsageError, match=words):
            honestone.evaluate_many(artifacts, JUDGED, judges=judge, folder=tmp_path)
    assert judge.calls == 0
    assert honestone.evaluate_many([], JUDGED, judges=judge) == []
    assert honestone.evaluate_many(
        (word for word in ["a", Text("a.md")]), JUDGED, judges=judge, folder=tmp_path
    )
    assert judge.calls == 2


def test_a_limit_holds_for_all_together() -> None:
    """With two calls allowed, the third text is inconclusive and says why."""
    judge = ScriptedJudge(True, id="friend")
    found = honestone.evaluate_many(["a", "b", "c"], JUDGED, judges=judge, max_calls=2)
    assert sorted(one.verdict for one in found) == ["inconclusive", "pass", "pass"]
    assert judge.calls == 2


INTERRUPTED = """
import signal, sys, honestone
from honestone.core.judging.scorer import Scorer
made, scored = Scorer.judged, []
def judged(self, ballots):
    scored.append(ballots)
    if len(scored) == 50:
        signal.raise_signal(signal.Signals[sys.argv[1]])
    return made(self, ballots)
Scorer.judged = judged
rubric = honestone.parse_rubric("criteria: [{id: a, check: {contains: text}}]")
try:
    honestone.evaluate_many((f"text {number}" for number in range(2000)), rubric)
except honestone.HonestoneError as error:
    print(type(error).__name__, len(scored))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_text_checks_are_interrupted_at_once(name: str) -> None:
    """Ctrl-C or SIGTERM in the middle of two thousand texts ends the call there, and not after the
    last of them.
    """
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, name], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "Interrupted 50\n"), ended.stderr


class _Frame:
    """What data frames of all libraries have in common: the names of the columns, and going through
    it gives these.
    """

    def __init__(self, *columns: str) -> None:
        self.columns = list(columns)

    def __iter__(self) -> Any:
        return iter(self.columns)


class _Dataset:
    """A data set: its rows, and the names of its columns."""

    column_names = ("question", "answer")

    def __iter__(self) -> Any:
        return iter([{"question": "a", "answer": "b"}])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (_Frame("question", "answer"), "'question', 'answer'"),
        (_Frame("id", "output", "score"), "TABLE['output']"),
        (_Dataset(), "TABLE['answer']"),
        ({"output": ["a", "b"]}, "ROW['output']"),
        ([{"output": "a"}], "ROW['output']"),
        (_Frame(), "none"),
    ],
)
def test_a_table_is_refused_with_its_columns(table: Any, words: str) -> None:
    """Its columns' names are not the texts that are judged; a column has to be named."""
    with pytest.raises(honestone.UsageError, match=r"whole (table|row)") as caught:
        honestone.evaluate_many(table, CHECKED)
    assert words in str(caught.value.hint)
    if not isinstance(table, list):
        with pytest.raises(honestone.UsageError, match=r"whole (table|row)"):
            honestone.evaluate(table, CHECKED)
