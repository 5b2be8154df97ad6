"""Traces and damage: nothing is left behind, damage is one clear error, and an error of ours is no
verdict.
"""

from __future__ import annotations

import os
import pty
import signal
import sqlite3
import stat
import subprocess
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from .corpus import HONESTONE, PYTHON, Attack, Desk

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
EVAL = ("eval", "a.md", "--rubric", "r.yaml")


def desk_at(root: Path) -> tuple[Desk, tuple[str, ...]]:
    """A desk, and the words of an `eval` that passes on it."""
    desk = Desk.new(root)
    desk.put("a.md", "text\n")
    desk.put("r.yaml", ONE)
    return desk, (*EVAL, "--judge", desk.judge("y.py", True))


def database(desk: Desk, *statements: str) -> None:
    (path,) = (desk.folder / ".honestone").glob("*.db")
    db = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        db.execute(statement)
    db.close()


def waited(condition: object, seconds: float = 60) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():  # type: ignore[operator]
            return True
        time.sleep(0.05)
    return False


def damaged(
    name: str,
    exit: int,
    *statements: str,
    command: tuple[str, ...] = ("show", "last"),
    says: tuple[str, ...] = (),
) -> Attack:
    """A store in which a row is damaged, and what a command makes of it."""

    def build(desk: Desk) -> Iterable[str]:
        desk.put("a.md", "text\n")
        desk.put("r.yaml", ONE)
        judge = ["--judge", desk.judge("y.py", True)]
        desk.run(*EVAL, *judge)
        database(desk, *statements)
        return judge if command == EVAL else []

    return Attack(name=name, hole=12, build=build, command=command, exit=exit, says=says)


ERROR = ("error: ", "hint: ")
ATTACKS = [
    damaged("honest store", 0, "select 1"),
    damaged("an event that is no JSON", 2, "update events set data = x'7b7b'", says=ERROR),
    damaged("an event that is no text", 2, "update events set data = x'ff00ff'", says=ERROR),
    damaged(
        "an event that is a list", 2, "update events set data = cast('[1]' as blob)", says=ERROR
    ),
    damaged(
        "an event that is a number", 2, "update events set data = cast('7' as blob)", says=ERROR
    ),
    damaged(
        "an event without its parts",
        2,
        """update events set data = cast('{"type": "started", "kind": "eval"}' as blob)""",
        says=ERROR,
    ),
    damaged(
        "an event with parts of another kind",
        2,
        """update events set data = cast('{"type": "judged", "ballots": 5}' as blob) where seq = 2""",
        says=ERROR,
    ),
    damaged("an event cut off", 2, "update events set data = substr(data, 1, 40)", says=ERROR),
    damaged("a version below zero", 2, "pragma user_version = -5", says=ERROR),
    damaged("a version from the future", 2, "pragma user_version = 99", says=ERROR),
    damaged(
        "a run list beside damaged events", 0, "update events set data = x'7b7b'", command=("runs",)
    ),
    damaged("an eval beside damaged events", 0, "update events set data = x'7b7b'", command=EVAL),
    damaged("a reply that is no JSON", 0, "update replies set data = x'ff'", command=EVAL),
    damaged(
        "a reply that is a list", 0, "update replies set data = cast('[1]' as blob)", command=EVAL
    ),
    damaged(
        "a reply without its parts", 0, "update replies set data = cast('{}' as blob)", command=EVAL
    ),
    damaged(
        "a reply of other kinds",
        0,
        """update replies set data = cast('{"text": 5}' as blob)""",
        command=EVAL,
    ),
    damaged("no table of replies", 2, "drop table replies", command=EVAL, says=ERROR),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


def test_checks_on_record_that_cannot_be_read_are_made_again(tmp_path: Path) -> None:
    """Many files judged by code alone keep their answers in bulk; damage there costs time, not a
    verdict.
    """
    desk = Desk.new(tmp_path)
    desk.put("a.md", "text\n")
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: c, requirement: r, check: {contains: text}}]\n")
    assert desk.run(*EVAL).code == 0
    for data in (
        "x'ff'",
        "cast('[1]' as blob)",
        "cast('{}' as blob)",
        "cast('{\"c\": 5}' as blob)",
    ):
        database(desk, f"update replies set data = {data}")
        ended = desk.run(*EVAL)
        assert ended.code == 0 and "Traceback" not in ended.err, ended


