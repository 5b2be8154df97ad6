"""`honestone show --format` for other tools: what is written, and what is said to have no place."""

from __future__ import annotations

import importlib.util

import pytest

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


def test_exports_of_a_table_are_those_of_its_columns(ready: Desk) -> None:
    """A run with several columns says where its columns are."""
    ready.file("suite.yaml", SUITE.replace("target: cmd:cat", "target: [cmd:cat, cmd:echo apple]"))
    ready.run("eval", "suite.yaml", "--judge", ready.judge().spec)
    for form in ("inspect", "langfuse", "mlflow", "parquet"):
        refused = ready.run("show", "--format", form)
        assert refused.is_refusal and "--kind column" in refused.err


@pytest.mark.parametrize(
    ("form", "named", "not_named"),
    [
        ("csv", ("quotes and suggestions", "the verdict of the run"), "baseline"),
        ("jsonl", ("votes and suggestions of each judge",), "baseline"),
        ("sarif", ("cases that passed", "scores, weights"), "baseline"),
        ("inspect", (), "no place"),
        ("json", (), "no place"),
    ],
)
def test_every_export_names_what_it_leaves_out(
    ready: Desk, form: str, named: tuple[str, ...], not_named: str
) -> None:
    """On stderr, so that what is written stays what it is; a format that holds all of a run says
    nothing.
    """
    ready.file("suite.yaml", SUITE)
    assert ready.run("eval", "suite.yaml", "--judge", ready.judge().spec).code == 1
    shown = ready.run("show", "--format", form)
    assert shown.code == 0
    assert all(one in shown.err for one in named) and not_named not in shown.err
    assert "no place" not in shown.out


def test_a_comparison_is_named_where_there_is_one(ready: Desk) -> None:
    """A run with a baseline has more to leave out."""
    ready.file("suite.yaml", SUITE)
    judge = ready.judge().spec
    assert ready.run("eval", "suite.yaml", "--judge", judge).code == 1
    ready.run("eval", "suite.yaml", "--judge", judge, "--baseline", "last")
    for form in ("csv", "jsonl", "sarif"):
        shown = ready.run("show", "--format", form)
        assert shown.code == 0 and "the comparison with a baseline" in shown.err


def test_findings_of_artifacts_name_what_they_leave_out(ready: Desk) -> None:
    """An artifact has no cases to leave out."""
    ready.file("bad.md", "stone\n")
    ready.run("eval", "bad.md", "--rubric", "rubric.yaml", "--judge", ready.judge().spec)
    shown = ready.run("show", "--format", "sarif")
    assert "no place for: items that are met; scores, weights and the verdict" in shown.err
    assert "cases" not in shown.err


@pytest.mark.slow
def test_mlflow_is_needed_where_it_is_asked_for(ready: Desk) -> None:
    """Without the extra, and with the small client and the address of a database, the message says
    what to install.
    """
    ready.file("suite.yaml", SUITE)
    assert ready.run("eval", "suite.yaml", "--judge", ready.judge().spec).code == 1
    ready.file("without/mlflow.py", "raise ImportError('not installed')\n")
    ready.file("small/mlflow.py", "class MlflowClient: pass\n")
    env = {"MLFLOW_TRACKING_URI": "sqlite:///mlflow.db"}
    refused = ready.run(
        "show", "--format", "mlflow", env=env | {"PYTHONPATH": str(ready.folder / "without")}
    )
    assert refused.is_refusal and "pip install 'honestone[mlflow]'" in refused.err
    if importlib.util.find_spec("sqlalchemy") is None:
        refused = ready.run(
            "show", "--format", "mlflow", env=env | {"PYTHONPATH": str(ready.folder / "small")}
        )
        assert refused.is_refusal and "pip install mlflow, or name a server" in refused.err
