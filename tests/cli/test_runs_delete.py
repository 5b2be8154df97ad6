"""`runs delete`: what goes, what stays and why, and what is said of a run that is gone."""

from __future__ import annotations

import json
import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.stores.sqlite import SqliteStore

from .desk import HONESTONE, Desk
from .test_damaged_events import DATA, damage

SUITE = (
    "suite: 1\ntarget: 'cmd:cat'\ncases: [{id: one, input: hello, checks: [{contains: hello}]}]\n"
)


@pytest.fixture
def four(desk: Desk) -> Desk:
    """Four runs over texts of 50 kB that no other run has."""
    desk.file("r.yaml", "rubric: 1\ncriteria: [{id: a, requirement: It says note}]\n")
    for number in range(4):
        desk.file("a.md", f"note {number} {os.urandom(25_000).hex()}\n")
        assert desk.run("eval", "a.md", "-r", "r.yaml", "-j", "mock").code in (0, 3)
    return desk


def ids(desk: Desk) -> list[str]:
    """Of the runs on record, newest first."""
    return [run["id"] for run in desk.run("runs", "--json").json]


def deleted(desk: Desk, *words: str) -> Any:
    return desk.run("runs", "delete", *words, "--yes", "--json").json


def tabled(desk: Desk) -> str:
    """The id of a table of two columns."""
    desk.file("suite.yaml", SUITE)
    assert desk.run("eval", "suite.yaml", "--target", "cmd:cat", "--target", "cmd:cat -").code == 0
    return ids(desk)[0]


def improved(desk: Desk) -> str:
    """The id of an improvement by a suite, which has splits."""
    desk.file("prompt.md", "The answer.\n")
    desk.file("t.sh", 'cat "$HONESTONE_ARTIFACT"')
    cases = (
        f"{{id: {one}, split: {one}, input: hi, checks: [{{contains: done}}]}}"
        for one in ("train", "val", "test")
    )
    desk.file("tasks.yaml", f"suite: 1\ncases: [{', '.join(cases)}]\n")
    words = (
        "--target",
        "cmd:sh t.sh",
        "--worker",
        "cmd:sh -c 'echo done >> \"$HONESTONE_ARTIFACT\"'",
    )
    assert desk.run("improve", "prompt.md", "--suite", "tasks.yaml", *words).code == 0
    return next(run["id"] for run in desk.run("runs", "--json").json if run["kind"] == "improve")


def test_a_named_run_goes_and_is_said_to_be_gone(four: Desk) -> None:
    """Its space is given back; the others are as they were."""
    *left, gone = ids(four)
    document = deleted(four, gone)
    assert document["deleted"] == [gone] and document["kept"] == [] and document["bytes"] > 0
    assert ids(four) == left and four.run("show", left[0]).code == 0
    for words in (("show", gone), ("show", gone[:22]), ("runs", "delete", gone, "--yes")):
        refused = four.run(*words)
        assert refused.is_refusal and f"run {gone} was deleted on " in refused.err, words
    assert "no run '0000'" in four.run("show", "0000").err


def test_rules_say_which(four: Desk) -> None:
    """The newest stay; both rules together mean what each of them means."""
    newest, *others = ids(four)
    tried = four.run("runs", "delete", "--keep", "1", "--dry-run", "--json")
    assert tried.code == 0 and tried.json["deleted"] == others and len(ids(four)) == 4
    assert deleted(four, "--keep", "0", "--older-than", "1")["deleted"] == []
    assert deleted(four, "--older-than", "0", "--keep", "1")["deleted"] == others
    assert ids(four) == [newest]
    assert deleted(four, "--keep", "1") == {"deleted": [], "kept": [], "bytes": 0}


@pytest.mark.parametrize("words", [(), ("last", "--keep", "1"), ("last", "--older-than", "3")])
def test_it_must_be_said_which(four: Desk, words: tuple[str, ...]) -> None:
    refused = four.run("runs", "delete", *words, "--yes")
    assert refused.is_refusal and "name runs, or say which" in refused.err and len(ids(four)) == 4


def test_it_asks_first(four: Desk) -> None:
    """Without a person to ask nothing is deleted."""
    refused = four.run("runs", "delete", "last")
    assert refused.is_refusal and "--yes" in refused.err and len(ids(four)) == 4


def test_a_run_that_another_builds_on_stays(desk: Desk) -> None:
    """Exit 2 where it was named; both together go."""
    desk.file("suite.yaml", SUITE)
    assert desk.run("eval", "suite.yaml").code == 0
    (base,) = ids(desk)
    assert desk.run("eval", "suite.yaml", "--fresh", "--baseline", base).code == 0
    later = ids(desk)[0]
    refused = desk.run("runs", "delete", base, "--yes", "--json")
    assert refused.code == 2 and refused.json["deleted"] == []
    assert refused.json["kept"] == [{"run": base, "why": f"run {later} builds on it"}]
    by_rule = desk.run("runs", "delete", "--keep", "1", "--yes", "--json")
    assert by_rule.code == 0 and [one["run"] for one in by_rule.json["kept"]] == [base]
    assert deleted(desk, base, later)["deleted"] == [later, base] or not ids(desk)


