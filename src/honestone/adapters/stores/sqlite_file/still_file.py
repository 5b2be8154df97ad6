"""Reading the file of a store without leaving a trace next to it.

A reader of a database in WAL mode makes a `-shm` and a `-wal` file where none is, unless the
database is opened as one without a writer. While a writer has it open there is a `-wal` file, and
what it wrote comes into the database file later, in a checkpoint. So a store without a `-wal` file is
read as it is, and the file is looked at before and after each read: with a `-wal` file it is opened
again as one that is in use, and what was read during a checkpoint is thrown away.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

# Seconds after which another write has another time of change, on every file system in use.
_SETTLED: Final = 0.05

_State: TypeAlias = tuple[int, int, int, int]


class StillFile(Struct, frozen=True):
    """A database file that no one has open to write."""

    path: Path
    state: _State

    @classmethod
    def of(cls, path: Path) -> StillFile | None:
        """None where it is in use, or was an instant ago."""
        state = _state(path)
        if state is None or has_log(path) or time.time() - state[2] / 1e9 < _SETTLED:
            return None
        return cls(path, state)

    @property
    def is_unchanged(self) -> bool:
        """Whether all that was read of it so far is of one moment."""
        return _state(self.path) == self.state

    @property
    def is_current(self) -> bool:
        """Whether no one has written to it, or begun to."""
        return not has_log(self.path) and self.is_unchanged


def has_log(path: Path) -> bool:
    return os.path.lexists(log_of(path))


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _state(path: Path) -> _State | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
