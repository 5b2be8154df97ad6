"""The sandbox: bubblewrap around a program, so that it can read little, write one folder and reach no network.

Inside: the file system read-only; /tmp, /run, /var/tmp and the home of the user empty; no network, no other process in
sight; only the private copy can be written. What is needed to run stays visible in the home: Python and its packages,
the folders of PATH, files that the command names, and what the caller lists.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, TypeAlias

from honestone.core.errors import UsageError

Name: TypeAlias = Literal["bwrap", "none"]
CHOICES: Final = ("auto", "bwrap", "none")

_HOLDS_MORE_THAN_PROGRAMS: Final = frozenset(
    {".local", ".cargo", ".docker", ".config", ".kube", ".aws", ".azure", ".gnupg", ".ssh", ".cache"}
)
"""Of these only `bin` is shown: next to it are keys, mail, browsers' data."""

_EMPTIED: Final = ("/tmp", "/var/tmp", "/run", "/dev/shm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sandbox:
    """The sandbox in use. `program` is the path of bubblewrap, None without a sandbox."""

    program: str | None = None

    @property
    def name(self) -> Name:
        return "none" if self.program is None else "bwrap"

    @classmethod
    def choose(cls, choice: str) -> Sandbox:
        """`auto` takes bubblewrap where it works. Raises UsageError for `bwrap` where it does not, and other words."""
        if choice not in CHOICES:
            raise UsageError(f"unknown sandbox `{choice}`", hint=f"choose one of: {', '.join(CHOICES)}")
        if choice == "none":
            return cls()
        program, problem = _bubblewrap()
        if choice == "bwrap" and program is None:
            raise UsageError(
                f"the sandbox `bwrap` was asked for, but {problem}",
                hint="install it (apt-get install bubblewrap, or dnf install bubblewrap), or use --sandbox auto",
            )
        return cls(program=program)

    def wrap(self, argv: Sequence[str], cwd: Path, writable: Path, visible: Sequence[Path] = ()) -> list[str]:
        """The command that runs `argv` in the sandbox: `writable` and what is below is all that it can change.

        `visible` are files and folders that stay readable wherever they are.
        """
        if self.program is None:
            return list(argv)
        return [
            self.program,
            *("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"),
            *_emptied(),
            *_shown(_needed(argv), _asked_for(visible)),
            *_emptied_again(visible),
            *("--bind", str(writable), str(writable)),
            *("--chdir", str(cwd), "--"),
            *argv,
        ]


@cache
def _bubblewrap() -> tuple[str | None, str]:
    """The path of a bubblewrap that works here, or None and why not. Tried once."""
    program = shutil.which("bwrap")
    if program is None:
        return None, "`bwrap` is not installed"
    trial = [program, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    try:
        done = subprocess.run(
            [*trial, "--tmpfs", "/tmp", "--", "/bin/sh", "-c", "exit 0"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, f"`bwrap` does not work here: {error}"
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip()[:200] or f"exit {done.returncode}"
        return None, f"`bwrap` does not work here: {why}"
    return program, ""


@cache
def _hidden() -> tuple[Path, ...]:
    """The folders that are empty inside, as real paths: places for sockets and the data of people."""
    homes = [os.path.expanduser("~")]
    with contextlib.suppress(KeyError):  # a user id without a name, as in containers
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    if os.getuid() == 0:  # root could read everybody's
        homes += ["/root", "/home"]
    found = {Path(place).resolve() for place in (*homes, *_EMPTIED) if os.path.isdir(place)}
    return tuple(sorted(place for place in found if place != Path("/")))


def _emptied() -> Iterator[str]:
    for place in _hidden():
        if place != Path("/dev/shm"):  # bubblewrap's own /dev has a fresh one
            yield from ("--tmpfs", str(place))


def _is_hidden(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in _hidden())


def _reveals_a_hidden_place(path: Path) -> bool:
    return any(place.is_relative_to(path) for place in _hidden())


def _asked_for(visible: Sequence[Path]) -> Iterator[Path]:
    """What the caller wants seen. Of a folder that is itself an emptied place (a project that is the home), what is
    in it but the hidden files, where keys are."""
    for path in visible:
        place = path.resolve()
        if place not in _hidden():
            yield path
        elif place.is_dir():
            yield from (child for child in sorted(place.iterdir()) if not child.name.startswith("."))


def _emptied_again(visible: Sequence[Path]) -> Iterator[str]:
    """Emptied places inside a folder that was asked for (a home below the project)."""
    for path in visible:
        for place in _hidden():
            if place != path.resolve() and place.is_relative_to(path.resolve()) and path.resolve() != Path("/"):
                yield from ("--tmpfs", str(place))


def _needed(argv: Sequence[str]) -> Iterator[Path]:
    """What has to be seen: Python, the folders of PATH, the virtual environment, named files."""
    yield from _python_and_path()
    for word in argv:
        if os.path.isabs(word) and "\0" not in word and os.path.isfile(word):
            yield Path(word)
            yield from _home_of_program(Path(word))


def _python_and_path() -> Iterator[Path]:
    for place in (sys.prefix, sys.exec_prefix, sys.base_prefix, *sys.path, os.environ.get("VIRTUAL_ENV", "")):
        if place:
            yield Path(place)
    for place in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(place):
            yield Path(place)
            if Path(place).parent.name not in _HOLDS_MORE_THAN_PROGRAMS:
                yield Path(place).parent  # version managers and environments: bin or shims need what is beside them
    yield Path.home() / ".rustup"
    yield Path(sys.executable).resolve().parent


def _home_of_program(program: Path) -> Iterator[Path]:
    """A program that is a link into an environment of its own needs that environment."""
    real = program.resolve()
    yield real
    if (real.parent.parent / "pyvenv.cfg").is_file():
        yield real.parent.parent
        yield (real.parent / "python").resolve().parent.parent


def _shown(needed: Iterable[Path], asked: Iterable[Path]) -> Iterator[str]:
    """Read-only views of what is in an emptied place, each once. Never of a whole home.

    What is in a folder that is shown already is there with it; showing it again would have to write into that view.
    """
    wanted = {place for path in asked for place in (Path(os.path.abspath(path)), path.resolve())}
    places = wanted | {place for path in needed for place in (Path(os.path.abspath(path)), path.resolve())}
    shown: list[Path] = []
    for place in sorted(places, key=lambda place: len(place.parts)):
        if not _is_hidden(place) or not place.exists():
            continue
        if _reveals_a_hidden_place(place) and (place not in wanted or place in _hidden()):
            continue
        if not any(place.is_relative_to(folder) for folder in shown):
            shown.append(place)
            yield from ("--ro-bind", str(place), str(place))
