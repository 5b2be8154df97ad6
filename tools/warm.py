"""`honestone` for tests and pages: a process of its own for each command, forked from one that has
imported the program.

Most of what a short command costs is Python's start. `command()` gives a stand-in for the installed
program: a shell script that hands its process number to a server, which forks. The fork takes its
words, environment, folder, streams and file mask from the script's entry in /proc, and runs
`honestone.__main__:main` as the installed program does. The script passes SIGINT and SIGTERM on,
waits, and ends with the same code.

A fork starts with what importing leaves behind and nothing else, so no command sees another's
state. Where an environment decides how Python itself starts (PYTHONPATH, a locale, a closed
stderr), the fork becomes the installed program.

Not for tests of other signals, terminals, limits, a closed stdin or stdout, or of what /proc shows
of the command: these start the installed program.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import gc
import importlib
import io
import os
import pkgutil
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TextIO

HONESTONE = str(Path(sys.executable).with_name("honestone"))
"""The installed program."""

# What Python looks at before the first line of a program runs, and what it finds there when the
# server starts.
_DECIDES_THE_START = ("PYTHON", "LC_", "LANG")
_AT_THE_START = {"LANG": "C.UTF-8"}

# What a command imports in a function, because not every one needs it. A command that reads YAML
# spends a fifth of its time there.
_IMPORTED_LATE = (
    "encodings.idna",
    "encodings.utf_8_sig",
    "jinja2.sandbox",
    "markdown_it",
    "ruamel.yaml",
)

# Its stdin and stdout lead elsewhere while it reads and echoes, so the command's own are kept as 4
# and 5.
_SCRIPT = """\
#!/bin/sh
{mkfifo} {folder}/$$ && exec 3<>{folder}/$$ 4<&0 5>&1 && echo $$ >{folder}/requests && read -r fork <&3 || exit 70
trap 'kill -INT $fork' INT
trap 'kill -TERM $fork' TERM
until read -r code <&3; do :; done
exit "$code"
"""


@functools.cache
def command() -> str:
    """The stand-in's path, with its server running until this process ends; the installed program
    where it cannot be had.
    """
    mkfifo = shutil.which("mkfifo")
    if mkfifo is None or not Path("/proc/self/environ").exists():
        return HONESTONE
    folder = Path(tempfile.mkdtemp(prefix="honestone-warm-"))
    os.mkfifo(folder / "requests")
    (folder / "bin").mkdir()
    script = folder / "bin" / "honestone"
    script.write_text(_SCRIPT.format(mkfifo=mkfifo, folder=folder), encoding="utf-8")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    server = subprocess.Popen(
        [sys.executable, __file__, str(folder)],
        env={**_AT_THE_START, "PATH": os.environ.get("PATH", os.defpath)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(_stop, server, folder, os.getpid())
    if server.stdout is None or server.stdout.readline() != b"ready\n":
        raise RuntimeError("tools/warm.py: the server did not start")
    return str(script)


def path() -> str:
    """The front of a PATH on which `honestone` is the stand-in, and everything else is what is
    installed with the tests.
    """
    return os.pathsep.join(
        dict.fromkeys([str(Path(command()).parent), str(Path(HONESTONE).parent)])
    )


def _stop(server: subprocess.Popen[bytes], folder: Path, owner: int) -> None:
    if (
        os.getpid() == owner
    ):  # A fork that ends has the server in its list, but others still need it.
        server.communicate()
        shutil.rmtree(folder, ignore_errors=True)


# ---------------------------------------------------------------------------------------------------------
# the server


def main() -> None:
    sys.path[0] = os.path.dirname(HONESTONE)
    import_all()

    try:
        caller = _serve(sys.argv[1])
    except BaseException:
        # Every later command fails at once, rather than wait for an answer.
        shutil.rmtree(sys.argv[1], ignore_errors=True)
        raise
    if caller:
        _run(caller)


@functools.cache
def import_all() -> None:
    """The whole program into this process, so that its forks import nothing."""
    import honestone

    for module in pkgutil.walk_packages(honestone.__path__, "honestone."):
        # What an extra is needed for is imported by the command that uses it.
        if not module.name.startswith(
            ("honestone._examples", "honestone.__main__", "honestone.adapters.stores.postgres")
        ):
            importlib.import_module(module.name)
    for name in _IMPORTED_LATE:
        importlib.import_module(name)
    _fill_caches()
    gc.collect()
    gc.freeze()
    _use_huge_pages()


def _fill_caches() -> None:
    """Tables and patterns are the same for every command: each would read and compile them again."""
    import honestone
    from honestone.core.authoring.lint import lint
    from honestone.core.checking.checks import OWN
    from honestone.core.checking.commands.known_programs import recipes

    for one in gc.get_objects():
        if type(one).__name__ == "_LatePattern":
            assert one.groups is not None  # asking compiles it
    dict(OWN)
    recipes()
    lint(honestone.parse_rubric("rubric: 1\ncriteria: [It names a fruit]"))


_MADV_COLLAPSE = 25
_HUGE = 2 << 20


def _use_huge_pages() -> None:
    """A fork copies the tables of pages: of huge ones there are fewer, which halves its time.

    Linux 6.1 and newer; elsewhere the pages stay as they are.
    """
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for area in maps.read_text().splitlines():
        addresses, rights, *_, name = area.split(maxsplit=5)
        if rights != "rw-p" or name not in ("0", "[heap]"):
            continue
        start, end = (int(address, 16) for address in addresses.split("-"))
        first, last = -(-start // _HUGE) * _HUGE, end // _HUGE * _HUGE
        if first < last:
            advise(first, last - first, _MADV_COLLAPSE)


def _serve(folder: str) -> int:
    """In the server 0, once nobody holds its stdin; in each fork the process that asked."""
    requests = os.open(f"{folder}/requests", os.O_RDWR)
    poll = select.poll()
    poll.register(0)
    poll.register(requests, select.POLLIN)
    running: dict[int, tuple[int, int]] = {}
    os.write(1, b"ready\n")
    while True:
        fd = poll.poll()[0][0]
        if fd == 0:
            return 0
        if fd in running:
            _end(*running[fd])
            for one in [one for one, of in running.items() if of == running[fd]]:
                poll.unregister(one)
                del running[one]
                os.close(one)
            continue
        for caller in map(int, os.read(requests, 1 << 16).split()):
            answer = os.open(f"{folder}/{caller}", os.O_RDWR)
            os.unlink(f"{folder}/{caller}")
            child = os.fork()
            if not child:
                os.closerange(3, 1024)
                return caller
            os.write(answer, b"%d\n" % child)
            for process in (child, caller):
                ended = os.pidfd_open(process)
                running[ended] = (child, answer)
                poll.register(ended, select.POLLIN)


def _end(child: int, answer: int) -> None:
    """The child has ended, or who waits for it was killed."""
    done, status = os.waitpid(child, os.WNOHANG)
    if not done:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os.write(answer, b"%d\n" % (code if code >= 0 else 128 - code))
    os.close(answer)


# -----------------------------------------------------------------------------------------------------------
# the fork


def _run(caller: int) -> None:
    """The command that `caller` has in its words, to the end that Python would give it."""
    words, environment = _take_over(caller)
    sys.argv = [HONESTONE, *words]
    is_quiet = environment.pop("PYTHONDONTWRITEBYTECODE", None)
    is_unbuffered = environment.pop("PYTHONUNBUFFERED", None)
    start = {
        name: value for name, value in environment.items() if name.startswith(_DECIDES_THE_START)
    }
    if start != _AT_THE_START or not _stderr_is_open():
        os.execve(HONESTONE, sys.argv, dict(os.environ))
    sys.dont_write_bytecode = bool(is_quiet)
    if is_unbuffered:
        sys.stdout, sys.stderr = _unbuffered(sys.stdout), _unbuffered(sys.stderr)
    from honestone.__main__ import main as run

    code: object = 0
    try:
        run()
    except SystemExit as stop:
        code = stop.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    gc.collect()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120
    os._exit(code if isinstance(code, int) else 1)


def _take_over(caller: int) -> tuple[list[str], dict[str, str]]:
    place = Path(f"/proc/{caller}")
    os.umask(int((place / "status").read_text().partition("\nUmask:")[2].split()[0], 8))
    os.chdir(place / "cwd")
    for fd, its, flags in (
        (0, 4, os.O_RDONLY),
        (1, 5, os.O_WRONLY | os.O_APPEND),
        (2, 2, os.O_WRONLY | os.O_APPEND),
    ):
        os.close(fd)
        if (place / "fd" / str(its)).is_symlink():
            found = os.open(place / "fd" / str(its), flags)
            if found != fd:
                os.dup2(found, fd)
                os.close(found)
            os.set_inheritable(fd, True)
    environment = (place / "environ").read_bytes().split(b"\0")
    os.environb.clear()
    os.environb.update(dict(entry.split(b"=", 1) for entry in environment if b"=" in entry))  # type: ignore[arg-type]
    # The shell and its script come first.
    words = (place / "cmdline").read_bytes().split(b"\0")[2:-1]
    return list(map(os.fsdecode, words)), dict(os.environ)


def _unbuffered(stream: TextIO) -> TextIO:
    """The stream as `python -u` makes it: each write reaches the file at once."""
    return io.TextIOWrapper(
        io.FileIO(stream.fileno(), "wb", closefd=False),  # type: ignore[type-var]
        encoding=stream.encoding,
        errors=stream.errors,
        write_through=True,
    )


def _stderr_is_open() -> bool:
    try:
        os.fstat(2)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
