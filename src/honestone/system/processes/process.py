"""Programs: started in a group of their own, fed, watched by one thread each, and ended with all
they started.

A program's output is capped, its time is limited, and nothing that it leaves behind survives it. A
grandchild that opens a session of its own leaves the group: of a program with limits, the launcher
(`_child.py`) ends that one too.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import hashlib
import marshal
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, ClassVar, Final, TypeVar

from honestone.core.errors import UsageError
from honestone.core.judging.needs import MachineNeeds
from honestone.core.record.secret_names import looks_secret
from honestone.ports import CallFailed, WorkDone
from honestone.system.telemetry import telemetry

T = TypeVar("T")

OUTPUT_LIMIT: Final = 4_000_000
_PR_SET_DUMPABLE: Final = 4
# Seconds between asking a group to end (SIGTERM) and ending it (SIGKILL).
GRACE: Final = 0.5

# The launcher ends its program after a grace of its own, and then what the program left in other
# groups.
LAUNCHER_GRACE: Final = 10.0

# Imported rather than run as a script, whose bytecode Python does not keep: reading it took a sixth
# of a small check.
_LAUNCHER: Final = (
    *(
        "-I",
        "-S",
        "-c",
        "import sys; sys.path.append(sys.argv.pop(1)); import _child; _child.main()",
    ),
    str(Path(__file__).parent),
)
_CHUNK: Final = 65_536
_LARGE_FILE: Final = 50_000_000

_PASSED_ON: Final = frozenset(
    {
        "PATH",
        "LANG",
        "LANGUAGE",
        "HOME",
        "TMPDIR",
        "TEMP",
        "TMP",
        "TERM",
        "COLORTERM",
        "NO_COLOR",
        "TZ",
    }
    | {"USER", "LOGNAME", "SHELL", "VIRTUAL_ENV", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    | {"SYSTEMROOT", "COMSPEC", "PATHEXT"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a program and each of its children may use. None sets no limit beyond the ones it
    inherits.

    `processes` counts all processes of the user, as the system does, and does not hold for root.
    """

    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Landlock's: what the program can read and run, what it can also change, and of which folders
    it can read only the names. Nothing else, and no TCP.
    """

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    listable: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended. `exit` is None when its time ran out, negative when a signal ended it.

    `truncated`: it wrote more than the limit and was ended for that; what came before is here.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    duration: float


class NotStarted(Exception):
    """The program never ran: not found, not executable, or no such working directory."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


# ------------------------------------------------------------------------------------------- words
# and environment


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


def base_environment(
    extra: Mapping[str, str] | None = None, pass_names: Iterable[str] = ()
) -> dict[str, str]:
    """The variables that a program gets: a short list of harmless ones, those named, and `extra` as
    it is.

    Whatever looks like a key, token or password stays out unless its name is in `pass_names`.
    TRACEPARENT, where it is named, is that of the call under way.
    """
    named = frozenset(pass_names)
    env = {name: value for name, value in os.environ.items() if name in named or _is_harmless(name)}
    # Last, so that it only helps where there is no other: commands of ours and of rubrics say
    # `python3`.
    env["PATH"] = os.pathsep.join([env.get("PATH", os.defpath), os.path.dirname(sys.executable)])
    if "TRACEPARENT" in named:
        env.update(telemetry().variables())
    env.update(extra or {})
    return env


def needs_of_variables(pass_names: Iterable[str]) -> MachineNeeds:
    """What programs that are given these variables need. TRACEPARENT is made for each call."""
    return MachineNeeds(variables=tuple(name for name in pass_names if name != "TRACEPARENT"))


def program_from(name: str, here: Path) -> str:
    """The name of a program, made to work in any folder: one that is a relative path is looked up
    from `here`.
    """
    return str(here / name) if "/" in name and not name.startswith("~") else name


def needs_of_program(name: str) -> MachineNeeds:
    """A program with a relative path comes with the suite's files."""
    return MachineNeeds(programs=(name,) if "/" not in name or name.startswith(("/", "~")) else ())


