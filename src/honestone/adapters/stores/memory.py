"""A store in memory, for runs that nothing is kept of."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Final

from honestone.adapters.stores.sqlite import SqliteStore
from honestone.adapters.stores.sqlite_file.sqlite_opening import Opened, migrate
from honestone.core.live import LiveRun, StoredLive

# A megabyte.
_MOST_PAGES: Final = 256


class MemoryStore(SqliteStore):
    """A `ports.Store` that is gone with its process. Its folder is a temporary one, made when it is
    first asked for.
    """

    def __init__(self) -> None:
        super().__init__(Path())
        self._records: dict[str, Callable[[], LiveRun]] = {}
        self._asked: set[str] = set()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="honestone-memory-")

    @property
    def root(self) -> Path:
        return Path(self._folder.name)

    def _open(self, *, readonly: bool) -> Opened:
        # One thread at a time uses it, and not always the same one.
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        migrate(db, 0)
        return Opened(db)

    def claim_reply(self, key: str) -> bool:
        if key in self._asked:
            return False
        self._asked.add(key)
        return True

    def give_back_reply(self, key: str) -> None:
        self._asked.discard(key)

    def keep_live(self, run: str, record: Callable[[], LiveRun]) -> None:
        self._records[run] = record

    def live(self, run: str) -> StoredLive | None:
        record = self._records.get(run)
        return None if record is None else StoredLive(live=record(), age=0.0)

    def clear(self) -> bool:
        """Forget everything. False where that leaves a lot of memory in use; then close it."""
        for table in ("runs", "events", "cases", "replies", "blobs", "grants", "rates"):
            self._db.execute(f"delete from {table}")
        self._records.clear()
        self._remove_folder()
        return int(self._db.execute("pragma page_count").fetchone()[0]) <= _MOST_PAGES

    def close(self) -> None:
        super().close()
        self._remove_folder()

    def _remove_folder(self) -> None:
        if "_folder" in self.__dict__:
            self._folder.cleanup()
            del self._folder
