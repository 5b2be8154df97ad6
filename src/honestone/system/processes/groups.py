"""Process groups and their end: no program outlives what started it."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, ClassVar, Final

if TYPE_CHECKING:
    from subprocess import Popen


def end_group(process: Popen[bytes], grace: float) -> None:
    """End a process and what is left of its group: ask, wait a little, then end it."""
    from subprocess import TimeoutExpired

    if _signal(process, signal.SIGTERM) and _is_left_after(process, grace):
        for _ in range(20):  # more than once: a group may fork faster than it is ended
            if not _signal(process, signal.SIGKILL) or not _is_left_after(process, 0.1):
                break
    with contextlib.suppress(TimeoutExpired):
        process.wait(5)


def _is_left_after(process: Popen[bytes], seconds: float) -> bool:
    until, pause = time.monotonic() + seconds, 0.001
    while True:
        process.poll()  # a zombie counts as a member until it is reaped
        if not (_signal(process, 0) and _has_living_member(process.pid)):
            return False
        if time.monotonic() >= until:
            return True
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def _signal(process: Popen[bytes], number: int) -> bool:
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


_LIVE: set[int] = set()
_START_ENDED = threading.Condition()
_starts = 0
# Seconds: a start that takes longer (a folder of a server that hangs) holds nobody up.
_LONGEST_START: Final = 10


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Around the start of a program and `watch_group`: our end waits for that, so that a program
    which another thread starts at that moment is ended, too.
    """
    global _starts
    with _START_ENDED:
        _starts += 1
    try:
        yield
    finally:
        with _START_ENDED:
            _starts -= 1
            _START_ENDED.notify_all()


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
    with _START_ENDED:
        _START_ENDED.wait_for(lambda: not _starts, _LONGEST_START)
    for pid in list(_LIVE):
        with contextlib.suppress(OSError):
            os.killpg(pid, signal.SIGKILL)


class _Guardian:
    """A small shell that outlives us, whatever ends us, and then ends the groups that still run. It
    reads a pipe: what has begun, what has ended, and from the pipe's end that we are gone. One for
    each process of ours.
    """

    _started: ClassVar[dict[int, tuple[Popen[bytes], int]]] = {}

    @classmethod
    def tell(cls, what: str, group: int) -> None:
        with contextlib.suppress(OSError):
            _, pipe = cls._started.get(os.getpid()) or cls._start()
            os.write(pipe, f"{what} {group}\n".encode())

    @classmethod
    def _start(cls) -> tuple[Popen[bytes], int]:
        end, pipe = os.pipe()
        import subprocess

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


@contextlib.contextmanager
def on_ctrl_c(end: Callable[[], object]) -> Iterator[None]:
    """Meanwhile the first Ctrl-C calls `end`, in the main thread; a second one does what the
    program's own handler does.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, own)
        end()

    before = signal.signal(signal.SIGINT, handle)
    own = signal.default_int_handler if before is None else before
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, own)
