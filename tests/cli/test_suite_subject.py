"""What a suite's runs are filed under: the path from the folder of the settings, in whichever
checkout.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

from tests.cli.desk import Desk

SUITE = """suite: 1
cases:
  - {id: good, input: good, checks: [{contains: [good]}]}
  - {id: bad, input: bad, checks: [{contains: [good]}]}
"""
EVAL = ("eval", "suites/suite.yaml", "--target", "cmd:cat", "--sandbox", "none", "--json", "-q")


def prepared(desk: Desk) -> None:
    desk.file("honestone.toml", "[store]\nproject = 'fruit'\n")
    desk.file("suites/suite.yaml", SUITE)


def cases(desk: Desk, *args: str, cwd: Path | None = None) -> list[str]:
    done = desk.run(*EVAL, *args) if cwd is None else desk.run(*EVAL, *args, cwd=cwd)
    assert done.code == 1, done.err
    return [case["id"] for case in json.loads(done.out)["cases"]]


def test_the_path_is_that_from_the_settings(desk: Desk) -> None:
    prepared(desk)
    cases(desk)
    assert [one["subject"] for one in json.loads(desk.run("runs", "--json").out)] == [
        "suites/suite.yaml"
    ]
    assert cases(desk, "--failed") == ["bad"]


def test_a_folder_that_was_moved_finds_its_runs(desk: Desk) -> None:
    """As a second checkout does that shares a store with the first."""
    prepared(desk)
    cases(desk)
    other = desk.folder.parent / "moved"
    shutil.copytree(desk.folder, other)
    moved = Desk(other, desk.home, desk.logs)
    # A copy of a store is not one that this account made, until a person takes it in.
    assert moved.run("trust", "store").code == 0
    assert cases(moved, "--failed") == ["bad"]


def test_runs_that_were_filed_under_an_absolute_path_are_found(desk: Desk) -> None:
    prepared(desk)
    cases(desk)
    with sqlite3.connect(desk.store / "store.db") as db:
        db.execute(
            "update runs set subject = ?, project = null",
            (str((desk.folder / "suites/suite.yaml").resolve()),),
        )
    assert cases(desk, "--failed") == ["bad"]


def test_a_suite_of_the_same_name_in_another_project_is_another_one(desk: Desk) -> None:
    """Both in one store: what failed in one is not what failed in the other."""
    prepared(desk)
    home = {"HONESTONE_HOME": str(desk.folder.parent / "both")}
    first = Desk(desk.folder, desk.home, desk.logs, extra=home)
    cases(first)
    other = desk.folder.parent / "other"
    shutil.copytree(desk.folder, other)
    (other / "honestone.toml").write_text("[store]\nproject = 'nuts'\n")
    second = Desk(other, desk.home, desk.logs, extra=home)
    done = second.run(*EVAL, "--failed")
    assert done.code == 2 and "no finished run" in done.err
    assert cases(first, "--failed") == ["bad"]
