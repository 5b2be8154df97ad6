"""Records of runs that are under way, in the table `live` of a shared store."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from honestone.adapters.stores.live import LiveRecords
from honestone.adapters.stores.postgres_connection import CLOSE_SECONDS, PostgresConnection
from honestone.core.errors import StoreAway, StoreError
from honestone.core.live import LiveRun, StoredLive

if TYPE_CHECKING:
    from honestone.core.record.store_address import StoreAddress

_READ = b"select data, extract(epoch from now() - at)::float8 from honestone.live where run = %s"
_KEEP = b"""
insert into honestone.live (run, at, data) values (%s, now(), %s)
on conflict (run) do update set at = excluded.at, data = excluded.data
"""


class LiveRows(LiveRecords):
    """Read over the connection of the store, `reading`; kept over one of their own, because a
    thread keeps them.
    """

    def __init__(self, address: StoreAddress, reading: PostgresConnection) -> None:
        super().__init__()
        self._address = address
        self._reading = reading
        self._connection: PostgresConnection | None = None

    def read(self, run: str) -> StoredLive | None:
        row = self._reading.read(lambda cursor: cursor.execute(_READ, (run,)).fetchone())
        if row is None:
            return None
        with suppress(ValueError):
            return StoredLive(
                live=msgspec.json.decode(row[0], type=LiveRun), age=max(0.0, float(row[1]))
            )
        return None

    def close(self) -> None:
        if self._connection is None:
            super().close()
            return
        with self._connection.at_most(CLOSE_SECONDS):
            super().close()
        self._connection.close()
        self._connection = None

    def _write(self, live: LiveRun) -> None:
        data = msgspec.json.encode(live)
        with suppress(StoreError, StoreAway):
            if self._connection is None:
                self._connection = PostgresConnection(self._address, patience=0)
            self._connection.read(lambda cursor: cursor.execute(_KEEP, (live.run, data)))
