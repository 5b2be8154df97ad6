"""A command that is forked from the imported program (`tools/warm.py`) is what the installed one
is.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import warm

RUBRIC = """\
rubric: 1
criteria:
  - id: fruit
    requirement: It names a fruit
    items:
      - {id: apple, requirement: It says apple, check: {contains: apple}}
      - {id: count, requirement: It has a number, check: {regex: '[0-9]'}}
"""
BASE = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "NO_COLOR": "1"}

pytestmark = pytest.mark.skipif(warm.command() == warm.HONESTONE, reason="needs /proc and mkfifo")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    (tmp_path / "good.md").write_text("one apple, 1\n")
    (tmp_path / "bad.md").write_text("a pear\n")
    (tmp_path / "sub").mkdir()
    return tmp_path


def run(
    program: str, folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: str = ""
) -> tuple[int, str, str]:
    given = {**BASE, "HOME": str(folder), **(env or {})}
    ended = subprocess.run(
        [program, *words],
        cwd=folder,
        env=given,
        input=stdin,
        text=True,
        capture_output=True,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr


def shell(program: str, folder: Path, script: str) -> tuple[int, str, str]:
    return run("/bin/sh", folder, "-c", script.replace("honestone", program))


def both(
    folder: Path, *words: str, env: Mapping[str, str] | None = None, stdin: str = ""
) -> tuple[int, str, str]:
    """What the two printed, once it is the same."""
    ours = run(warm.command(), folder, *words, env=env, stdin=stdin)
    assert ours == run(warm.HONESTONE, folder, *words, env=env, stdin=stdin)
    return ours


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["eval", "--help"], 0),
        (["eval", "good.md", "--rubric", "rubric.yaml", "--format", "exotic"], 2),
        (["rubric", "check", "rubric.yaml"], 0),
        (["rubric", "check", "none.yaml"], 2),
        (["eval", ""], 2),
        (["evla"], 2),
        (["runs"], 2),
        (["rubric", "check", "two\nlines\u2028 and \udcff"], 2),
    ],
)
def test_both_say_the_same(folder: Path, words: list[str], code: int) -> None:
    """Exit code, stdout and stderr, with words that are empty, hold a line break or are no text."""
    assert both(folder, *words)[0] == code


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("good.md", 0), ("bad.md", 1)])
def test_both_come_to_the_same_verdict(folder: Path, name: str, code: int) -> None:
    """The second command of one folder and program sees what the first recorded, and nothing else
    of it.
    """
    documents = []
    for program in (warm.command(), warm.HONESTONE):
        for _ in range(2):
            ended = run(
                program, folder, "eval", name, "--rubric", "rubric.yaml", "--fresh", "--json"
            )
            assert ended[0] == code, ended[2]
            documents.append(json.loads(ended[1]))
    scores = [
        (document["score"], document["interval"], document["reasons"]) for document in documents
    ]
    assert scores == [scores[0]] * 4
    assert len(json.loads(run(warm.command(), folder, "runs", "--json")[1])) == 4


@pytest.mark.slow
def test_environment_folder_and_stdin_are_the_callers(folder: Path) -> None:
    """A variable of one command is not there for the next one; a locale or Python's own path starts
    Python for itself.
    """
    both(folder, "doctor", "--json", env={"OLLAMA_HOST": "http://127.0.0.1:9", "COLUMNS": "60"})
    both(folder, "doctor", "--json")
    both(folder, "--help", env={"LC_ALL": "C", "PYTHONWARNINGS": "error"})
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text("print('started for itself', flush=True)\n")
    assert both(folder, "--version", env={"PYTHONPATH": "site"})[1].startswith("started for itself")
    reply = both(
        folder, "judge", "read", "--rubric", "rubric.yaml", stdin="nothing that can be read\n"
    )
    assert reply[0] != 0


@pytest.mark.slow
def test_streams_and_file_mask_are_the_shells(folder: Path) -> None:
    """Pipes, files written from the start and at their end, a mask, a folder changed on the way,
    and a closed stderr.
    """
    script = (
        "honestone --version > new; honestone --version >> new; cat new; honestone --help | head -n 1; cd sub; umask 077; "
        "honestone init > /dev/null; ls -l | cut -c1-10; honestone eval none.md 2>&-; echo $?; honestone evla 2>&1 > /dev/null"
    )
    found = []
    for program in (warm.command(), warm.HONESTONE):
        found.append(shell(program, folder, script))
        subprocess.run(["rm", "-r", str(folder / "sub")], check=True)
        (folder / "sub").mkdir()
    assert found[0] == found[1]
    assert "-rw-------" in found[0][1]


def test_many_at_once_get_their_own_answers(folder: Path) -> None:
    """Codes and outputs are not mixed up."""
    words = [
        ["rubric", "check", f"none{number}.yaml"] if number % 2 else ["--version"]
        for number in range(12)
    ]
    started = [
        subprocess.Popen(
            [warm.command(), *one],
            cwd=folder,
            env=BASE,
            stdin=subprocess.DEVNULL,
            stdout=-1,
            stderr=-1,
            text=True,
        )
        for one in words
    ]
    for number, process in enumerate(started):
        out, err = process.communicate(timeout=600)
        if number % 2:
            assert (process.returncode, out) == (2, "") and f"none{number}.yaml" in err
        else:
            assert (process.returncode, err) == (0, "") and out.startswith("honestone ")


def test_who_is_killed_takes_the_command_with_it(folder: Path) -> None:
    """A time limit of a test leaves no process behind, and the next command is served."""
    marker = folder / "alive"
    (folder / "judge.py").write_text(
        f"import os, time\nopen({str(marker)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    judge = f"script:{sys.executable} -I -S judge.py"
    (folder / "plain.yaml").write_text("rubric: 1\ncriteria: [It names a fruit]\n")
    command = [warm.command(), "eval", "good.md", "--rubric", "plain.yaml", "--judge", judge]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**BASE, "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=-1,
        stderr=-1,
    )
    while not (marker.exists() and marker.read_text()):
        assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate(timeout=600)
    assert run(warm.command(), folder, "--version")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command(folder: Path, sent: signal.Signals) -> None:
    """It ends as the installed one does, with its own code and last words."""
    found = []
    for program in (warm.command(), warm.HONESTONE):
        process = subprocess.Popen(
            [program, "view", "--json", "--no-open", "--port", "0"],
            cwd=folder,
            env={**BASE, "HOME": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=-1,
            stderr=-1,
            text=True,
        )
        assert process.stdout is not None and process.stdout.readline()
        process.send_signal(sent)
        _, err = process.communicate(timeout=600)
        code = process.returncode
        found.append((code if code >= 0 else 128 - code, err))
    assert found[0] == found[1]


def test_a_fork_of_the_tests_that_ends_leaves_the_server_to_the_others(folder: Path) -> None:
    """The attacks fork the tests' process, and end the fork as a program ends."""
    warm.command()
    child = os.fork()
    if child == 0:
        try:
            atexit._run_exitfuncs()
        finally:
            os._exit(7)
    end = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
        time.sleep(0.01)
    if ended[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 7
    assert run(warm.command(), folder, "--version")[0] == 0
