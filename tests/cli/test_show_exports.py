"""`honestone show --format` for other tools: what is written, and what is said to have no place."""

from __future__ import annotations

import csv

from .desk import Desk

SUITE = """\
suite: 1
target: cmd:cat
cases:
  - id: both
    input: an apple and a pear, hello
    rubric: [It names the apple, It says hello]
    checks: [{contains: apple}]
  - id: none
    input: a stone
    rubric: [It names the apple]
  - id: code
    input: apple
    checks: [{contains: apple}]
"""


def test_truescore_has_a_row_for_each_vote_of_a_judge(ready: Desk) -> None:
    """Checks are not measured; what the table has no column for is named on stderr."""
    ready.file("suite.yaml", SUITE)
    assert ready.run("eval", "suite.yaml", "--judge", ready.judge().spec).code == 1
    shown = ready.run("show", "--format", "truescore")
    assert shown.code == 0, shown.err
    rows = list(csv.DictReader(shown.out.splitlines()))
    assert [(row["case"], row["judge_passed"], row["status"]) for row in rows] == [
        ("both", "1", "passed"),
        ("both", "1", "passed"),
        ("none", "0", "failed"),
    ]
    assert len({row["example_id"] for row in rows}) == 3 and "human_passed" not in rows[0]
    assert "no place for: 2 answers of checks; 1 case without a judge's vote; inputs" in shown.err


def test_truescore_needs_a_vote(ready: Desk) -> None:
    """A suite that code alone judges has nothing to measure."""
    ready.file("suite.yaml", "suite: 1\ntarget: cmd:cat\ncases: [{id: a, input: apple, checks: [{contains: a}]}]\n")
    assert ready.run("eval", "suite.yaml").code == 0
    refused = ready.run("show", "--format", "truescore")
    assert refused.is_refusal and "no judge voted" in refused.err


def test_exports_of_a_table_are_those_of_its_columns(ready: Desk) -> None:
    """A run with several columns says where its columns are."""
    ready.file("suite.yaml", SUITE.replace("target: cmd:cat", "target: [cmd:cat, cmd:echo apple]"))
    ready.run("eval", "suite.yaml", "--judge", ready.judge().spec)
    for form in ("inspect", "langfuse", "mlflow", "parquet", "truescore"):
        refused = ready.run("show", "--format", form)
        assert refused.is_refusal and "--kind column" in refused.err