@cache
def _is_harmless(name: str) -> bool:
    return (name in _PASSED_ON or name.startswith("LC_")) and not looks_secret(name)


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


# ------------------------------------------------------------------------------------------------------------
# run


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    timeout: float | None = None,
    output_limit: int = OUTPUT_LIMIT,
    limits: Limits | None = None,
    rules: Rules | None = None,
    merge_stderr: bool = False,
) -> Ended:
    """Run a program to its end and end all it started. Raises NotStarted when it could not begin.

    It is never waited for longer than `timeout` and a short grace. When the task is cancelled the
    program is ended first. `output_limit` counts stdout and stderr together.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Ended] = loop.create_future()
    stop_read, stop_write = os.pipe()

    def work() -> None:
        try:
            watched = _Watched(
                argv, cwd, env, stdin, timeout, output_limit, limits, rules, merge_stderr, stop_read
            )
            ended = watched.watch()
        except BaseException as error:
            _tell(loop, done, error)
        else:
            _tell(loop, done, ended)

    try:
        # A thread of its own: the loop's pool is small, and asyncio's child watchers wait for
        # inherited pipes.
        thread = threading.Thread(target=work, name="honestone-program", daemon=True)
        thread.start()
        await asyncio.wait([done])
        thread.join()  # it has nothing left to do
    except asyncio.CancelledError:
        os.write(stop_write, b"x")
        while not done.done():  # bounded: the thread needs the grace and no more
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        done.exception()
        raise
    finally:
        os.close(stop_read)
        os.close(stop_write)
    return done.result()


def _tell(
    loop: asyncio.AbstractEventLoop, done: asyncio.Future[Ended], outcome: Ended | BaseException
) -> None:
    def settle() -> None:
        if isinstance(outcome, BaseException):
            done.set_exception(outcome)
        else:
            done.set_result(outcome)

    with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever asked
        loop.call_soon_threadsafe(settle)


@cache
def hide_our_environment() -> None:
    """From here on our own environment, with its keys, cannot be read through /proc, nor our
    memory. Then no core of ours is written either. Root reads it by capabilities: see
    `give_up_looking_into_others`.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def give_up_looking_into_others() -> None:
    """Takes from this thread, and from the programs that it starts, the capabilities to read
    another process's environment. For threads that start a program and end: it cannot be taken
    back. Only root has them.
    """
    if sys.platform == "linux" and os.geteuid() == 0:
        from honestone.system.processes._child import LOOKS_INTO_OTHERS, drop_capabilities, libc

        drop_capabilities(libc(), LOOKS_INTO_OTHERS)


def in_a_thread_that_starts(start: Callable[[], T]) -> T:
    """What `start` returns, called in a thread of its own, whose programs cannot look into us."""
    outcome: list[T] = []
    problem: list[BaseException] = []

    def work() -> None:
        try:
            hide_our_environment()
            give_up_looking_into_others()
            outcome.append(start())
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(target=work, name="honestone-start")
    thread.start()
    thread.join()
    if problem:
        raise problem[0]
    return outcome[0]


