"""Resources that are released when the process exits: private folders, and names on this machine.

A process that is killed with SIGKILL removes nothing. So the process that makes a folder holds a
lock in it, and a later run removes the folders whose lock is free. The kernel releases the lock
when its holder ends, however it ended, also across containers that share a folder for temporary
files. A process id would not do: another process may have the number by then.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from honestone.system.files import remove

_PREFIX: Final = "honestone-"
_LOCK: Final = ".held"

_held: dict[Path, int] = {}


def make_private(prefix: str) -> Path:
    """A new folder that only this person can read, by its real path. `forget` it once it is
    removed.
    """
    import tempfile

    place = Path(os.path.realpath(tempfile.mkdtemp(prefix=prefix)))
    try:
        handle = os.open(place / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        os.write(handle, b"1")  # from here on whoever finds it unlocked may take it for left behind
        _held[place] = handle
    except OSError:  # no locks here: it will not be swept, which is no reason not to work
        pass
    return place


@contextlib.contextmanager
def private_folder(kind: str) -> Iterator[Path]:
    """A new folder of that kind for the length of a block; after a kill the next command removes
    it.
    """
    place = make_private(f"{_PREFIX}{kind}-")
    try:
        yield place
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            error.filename = str(place)
        raise
    finally:
        remove(place)
        forget(place)


@contextlib.contextmanager
def on_this_machine(name: str) -> Iterator[bool]:
    """Hold the name while the block runs; False where another process, or another thread of this
    one, holds it.

    An abstract socket: it needs no file, and the system frees it when its process ends in any way.
    Linux only; elsewhere, and where sockets are not allowed, always True.
    """
    if sys.platform != "linux":
        yield True
        return
    import socket

    with socket.socket(socket.AF_UNIX) as held:
        try:
            held.bind(f"\0honestone-{os.getuid()}-{name}")
        except OSError as error:
            yield error.errno != errno.EADDRINUSE
            return
        yield True


# What a write ends with on a full disk; it does not say on which.
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def forget(place: Path) -> None:
    handle = _held.pop(place, None)
    if handle is not None:
        os.close(handle)


def end_inhabitants(place: Path) -> int:
    """End every process that was started with this folder in its environment or works in it,
    whatever session it opened; how many.

    A helper that a program sent to the background leaves its group, but not its environment or its
    folder. Linux only.
    """
    ended: set[int] = set()
    for _ in range(
        100
    ):  # one that is just being forked is seen the next time; a busy machine takes a while to end one
        processes = [pid for pid in _numbers() if _inhabits(pid, os.fsencode(place))]
        if not processes:
            break
        for pid in processes:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                ended.add(pid)
        time.sleep(0.01)
    return len(ended)


def _numbers() -> list[int]:
    return [int(name) for name in _names("/proc") if name.isdecimal() and int(name) != os.getpid()]


def _inhabits(pid: int, place: bytes) -> bool:
    if b"=" + place in _environment(pid):
        return True
    try:
        return (os.readlink(b"/proc/%d/cwd" % pid) + b"/").startswith(place + b"/")
    except OSError:
        return False


def _environment(pid: int) -> bytes:
    """The environment of a process of this person; empty for processes of others."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


def sweep() -> int:
    """Remove what killed processes of this person left behind; how many folders that were."""
    import tempfile

    removed = 0
    held = {str(place) for place in [*_held]}
    folder = os.path.realpath(tempfile.gettempdir())
    for name in _names(folder):
        # The cheap question first: a folder for temporary files may have hundreds of others' names.
        if not name.startswith(_PREFIX) or not os.path.lexists(f"{folder}/{name}/{_LOCK}"):
            continue
        place = Path(folder, name)
        # Ours are not even opened: a file system that has the locks of POSIX frees one when any
        # handle of its process is closed.
        if str(place) not in held and _is_left(place):
            end_inhabitants(place)
            remove(place)
            removed += not place.exists()
    return removed


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _is_left(place: Path) -> bool:
    """Ours, and not held. A folder without a lock is left alone: it may be just being made."""
    try:
        if place.is_symlink() or os.lstat(place).st_uid != os.getuid():
            return False
        handle = os.open(place / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(handle).st_size > 0
    except OSError:
        return False
    finally:
        os.close(handle)
