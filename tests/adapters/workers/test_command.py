"""`cmd:` workers: a command in a private copy, and how its end is told apart."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
import time
from pathlib import Path

import pytest

from honestone.adapters.workers.command import CommandWorker
from honestone.ports import Brief, WorkDone
from honestone.system.processes.commands import anchor_program
from honestone.system.processes.program import Program

BRIEF = Brief(text="Improve früh ☕ only.\n", focus=("one",))


def worker(
    base: Path, body: str, *, timeout: float = 20, pass_env: tuple[str, ...] = ()
) -> CommandWorker:
    script = base / "w.py"
    script.write_text("import json, os, sys, time\n" + textwrap.dedent(body))
    argv = [sys.executable, "-I", "-S", str(script)]
    return CommandWorker("cmd:w", Program(argv=argv, cwd=base, timeout=timeout, pass_env=pass_env))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "note.md").write_text("old")
    return tmp_path / "copy" / "note.md"


def propose(work: CommandWorker, place: Path) -> WorkDone:
    brief_file = place.parent.parent / "brief.md"
    brief_file.write_text(BRIEF.text, encoding="utf-8")
    return asyncio.run(work.propose(BRIEF, place, brief_file))


def test_it_gets_the_brief_and_the_place_and_works_in_the_copy(tmp_path: Path, place: Path) -> None:
    """Brief on stdin and as a file, the artifact's path in the environment, the copy as working
    directory.
    """
    body = """
    told = sys.stdin.buffer.read()
    assert told == open(os.environ["HONESTONE_BRIEF"], "rb").read()
    assert "früh ☕".encode() in told
    assert os.path.samefile(os.environ["HONESTONE_ARTIFACT"], "note.md")
    open("note.md", "w").write("new")
    print("thinking")
    print("done")
    """
    done = propose(worker(tmp_path, body), place)
    assert (done.ended, done.exit, done.message) == ("exited", 0, "done")
    assert place.read_text() == "new"


def test_of_a_folder_the_folder_is_the_working_directory(tmp_path: Path, place: Path) -> None:
    """For a folder artifact the command starts inside it."""
    done = propose(worker(tmp_path, "open('made', 'w').write('x')"), place.parent)
    assert done.ended == "exited"
    assert (place.parent / "made").exists()


@pytest.mark.parametrize(
    ("body", "ended", "words"),
    [
        ("sys.exit('no money left')", "crashed", "exit code 1: no money left"),
        ("sys.exit(3)", "crashed", "exit code 3"),
        ("os.kill(os.getpid(), 9)", "crashed", "signal 9"),
        ("time.sleep(30)", "timeout", "0.3 s"),
    ],
)
def test_bad_ends_are_told_apart(
    tmp_path: Path, place: Path, body: str, ended: str, words: str
) -> None:
    """Crash, signal and time-out, each with its last words."""
    done = propose(worker(tmp_path, body, timeout=0.3 if "sleep" in body else 20), place)
    assert done.ended == ended
    assert words in done.message


def test_what_it_started_ends_with_it(tmp_path: Path, place: Path) -> None:
    """A child left behind writes nothing after the proposal is over."""
    body = """
    if os.fork() == 0:
        while not os.path.exists("go"):
            time.sleep(0.01)
        open("late", "w").write("x")
        os._exit(0)
    """
    assert propose(worker(tmp_path, body), place).ended == "exited"
    (place.parent / "go").touch()
    time.sleep(0.5)
    assert not (place.parent / "late").exists()


def test_a_program_that_is_gone_is_a_crash_and_no_exception(tmp_path: Path, place: Path) -> None:
    """Deleted between two rounds: the outcome says that it could not be started."""
    gone = CommandWorker("cmd:x", Program(argv=[str(tmp_path / "gone")], cwd=tmp_path, timeout=5))
    done = propose(gone, place)
    assert done.ended == "crashed"
    assert "could not be started" in done.message


def test_a_key_reaches_it_only_by_name(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SOME_API_KEY stays outside unless it is passed on."""
    monkeypatch.setenv("SOME_API_KEY", "sk-1")
    body = "open('env', 'w').write(json.dumps(dict(os.environ)))"
    propose(worker(tmp_path, body), place)
    assert "sk-1" not in (place.parent / "env").read_text()
    propose(worker(tmp_path, body, pass_env=("SOME_API_KEY",)), place)
    assert json.loads((place.parent / "env").read_text())["SOME_API_KEY"] == "sk-1"


def test_its_identity_follows_its_program(tmp_path: Path) -> None:
    """An edited script is another worker; a time limit is not."""
    first = worker(tmp_path, "pass").identity
    assert worker(tmp_path, "pass", timeout=3).identity == first
    assert worker(tmp_path, "pass # v2").identity != first


def test_relative_programs_work_from_any_folder(tmp_path: Path) -> None:
    """The program and an interpreter's script become absolute; options and files of the artifact
    stay as they are.
    """
    artifact = tmp_path / "skill"
    artifact.mkdir()
    for path in (tmp_path / "tool.sh", tmp_path / "fix.py", artifact / "own.py"):
        path.write_text("")

    def anchored(*words: str) -> list[str]:
        return anchor_program(words, tmp_path, artifact=artifact)

    assert anchored("./tool.sh", "a") == [str(tmp_path / "tool.sh"), "a"]
    assert anchored("python3", "-u", "fix.py", "fix.py") == [
        "python3",
        "-u",
        str(tmp_path / "fix.py"),
        "fix.py",
    ]
    assert anchored("python3", "skill/own.py") == ["python3", "skill/own.py"]
    assert anchored("sed", "-i", "s/a/b/", "fix.py") == ["sed", "-i", "s/a/b/", "fix.py"]
    assert anchored("python3", "-c", "pass") == ["python3", "-c", "pass"]
    assert anchored("./none.sh") == ["./none.sh"]
