"""Names that one holder at a time has, over all processes: each is a lock on one byte of one file,
which stays empty.

A lock ends with its process. It is the process's, not the holder's, so what the holders of this
process have is remembered here; and it ends when any handle of the file is closed, so a process
opens each file once.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Final

from msgspec import Struct, field

_PLACES: Final = 2**62  # two names share a place once in 10^18


class _Held(Struct, eq=False):
    handle: int
    places: set[int] = field(default_factory=set)
    users: int = 0


_files: dict[Path, _Held] = {}
_guard = Lock()


class ByteClaims:
    """The claims of one holder on the names of one file, which is made when it is first needed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._own: set[int] = set()
        self._is_user = False

    def take(self, name: str) -> bool:
        """Claim a name; False where another holder has it. Raises OSError where the file cannot be
        made.
        """
        place = _place(name)
        with _guard:
            held = self._held()
            if place in held.places:
                return False
            try:
                fcntl.lockf(held.handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except OSError as error:
                if error.errno in (errno.EACCES, errno.EAGAIN):
                    return False
                raise
            held.places.add(place)
            self._own.add(place)
            return True

    def give_back(self, name: str) -> None:
        """Release a claim; does nothing where this holder does not have it."""
        place = _place(name)
        with _guard:
            if place in self._own:
                self._own.discard(place)
                held = self._held()
                held.places.discard(place)
                fcntl.lockf(held.handle, fcntl.LOCK_UN, 1, place)

    def close(self) -> None:
        """Gives everything back."""
        with _guard:
            held = _files.get(self._file)
            if held is None or not self._is_user:
                return
            for place in self._own:
                held.places.discard(place)
                fcntl.lockf(held.handle, fcntl.LOCK_UN, 1, place)
            self._own.clear()
            self._is_user = False
            held.users -= 1
            if held.users == 0:
                os.close(held.handle)
                del _files[self._file]

    def _held(self) -> _Held:
        held = _files.get(self._file)
        if held is None:
            held = _files[self._file] = _Held(
                os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            )
        if not self._is_user:
            self._is_user = True
            held.users += 1
        return held


@lru_cache(maxsize=1024)  # each is taken and given back, and some again and again
def _place(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % _PLACES


def _forget() -> None:
    """In a forked child: it has none of its parent's locks. The handles are closed there too: that
    ends only its own.
    """
    for held in _files.values():
        os.close(held.handle)
    _files.clear()


os.register_at_fork(after_in_child=_forget)
