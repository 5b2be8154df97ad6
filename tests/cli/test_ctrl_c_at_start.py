"""Ctrl-C in the first second: one line, exit code 130, and no traceback, wherever the program is."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time

import pytest

from .desk import HONESTONE, Desk

pytestmark = pytest.mark.slow

# Sends itself SIGINT when its n-th module is imported, then runs the command as the installed
# script does.
_AT_IMPORT = """
import os, re, signal, sys
left = int(sys.argv.pop(1))
class Hook:
    def find_spec(self, name, path=None, target=None):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Hook())
from honestone.__main__ import main
main()
"""

COMMANDS = (
    ("eval", "note.md", "-r", "rubric.yaml", "--judge", "JUDGE", "-q"),
    ("runs",),
    ("doctor",),
    ("rubric", "check", "rubric.yaml"),
    ("improve", "--help"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_at_the_import_of_a_module(ready: Desk, command: tuple[str, ...]) -> None:
    """Whatever is being imported: the program's own entry, click, the command, what that needs."""
    judge = ready.judge()
    words = [judge.spec if word == "JUDGE" else word for word in command]
    for number in (4, 5, 6, 7, 9, 13, 20, 33, 54, 88, 140, 230):
        ended = subprocess.run(
            [sys.executable, "-c", _AT_IMPORT, str(number), *words],
            cwd=ready.folder,
            env=ready.env,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        # Few modules are imported by some commands; then the signal is never sent.
        assert ended.returncode == 130 or (number >= 20 and ended.returncode in (0, 1, 2)), (
            number,
            ended,
        )
        assert "Traceback" not in ended.stderr, (number, ended.stderr)
        assert "Exception ignored" not in ended.stderr, (number, ended.stderr)


def test_at_any_moment_in_a_terminal(ready: Desk) -> None:
    """The real command in a pseudo-terminal. What Python and the script of pip do before the
    program's first line is theirs.
    """
    judge = ready.judge("slow", "time.sleep(1)\nprint(json.dumps(reply()))")
    for moment in range(0, 1000, 75):
        output, code = _interrupted(
            ready, moment / 1000, "eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec
        )
        assert b"src/honestone" not in output and b"honestone/cli" not in output, (moment, output)
        is_python_unready = b"Fatal Python error: init_" in output
        assert code in (130, -signal.SIGINT) or is_python_unready, (moment, code, output)


def _interrupted(ready: Desk, moment: float, *words: str) -> tuple[bytes, int]:
    """What a command prints on a terminal, and its exit code, where Ctrl-C comes so many seconds
    after its start.
    """
    ours, its = pty.openpty()
    with subprocess.Popen(
        [HONESTONE, *words],
        cwd=ready.folder,
        env=ready.env,
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    ) as process:
        os.close(its)
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        found = b""
        try:
            while part := os.read(ours, 65536):
                found += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        return found, process.wait(60)
