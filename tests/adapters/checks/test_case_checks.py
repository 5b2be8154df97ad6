"""Checks of a case: its output, its diff, its workspace, its run, and graders."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.checks import CheckRunner
from honestone.core.artifact import Entry, Version
from honestone.core.checking.check_problems import read_check
from honestone.core.errors import RubricError
from honestone.core.suite.trace import ToolCall, Trace
from honestone.ports import Finding, Output, Usage

ARTIFACT = Version.of_text("the artifact")


def find(
    written: dict[str, Any], output: Output | None, base: Path = Path(), **more: str
) -> Finding:
    runner = CheckRunner(base, sandbox="none")
    check = read_check(written)
    runner.preflight([check])
    (finding,) = asyncio.run(runner.run([check], ARTIFACT, output, **more))
    return finding


def test_a_text_check_reads_the_output_or_the_diff() -> None:
    """`in: diff` looks at what the target changed, and at nothing else."""
    output = Output(text="said", diff="+zebra\n")
    assert find({"contains": "said"}, output).met is True
    assert find({"contains": "zebra"}, output).met is False
    assert find({"contains": "zebra", "in": "diff"}, output).met is True
    assert find({"not-contains": "said", "in": "diff"}, output).met is True
    assert find({"contains": "said", "in": "output"}, output).met is True


@pytest.mark.parametrize("output", [None, Output(text="zebra")])
def test_without_a_workspace_there_is_no_diff_to_judge(output: Output | None) -> None:
    """Neither met nor unmet, also when negated."""
    for kind in ("contains", "not-contains"):
        finding = find({kind: "zebra", "in": "diff"}, output)
        assert finding.met is None
        assert "no diff" in str(finding.note)


def test_files_and_the_diff_are_two_things() -> None:
    """`path` and `in: diff` together mean nothing."""
    with pytest.raises(RubricError, match="reads the diff"):
        read_check({"contains": "x", "in": "diff", "path": "*.md"})


WORKSPACE = Version(
    {"app/new.txt": Entry(b"zebra"), "run.sh": Entry(b"#!/bin/sh\nexit 3\n", True)}, is_folder=True
)


def test_code_runs_in_a_copy_of_the_workspace_with_the_output(tmp_path: Path) -> None:
    """The files as the target left them, the output as `output.txt`, also as a variable."""
    output = Output(text="said", files=WORKSPACE)
    assert find({"command": "grep -q zebra app/new.txt"}, output, tmp_path).met is True
    assert find({"command": "grep -q said output.txt"}, output, tmp_path).met is True
    assert find({"command": "./run.sh", "expect_exit": 3}, output, tmp_path).met is True
    assert find({"command": "sh -c 'grep -q said $AI_OUTPUT_FILE'"}, output, tmp_path).met is True
    assert (
        find({"command": "sh -c 'test -d $HONESTONE_ARTIFACT/app'"}, output, tmp_path).met is True
    )
    assert find({"file-exists": "app/new.txt"}, output).met is True
    assert find({"contains": "zebra", "path": "app/*"}, output).met is True
    assert find({"not-contains": "zebra"}, output).met is True


def test_an_output_alone_is_one_file(tmp_path: Path) -> None:
    """Without a workspace the artifact's own files are not there."""
    output = Output(text="said")
    assert (
        find({"command": "sh -c 'grep -q said $HONESTONE_ARTIFACT'"}, output, tmp_path).met is True
    )
    assert find({"file-exists": "artifact.txt"}, output).met is False


# ---------------------------------------------------------------------------------------------------------------
# runs

CALLS = Trace(
    tool_calls=(ToolCall(name="search"), ToolCall(name="open", arguments={"id": 7})),
    skill_loaded=True,
)


@pytest.mark.parametrize(
    ("written", "is_met"),
    [
        ({"tool-calls": ["open", "search"]}, True),
        ({"not-tool-calls": ["delete"]}, True),
        ({"not-tool-calls": ["open"]}, False),
        ({"tool-count": {"open": {"max": 0}}}, False),
        ({"latency": 250}, True),
        ({"not-latency": 250}, False),
        ({"latency": 249}, False),
        ({"cost": 0.25}, True),
        ({"tokens": {"input": 9}}, False),
        ({"tokens": {"total": 13}}, True),
        ({"skill-loaded": True}, True),
    ],
)
def test_checks_of_a_run(written: dict[str, Any], is_met: bool) -> None:
    """From the trace, from what was measured, from what was paid."""
    usage = Usage(input_tokens=10, output_tokens=3, usd=0.25)
    assert find(written, Output(text="", duration_ms=250, usage=usage, trace=CALLS)).met is is_met