@pytest.mark.parametrize(
    "raised",
    [
        "ZeroDivisionError('planted')",
        "AssertionError('planted')",
        "MemoryError('planted')",
        "RecursionError('planted')",
        "KeyError('planted')",
    ],
)
def test_a_crash_is_no_verdict(tmp_path: Path, raised: str) -> None:
    """Exit 70, one line, and a file for this person alone that holds the trace."""
    desk, words = desk_at(tmp_path)
    desk.put(
        "site/sitecustomize.py",
        f"import sqlite3\ndef connect(*a, **k): raise {raised}\nsqlite3.connect = connect\n",
    )
    ended = subprocess.run(
        [HONESTONE, *words],
        cwd=desk.folder,
        env={**desk.env, "PYTHONPATH": str(desk.folder / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (
        ended.returncode == 70 and "planted" in ended.stderr and "Traceback" not in ended.stderr
    ), ended
    (line,) = [line for line in ended.stderr.splitlines() if "planted" in line]
    trace = Path(line.split()[-1])
    assert (
        stat.S_IMODE(trace.stat().st_mode) == 0o600
        and "Traceback" in trace.read_text()
        and trace.is_relative_to(desk.folder / ".honestone")
    )


def test_a_crash_without_a_store_has_a_trace_too(tmp_path: Path) -> None:
    """Where the store cannot hold it, the folder for temporary files does."""
    desk, words = desk_at(tmp_path)
    desk.put(
        "site/sitecustomize.py",
        "import sqlite3\ndef connect(*a, **k): raise KeyError('planted')\nsqlite3.connect = connect\n",
    )
    env = {**desk.env, "PYTHONPATH": str(desk.folder / "site"), "HONESTONE_HOME": "/proc/none"}
    desk.put("r.yaml", ONE)
    ended = subprocess.run(
        [HONESTONE, *words], cwd=desk.folder, env=env, capture_output=True, text=True, check=False
    )
    assert ended.returncode in (2, 70) and "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    "tail", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "| head -c 0", "--json | true", "> /dev/full"]
)
def test_a_closed_stream_ends_quietly(tmp_path: Path, tail: str) -> None:
    """Nobody reads: no trace, and the store is whole."""
    desk, words = desk_at(tmp_path)
    line = f'"$0" {" ".join(repr(word) for word in words)} {tail}'
    ended = subprocess.run(
        ["sh", "-c", line, HONESTONE],
        cwd=desk.folder,
        env=desk.env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in ended.stderr and "Exception ignored" not in ended.stderr
    assert desk.run("show", "last").code == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_folders_of_a_loop_that_was_ended_are_swept(tmp_path: Path, number: int) -> None:
    """A copy of the artifact does not stay in the folder for temporary files."""
    desk, words = desk_at(tmp_path)
    desk.put("z.yaml", "rubric: 1\ncriteria: [{id: c, requirement: r, check: {contains: zzz}}]\n")
    worker = desk.worker("import time; (desk / 'begun').write_text('x'); time.sleep(60)\n")
    loop = desk.start("improve", "a.md", "--rubric", "z.yaml", "--worker", worker)
    assert waited(lambda: desk.has("begun"))
    left = os.listdir(tmp_path / "tmp")
    loop.send_signal(number)
    loop.communicate()
    assert left and desk.run(*words).code == 0
    assert [name for name in os.listdir(tmp_path / "tmp") if name.startswith("honestone-")] == []


WAITING = """
import pathlib, sys, threading
pathlib.Path(DESK, 'asked').touch()
threading.Event().wait()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_run_whose_check_takes_for_ever(
    number: signal.Signals, tmp_path: Path
) -> None:
    """A judge is asked while the check is made, and the signal ends both at once: 150 files with
    a pattern of five seconds each.
    """
    desk = Desk.new(tmp_path)
    for n in range(150):
        desk.put(f"art/{n}.md", "a" * 3000 + "!")
    desk.put("j.py", WAITING.replace("DESK", repr(str(desk.folder))))
    check = "{not-regex: '(a+)+$', path: '*.md'}"
    desk.put(
        "r.yaml",
        "rubric: 1\ncriteria: [{id: good, requirement: It is good}, "
        f"{{id: short, requirement: It is, check: {check}}}]\n",
    )
    judge = f"script:{PYTHON} j.py"
    running = desk.start("eval", "art", "--rubric", "r.yaml", "--judge", judge)
    assert waited(lambda: desk.has("asked"))
    running.send_signal(number)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 130 and "interrupted" in err, err
    assert "Traceback" not in err


def test_a_folder_that_is_in_use_stays(tmp_path: Path) -> None:
    """What another process works in is not swept."""
    desk, words = desk_at(tmp_path)
    desk.put("z.yaml", "rubric: 1\ncriteria: [{id: c, requirement: r, check: {contains: zzz}}]\n")
    body = "import time; (desk / 'begun').write_text('x')\nwhile not (desk / 'go').exists(): time.sleep(0.05)\na.write_text('zzz')\n"
    loop = desk.start("improve", "a.md", "--rubric", "z.yaml", "--worker", desk.worker(body))
    assert waited(lambda: desk.has("begun")) and desk.run(*words).code == 0
    desk.put("go", "")
    loop.communicate()
    assert loop.returncode == 0 and desk.read("a.md") == "zzz"


PROGRAMS = {
    "judge": "time.sleep(3); (here / 'late').write_text('x')",
    "child-of-a-judge": "subprocess.Popen(['sh', '-c', f'sleep 3; echo x > {here}/late']).wait()",
    "ignores-signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGHUP, signal.SIG_IGN); time.sleep(3); (here / 'late').write_text('x')",
}


@pytest.mark.parametrize("kind", list(PROGRAMS))
@pytest.mark.parametrize("how", ["script", "check"])
def test_a_program_ends_with_us(tmp_path: Path, kind: str, how: str) -> None:
    """SIGKILL leaves us no time to end anything; still nothing runs on."""
    desk, _ = desk_at(tmp_path)
    head = f"import pathlib, signal, subprocess, time\nhere = pathlib.Path({str(desk.folder)!r})\n(here / 'begun').write_text('x')\n"
    desk.put("slow.py", head + PROGRAMS[kind] + "\n")
    judge = (
        ("--judge", f"script:{PYTHON} {desk.folder / 'slow.py'}")
        if how == "script"
        else ("--sandbox", "none")
    )
    if how == "check":
        desk.put(
            "r.yaml",
            f"rubric: 1\ncriteria: [{{id: c, requirement: r, check: {{command: '{PYTHON} {desk.folder / 'slow.py'}'}}}}]\n",
        )
    running = desk.start(*EVAL, *judge)
    assert waited(lambda: desk.has("begun"))
    running.kill()
    running.communicate()
    time.sleep(4)
    assert not desk.has("late")


@pytest.mark.parametrize("old", [False, True])
def test_the_store_is_for_this_person_alone(tmp_path: Path, old: bool) -> None:
    """Prompts, texts and replies are in it. One of an older version is closed when it is opened."""
    before = os.umask(0o022)
    try:
        desk, words = desk_at(tmp_path)
        if old:
            (desk.folder / ".honestone").mkdir(mode=0o755)
        desk.run(*words)
        worker = desk.worker("a.write_text('text zzz')\n")
        desk.put(
            "z.yaml", "rubric: 1\ncriteria: [{id: c, requirement: r, check: {contains: zzz}}]\n"
        )
        desk.run("improve", "a.md", "--rubric", "z.yaml", "--worker", worker)
    finally:
        os.umask(before)
    store = desk.folder / ".honestone"
    assert {oct(path.stat().st_mode & 0o077) for path in (store, *store.rglob("*"))} == {"0o0"}
    assert (desk.folder / "a.md").stat().st_mode & 0o777 == 0o644


def test_ids_sort_by_creation_whatever_the_clock_says(tmp_path: Path) -> None:
    """The clock goes back a year: `last` is the run just made."""
    desk, words = desk_at(tmp_path)
    first = desk.run(*words, "--json").json["run"]
    database(
        desk,
        "update runs set id = '7' || substr(id, 2)",
        "update events set run = '7' || substr(run, 2)",
    )
    second = desk.run(*words, "--json").json["run"]
    assert (
        second > "7" + first[1:]
        and desk.run("show", "last", "--format", "json").json["run"] == second
    )


def on_terminal(desk: Desk, *words: str) -> str:
    """What a terminal would get."""
    ours, its = pty.openpty()
    try:
        child = desk.start(*words, stdout=its, stderr=its)
        os.close(its)
        found = b""
        with suppress(OSError):  # the other end is closed
            while part := os.read(ours, 65536):
                found += part
        child.wait(60)
    finally:
        os.close(ours)
    return found.decode("utf-8", "replace")


def test_a_diff_moves_nothing_on_a_terminal(tmp_path: Path) -> None:
    """Escapes that a worker wrote are shown by name on a terminal, and as they are in a pipe."""
    desk = Desk.new(tmp_path)
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: q, requirement: m, check: {contains: more}}]\n")
    desk.put("a.md", "text\n")
    worker = desk.worker(r"a.write_text('more\x1b]0;owned\x07\u202e\rx')")
    assert desk.run("improve", "a.md", "--rubric", "r.yaml", "--worker", worker).code == 0
    for words in (("--format", "diff"), ("--version", "best")):
        shown = on_terminal(desk, "show", "last", *words)
        assert "\x1b]0;" not in shown and "\u202e" not in shown and "\\x1b]0;owned" in shown
        assert "\x1b]0;owned" in desk.run("show", "last", *words).out


@pytest.mark.parametrize("kind", ["trigger", "view"])
def test_what_no_version_makes_is_named_by_check(tmp_path: Path, kind: str) -> None:
    """A trigger or view in the database is somebody else's, and `store check` says so."""
    desk = Desk.new(tmp_path)
    desk.put("r.yaml", "rubric: 1\ncriteria: [{id: q, requirement: m, check: {contains: more}}]\n")
    desk.put("a.md", "more\n")
    assert desk.run("eval", "a.md", "--rubric", "r.yaml").code == 0
    assert desk.run("store", "check").code == 0
    made = {
        "trigger": "create trigger odd after insert on events begin delete from replies; end",
        "view": "create view odd as select 1",
    }
    with closing(sqlite3.connect(desk.folder / ".honestone/store.db")) as db:
        db.execute(made[kind])
        db.commit()
    ended = desk.run("store", "check")
    assert ended.code == 2 and f"{kind} odd" in ended.err, ended
