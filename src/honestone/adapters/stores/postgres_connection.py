"""A connection to PostgreSQL that waits for a server that is away, and does every write exactly
once.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import psycopg
from psycopg import errors

from honestone.adapters.stores.live import LiveRecords
from honestone.core.errors import StoreAway, StoreError
from honestone.core.live import LiveRun, StoredLive

if TYPE_CHECKING:
    from psycopg import Connection, Cursor
    from psycopg.rows import TupleRow

    from honestone.core.record.store_address import StoreAddress

T = TypeVar("T")
Work = Callable[["Cursor[TupleRow]"], T]

CONNECT_SECONDS: Final = 10
# A server that does not answer is waited for so long when a command ends.
CLOSE_SECONDS: Final = 5.0
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
# A client machine that is gone is noticed in half a minute, so that its locks are free. Limits of a
# role or database are for people's queries: ours may wait for a lock, and a session that is idle
# holds claims.
_SESSION: Final = b"""
set tcp_keepalives_idle = 15; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3;
set search_path = honestone, public; set default_transaction_isolation = 'read committed';
select set_config(name, '0', false) from pg_settings where name in ('statement_timeout', 'lock_timeout',
    'transaction_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout');
select pid, backend_start::text from pg_stat_activity where pid = pg_backend_pid()
"""
# In every transaction: its number in this session, so that it is known later whether it was
# committed. The numbers of the server do not serve: after a crash it gives those of lost
# transactions away again.
_COUNT: Final = b"select honestone.count_commit(%s, %s)"
_FORGET: Final = b"select honestone.forget_commits(%s)"
_ENDING: Final = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow)
# What a server refuses for now: its disk is full, or it has become a standby. The same server, or
# the one in its place, takes it later.
_FOR_NOW: Final = (errors.DiskFull, errors.OutOfMemory, errors.ReadOnlySqlTransaction)
# Stores that took a write from this process: that they take none is no fault of the command or its
# user.
_written: Final = set[str]()
_END: Final = b"select pg_terminate_backend(pid) from pg_stat_activity where pid = %s and backend_start::text = %s"


class PostgresConnection:
    """Of several threads one uses it at a time; the others wait. `patience`: seconds to wait for a
    server that had answered.

    Raises StoreError where the first connection cannot be made and for what the server refuses,
    StoreAway when it stays away, or refuses for now what it took before, for longer than
    `patience`. `renew` is called with every connection after the first one.
    """

    def __init__(self, address: StoreAddress, *, patience: float, readonly: bool = False) -> None:
        self.address = address
        self.renew: Callable[[], None] = lambda: None
        self._patience = patience
        self._readonly = readonly
        self._backend: tuple[object, ...] | None = None
        self._session = secrets.token_hex(16)
        self._number = 0
        self._within: Cursor[TupleRow] | None = None
        self._turn = threading.RLock()
        self._has_given_up = False
        try:
            self._db = self._connect()
        except psycopg.Error as error:
            raise self._no_connection(error) from None

    @property
    def version(self) -> str:
        """The version of the server."""
        number = int(self._db.info.server_version)
        return f"{number // 10000}.{number % 10000}"

    def read(self, work: Work[T]) -> T:
        """What `work` returns. It may be called several times."""
        with self._turn:
            if self._within is not None:
                return work(self._within)
            return self._with_patience(lambda db: work(db.cursor(binary=True)))

    def write(self, work: Work[T], *, away: Callable[[], None] = lambda: None) -> T:
        """What `work` returns, in one transaction that is committed exactly once. `work` may be
        called several times; `away` is called once when the server turns out to be away. Inside
        another `write` it is a part of that transaction.
        """
        with self._turn:
            return work(self._within) if self._within is not None else self._write(work, away)

    def _write(self, work: Work[T], away: Callable[[], None]) -> T:
        self._number += 1
        numbered = (self._session, self._number)
        results: list[T] = []

        def attempt(db: Connection[TupleRow]) -> T:
            cursor = db.cursor(binary=True)
            try:
                cursor.execute(b"begin")
                # It waits for a transaction of before that the server has not ended yet.
                counted = cursor.execute(_COUNT, numbered).fetchone()
                if (
                    counted is None or not counted[0]
                ):  # that one was committed, although its end was not heard
                    cursor.execute(b"rollback")
                    return results[-1]
                self._within = cursor
                results.append(work(cursor))
                self._within = None
                cursor.execute(b"commit")
                _written.add(self.address.shown)
            except BaseException:
                self._within = None
                if not db.closed:
                    db.execute(b"rollback")
                raise
            return results[-1]

        return self._with_patience(attempt, away)

    def make(self, work: Work[None]) -> None:
        """Runs `work` in one transaction, before there are tables. It may be called several times."""

        def attempt(db: Connection[TupleRow]) -> None:
            with db.transaction():
                work(db.cursor(binary=True))

        with self._turn:
            self._with_patience(attempt)

    def give_up(self) -> None:
        """What waits for the server in another thread ends with StoreAway, and the connection is
        not used again.
        """
        self._has_given_up, self._patience = True, 0.0
        with (
            suppress(psycopg.Error, OSError),
            socket.socket(fileno=os.dup(self._db.fileno())) as line,
        ):
            line.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """What waits for the server for longer than that is given up."""
        timer = threading.Timer(seconds, self.give_up)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def close(self) -> None:
        """A thread that waits for the server waits no longer."""
        self._has_given_up, self._patience = True, 0.0
        if self._number and not self._db.closed:
            with self.at_most(CLOSE_SECONDS), suppress(psycopg.Error):
                self._db.execute(_FORGET, (self._session,))
        self._db.close()

    # -- inside

    def _connect(self) -> Connection[TupleRow]:
        db = psycopg.connect(
            self.address.url,
            autocommit=True,
            client_encoding="utf8",
            application_name="honestone",
            connect_timeout=None if "connect_timeout" in self.address.url else CONNECT_SECONDS,
        )
        cursor = db.cursor()
        cursor.execute(_SESSION)
        while cursor.nextset():
            pass
        self._backend = cursor.fetchone()
        if self._readonly:
            db.execute(b"set default_transaction_read_only = on")
        return db

    def _with_patience(
        self, work: Callable[[Connection[TupleRow]], T], away: Callable[[], None] = lambda: None
    ) -> T:
        last, pause, clashes = None, _FIRST_PAUSE, 0
        while True:
            try:
                if self._db.closed:
                    if self._has_given_up:
                        raise psycopg.OperationalError("it was given up")
                    self._reconnect()
                return work(self._db)
            except (
                errors.UniqueViolation,
                errors.SerializationFailure,
                errors.DeadlockDetected,
            ) as error:
                clashes += 1  # another process wrote at the same moment
                if clashes > 50:
                    raise self._trouble(error) from None
                time.sleep(random.random() * 0.01 * clashes)
            except psycopg.Error as error:
                is_for_now = isinstance(error, _FOR_NOW) and self.address.shown in _written
                if isinstance(error, _ENDING) or (
                    is_for_now and isinstance(error, errors.ReadOnlySqlTransaction)
                ):
                    self._db.close()
                if not self._db.closed and not is_for_now:
                    raise self._trouble(error) from None
                if last is None:
                    last = time.monotonic()
                    away()
                if time.monotonic() - last >= self._patience:
                    what = (
                        f"refuses to write ({self._error_text(error)}) and has done so"
                        if is_for_now
                        else "has not answered"
                    )
                    raise StoreAway(
                        f"the store {self.address.shown} {what} for {self._patience:g} s",
                        hint="what was paid for is kept; run the same command again when the store answers",
                    ) from None
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _reconnect(self) -> None:
        before = self._backend
        self._db = self._connect()
        # The server may not have noticed yet that the connection is lost; then the old session
        # still holds its locks.
        self._db.execute(_END, before)
        self.renew()

    def _no_connection(self, error: Exception) -> StoreError:
        text = self._error_text(error)
        hint = "is it running, and is the address right? honestone runs store check tries it again"
        for words, better in _HINTS:
            if words in text:
                hint = better
        return StoreError(f"the store {self.address.shown} cannot be opened: {text}", hint=hint)

    def _trouble(self, error: psycopg.Error) -> StoreError:
        hint = "`honestone runs store check` says more"
        if isinstance(error, errors.InsufficientPrivilege | errors.ReadOnlySqlTransaction):
            hint = "this database user may not write to the store: ask its owner for the rights (docs/cluster.md)"
        elif isinstance(error, errors.DiskFull):
            hint = "make room on the server; what was kept so far is not lost"
        return StoreError(f"the store {self.address.shown}: {self._error_text(error)}", hint=hint)

    def _error_text(self, error: Exception) -> str:
        lines: Sequence[str] = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = (lines or [type(error).__name__])[-1 if "FATAL" in str(error) else 0]
        return self.address.without_secrets(text)


# The last whose words are in the message.
_HINTS: Final = (
    (
        "Connection refused",
        "is the server running, and does it listen on that address? (listen_addresses, docs/cluster.md)",
    ),
    ("password", "set PGPASSWORD, or write the password to ~/.pgpass"),
    ("does not exist", "make the database or the user on the server, or correct the address"),
    ("timeout", "does a firewall close the port?"),
    (
        "pg_hba.conf",
        "add a line for this machine to pg_hba.conf on the server (docs/cluster.md); if it begins with `hostssl`, the address needs ?sslmode=require",
    ),
    (
        "root certificate",
        "put the certificate of the server's authority there, or name its file with sslrootcert",
    ),
    (
        "does not support SSL",
        "turn on `ssl` on the server; only in a network that you trust, remove sslmode from the address",
    ),
)


# Records of runs that are under way, in the table `live`.
_READ_LIVE = (
    b"select data, extract(epoch from now() - at)::float8 from honestone.live where run = %s"
)
_KEEP_LIVE = b"""
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
        row = self._reading.read(lambda cursor: cursor.execute(_READ_LIVE, (run,)).fetchone())
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
            self._connection.read(lambda cursor: cursor.execute(_KEEP_LIVE, (live.run, data)))