def test_what_was_measured_comes_before_what_is_told() -> None:
    """A target's own figures count only where nobody else has any."""
    told = Trace(duration_ms=1, usd=0.0, input_tokens=1)
    measured = Output(text="", duration_ms=900, usage=Usage(usd=2.0), trace=told)
    assert find({"latency": 500}, measured).met is False
    assert find({"cost": 1}, measured).met is False
    assert find({"tokens": {"input": 1}}, measured).met is True
    assert find({"latency": 500}, Output(text="", trace=told)).met is True


@pytest.mark.parametrize(
    "written",
    [
        {"tool-calls": ["a"]},
        {"not-tool-calls": ["a"]},
        {"cost": 1},
        {"skill-loaded": True},
        {"model-calls": 9},
    ],
)
@pytest.mark.parametrize("output", [None, Output(text="x"), Output(text="x", trace=Trace())])
def test_an_unknown_run_is_neither_met_nor_unmet(
    written: dict[str, Any], output: Output | None
) -> None:
    """No trace, no run at all: it cannot be judged, and the note says why."""
    finding = find(written, output)
    assert finding.met is None
    assert finding.note


def test_fields_of_the_output() -> None:
    """JSON is compared; what is no JSON does not fit."""
    fields = {"field-accuracy": {"fields": [{"path": "a", "expected": 1}]}}
    assert find(fields, Output(text='{"a": 1}')).met is True
    assert find(fields, Output(text='{"a": 2}')).note == "0 of 1 fields fit; a is 2, not 1"
    assert find(fields, Output(text="a: 1")).met is False
    assert (
        find({"not-" + kind: value for kind, value in fields.items()}, Output(text='{"a": 2}')).met
        is True
    )


# ------------------------------------------------------------------------------------------------------------
# graders


def graded(base: Path, body: str, output: Output | None = None, **options: Any) -> Finding:
    (base / "g.py").write_text(
        "import json, sys, os\nasked = json.load(sys.stdin)\n" + textwrap.dedent(body)
    )
    written = {"grader": [sys.executable, "g.py"], **options}
    return find(
        written, output or Output(text="said"), base, input="the question", reference="the answer"
    )


@pytest.mark.parametrize(
    ("body", "options", "is_met"),
    [
        ("print(json.dumps({'score': 1}))", {}, True),
        ("print(json.dumps({'score': 0.8}))", {}, False),
        ("print(json.dumps({'score': 0.8}))", {"min_score": 0.8}, True),
        (
            "print(json.dumps({'assertions': [{'text': 'a', 'passed': True}, {'text': 'b', 'passed': False}]}))",
            {"min_score": 0.5},
            True,
        ),
        ("", {}, True),
        ("sys.exit(1)", {}, False),
        ("sys.exit('no key')", {}, None),
        ("print(json.dumps({'score': 1})); sys.exit('no key')", {}, None),
        ("os.kill(os.getpid(), 9)", {}, None),
        ("print(json.dumps({'score': 1.5}))", {}, None),
        ("print(json.dumps({'score': True}))", {}, None),
        ("print('NaN')", {}, None),
        ("print('{\"score\": NaN}')", {}, None),
        ("print('[' * 100000)", {}, None),
        ("print('fine')", {}, None),
        ("print('{}')", {}, None),
    ],
)
def test_a_grader_scores_or_ends_or_cannot_judge(
    tmp_path: Path, body: str, options: dict[str, Any], is_met: bool | None
) -> None:
    """Its score against the bar; only an exit code; and everything else is no judgement."""
    assert graded(tmp_path, body, **options).met is is_met