def test_a_run_goes_with_those_inside_it(desk: Desk) -> None:
    """The rules count what the list shows: a table and its columns are one run, and so are an
    improvement and its splits.
    """
    tabled(desk)
    improved(desk)
    loop, table = (line.split()[2] for line in desk.run("runs").out.splitlines()[1:])
    tried = desk.run("runs", "delete", "--keep", "1", "--dry-run", "--json").json
    assert tried["dry_run"] is True and tried["bytes"] == 0
    kinds = {one["id"]: one["kind"] for one in desk.run("runs", "--kind", "column", "--json").json}
    assert tried["deleted"][0].startswith(table) and set(tried["deleted"][1:]) == set(kinds)
    (one, *inside) = deleted(desk, loop)["deleted"]
    assert one.startswith(loop) and len(inside) > 2
    assert [run["kind"] for run in desk.run("runs", "--json").json] == ["table"]
    assert "deleted 1 run with 2 inside" in desk.run("runs", "delete", "--keep", "0", "--yes").out


def test_what_another_run_needs_stays(desk: Desk) -> None:
    """Two runs over the same bytes: the second can still be undone when the first is gone."""
    desk.file("r.yaml", "rubric: 1\ncriteria: [{id: a, check: {contains: done}, fix: ./fix.sh}]\n")
    worker = "cmd:sh -c 'echo done >> \"$HONESTONE_ARTIFACT\"'"
    for _ in range(2):
        desk.file("a.md", "the original\n")
        assert desk.run("improve", "a.md", "-r", "r.yaml", "--worker", worker).code == 0
    second, first = ids(desk)
    assert deleted(desk, first)["deleted"] == [first]
    assert desk.run("undo", second).code == 0
    assert (desk.folder / "a.md").read_text() == "the original\n"


@pytest.mark.slow
def test_a_run_that_is_under_way_stays(desk: Desk) -> None:
    desk.file("suite.yaml", SUITE.replace("cmd:cat", "cmd:sh wait.sh"))
    desk.file("wait.sh", "echo > started; while [ ! -e go ]; do sleep 0.05; done; echo hello\n")
    eval_ = subprocess.Popen(
        [sys.executable, "-m", "honestone", "eval", str(desk.folder / "suite.yaml")],
        cwd=desk.folder,
        env=desk.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not ids_or_none(desk) and eval_.poll() is None:
        time.sleep(0.05)
    try:
        (run,) = ids(desk)
        refused = desk.run("runs", "delete", run, "--yes", "--json")
        assert refused.code == 2 and "under way" in refused.json["kept"][0]["why"]
    finally:
        desk.file("go", "")
        assert eval_.wait(60) == 0
    assert deleted(desk, run)["deleted"] == [run]


def ids_or_none(desk: Desk) -> list[str]:
    shown = desk.run("runs", "--json")
    return [run["id"] for run in shown.json] if shown.code == 0 else []


@pytest.mark.parametrize("at", [1, 3, 5, 9, 12, 14])
def test_a_kill_in_the_middle_leaves_all_or_nothing(four: Desk, at: int) -> None:
    """Killed at one of its statements: the run is there whole, or gone; the store is sound."""
    run = ids(four)[-1]
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from honestone.adapters.stores.sqlite import SqliteStore\n"
        "store, left = SqliteStore(Path(sys.argv[1])), [int(sys.argv[3])]\n"
        "run = store.find_run(sys.argv[2])\n"
        "def count(_):\n"
        "    left[0] -= 1\n"
        "    if not left[0]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "store._db.set_trace_callback(count)\n"
        "store.delete_runs([run], [])\n"
    )
    folder = four.folder / ".honestone"
    ended = subprocess.run([sys.executable, "-c", code, str(folder), run, str(at)], check=False)
    assert ended.returncode in (0, -signal.SIGKILL)
    with sqlite3.connect(
        folder / "store.sqlite" if (folder / "store.sqlite").exists() else database(folder)
    ) as db:
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    whole = run in ids(four)
    assert four.run("show", run).code == (0 if whole else 2)
    assert len(ids(four)) == (4 if whole else 3)


def database(folder: Path) -> Path:
    """The store's file."""
    from honestone.adapters.stores.unfinished import FILE

    return folder / FILE


def test_a_copy_of_a_store_knows_what_was_deleted(four: Desk, tmp_path: Path) -> None:
    gone = ids(four)[-1]
    deleted(four, gone)
    assert four.run("runs", "store", "copy", ".honestone", str(tmp_path / "copy")).code == 0
    refused = four.run("show", gone, "--store", str(tmp_path / "copy"))
    assert refused.is_refusal and "was deleted" in refused.err
    store = SqliteStore(tmp_path / "copy")
    assert len(store.runs()) == 3
    store.close()


