"""The sandbox: what a program inside can read, write and reach.

A check often runs code that came with the artifact. That code could read keys from the home folder,
send them away, or change the tests and programs that judge it. So it gets a private copy that it
may write to, and otherwise only what it needs to run: Python and its packages, the folders of PATH,
files that the command names, and what the caller lists.

There are two ways, because no single one works everywhere. bubblewrap gives the program a view of
its own: the file system is read-only; /tmp, /run, /var/tmp, the home of the user and the project
are empty; there is no network, no other process in sight and no capability. Containers often forbid
bubblewrap. There Landlock, where the kernel has it, refuses the same accesses one by one: those
places cannot be read, only the copy can be written, there is no TCP, and no other process can be
looked at or signalled.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pwd
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from honestone.core.errors import UsageError
from honestone.core.judging.choices import SANDBOX_CHOICES
from honestone.system.processes.commands import answer_of
from honestone.system.processes.process import Rules

Name: TypeAlias = Literal["bwrap", "landlock", "none"]

# Of these only `bin` is shown: next to it are keys, mail, browsers' data.
_HOLDS_MORE_THAN_PROGRAMS: Final = frozenset(
    {
        ".local",
        ".cargo",
        ".docker",
        ".config",
        ".kube",
        ".aws",
        ".azure",
        ".gnupg",
        ".ssh",
        ".cache",
    }
)

_EMPTIED: Final = ("/tmp", "/var/tmp", "/run", "/dev/shm")
_DEVICES: Final = tuple(
    Path("/dev", name)
    for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
)
# Of Landlock's /proc: the program's own entry and what belongs to no process.
_PROC: Final = tuple(
    Path("/proc", name)
    for name in ("self", "cpuinfo", "meminfo", "stat", "filesystems", "sys", "uptime")
)

_ALONE: Final = (
    *(
        "--unshare-all",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
    ),
    # Root's user id may write there without any capability.
    *("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"),
    *(
        word
        for name in ("sysrq-trigger", "bus", "fs", "irq")
        for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    ),
)
_NO_USER_NAMESPACES: Final = ("--unshare-user", "--disable-userns")
# Ends well where no user namespace can be made.
_NO_NEW_ONE: Final = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000) == 0)"

_LOOKED_THROUGH: Final = 5000
_EMPTY_FILE: Final = Path(__file__).parents[2] / "py.typed"
_INSTALL: Final = "install bubblewrap (apt-get install bubblewrap, or dnf install bubblewrap)"
# The first lets it make namespaces, the second lets it mount a /proc of its own.
_ALLOW: Final = "allow user namespaces; for a container: --security-opt seccomp=unconfined --security-opt systempaths=unconfined"
_LANDLOCK_CREATE_RULESET: Final = 444


class Sandbox(Struct, frozen=True, kw_only=True):
    """The sandbox in use. `program` is bubblewrap with its first options."""

    name: Name = "none"
    program: tuple[str, ...] = ()

    @classmethod
    def choose(cls, choice: str) -> Sandbox:
        """`auto` takes the first that works here; `require` refuses to run without one.

        Raises UsageError for one that does not work here, and for other words.
        """
        if choice not in SANDBOX_CHOICES:
            raise UsageError(
                f"unknown sandbox `{choice}`", hint=f"choose one of: {', '.join(SANDBOX_CHOICES)}"
            )
        program, problem = ((), "") if choice in ("none", "landlock") else _bubblewrap()
        if program:
            return cls(name="bwrap", program=program)
        if choice not in ("none", "bwrap") and _has_landlock():
            return cls(name="landlock")
        if choice in ("auto", "none"):
            return cls()
        if choice == "landlock":
            raise UsageError(
                "the sandbox `landlock` was asked for, but this kernel does not have it",
                hint=_remedy(),
            )
        raise UsageError(
            f"a sandbox was asked for (--sandbox {choice}), but {problem}", hint=_remedy()
        )

    def confine(
        self,
        argv: Sequence[str],
        cwd: Path,
        writable: Path,
        visible: Sequence[Path] = (),
        closed: Sequence[Path] = (),
        also_writable: Sequence[Path] = (),
    ) -> tuple[list[str], Rules | None]:
        """The command that runs `argv` inside, and the rules that its launcher sets.

        `writable` (and `also_writable`) and what is below is all that it can change. `visible` are
        files and folders that stay readable wherever they are; `closed` are not readable, unless
        they are below `visible` or needed to run.
        """
        match self.name:
            case "none":
                return list(argv), None
            case "landlock":
                return list(argv), _rules(
                    argv, (writable, *also_writable), tuple(visible), tuple(closed)
                )
        roots = [
            path for path in (place.resolve() for place in closed) if not _below_any(path, visible)
        ]
        hidden = {*_hidden(), *(path for path in roots if path.is_dir())}
        words = [
            *self.program,
            *(
                word
                for place in sorted(hidden)
                if place != Path("/dev/shm")
                for word in ("--tmpfs", str(place))
            ),
            *_views(_asked_for(visible), hidden, asked=True),
            *(
                word
                for path in closed
                if _below_any(path.resolve(), visible)
                for word in _masked(path)
            ),
            *(word for path in _hidden_below(visible) for word in ("--tmpfs", str(path))),
            *_views(_needed(argv), hidden),
            *(
                word
                for place in (writable, *also_writable)
                for word in ("--bind", str(place), str(place))
            ),
            *("--chdir", str(cwd), "--"),
            *argv,
        ]
        return words, None


def hidden_from_programs(
    base: Path, folder: Path, closed: Sequence[Path], allowed: Sequence[Path] = ()
) -> tuple[Path, ...]:
    """What a program of a rubric or suite in `base` does not see: the project around it (`folder`),
    what is in `closed` (the store), and names for us alone, also in folders that it may read
    (`allowed`).
    """
    around = [path.resolve() for path in (folder, *closed)]
    outside = [path for path in around if not path.is_relative_to(base.resolve()) or path in closed]
    return (*outside, *(name for one in (base, folder, *allowed) for name in _private_names(one)))


def _private_names(folder: Path) -> Iterator[Path]:
    """Names that begin with a dot, and settings: of the first folders, since a home can be the
    rubric's folder. The environments that programs run in have to be seen to start them, and hold
    nothing private; a link may lead to one, or to a folder that has one.
    """
    environments = needed_to_run()
    for place, folders, files in islice(os.walk(folder.resolve()), _LOOKED_THROUGH):
        private = [
            name for name in (*folders, *files) if name.startswith(".") or name == "honestone.toml"
        ]
        folders[:] = sorted(set(folders) - set(private))
        yield from (
            path for name in private if not _leads_to(path := Path(place, name), environments)
        )


def _leads_to(path: Path, environments: Collection[Path]) -> bool:
    real = path.resolve()
    return real in environments or (
        path.is_symlink() and any(one.is_relative_to(real) for one in environments)
    )


@cache
def _bubblewrap() -> tuple[tuple[str, ...], str]:
    """A bubblewrap that works here with its first options, or nothing and why not. Tried once.

    User namespaces are closed inside: by its own option, or because the system does not let anyone
    make one.
    """
    program = shutil.which("bwrap")
    if program is None:
        return (), "`bwrap` is not installed"
    problem = ""
    for options, trial in (
        ((*_NO_USER_NAMESPACES, *_ALONE), ("/bin/sh", "-c", "exit 0")),
        (_ALONE, (sys.executable, "-I", "-S", "-c", _NO_NEW_ONE)),
    ):
        try:
            done = answer_of([program, *options, "--", *trial], 20)
        except (OSError, subprocess.TimeoutExpired) as error:
            return (), f"`bwrap` does not work here: {error}"
        if done.returncode == 0:
            return (program, *options), ""
        message = done.stderr.decode(errors="replace").partition(" See <")[0].strip()
        problem = problem or message[:200] or f"exit {done.returncode}"
    return (), f"`bwrap` does not work here: {problem}"


def why_not_bubblewrap() -> str:
    """Why bubblewrap is not the sandbox here, and what to do; or nothing."""
    _, problem = _bubblewrap()
    return problem and f"{problem}: {_how_to_have_bubblewrap()}"


def _remedy() -> str:
    return f"{_how_to_have_bubblewrap()}, or use --sandbox auto"


def _how_to_have_bubblewrap() -> str:
    return _ALLOW if shutil.which("bwrap") else _INSTALL


@cache
def _has_landlock() -> bool:
    """Whether this kernel has Landlock, and lets us use it."""
    return (
        sys.platform == "linux"
        and int(ctypes.CDLL(None).syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)) > 0
    )


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


def _rules(
    argv: Sequence[str],
    writable: tuple[Path, ...],
    visible: tuple[Path, ...],
    closed: tuple[Path, ...],
) -> Rules:
    excluded = frozenset({*_hidden(), *(path.resolve() for path in closed)})
    roots = frozenset({place for place in excluded if not _below_any(place, visible)})
    seen = [
        *_readable(Path("/"), roots | {Path("/dev"), Path("/proc")}),
        *(
            place
            for path in _asked_for(visible)
            for place in _readable(path.resolve(), excluded - {path.resolve()})
        ),
        *(
            place
            for place in _needed(argv)
            if not any(one.is_relative_to(place.resolve()) for one in excluded)
        ),
        *_PROC,
    ]
    return Rules(
        readable=tuple(dict.fromkeys(map(str, seen))),
        writable=tuple(map(str, (*writable, *_DEVICES))),
        listable=("/proc", *(str(path) for path in visible if path.resolve() not in _hidden())),
    )


@cache
def _readable(place: Path, closed: frozenset[Path]) -> tuple[Path, ...]:
    """The place, or where something below it is closed, what is next to that. A link is judged by
    where it leads.
    """
    if place in closed or place.is_symlink():
        return ()
    if not any(one.is_relative_to(place) for one in closed):
        return (place,)
    try:
        return tuple(
            open_place
            for child in sorted(place.iterdir())
            for open_place in _readable(child, closed)
        )
    except OSError:
        return ()


def _below_any(path: Path, folders: Sequence[Path]) -> bool:
    return any(
        path != folder.resolve() and path.is_relative_to(folder.resolve()) for folder in folders
    )


def _masked(path: Path) -> tuple[str, ...]:
    return ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", str(_EMPTY_FILE), str(path))


def _asked_for(visible: Sequence[Path]) -> Iterator[Path]:
    """What the caller wants seen. Of a folder that is itself an emptied place (a project that is
    the home), what is in it but the hidden files, where keys are.
    """
    for path in visible:
        place = path.resolve()
        if place not in _hidden():
            yield path
        elif place.is_dir():
            yield from (
                child for child in sorted(place.iterdir()) if not child.name.startswith(".")
            )


def _hidden_below(visible: Sequence[Path]) -> Iterator[Path]:
    """Emptied places inside a folder that was asked for (a home below the project)."""
    for path in visible:
        for place in _hidden():
            if (
                place != path.resolve()
                and place.is_relative_to(path.resolve())
                and path.resolve() != Path("/")
            ):
                yield place


def _needed(argv: Sequence[str]) -> Iterator[Path]:
    """What has to be seen: Python, the folders of PATH, the virtual environment, named files."""
    yield from _python_and_path()
    for word in argv:
        if os.path.isabs(word) and "\0" not in word and os.path.isfile(word):
            yield Path(word)
            yield from _home_of_program(Path(word))


def needed_to_run() -> frozenset[Path]:
    """The real places of Python, of the folders of PATH, and of the environments that these belong
    to.
    """
    return frozenset(place.resolve() for place in _python_and_path())


def _python_and_path() -> Iterator[Path]:
    for place in (
        sys.prefix,
        sys.exec_prefix,
        sys.base_prefix,
        *sys.path,
        os.environ.get("VIRTUAL_ENV", ""),
    ):
        if place:
            yield Path(place)
    for place in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(place):
            yield Path(place)
            if Path(place).parent.name not in _HOLDS_MORE_THAN_PROGRAMS:
                yield Path(
                    place
                ).parent  # version managers and environments: bin or shims need what is beside them
    yield Path.home() / ".rustup"
    yield Path(sys.executable).resolve().parent


def _home_of_program(program: Path) -> Iterator[Path]:
    """A program that is a link into an environment of its own needs that environment."""
    real = program.resolve()
    yield real
    if (program.parent.parent / "pyvenv.cfg").is_file():
        yield program.parent.parent
    if (real.parent.parent / "pyvenv.cfg").is_file():
        yield real.parent.parent
        yield (real.parent / "python").resolve().parent.parent


def _views(places: Iterable[Path], hidden: set[Path], *, asked: bool = False) -> Iterator[str]:
    """Read-only views of what is in an emptied place, each once. Never of a whole home, unless it
    was asked for.

    What is in a folder that is shown already is there with it; showing it again would have to write
    into that view.
    """
    wanted = {place for path in places for place in (Path(os.path.abspath(path)), path.resolve())}
    shown: list[Path] = []
    for place in sorted(wanted, key=lambda place: len(place.parts)):
        if not any(place.is_relative_to(one) for one in hidden) or not place.exists():
            continue
        if any(one.is_relative_to(place) for one in hidden) and (not asked or place in _hidden()):
            continue
        if not any(place.is_relative_to(folder) for folder in shown):
            shown.append(place)
            yield from ("--ro-bind", str(place), str(place))