def test_a_grader_is_asked_with_everything_there_is(tmp_path: Path) -> None:
    """Input, expected output, output, diff, workspace, and a summary of the run in which null is
    unknown.
    """
    body = """
    assert open(asked["workspace_path"] + "/app/new.txt").read() == "zebra"
    assert asked["input"] == "the question" and asked["expected_output"] == "the answer"
    assert asked["output"] == "said" and asked["file_changes"] == "+zebra\\n"
    assert asked["trace_summary"]["duration_ms"] == 5 and asked["config"] == {"tone": "dry"}
    """
    output = Output(text="said", diff="+zebra\n", files=WORKSPACE, duration_ms=5, trace=CALLS)
    assert graded(tmp_path, body, output, config={"tone": "dry"}).met is True


def test_the_summary_of_a_run_says_what_is_unknown(tmp_path: Path) -> None:
    """Counts of calls by name; costs that nobody told are null; without a workspace there is none."""
    body = """
    t = asked["trace_summary"]
    assert t["tool_calls"] == {"search": 1, "open": 1} and t["event_count"] == 2 and t["cost_usd"] is None
    assert t["token_usage"] is None and asked["workspace_path"] is None and asked["config"] == {"tone": "dry"}
    """
    assert (
        graded(tmp_path, body, Output(text="said", trace=CALLS), config={"tone": "dry"}).met is True
    )


def test_a_grader_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    """Before anything is spent, like any command."""
    from honestone.core.errors import UsageError

    with pytest.raises(UsageError, match="cannot start"):
        CheckRunner(tmp_path, sandbox="none").preflight(
            [read_check({"grader": "no-such-program-here"})]
        )


def test_the_digest_of_a_grader_is_part_of_what_it_is(tmp_path: Path) -> None:
    """An edited grader is another check."""
    runner = CheckRunner(tmp_path, sandbox="none")
    check = read_check({"grader": [sys.executable, "g.py"]})
    (tmp_path / "g.py").write_text("1")
    before = runner.identity(check)
    (tmp_path / "g.py").write_text("2")
    assert runner.identity(check) != before


# -------------------------------------------------------------------------------------------------------------
# pytest


@pytest.mark.slow
def test_tests_find_the_output_under_the_name_that_they_know(tmp_path: Path) -> None:
    """`output_env` names the variable; a folder `fixtures` comes along whole."""
    (tmp_path / "fixtures/data").mkdir(parents=True)
    (tmp_path / "fixtures/data/want.txt").write_text("said")
    (tmp_path / "fixtures/test_out.py").write_text(
        "import os, pathlib\n"
        "def test_it():\n"
        "    want = (pathlib.Path(__file__).parent / 'data/want.txt').read_text()\n"
        "    assert open(os.environ['ANSWER_FILE']).read() == want\n"
    )
    check = {"pytest": "fixtures/test_out.py", "output_env": "ANSWER_FILE"}
    assert find(check, Output(text="said"), tmp_path).met is True
    assert find(check, Output(text="else"), tmp_path).met is False
    assert find({"pytest": "fixtures/test_out.py"}, Output(text="said"), tmp_path).met is False


@pytest.mark.parametrize("name", ["PATH", "HOME", "LD_PRELOAD", "PYTHONPATH", "a b", "1A", ""])
def test_a_variable_that_would_break_the_run_is_refused(name: str) -> None:
    """Names that the run itself needs, and what is no name."""
    with pytest.raises(RubricError, match="output_env"):
        read_check({"pytest": "t.py", "output_env": name})


@pytest.mark.parametrize(
    ("body", "options", "score", "is_met"),
    [
        ("print(json.dumps({'score': 0.25}))", {"scored": True}, 25, False),
        ("print(json.dumps({'score': 0.25}))", {"scored": True, "min_score": 0.2}, 25, True),
        ("print(json.dumps({'score': 0.25}))", {"scored": False}, None, False),
        ("", {"scored": True}, 100, True),
        ("sys.exit(1)", {"scored": True}, 0, False),
        ("sys.exit('no key')", {"scored": True}, None, None),
        ("print('NaN')", {"scored": True}, None, None),
        ('print(\'{"score": 1, "score": 0}\')', {"scored": True}, None, None),
    ],
)
def test_the_score_of_a_grader_counts_where_it_is_asked_for(
    tmp_path: Path, body: str, options: dict[str, Any], score: float | None, is_met: bool | None
) -> None:
    """`scored` gives the points next to the answer; what could not be judged has none."""
    found = graded(tmp_path, body, **options)
    assert (found.score, found.met) == (score, is_met)