@pytest.mark.parametrize("name", ["", "0", "01M8"])
def test_a_name_that_means_whatever_is_there_is_refused(four: Desk, name: str) -> None:
    """An empty variable of a script, or what all ids begin with, deletes nothing."""
    refused = four.run("runs", "delete", name, "--yes")
    assert refused.code == 2 and "too short" in refused.err
    assert len(four.run("runs", "--json").json) == 4


def test_days_beyond_the_calendar_are_refused(four: Desk) -> None:
    assert four.run("runs", "delete", "--older-than", "1e9", "--dry-run").code == 2


@pytest.mark.slow
def test_what_was_refused_is_still_said_after_the_question(desk: Desk) -> None:
    """A person at a terminal who says yes reads of both runs: the one that goes, and why one stays."""
    desk.file("suite.yaml", SUITE)
    assert desk.run("eval", "suite.yaml").code == 0
    (base,) = ids(desk)
    assert desk.run("eval", "suite.yaml", "--fresh", "--baseline", base).code == 0
    assert desk.run("eval", "suite.yaml", "--fresh").code == 0
    last = ids(desk)[0]
    _, document, code = asked(desk, base, last)
    assert document["deleted"] == [last]
    assert [one["run"] for one in document["kept"]] == [base]
    assert code == 2


def asked(
    desk: Desk, *runs: str, answer: str = "y", meanwhile: Callable[[], object] = lambda: None
) -> tuple[str, Any, int]:
    """What a person at a terminal is asked, the document and the exit code. `meanwhile` happens
    before the answer.
    """
    ours, its = pty.openpty()
    with subprocess.Popen(
        [HONESTONE, "runs", "delete", *runs, "--json"],
        cwd=desk.folder,
        env=desk.env,
        stdin=its,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stderr is not None
        question = ""
        while "[y/N]" not in question and (letter := command.stderr.read(1)):
            question += letter
        meanwhile()
        os.write(ours, f"{answer}\n".encode())
        shown, _ = command.communicate(timeout=60)
    os.close(ours)
    os.close(its)
    return question, json.loads(shown or "null"), command.returncode


@pytest.mark.slow
def test_what_joined_a_run_after_the_question_keeps_it(desk: Desk) -> None:
    """A split that an improvement made while the person thought is deleted by no yes."""
    loop = improved(desk)
    split = ids(desk)[0]
    kind = "update runs set kind = ? where id = ?"
    damage(desk, kind, "eval", split)
    question, document, code = asked(
        desk, loop, meanwhile=lambda: damage(desk, kind, "suite", split)
    )
    assert loop in question and split not in question
    assert document["deleted"] == [] and code == 2
    assert {"run": split, "why": "it began after you were asked"} in document["kept"]
    assert {loop, split} <= set(ids(desk))


@pytest.mark.parametrize(
    ("kind", "is_lost"), [("improve", True), ("stages", True), ("noise", False)]
)
def test_the_question_says_whether_undo_is_lost(four: Desk, kind: str, is_lost: bool) -> None:
    run = ids(four)[0]
    damage(four, "update runs set kind = ? where id = ?", kind, run)
    question, _, code = asked(four, run, answer="n")
    assert ("undo` of these runs is lost" in question) is is_lost and code != 0
    assert len(ids(four)) == 4


@pytest.mark.parametrize("data", [*DATA, None])
def test_a_table_that_cannot_be_read_is_deleted_as_others_are(
    desk: Desk, data: bytes | None
) -> None:
    """So is any other run beside it. None: its events are gone."""
    table = tabled(desk)
    assert desk.run("eval", "suite.yaml").code == 0
    other = ids(desk)[0]
    if data is None:
        damage(desk, "delete from events where run = ?", table)
    else:
        damage(desk, "update events set data = ? where run = ? and seq = 1", data, table)
    assert deleted(desk, other)["deleted"] == [other]
    assert table in deleted(desk, "--keep", "0")["deleted"] and ids(desk) == []


def test_a_column_without_a_table_goes_by_rule(four: Desk) -> None:
    """Its command was killed before the table began. It is no row, so it takes no place of one."""
    newest, *older = ids(four)
    table = tabled(four)
    for statement in ("delete from runs where id = ?", "delete from events where run = ?"):
        damage(four, statement, table)
    columns = {one["id"] for one in four.run("runs", "--kind", "column", "--json").json}
    assert len(columns) == 2
    assert set(deleted(four, "--keep", "1")["deleted"]) == set(older)
    assert set(deleted(four, "--keep", "0")["deleted"]) == {newest, *columns}


def test_a_column_named_beside_its_table_is_listed_inside_it(desk: Desk) -> None:
    table = tabled(desk)
    column = desk.run("runs", "--kind", "column", "--json").json[0]["id"]
    tried = desk.run("runs", "delete", column, table, "--dry-run").out.splitlines()
    assert [line.startswith("  ") for line in tried] == [False, True, True, False]
    assert table in tried[0]