@dataclass
class _Watched:
    """One program, from start to end, seen from the thread that watches it."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdin: bytes
    timeout: float | None
    output_limit: int
    limits: Limits | None
    rules: Rules | None
    merge_stderr: bool
    # A file descriptor: written to, it ends the program.
    stop: int

    def __post_init__(self) -> None:
        self._started = time.monotonic()
        self._deadline = None if self.timeout is None else self._started + self.timeout
        self._capacity = self.output_limit
        self._unfed = memoryview(self.stdin)
        self._is_over = self._timed_out = self._truncated = False
        self._refused = b""
        self._stdout, self._stderr = bytearray(), bytearray()
        self._readers: dict[IO[bytes], bytearray] = {}
        self._pidfd: int | None = None
        self._report: int | None = None
        self._grace = GRACE
        self._process = self._start()
        self._selector = selectors.DefaultSelector()
        self._register()

    def watch(self) -> Ended:
        try:
            self._pump()
            end_group(self._process, self._grace)
            self._drain()
            self._hear()
        finally:
            self._release()
        if self._refused:
            raise NotStarted(f"cannot be executed: {os.strerror(int(self._refused))}")
        return Ended(
            exit=None if self._timed_out else self._process.returncode,
            stdout=bytes(self._stdout),
            stderr=bytes(self._stderr),
            timed_out=self._timed_out,
            truncated=self._truncated,
            duration=time.monotonic() - self._started,
        )

    def _start(self) -> subprocess.Popen[bytes]:
        hide_our_environment()
        give_up_looking_into_others()
        if not self.cwd.is_dir():
            raise NotStarted(f"no such folder: {self.cwd}")
        if not self.argv:
            raise NotStarted("the command is empty")
        words, program = list(self.argv), find_program(self.argv[0], cwd=self.cwd, env=self.env)
        pass_fds: tuple[int, ...] = ()
        if self.limits is not None:
            if any("\0" in word for word in words):
                raise NotStarted(f"{self.argv[0]}: embedded null byte")
            # Limits are set by a small program that then starts the real one: `preexec_fn` is
            # unsafe with threads.
            order = tempfile.TemporaryFile()  # noqa: SIM115 - it is closed once the launcher has it
            marshal.dump(_order(self.limits, self.rules, program, words), order)
            order.seek(0)
            self._report, report_write = os.pipe()
            pass_fds = (order.fileno(), report_write)
            words = [sys.executable, *_LAUNCHER, *map(str, pass_fds)]
            program, self._grace = sys.executable, LAUNCHER_GRACE
        try:
            process = subprocess.Popen(
                words,
                executable=program,
                cwd=self.cwd,
                env=dict(self.env),
                stdin=subprocess.PIPE if self.stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if self.merge_stderr else subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except (OSError, ValueError) as error:
            if self._report is not None:
                os.close(self._report)
            raise NotStarted(_why_not(self.argv[0], error)) from None
        finally:
            if pass_fds:
                order.close()
                os.close(report_write)
        watch_group(process.pid)
        return process

    def _register(self) -> None:
        process, selector = self._process, self._selector
        for pipe, buffer in ((process.stdout, self._stdout), (process.stderr, self._stderr)):
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                self._readers[pipe] = buffer
                selector.register(
                    pipe, selectors.EVENT_READ, lambda pipe=pipe: self._read_pipe(pipe)
                )
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, self._feed)
        selector.register(self.stop, selectors.EVENT_READ, self._end)
        if self._report is not None:
            os.set_blocking(self._report, False)
            selector.register(self._report, selectors.EVENT_READ, self._hear)
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self._pidfd = os.pidfd_open(process.pid)
                selector.register(self._pidfd, selectors.EVENT_READ, self._end)

    def _pump(self) -> None:
        """Feed and read until it ends or has to."""
        while not (self._is_over or self._truncated):
            now = time.monotonic()
            if self._deadline is not None and now >= self._deadline:
                self._timed_out = True
                return
            wait = None if self._deadline is None else self._deadline - now
            if self._pidfd is None:  # no way to be woken by its end (macOS): look often
                wait = 0.02 if wait is None else min(wait, 0.02)
            for key, _ in self._selector.select(wait):
                key.data()
            if self._pidfd is None and self._process.poll() is not None:
                self._is_over = True

    def _end(self) -> None:
        """It has ended, or is to."""
        self._is_over = True

    def _hear(self) -> None:
        """The launcher's word that it could not become the program; nothing when it could."""
        if self._report is None:
            return
        with contextlib.suppress(BlockingIOError):
            received = os.read(self._report, 64)
            self._refused += received
            if not received:
                self._selector.unregister(self._report)
                os.close(self._report)
                self._report = None

    def _feed(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            self._unfed = self._unfed[os.write(pipe.fileno(), self._unfed[:_CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not read its input, which is its right
            self._unfed = self._unfed[:0]
        if not self._unfed:
            self._selector.unregister(pipe)
            pipe.close()

    def _read_pipe(self, pipe: IO[bytes]) -> bool:
        """Take what is there. False when there is nothing more for now, or ever."""
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._selector.unregister(pipe)
            del self._readers[pipe]
            return False
        self._readers[pipe] += data[: self._capacity]
        self._truncated = self._truncated or len(data) > self._capacity
        self._capacity -= min(len(data), self._capacity)
        return True

    def _drain(self) -> None:
        """What was written before the end. A pipe that somebody still holds is not waited for."""
        for pipe in list(self._readers):
            while not self._truncated and self._read_pipe(pipe):
                pass

    def _release(self) -> None:
        forget_group(self._process.pid)
        self._selector.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        for fd in (self._pidfd, self._report):
            if fd is not None:
                os.close(fd)


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """End a process and what is left of its group: ask, wait a little, then end it."""
    if _signal(process, signal.SIGTERM) and _is_left_after(process, grace):
        for _ in range(20):  # more than once: a group may fork faster than it is ended
            if not _signal(process, signal.SIGKILL) or not _is_left_after(process, 0.1):
                break
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)


def _is_left_after(process: subprocess.Popen[bytes], seconds: float) -> bool:
    until, pause = time.monotonic() + seconds, 0.001
    while True:
        process.poll()  # a zombie counts as a member until it is reaped
        if not (_signal(process, 0) and _has_living_member(process.pid)):
            return False
        if time.monotonic() >= until:
            return True
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """False when the group is empty."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):  # macOS: only zombies are left
        return False
    return True


def _has_living_member(group: int) -> bool:
    """Whether anyone of a group still runs. In a container without an init the dead may stay as
    zombies for ever.
    """
    try:
        pids = [name for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:  # no /proc (macOS), where init does its work
        return True
    for pid in pids:
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/stat", "rb") as file:
                state, _, its_group = file.read().rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state not in b"ZX":
                return True
    return False


def _why_not(name: str, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return f"{name} is not a program that this system can run (does a script lack its first line, #!/bin/sh?)"
    if isinstance(error, OSError):
        return f"{name}: {error.strerror or error}"
    return f"{name}: {error}"


_LIVE: set[int] = set()


def watch_group(group: int) -> None:
    """From here on it is ended when we end, however that is."""
    _LIVE.add(group)
    _Guardian.tell("+", group)


def forget_group(group: int) -> None:
    _LIVE.discard(group)
    _Guardian.tell("-", group)


@atexit.register
def _end_all() -> None:
    """Nothing outlives us, even when a loop was dropped without being cancelled."""
    for pid in list(_LIVE):
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


class _Guardian:
    """A small shell that outlives us, whatever ends us, and then ends the groups that still run. It
    reads a pipe: what has begun, what has ended, and from the pipe's end that we are gone. One for
    each process of ours.
    """

    _started: ClassVar[dict[int, tuple[subprocess.Popen[bytes], int]]] = {}

    @classmethod
    def tell(cls, what: str, group: int) -> None:
        with contextlib.suppress(OSError):
            _, pipe = cls._started.get(os.getpid()) or cls._start()
            os.write(pipe, f"{what} {group}\n".encode())

    @classmethod
    def _start(cls) -> tuple[subprocess.Popen[bytes], int]:
        end, pipe = os.pipe()
        quiet = subprocess.DEVNULL
        shell = ["/bin/sh", "-c", _GUARD]
        # Without our environment, which other processes of the same user could read there.
        guard = subprocess.Popen(
            shell, env={}, stdin=end, stdout=quiet, stderr=quiet, start_new_session=True
        )
        os.close(end)
        return cls._started.setdefault(os.getpid(), (guard, pipe))


_GUARD: Final = """\
left=" "
while read -r what group; do
  if [ "$what" = + ]; then left="$left$group "; continue; fi
  case "$left" in *" $group "*) left="${left%% $group *} ${left#* $group }";; esac
done
for group in $left; do kill -9 -"$group"; done
"""


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


# ---------------------------------------------------------------------------------------------------------
# limits


def _order(
    limits: Limits, rules: Rules | None, program: str, argv: Sequence[str]
) -> dict[str, object]:
    """What the launcher is asked for: limits, rules, and the program that it starts."""
    # On Linux RLIMIT_DATA counts memory that can be written. RLIMIT_AS also counts addresses that a
    # runtime merely reserves (Node: tens of gigabytes) and would stop programs that use little.
    memory = "RLIMIT_DATA" if sys.platform == "linux" else "RLIMIT_AS"
    asked = {memory: limits.memory_bytes, "RLIMIT_CPU": limits.cpu_seconds}
    asked |= {"RLIMIT_FSIZE": limits.file_bytes, "RLIMIT_NPROC": limits.processes}
    bounds = [("RLIMIT_CORE", 0, 0)]
    bounds += [
        (name, most, most + (name == "RLIMIT_CPU"))
        for name, most in asked.items()
        if most is not None
    ]
    ruled = None if rules is None else [rules.readable, rules.writable, rules.listable]
    return {"limits": bounds, "rules": ruled, "program": program, "argv": list(argv)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command that is run again and again: its words, split; `cwd` is also where its relative
    paths are looked up.
    """

    argv: Sequence[str]
    cwd: Path
    timeout: float
    pass_env: Sequence[str] = ()

    @property
    def identity(self) -> dict[str, Any]:
        return describe_command(self.argv, self.cwd)

    @property
    def needs(self) -> MachineNeeds:
        return needs_of_program(self.argv[0]) | needs_of_variables(self.pass_env)

    async def reply(self, stdin: str) -> Ended:
        """As a judge or a model. Raises CallFailed when it cannot start, takes too long or floods
        its output.
        """
        env = base_environment(pass_names=self.pass_env)
        try:
            ended = await run(
                self.argv, cwd=self.cwd, env=env, stdin=stdin.encode(), timeout=self.timeout
            )
        except NotStarted as error:
            raise CallFailed(f"it could not be started: {error.reason}", missing=True) from None
        if ended.timed_out:
            raise CallFailed(f"no reply within {self.timeout:g} s (--judge-timeout)")
        if ended.truncated:
            raise CallFailed("it printed more than can be a reply")
        return ended

    async def edit(self, brief: str, place: Path, brief_file: Path) -> WorkDone:
        """As an editor in the private copy that holds `place`."""
        cwd = place if place.is_dir() else place.parent
        own = {"HONESTONE_ARTIFACT": str(place), "HONESTONE_BRIEF": str(brief_file)}
        env = base_environment(own, pass_names=self.pass_env)
        try:
            ended = await run(
                self.argv, cwd=cwd, env=env, stdin=brief.encode(), timeout=self.timeout
            )
        except NotStarted as error:
            return WorkDone(ended="crashed", message=f"it could not be started: {error.reason}")
        if ended.timed_out:
            return WorkDone(
                ended="timeout",
                message=f"still working after {self.timeout:g} s (--worker-timeout)",
            )
        if ended.exit == 0:
            return WorkDone(ended="exited", exit=0, message=last_words(ended.stdout))
        return WorkDone(ended="crashed", exit=ended.exit, message=why_failed(ended))


def how_ended(ended: Ended) -> str:
    if ended.exit is None:
        return "was killed"
    return (
        f"was ended by signal {-ended.exit}"
        if ended.exit < 0
        else f"ended with exit code {ended.exit}"
    )


def last_words(stderr: bytes) -> str:
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    text = lines[-1].strip() if lines else ""
    return text if len(text) <= 200 else text[:197] + "..."


def why_failed(ended: Ended) -> str:
    return f"it {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": ")


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


_INTERPRETERS = re.compile(r"(python|pypy|bash|sh|zsh|dash|node|deno|perl|ruby|php)[\d.]*")


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


@contextlib.contextmanager
def on_sigterm(end: Callable[[], object]) -> Iterator[None]:
    """Meanwhile SIGTERM calls `end`, in the main thread: only it may handle signals. Then the
    program's own handler is back.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: end())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
