"""The store: one SQLite file in WAL mode. Append-only; a reply is on disk before anything is made
of it.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from honestone.adapters.stores import sqlite_queries as queries
from honestone.adapters.stores import stored
from honestone.adapters.stores.sqlite_file.hostile_files import foreign_objects
from honestone.adapters.stores.sqlite_file.sqlite_opening import (
    NEW_FOLDER,
    Opened,
    StoreFile,
    file_id,
)
from honestone.adapters.stores.sqlite_file.still_file import StillFile
from honestone.adapters.stores.unfinished import FILE
from honestone.core.errors import StoreError
from honestone.core.judging.spend import RunGrants
from honestone.core.record.runs import LAST
from honestone.ports import (
    CaseOnRecord,
    Recordable,
    RunInfo,
    RunOrigin,
    StoredReply,
    StoreRow,
    StoreState,
    StoreTable,
)
from honestone.system.files import open_below

if TYPE_CHECKING:
    from honestone.adapters.stores.case_pages import EventRow
    from honestone.adapters.stores.journal import LoopJournal
    from honestone.adapters.stores.live import LiveFiles
    from honestone.core.events import Event, RecordedCase
    from honestone.core.judging.spend import GrantRequest
    from honestone.core.live import LiveRun, StoredLive
    from honestone.system.processes.byte_claims import ByteClaims

NO_ORIGIN: Final = RunOrigin()


class SqliteStore:
    """A store in `folder` (made when absent unless `readonly`). Implements `ports.Store`. `origin`
    is that of its new runs.
    """

    def __init__(
        self, folder: Path, *, readonly: bool = False, origin: RunOrigin = NO_ORIGIN
    ) -> None:
        self._root = folder
        self._origin = origin
        self._claims: dict[str, int] = {}
        self._earlier: list[sqlite3.Connection] = []
        self._live: LiveFiles | None = None
        self._journal: LoopJournal | None = None
        self._reply_claims: ByteClaims | None = None
        self._file = StoreFile(folder)
        self._use(self._open(readonly=readonly))

    def _use(self, opened: Opened) -> None:
        self._db, self._opened, self._copy = opened.db, opened.file, opened.copy
        self._still = opened.still
        self._select = queries.SELECT if opened.has_origins else queries.OLD_SELECT

    @property
    def root(self) -> Path:
        return self._root

    @property
    def journal(self) -> LoopJournal:
        if self._journal is None:
            from honestone.adapters.stores.journal import LoopJournal

            self._journal = LoopJournal(self)
        return self._journal

    @property
    def is_in_place(self) -> bool:
        """The file that was opened has not been removed or replaced since."""
        return self._opened is not None and self._opened == file_id(self.root / FILE)

    def _open(self, *, readonly: bool) -> Opened:
        try:
            return self._file.open_readonly() if readonly else self._file.open()
        except sqlite3.Error as error:
            raise self._trouble(error) from None
        except OSError as error:
            raise StoreError(
                f"cannot open the store {str(self.root)!r}: {error.strerror or error}",
                hint="make the folder writable, or set HONESTONE_HOME to another one",
            ) from None

    # -- claims

    def lock(self, identity: str) -> bool:
        with open_below(self.root, ["locks"], mode=0o700) as folder:
            name = identity.removeprefix("sha256:")[:32]
            handle = os.open(
                name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600, dir_fd=folder
            )
        try:
            # Per handle, not per process: two stores in two threads keep each other out as two
            # processes do.
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._claims[identity] = handle
        return True

    def unlock(self, identity: str) -> None:
        handle = self._claims.pop(identity, None)
        if handle is not None:
            os.close(handle)

    def claim_reply(self, key: str) -> bool:
        if self._reply_claims is None:
            from honestone.system.processes.byte_claims import ByteClaims

            self._reply_claims = ByteClaims(self.root / "claims.lock")
        return self._reply_claims.take(key)

    def give_back_reply(self, key: str) -> None:
        if self._reply_claims is not None:
            self._reply_claims.give_back(key)

    def take_slot(self, line: str, seconds: float) -> float:
        now = time.time()
        with self._transaction():
            last = self._db.execute(
                "select at from rates where account = ?", (queries.CLOCK,)
            ).fetchone()
            if last is None or last[0] > now + queries.SAME_TIME:
                # The clock was ahead when these were taken, by who knows how much.
                self._db.execute("update rates set at = ?1 where at > ?1", (now,))
            self._db.execute(queries.TAKE_SLOT, (queries.CLOCK, now, 0.0))
            (end,) = self._db.execute(queries.TAKE_SLOT, (line, now, seconds)).fetchone()
        return max(0.0, float(end) - max(seconds, 0.0) - now)

    # -- runs and events

    def start_run(
        self, *, kind: str, subject: str, identity: str, contract: str, first: Recordable
    ) -> str:
        new = stored.NewRun.of(first)
        with self._transaction():
            run = stored.new_id(
                self._db.execute("select coalesce(max(id), '') from runs").fetchone()[0]
            )
            self._db.execute(
                "insert into runs (id, kind, subject, identity, contract, started, project, person) values (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run,
                    kind,
                    subject,
                    identity,
                    contract,
                    stored.timestamp(),
                    self._origin.project,
                    self._origin.person,
                ),
            )
            self._db.execute(
                "insert into grants (run, calls, at) values (?, 0, ?)", (run, time.time())
            )
            self._db.execute(queries.APPEND, (run, new.data, None))
            for rows in new.rows(run):
                self._db.executemany(
                    "insert into cases (run, number, id, data) values (?, ?, ?, ?)", rows
                )
        return run

    def append(
        self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None
    ) -> Event | None:
        new = stored.NewEvent.of(event)
        if blobs:
            with self._transaction():
                self._insert_blobs(blobs)
                is_stored = self._insert_event(run, new)
        else:
            with self._reading():  # One statement is a transaction of its own.
                is_stored = self._insert_event(run, new)
        return None if is_stored else self._on_record(run, new)

    def append_many(self, run: str, events: Iterable[Recordable]) -> Mapping[int, Event | None]:
        every = [stored.NewEvent.of(event) for event in events]
        lost: set[int] = set()
        with self._transaction():
            for place, new in enumerate(every):
                if stored.follows_lost(place, every, lost) or not self._insert_event(run, new):
                    lost.add(place)
        return {place: self._on_record(run, every[place]) for place in sorted(lost)}

    def finish_run(self, run: str, result: str, event: Recordable) -> None:
        with self._transaction():
            self._insert_event(run, stored.NewEvent.of(event))
            self._db.execute(
                "update runs set finished = ?, result = ? where id = ?",
                (stored.timestamp(), result, run),
            )
        if self._live is not None:
            self._live.end(run)

    def open_grants(self, run: str, least: RunGrants) -> RunGrants:
        now = time.time()
        with self._reading():  # One statement is a transaction of its own.
            row = self._db.execute(
                queries.OPEN_GRANTS, (run, least.calls, least.usd, least.dearest, now)
            ).fetchone()
        return stored.run_grants(row)

    def grant(self, run: str, request: GrantRequest) -> tuple[bool, RunGrants]:
        given = (
            run,
            request.calls,
            request.usd,
            request.dearest,
            request.most_calls,
            request.most_usd,
            time.time(),
        )
        with self._reading():
            row = self._db.execute(queries.GRANT, given).fetchone()
            if row is not None:
                return True, stored.run_grants(row)
        return False, self.open_grants(run, RunGrants())

    def result_of(self, run: str) -> str | None:
        with self._reading():
            row = self._db.execute("select result from runs where id = ?", (run,)).fetchone()
        return None if row is None else row[0]

    def events(self, run: str) -> list[Event]:
        return list(self.iter_events(run))

    def iter_events(self, run: str, after: int = 0) -> Iterator[Event]:
        with self._reading():
            for expected, (number, data) in enumerate(
                self._db.execute(queries.EVENTS, (run, after)), after + 1
            ):
                stored.require_next(number, expected, run, str(self.root))
                yield self._event(run, number, data)

    def by_case(self, run: str) -> Callable[[str], Iterator[Event]]:
        from honestone.adapters.stores.case_pages import CasePages

        def read(numbers: Sequence[int]) -> Sequence[EventRow]:
            marks = ",".join("?" * len(numbers))
            with self._reading():
                rows = self._db.execute(f"{queries.SOME} ({marks})", (run, *numbers)).fetchall()
            if len(rows) < len(numbers):
                raise StoreError(
                    f"the store {str(self.root)!r} is damaged: events of run {run} are missing",
                    hint=stored.DAMAGED,
                )
            return rows

        with self._reading():
            pages = CasePages(self._db.execute(queries.EVENTS, (run, 0)), read)

        def of_case(case: str) -> Iterator[Event]:
            for number, data in pages.rows(case):
                yield self._event(run, number, data)

        return of_case

    def _event(self, run: str, number: int, data: bytes) -> Event:
        return stored.read_event(
            data, number, run, str(self.root), self._cases(run) if number == 1 else ()
        )

    def _cases(self, run: str) -> stored.StoredCases:
        def read(after: int) -> Iterator[bytes]:
            with self._reading():
                for (data,) in self._db.execute(queries.CASES, (run, after)):
                    yield data

        def count() -> int:
            with self._reading():
                return int(
                    self._db.execute("select count(*) from cases where run = ?", (run,)).fetchone()[
                        0
                    ]
                )

        return stored.StoredCases(read, count)

    def cases_of(self, run: str, ids: Sequence[str]) -> Mapping[str, CaseOnRecord]:
        found = {}
        with self._reading():
            for id in ids:
                for (data,) in self._db.execute(queries.CASE, (run, stored.text_of(id))).fetchall():
                    if (case := stored.recorded_case(data)).id == id:
                        found[id] = case, self._attempts_of(run, case)
        return found

    def _attempts_of(self, run: str, case: RecordedCase) -> list[Event]:
        keys = stored.once_of_attempts(case.id, case.attempts)
        query = f"select seq, data from events where run = ? and once in ({', '.join('?' * len(keys))}) order by seq"
        return [
            self._event(run, number, data) for number, data in self._db.execute(query, (run, *keys))
        ]

    def last_event(self, run: str) -> bytes:
        newest = "select data from events where run = ? order by seq desc limit 1"
        with self._reading():
            row = self._db.execute(newest, (run,)).fetchone()
        return row[0] if row else b""

    def event_count(self, run: str) -> int:
        with self._reading():
            return int(
                self._db.execute(
                    "select coalesce(max(seq), 0) from events where run = ?", (run,)
                ).fetchone()[0]
            )

    def keep_live(self, run: str, record: Callable[[], LiveRun]) -> None:
        self._lives().keep(run, record)

    def live(self, run: str) -> StoredLive | None:
        return self._lives().read(run)

    def _lives(self) -> LiveFiles:
        if self._live is None:
            from honestone.adapters.stores.live import LiveFiles

            self._live = LiveFiles(self.root / "live")
        return self._live

    def runs(self, *, limit: int | None = None, own: bool = False) -> list[RunInfo]:
        # A folder is one person's: it may be renamed or get settings later, and its runs remain
        # that person's own.
        with self._reading():
            rows = self._db.execute(
                f"{self._select} order by id desc limit ?", (-1 if limit is None else limit,)
            )
            return [stored.run_info(row) for row in rows]

    def find_run(self, name: str) -> RunInfo:
        if name in LAST:
            return stored.found_run(self.runs(limit=1, own=True), name)
        with self._reading():
            rows = self._db.execute(
                f"{self._select} where substr(id, 1, ?) = ? order by id desc limit 5",
                (len(name), name.upper()),
            ).fetchall()
            left = self._db.execute(queries.LEFT, (name.upper(),)).fetchall() if not rows else ()
        return stored.found_run([stored.run_info(row) for row in rows], name, left)

    def delete_runs(self, runs: Sequence[RunInfo], content: Sequence[str]) -> int:
        before = self._size()
        with self._transaction():
            for run in runs:
                for table in (
                    "runs where id",
                    "events where run",
                    "cases where run",
                    "grants where run",
                ):
                    self._db.execute(f"delete from {table} = ?", (run.id,))
                self._db.execute(queries.APPEND, (run.id, stored.deleted_event(run), None))
            self._db.executemany(
                "delete from blobs where digest = ?", [(digest,) for digest in content]
            )
        # Another process that reads at this moment keeps the file as long as it is; the room in it
        # is used again.
        with suppress(sqlite3.OperationalError):
            self._db.execute("vacuum")
            self._db.execute("pragma wal_checkpoint(truncate)")
        return max(0, before - self._size())

    def _size(self) -> int:
        """The bytes of the database and its log."""
        files = (self.root / FILE, self.root / f"{FILE}-wal")
        return sum(file.stat().st_size for file in files if file.exists())

    def unfinished(self, identity: str) -> RunInfo | None:
        with self._reading():
            row = self._db.execute(
                f"{self._select} where identity = ? and finished is null order by id desc limit 1",
                (identity,),
            ).fetchone()
        return stored.run_info(row) if row else None

    # -- replies and content

    def reply(self, key: str, since: str | None = None) -> dict[str, Any] | None:
        with self._reading():
            row = self._db.execute(
                "select data from replies where key = ? and at >= ? order by id desc limit 1",
                (key, since or ""),
            ).fetchone()
        return next(stored.readable([row] if row else []), None)

    def answers(self, keys: Sequence[str]) -> dict[str, list[StoredReply]]:
        found: dict[str, list[StoredReply]] = {}
        for key, at, data in self._of_keys("key, at, data", keys):
            found.setdefault(key, []).append(StoredReply(at, data))
        return found

    def keep_reply(
        self, key: str, judge: str, reply: Mapping[str, Any], known: int | None = None
    ) -> StoredReply | None:
        return self._keep_one(stored.NewReply(key, judge, stored.encode(reply), known))

    def keep_together(self, replies: Sequence[stored.NewReply]) -> list[StoredReply | None]:
        if len(replies) == 1:
            return [self._keep_one(replies[0])]
        now = stored.timestamp()
        with self._transaction():
            return [self._insert_reply(reply, now) for reply in replies]

    def _keep_one(self, reply: stored.NewReply) -> StoredReply | None:
        with self._reading():  # One statement is a transaction of its own.
            return self._insert_reply(reply, stored.timestamp())

    def _insert_reply(self, reply: stored.NewReply, at: str) -> StoredReply | None:
        row = (reply.key, reply.judge, at, reply.data, reply.known)
        done = self._db.execute(queries.KEEP_REPLY, row)
        if done.rowcount or reply.known is None:
            return None
        return self.answers([reply.key])[reply.key][reply.known]

    def replies(self, keys: Sequence[str]) -> dict[str, bytes]:
        # In the order they were kept, so that the newest of one key is what stays.
        return dict(self._of_keys("key, data", keys))

    def _of_keys(self, columns: str, keys: Sequence[str]) -> Iterator[Any]:
        with self._reading():
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                marks = ",".join("?" * len(some))
                yield from self._db.execute(
                    f"select {columns} from replies where key in ({marks}) order by id", some
                )

    def keep_replies(self, replies: Mapping[str, Any], judge: str) -> None:
        now = stored.timestamp()
        with self._transaction():
            self._db.executemany(
                "insert into replies (key, judge, at, data) values (?, ?, ?, ?)",
                [(key, judge, now, stored.encode(reply)) for key, reply in replies.items()],
            )

    def blob(self, digest: str) -> bytes | None:
        with self._reading():
            row = self._db.execute("select data from blobs where digest = ?", (digest,)).fetchone()
        return row[0] if row else None

    def keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        with self._transaction():
            self._insert_blobs(blobs)

    # -- the store itself

    def state(self) -> StoreState:
        with self._reading():
            found = self._db.execute("pragma quick_check").fetchone()[0]
            if found != "ok":
                raise StoreError(
                    f"the store {str(self.root)!r} is damaged: {found}", hint=NEW_FOLDER
                )
            version = self._file.version(self._db)
            if odd := foreign_objects(self._db):
                raise StoreError(
                    f"the store {str(self.root)!r} has {', '.join(odd[:5])}, which no version of honestone makes",
                    hint=NEW_FOLDER,
                )
            counts = self._db.execute(
                "select (select count(*) from runs), (select count(*) from runs where finished is null),"
                " (select count(*) from replies)"
            ).fetchone()
        return StoreState(
            shown=str(self.root),
            engine="SQLite",
            version=sqlite3.sqlite_version,
            format=version,
            runs=counts[0],
            unfinished=counts[1],
            replies=counts[2],
        )

    def rows_of(self, table: StoreTable) -> Iterator[StoreRow]:
        with self._reading():
            if table == "runs":
                yield from self._db.execute(f"{self._select} order by id")
            elif (
                table != "cases" or self._file.version(self._db) > 2
            ):  # before, they were in the first event of their run
                yield from self._db.execute(
                    f"select {stored.COLUMNS_OF[table]} from {table} order by {queries.ORDER[table]}"
                )

    def add_rows(self, table: StoreTable, rows: Iterable[StoreRow]) -> int:
        added = 0
        for some in stored.batches(rows, self._origin, table):
            with self._transaction():
                added += self._db.executemany(queries.ADD[table], some).rowcount
        return added

    def close(self) -> None:
        if self._live is not None:
            self._live.close()
        if self._reply_claims is not None:
            self._reply_claims.close()
        for db in (*self._earlier, self._db):
            db.close()
        if self._copy is not None:
            self._copy.cleanup()
        for identity in list(self._claims):
            self.unlock(identity)

    # -- inside

    def _insert_event(self, run: str, new: stored.NewEvent) -> bool:
        """Whether it was kept. Its number is looked up in the same statement: another process may
        have added to the run.
        """
        return bool(self._db.execute(queries.APPEND, (run, new.data, new.once)).rowcount)

    def _on_record(self, run: str, lost: stored.NewEvent) -> Event | None:
        with self._reading():
            row = self._db.execute(queries.STORED_ONCE, (run, lost.once)).fetchone()
        return None if row is None else self._event(run, *row)

    def _insert_blobs(self, blobs: Mapping[str, bytes]) -> None:
        self._db.executemany(
            "insert or ignore into blobs (digest, data) values (?, ?)", blobs.items()
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("begin immediate")
            yield
            self._db.execute("commit")
        except BaseException as error:
            if self._db.in_transaction:
                self._db.rollback()
            if isinstance(error, sqlite3.Error):
                raise self._trouble(error) from None
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        if self._still is not None and not self._still.is_current:
            # A reader that is half-way through keeps the connection that it began with.
            self._earlier.append(self._db)
            self._use(self._open(readonly=True))
        still = self._still
        try:
            yield
        except sqlite3.Error as error:
            if still is not None:
                self._require_unchanged(still)
            raise self._trouble(error) from None
        if still is not None:
            self._require_unchanged(still)

    def _require_unchanged(self, still: StillFile) -> None:
        """Raises StoreError where a read may have met two states of the file."""
        if not still.is_unchanged:
            raise StoreError(
                f"the store {str(self.root)!r} was written to while it was read",
                hint="run the command again",
            )

    def _trouble(self, error: sqlite3.Error) -> StoreError:
        text = str(error)
        if "locked" in text or "busy" in text:
            hint = "another program holds it; try again when it is done"
        elif "full" in text:
            hint = "make room on the disk; what was kept so far is not lost"
        elif "disk I/O" in text:
            hint = "the disk, a quota or `ulimit -f` may refuse more: make room, then run the same command to resume"
        elif "readonly" in text or "unable to open" in text:
            hint = "make the folder writable, or set HONESTONE_HOME to another one"
        else:
            hint = NEW_FOLDER
        return StoreError(f"the store {str(self.root)!r}: {text}", hint=hint)
