"""LoopRunner completion: the script is printed, and it completes."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from .desk import Desk


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed(desk: Desk, shell: str) -> None:
    """The script names our command and is not empty."""
    result = desk.run("completion", shell)
    assert result.code == 0, result.err
    assert "_HONESTONE_COMPLETE" in result.out
    assert "honestone" in result.out


def test_the_shell_is_taken_from_the_environment(desk: Desk) -> None:
    """Without a name `$SHELL` decides; an unknown one is refused with those that are known."""
    assert desk.run("completion", env={"SHELL": "/usr/bin/fish"}).out == desk.run("completion", "fish").out
    refused = desk.run("completion", env={"SHELL": "/bin/csh"})
    assert refused.is_refusal
    assert "bash, zsh, fish" in refused.err


@pytest.mark.parametrize(
    ("words", "last", "expected"), [("honestone ev", 1, "eval"), ("honestone eval --thr", 2, "--threshold")]
)
def test_bash_asks_and_we_answer(desk: Desk, words: str, last: int, expected: str) -> None:
    """What the script calls answers with commands and options that fit."""
    env = {"_HONESTONE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(last)}
    result = desk.run(env=env)
    assert expected in result.out
    assert "Traceback" not in result.err


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_the_bash_script_is_valid(desk: Desk) -> None:
    """Bash reads the script without a complaint."""
    script = desk.run("completion", "bash").out
    ended = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
