"""`honestone run cancel`: a run ends at once, whoever works on it, and is not resumed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

import pytest
from tests.cli.desk import Desk, until

SUITE = """suite: 1
cases:
  - {id: quick, input: quick, checks: [{contains: [quick]}]}
  - {id: slow, input: slow, checks: [{contains: [slow]}], timeout: 900}
"""
EVAL = (
    "eval",
    "suite.yaml",
    "--target",
    "cmd:sh target.sh",
    "--sandbox",
    "none",
    "--concurrency",
    "1",
    "--json",
    "-q",
)


def unfinished(desk: Desk) -> list[str]:
    return [
        one["id"] for one in json.loads(desk.run("runs", "--verdict", "unfinished", "--json").out)
    ]


def begun(
    desk: Desk, suite: str = SUITE, words: Sequence[str] = EVAL
) -> tuple[subprocess.Popen[bytes], str]:
    """A suite's run whose second case lasts longer than anybody waits, and its id."""
    desk.file("suite.yaml", suite)
    desk.file(
        "target.sh", "read line; echo $line; test $line = quick || { touch working; sleep 900; }\n"
    )
    process = desk.start(*words)
    assert until(lambda: (desk.folder / "working").exists() or process.poll() is not None)
    assert process.poll() is None
    (run,) = unfinished(desk)
    return process, run


@pytest.mark.slow
def test_a_run_under_way_is_cancelled(desk: Desk) -> None:
    """Its process ends with 130 long before its case would; what was judged is kept, and the same
    command starts again.
    """
    process, run = begun(desk)
    done = desk.run("run", "cancel", run[:12], "--json")
    assert done.code == 0 and json.loads(done.out) == {"run": run, "result": "interrupted"}
    assert process.wait(300) == 130
    shown = json.loads(desk.run("show", run, "--json").out)
    assert [case["status"] for case in shown["cases"]] == ["passed", "skipped"]
    assert unfinished(desk) == []
    desk.file("target.sh", "cat\n")
    again = json.loads(desk.run(*EVAL).out)
    assert again["run"] != run and again["verdict"] == "pass"


@pytest.mark.slow
def test_so_is_one_whose_judges_are_asked_on(desk: Desk) -> None:
    """With the exit code and the words of any run that was cancelled."""
    judged = SUITE.replace("checks: [{contains: [quick]}]", "rubric: [It says quick]")
    words = (*EVAL, "--sure", "95", "--judge", desk.judge("one").spec)
    process, run = begun(desk, judged, words)
    assert desk.run("run", "cancel", run[:12]).code == 0
    assert process.wait(300) == 130


def test_what_has_ended_cannot_be_cancelled(desk: Desk) -> None:
    desk.file("suite.yaml", SUITE)
    desk.file("target.sh", "cat\n")
    desk.run(*EVAL)
    done = desk.run("run", "cancel", "last")
    assert done.code == 2 and "has ended already: pass" in done.err
    assert desk.run("run", "cancel", "nothing").code == 2
