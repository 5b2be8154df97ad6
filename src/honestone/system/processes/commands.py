"""Command lines: their words, the program that they name, and what identifies them."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.judging.needs import MachineNeeds
from honestone.system.processes.environment import base_environment

# git, without the programs that a repository's own configuration and hooks may name: who asks which
# files are staged has not asked for them.
GIT: Final = (
    *("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "log.showSignature=false"),
)
_LARGE_FILE: Final = 50_000_000


class NotStarted(Exception):
    """The program never ran: not found, not executable, or no such working directory."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def split_command(command: str) -> list[str]:
    """The words of a command line, as a POSIX shell would split them. Raises UsageError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(
            f"the command `{_short(command)}` cannot be split into words: {str(error).lower()}",
            hint="quote as in a shell: '...' keeps everything as it is",
        ) from None
    if not words or not words[0]:
        raise UsageError(
            "the command is empty", hint="name a program, for example: grep -q Usage README.md"
        )
    return words


def program_from(name: str, here: Path) -> str:
    """The name of a program, made to work in any folder: one that is a relative path is looked up
    from `here`.
    """
    return str(here / name) if "/" in name and not name.startswith("~") else name


def needs_of_program(name: str) -> MachineNeeds:
    """A program with a relative path comes with the suite's files."""
    return MachineNeeds(programs=(name,) if "/" not in name or name.startswith(("/", "~")) else ())


def find_program(name: str, *, cwd: Path, env: Mapping[str, str]) -> str:
    """The path of the program that `name` starts: as it is with a slash in it, else from PATH.
    Raises NotStarted.
    """
    if "\0" in name:
        raise NotStarted("the command holds a NUL character")
    if "/" not in name:
        found = shutil.which(name, path=env.get("PATH", os.defpath))
        if found is None:
            raise NotStarted(f"command not found: {name}")
        return os.path.abspath(found)
    path = cwd / name
    if path.is_dir():
        raise NotStarted(f"{name} is a folder, not a program")
    if not path.exists():
        raise NotStarted(f"no such file: {name}")
    if not os.access(path, os.X_OK):
        raise NotStarted(f"{name} is not executable (chmod +x makes it so)")
    return os.path.abspath(path)


def describe_command(argv: Sequence[str], cwd: Path) -> dict[str, Any]:
    """What a command is, for keys: its words, and the digest of each word that is an existing file."""
    files = {}
    for word in argv:
        digest = _file_digest(cwd / word)
        if digest is not None:
            files[word] = digest
    return {"command": list(argv), "files": files}


def _file_digest(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        stat = path.stat()
        if stat.st_size > _LARGE_FILE:
            return (
                "sha256:"
                + hashlib.sha256(f"{stat.st_size}:{stat.st_mtime_ns}".encode()).hexdigest()
            )
        with path.open("rb") as file:
            return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    except (
        OSError,
        ValueError,
    ):  # unreadable, a name too long for a file, a NUL in it: no file that can be named
        return None


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def answer_of(
    words: Sequence[str],
    seconds: float,
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    is_alone: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """What a program of this machine says to a short question; `is_alone`: in a group of its own.
    For what is asked outside of any event loop. Raises OSError and subprocess.TimeoutExpired.
    """
    return subprocess.run(
        words,
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        timeout=seconds,
        start_new_session=is_alone,
        check=False,
    )


def require_program(argv: Sequence[str], cwd: Path, *, what: str) -> None:
    """Raises UsageError, before anything is spent, when a command's program is not there."""
    try:
        find_program(argv[0], cwd=cwd, env=base_environment())
    except NotStarted as error:
        raise UsageError(
            f"{what}: {error.reason}", hint="check the spelling, or give the full path"
        ) from None
    script = _script_of(argv)
    if script == 1 and not (cwd / argv[1]).exists():
        raise UsageError(
            f"{what}: no file is called {argv[1]!r}",
            hint="check the spelling, or give the full path",
        )


_INTERPRETERS = late_pattern(r"(python|pypy|bash|sh|zsh|dash|node|deno|perl|ruby|php)[\d.]*")


def _script_of(argv: Sequence[str]) -> int | None:
    """Which word names the script that an interpreter runs.

    None when it is given no file (`sh -c`, `python -m`).
    """
    if not _INTERPRETERS.fullmatch(Path(argv[0]).name):
        return None
    for number, word in enumerate(argv[1:], 1):
        if word in _TAKES_CODE:
            return None
        if not word.startswith("-"):
            return number
    return None


_TAKES_CODE = ("-c", "-m", "-e", "-")


def anchor_program(argv: Sequence[str], base: Path, *, artifact: Path) -> list[str]:
    """A command whose program is named relative to `base`, made to work in any folder: its program,
    and the script that an interpreter runs, become absolute paths. The artifact and what is in it
    stay as they are: there the command is meant to find the private copy.
    """
    words = list(argv)
    script = _script_of(words)
    places = [*([0] if "/" in words[0] else []), *([script] if script is not None else [])]
    for place in places:
        path = (base / words[place]).resolve()
        if path.is_file() and path != artifact and artifact not in path.parents:
            words[place] = str(base.resolve() / words[place])
    return words
