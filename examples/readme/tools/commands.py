"""The commands that a page shows, and what happens when they are run. The other tools here build on it."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent / "project"


class Shown(NamedTuple):
    """A line `$ COMMAND` of a code block and the lines under it: what the page says it prints."""

    command: str
    output: str
    start: int  # where `output` stands in the page
    end: int


def shown_commands(page: str) -> list[Shown]:
    found = []
    for block in re.finditer(r"(?ms)^```[a-z]*\n(.*?)^```[ \t]*$", page):
        for one in re.finditer(r"(?m)^\$ (.*)\n((?:(?!\$ ).*\n)*)", block[1]):
            start = block.start(1) + one.start(2)
            found.append(Shown(one[1].strip(), one[2], start, start + len(one[2])))
    return found


@contextlib.contextmanager
def stage() -> Iterator[Path]:
    """A fresh copy of the project to run commands in."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(shutil.copytree(PROJECT, Path(folder) / "project"))


def run(command: str, folder: Path) -> tuple[bool, str]:
    """Whether a command ends well, and what it prints. Only `python3 ...` is tried, without a shell."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        return False, f"{error}\n"
    if words[:1] != ["python3"]:
        return False, "not tried: only python3 commands are\n"
    try:
        done = subprocess.run(
            [sys.executable, *words[1:]], cwd=folder, capture_output=True, text=True, timeout=20,
            stdin=subprocess.DEVNULL, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, "still running after 20 s\n"
    return done.returncode == 0, done.stdout if done.returncode == 0 else done.stderr


def known_options(folder: Path) -> set[str]:
    """The options that the project's programs list when they are asked for help."""
    known = set()
    for program in sorted(folder.glob("*.py")):
        known |= set(re.findall(r"--[a-z][a-z-]*", run(f"python3 {program.name} --help", folder)[1]))
    return known


def options_in(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)))
