"""The Python face: the same rules as the command, and no files left behind."""

from __future__ import annotations

import asyncio
import doctest
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.core.judging.ballot import Mark
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
    """A text meets one of two checks: half the marks, exactly at the bar; nothing is written
    anywhere.
    """
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
    assert not found.passed and found.verdict == "fail"
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
        found = honestone.evaluate(
            "word", honestone.parse_rubric(JUDGED), judges=[judge], store=tmp_path
        )
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

    report = (
        asyncio.run(notebook()) if within else honestone.run_suite("suite.yaml", target="cmd:cat")
    )
    assert [case["status"] for case in report["cases"]] == ["passed", "failed"]
    assert (report["verdict"], report["pass_rate"]) == ("fail", 0.5)
    with pytest.raises(honestone.UsageError):
        honestone.run_suite("suite.yaml")


def test_an_output_is_held_against_a_rubric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passes, fails with the reason, or could not be judged: three different ends."""
    monkeypatch.chdir(tmp_path)
    words, judged = honestone.parse_rubric(WORDS), honestone.parse_rubric(JUDGED)
    assert honestone.assert_passes("hello", words)["verdict"] == "pass"
    with pytest.raises(AssertionError, match="threshold"):
        honestone.assert_passes("nothing", words)
    with pytest.raises(honestone.CouldNotJudge):
        honestone.assert_passes("nothing", judged, judge=ScriptedJudge("no JSON at all"))


JUDGE = """
import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"verdicts": [{"criterion": c["id"], "item": i["id"], "answer": True} for c in asked["criteria"] for i in c["items"]]}))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((), {}),
        (
            ("--threshold", "70", "--evidence", "require", "--repeat", "2"),
            {"threshold": 70, "evidence": "require", "repeat": 2},
        ),
    ],
)
def test_every_door_has_the_same_contract(
    words: tuple[str, ...], options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same file, rubric, judge and options have one contract id from `eval`, from `rubric lock`
    and from Python.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "judge.py").write_text(JUDGE)
    (tmp_path / "r.yaml").write_text(JUDGED)
    (tmp_path / "a.md").write_text("a kind word\n")
    judge = f"script:{sys.executable} judge.py"

    def run(*command: str) -> dict[str, Any]:
        argv = [sys.executable, "-m", "honestone", *command, "--judge", judge, *words, "--json"]
        return dict(
            json.loads(subprocess.run(argv, capture_output=True, text=True, check=False).stdout)
        )

    ids = {
        run("eval", "a.md", "--rubric", "r.yaml")["contract"],
        run("rubric", "lock", "r.yaml")["contract"],
    }
    found = honestone.evaluate(Path("a.md"), Path("r.yaml"), judges=[judge], **options)
    assert {found.document["contract"]} == ids


def test_folder_and_store_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative paths start in `folder`, the store is relative to it, and a path is shown as it was
    written.
    """
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.md").write_text("hello")
    (tmp_path / "work" / "r.yaml").write_text(WORDS)
    monkeypatch.chdir(tmp_path)
    found = honestone.evaluate(Path("a.md"), "r.yaml", folder=Path("work"), store=Path("kept"))
    assert found.passed and found.document["artifact"]["path"] == "a.md" and found.document["run"]
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a.md", "kept", "r.yaml"]


def test_what_no_command_would_take_is_refused() -> None:
    """A value out of range and an object that is not a judge are usage errors; an unknown option is
    a TypeError.
    """
    rubric = honestone.parse_rubric(JUDGED)
    with pytest.raises(honestone.UsageError, match="combine"):
        honestone.evaluate("word", rubric, judges=["mock"], combine="most")
    with pytest.raises(honestone.UsageError, match="repeat"):
        honestone.evaluate("word", rubric, judges=["mock"], repeat=0)
    with pytest.raises(honestone.UsageError, match="not a judge"):
        honestone.evaluate("word", rubric, judges=[object()])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        honestone.evaluate("word", rubric, judges=["mock"], nonsense=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "option", "near"),
    [
        ("evaluate", "judge", "judges"),
        ("assert_passes", "judges", "judge"),
        ("assert_passes", "treshold", "threshold"),
        ("run_suite", "targets", "target"),
        ("run_suite", "case", "cases"),
        ("improve", "holdout", "holdouts"),
        ("compare", "failon", "fail_on"),
        ("step", "submits", "submit"),
        ("run_stages", "retry", "retries"),
        ("run_suite", "qqqq", None),
    ],
)
def test_an_unknown_option_names_the_nearest(name: str, option: str, near: str | None) -> None:
    """In the words of Python, with the function that was called, also where it is awaited."""
    hint = f"; did you mean `{near}`?" if near else ""
    forms = (
        [name, f"a{name}"] if name in ("evaluate", "run_suite", "improve", "compare") else [name]
    )
    for form in forms:
        with pytest.raises(TypeError) as found:
            asyncio.run(getattr(honestone, form)("a", "b", **{option: 1}))
        assert str(found.value) == f"{form}() got an unexpected keyword argument {option!r}{hint}"


def test_two_reports_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By run, by document, or by saved file: case by case."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "suite.yaml").write_text(SUITE)
    first = honestone.run_suite("suite.yaml", target="cmd:cat")
    second = honestone.run_suite("suite.yaml", target="cmd:echo hello")
    found = honestone.compare(first, second["run"])
    assert found["schema"] == "honestone.comparison/1"
    assert (found["verdict"], found["delta"]) == ("pass", 0.5)
