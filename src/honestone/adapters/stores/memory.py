"""A store in memory, for runs that nothing is kept of."""

from __future__ import annotations

import sqlite3
import tempfile
from functools import cached_property
from pathlib import Path

from honestone.adapters.stores.sqlite import SqliteStore


class MemoryStore(SqliteStore):
    """A `ports.Store` that is gone with its process. Its folder is a temporary one, made when it is first asked for."""

    def __init__(self) -> None:
        super().__init__(Path())

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="honestone-memory-")

    @property
    def root(self) -> Path:
        return Path(self._folder.name)

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None)
        self._migrate(db, 0)
        return db

    def close(self) -> None:
        super().close()
        if "_folder" in self.__dict__:
            self._folder.cleanup()
            del self._folder
