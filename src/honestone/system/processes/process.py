"""Programs: started in a group of their own, fed, watched by one thread each, and ended with all
they started.

A program's output is capped, its time is limited, and nothing that it leaves behind survives it. A
grandchild that opens a session of its own leaves the group: of a program with limits, the launcher
(`_child.py`) ends that one too.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import marshal
import os
import selectors
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from honestone.system.processes.commands import NotStarted, find_program
from honestone.system.processes.environment import give_up_looking_into_others, hide_our_environment
from honestone.system.processes.groups import end_group, forget_group, starting, watch_group

OUTPUT_LIMIT: Final = 4_000_000
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


class Limits(Struct, frozen=True, kw_only=True):
    """What a program and each of its children may use. None sets no limit beyond the ones it
    inherits.

    `processes` counts all processes of the user, as the system does, and does not hold for root.
    """

    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None
    processes: int | None = None


class Rules(Struct, frozen=True, kw_only=True):
    """Landlock's: what the program can read and run, what it can also change, and of which folders
    it can read only the names. Nothing else, and no TCP.
    """

    readable: tuple[str, ...]
    writable: tuple[str, ...]
    listable: tuple[str, ...]


class Ended(Struct, frozen=True, kw_only=True):
    """How a program ended. `exit` is None when its time ran out, negative when a signal ended it.

    `truncated`: it wrote more than the limit and was ended for that; what came before is here.
    """

    exit: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool
    truncated: bool
    duration: float


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
            with starting():
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
                watch_group(process.pid)
        except (OSError, ValueError) as error:
            if self._report is not None:
                os.close(self._report)
            raise NotStarted(_why_not(self.argv[0], error)) from None
        finally:
            if pass_fds:
                order.close()
                os.close(report_write)
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


def _why_not(name: str, error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
        return f"{name} is not a program that this system can run (does a script lack its first line, #!/bin/sh?)"
    if isinstance(error, OSError):
        return f"{name}: {error.strerror or error}"
    return f"{name}: {error}"


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
