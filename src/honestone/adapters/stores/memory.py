"""A store in memory, for runs that nothing is kept of."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import weakref
from pathlib import Path

from honestone.adapters.stores.sqlite import SqliteStore


class MemoryStore(SqliteStore):
    """A `ports.Store` that is gone with its process: its folder, too, is a temporary one."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="honestone-store-")
        self._remove_folder = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        super().__init__(Path(folder))

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None)
        self._migrate(db, 0)
        return db

    def close(self) -> None:
        super().close()
        self._remove_folder()
