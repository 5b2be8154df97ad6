"""A store that several machines share: one PostgreSQL database. Append-only; a reply is there
before anything is made of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict

from honestone.adapters.stores import postgres_queries as queries
from honestone.adapters.stores import stored
from honestone.adapters.stores.postgres_connection import PostgresConnection
from honestone.adapters.stores.undelivered import Undelivered
from honestone.core.errors import NoStoreError, StoreError
from honestone.core.record.runs import LAST
from honestone.core.record.store_address import PATIENCE, StoreAddress
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

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.rows import TupleRow

    from honestone.adapters.stores.postgres_connection import LiveRows
    from honestone.adapters.stores.thread_journal import ThreadJournal
    from honestone.core.events import Event
    from honestone.core.judging.spend import GrantRequest, RunGrants
    from honestone.core.live import LiveRun, StoredLive

FORMAT: Final = 3
_REPLY: Final = "reply "
# Events and cases that are read at a time.
_PAGE: Final = 500


class PostgresStore:
    """The store at an address; `folder` is this machine's, for files that belong to its runs.
    Implements `ports.Store`.

    Its tables are made where the database has none, unless `readonly`. Raises StoreError where it
    does not answer, and for tables of another format; StoreAway when it stays away for `patience`
    seconds later.
    """

    def __init__(
        self,
        address: StoreAddress,
        folder: Path,
        *,
        readonly: bool = False,
        origin: RunOrigin,
        patience: float = PATIENCE,
        migrates: bool = False,
    ) -> None:
        self._root = folder
        self._origin = origin
        self._address, self._shown = address, address.shown
        self._patience = patience
        self._live: LiveRows | None = None
        self._journal: ThreadJournal | None = None
        self._locks: set[str] = set()
        self._run: str | None = None
        self._undelivered = Undelivered(
            folder / "undelivered" / hashlib.sha256(address.shown.encode()).hexdigest()[:16]
        )
        self._db = PostgresConnection(address, patience=patience, readonly=readonly)
        self._db.renew = self._lock_again
        try:
            self._open(readonly=readonly, migrates=migrates)
            self._may_write = bool(self._rows(queries.MAY_WRITE, ())[0][0])
            if not readonly:
                self._undelivered.deliver(self._deliver)
        except BaseException:
            self._db.close()
            raise

    @property
    def root(self) -> Path:
        return self._root

    @property
    def journal(self) -> ThreadJournal:
        if self._journal is None:
            from honestone.adapters.stores.thread_journal import ThreadJournal

            self._journal = ThreadJournal(self, self._db.give_up)
        return self._journal

    @property
    def connection(self) -> PostgresConnection:
        """The connection, for a queue in the same database: its orders are one transaction with
        their runs.
        """
        return self._db

    def in_run(self, run: str) -> PostgresStore:
        """See `ports.SharedStore`."""
        view = copy(self)
        view._run, view._journal, view._live = run, None, None
        return view

    def end_view(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    # -- opening

    def _open(self, *, readonly: bool, migrates: bool) -> None:
        version = self.format
        if version == 0 and readonly:
            raise NoStoreError(
                f"no store has been made in {self._shown} yet",
                hint="`honestone eval` makes one on its first run",
            )
        if version > FORMAT:
            raise StoreError(
                f"the store {self._shown} was written by a newer honestone (format {version}, this one knows {FORMAT})",
                hint="upgrade honestone on this machine",
            )
        if version == 0 or (migrates and version < FORMAT):
            self._migrate()
        elif version < FORMAT:
            raise StoreError(
                f"the store {self._shown} has the older format {version}; this honestone writes format {FORMAT}",
                hint="upgrade honestone on every machine, then: honestone runs store migrate",
            )

    @property
    def format(self) -> int:
        """The format of its tables; 0 where there are none."""
        return self._db.read(queries.format_of)

    def _migrate(self) -> None:
        """To the newest format. Of several processes at once the first does it."""
        scripts = [(n, _script(n)) for n in range(1, FORMAT + 1)]

        def work(cursor: Cursor[TupleRow]) -> None:
            cursor.execute(b"select pg_advisory_xact_lock(%s)", (queries.lock_number("migrate"),))
            version = queries.format_of(cursor)
            for number, script in scripts:
                if number > version:
                    cursor.connection.execute(script)
            cursor.execute(b"delete from honestone.format")
            cursor.execute(b"insert into honestone.format values (%s)", (FORMAT,))

        self._db.make(work)

    def make_roles(self) -> None:
        """The roles of docs/cluster.md with their rights, as they are for this format. Raises
        StoreError.
        """

        def work(cursor: Cursor[TupleRow]) -> None:
            cursor.connection.execute(roles_sql().encode())

        self._db.make(work)

    # -- claims

    def lock(self, identity: str) -> bool:
        if identity in self._locks or not self._db.read(
            partial(queries.try_lock, identity=identity)
        ):
            return False
        self._locks.add(identity)
        return True

    def claim_reply(self, key: str) -> bool:
        return self.lock(f"{_REPLY}{key}")

    def give_back_reply(self, key: str) -> None:
        self.unlock(f"{_REPLY}{key}")

    def take_slot(self, line: str, seconds: float) -> float:
        query = queries.TAKE_SLOT if self._may_write else queries.ADD_SLOT
        found = self._db.write(
            lambda cursor: cursor.execute(query, {"line": line, "more": seconds}).fetchone()
        )
        return max(0.0, float(queries.only(found)) - max(seconds, 0.0))

    def unlock(self, identity: str) -> None:
        if identity in self._locks:
            self._locks.discard(identity)
            self._db.read(
                lambda cursor: cursor.execute(
                    b"select pg_advisory_unlock(%s)", (queries.lock_number(identity),)
                )
            )

    def _lock_again(self) -> None:
        """A claim ends with its connection, so a new connection takes it again."""
        for identity in list(self._locks):
            if self._db.read(partial(queries.try_lock, identity=identity)):
                continue
            if identity.startswith(_REPLY):
                self._locks.discard(
                    identity
                )  # another process asks the same; the call under way here is paid all the same
            else:
                raise StoreError(
                    f"the store {self._shown} was away, and meanwhile another command has taken this run up",
                    hint="let the other one finish; `honestone runs` shows it",
                )

    # -- runs and events

    def start_run(
        self, *, kind: str, subject: str, identity: str, contract: str, first: Recordable
    ) -> str:
        new = stored.NewRun.of(first)

        def work(cursor: Cursor[TupleRow]) -> str:
            run = stored.new_id(
                queries.only(
                    cursor.execute(b"select coalesce(max(id), '') from honestone.runs").fetchone()
                )
            )
            origin = (self._origin.project, self._origin.person)
            facts = (run, kind, subject, identity, contract, stored.timestamp(), *origin)
            cursor.execute(queries.INSERT_RUN, tuple(map(stored.text_of, facts)))
            cursor.execute(b"insert into honestone.grants (run) values (%s)", (run,))
            cursor.execute(queries.APPEND, (run, new.data, None, run))
            for rows in new.rows(run):
                cursor.executemany(queries.INSERT_CASE, rows)
            return run

        return self._db.write(work)

    def append(
        self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None
    ) -> Event | None:
        return self._append(run, [stored.NewEvent.of(event)], blobs or {}).get(0)

    def append_many(self, run: str, events: Iterable[Recordable]) -> Mapping[int, Event | None]:
        return self._append(run, [stored.NewEvent.of(event) for event in events], {})

    def _append(
        self, run: str, every: Sequence[stored.NewEvent], blobs: Mapping[str, bytes]
    ) -> Mapping[int, Event | None]:
        def work(cursor: Cursor[TupleRow]) -> set[int]:
            if blobs:
                cursor.executemany(self._insert_blob, list(blobs.items()))
            cursor.execute(queries.IN_TURN, (queries.lock_number(f"append {run}"),))
            if not self._may_write:
                return queries.add_events(cursor, run, every)
            if len(every) == 1:
                cursor.execute(queries.APPEND, (run, every[0].data, every[0].once, run))
                return set() if cursor.rowcount else {0}
            lost = queries.places_lost(every, queries.on_record(cursor, run, every))
            rows = [
                (run, new.data, new.once, run)
                for place, new in enumerate(every)
                if place not in lost
            ]
            cursor.executemany(queries.APPEND, rows)
            if cursor.rowcount < len(
                rows
            ):  # another process wrote one of them since; this is tried again
                raise errors.UniqueViolation
            return lost

        from psycopg import errors

        lost = self._db.write(work)
        if not lost:
            return {}
        found = self._db.read(
            partial(queries.on_record, run=run, every=[every[place] for place in lost])
        )
        return {
            place: self._read_rows(run, *found[once])
            if (once := every[place].once) in found
            else None
            for place in lost
        }

    def _read_rows(self, run: str, number: int, data: bytes) -> Event:
        return stored.read_event(
            data, number, run, self._shown, self._cases(run) if number == 1 else ()
        )

    def _cases(self, run: str) -> stored.StoredCases:
        def read(after: int) -> Iterator[bytes]:
            for _, data in self._pages(queries.CASES, run, after, 1 if after else _PAGE):
                yield data

        def count() -> int:
            return int(
                self._rows(b"select count(*) from honestone.cases where run = %s", (run,))[0][0]
            )

        return stored.StoredCases(read, count)

    def cases_of(self, run: str, ids: Sequence[str]) -> Mapping[str, CaseOnRecord]:
        names = list(map(stored.text_of, ids))
        cases = [
            stored.recorded_case(data) for _, data in self._rows(queries.CASES_BY_ID, (names, run))
        ]
        found: dict[str, CaseOnRecord] = {case.id: (case, []) for case in cases if case.id in ids}
        of_case = {
            once: id
            for id, (case, _) in found.items()
            for once in stored.once_of_attempts(id, case.attempts)
        }
        rows = self._rows(queries.STORED_ONCE, (list(of_case), run))
        for once, number, data in sorted(rows, key=lambda row: row[1]):
            found[of_case[once]][1].append(self._read_rows(run, number, data))
        return found

    def finish_run(self, run: str, result: str, event: Recordable) -> None:
        new = stored.NewEvent.of(event)

        def work(cursor: Cursor[TupleRow]) -> None:
            cursor.execute(queries.IN_TURN, (queries.lock_number(f"append {run}"),))
            cursor.execute(queries.APPEND, (run, new.data, new.once, run))
            done = b"update honestone.runs set finished = %s, result = %s where id = %s"
            cursor.execute(done, (stored.timestamp(), result, run))

        self._db.write(work)
        if self._live is not None:
            self._live.end(run)

    def open_grants(self, run: str, least: RunGrants) -> RunGrants:
        given = {"run": run, "calls": least.calls, "usd": least.usd, "dearest": least.dearest}
        if not self._may_write:  # they were opened with the run
            return self._db.read(
                lambda cursor: stored.run_grants(cursor.execute(queries.GRANTS, given).fetchone())
            )
        return self._db.write(
            lambda cursor: stored.run_grants(cursor.execute(queries.OPEN_GRANTS, given).fetchone())
        )

    def grant(self, run: str, request: GrantRequest) -> tuple[bool, RunGrants]:
        given = {"run": run, **asdict(request)}

        def work(cursor: Cursor[TupleRow]) -> tuple[bool, RunGrants]:
            if not self._may_write:
                is_added = bool(queries.only(cursor.execute(queries.ADD_GRANTS, given).fetchone()))
                return is_added, stored.run_grants(cursor.execute(queries.GRANTS, given).fetchone())
            row = cursor.execute(queries.GRANT, given).fetchone()
            if row is not None:
                return True, stored.run_grants(row)
            return False, stored.run_grants(cursor.execute(queries.GRANTS, given).fetchone())

        return self._db.write(work)

    def result_of(self, run: str) -> str | None:
        rows = self._rows(b"select result from honestone.runs where id = %s", (run,))
        return rows[0][0] if rows else None

    def events(self, run: str) -> list[Event]:
        return list(self.iter_events(run))

    def iter_events(self, run: str, after: int = 0) -> Iterator[Event]:
        for number, data in self._pages(queries.EVENTS, run, after):
            yield self._read_rows(run, number, data)

    def _pages(
        self, query: bytes, run: str, after: int, limit: int = 1
    ) -> Iterator[tuple[int, bytes]]:
        """First `limit` of them: the first one alone is what is often wanted."""
        while True:
            page = self._rows(query, (run, after, limit))
            yield from page
            if len(page) < limit:
                return
            after, limit = page[-1][0], _PAGE

    def by_case(self, run: str) -> Callable[[str], Iterator[Event]]:
        """A page of cases is read at a time, since they are mostly asked for in their order; in
        memory is that page, and what may be on record several times: little.
        """
        has_rows, end = bool(self._rows(queries.CASES, (run, 0, 1))), self.event_count(run)
        of_case: dict[str, list[int]] = {}
        for number, data in self._pages(
            queries.EVENTS_AGAIN if has_rows else queries.EVENTS, run, 0
        ):
            if (about := stored.case_of(data)) is not None:
                of_case.setdefault(about, []).append(number)
        page: dict[str, list[tuple[int, bytes]]] = {}

        def turn_to(first: int) -> None:
            page.clear()
            known: dict[bytes, str] = {}
            for _, data in self._rows(queries.CASES, (run, first - 1, _PAGE // 2)):
                one = stored.recorded_case(data)
                page[one.id] = []
                known.update(dict.fromkeys(stored.once_of_attempts(one.id, one.attempts), one.id))
            for once, number, data in self._rows(queries.STORED_ONCE, (list(known), run)):
                page[known[once]].append((number, data))

        def read(case: str) -> Iterator[Event]:
            if has_rows and case not in page:
                names = [stored.text_of(case)]
                for number, _ in self._rows(queries.CASES_BY_ID, (names, run)):
                    if case not in page:
                        turn_to(number)
            rows = [
                row
                for number in of_case.get(case, ())
                for row in self._rows(queries.EVENTS, (run, number - 1, 1))
            ]
            for number, data in sorted([*page.get(case, ()), *rows]):
                if number <= end:
                    yield self._read_rows(run, number, data)

        return read

    def last_event(self, run: str) -> bytes:
        rows = self._rows(
            b"select data from honestone.events where run = %s order by seq desc limit 1", (run,)
        )
        return rows[0][0] if rows else b""

    def event_count(self, run: str) -> int:
        rows = self._rows(
            b"select coalesce(max(seq), 0) from honestone.events where run = %s", (run,)
        )
        return int(rows[0][0])

    def keep_live(self, run: str, record: Callable[[], LiveRun]) -> None:
        self._lives().keep(run, record)

    def live(self, run: str) -> StoredLive | None:
        return self._lives().read(run)

    def _lives(self) -> LiveRows:
        if self._live is None:
            from honestone.adapters.stores.postgres_connection import LiveRows

            self._live = LiveRows(self._address, self._db)
        return self._live

    def runs(self, *, limit: int | None = None, own: bool = False) -> list[RunInfo]:
        where = b" where project = %s or %s = ''"
        project = self._origin.project if own else ""
        return [
            stored.run_info(row)
            for row in self._rows(
                queries.RUNS + where + b" order by id desc limit %s", (project, project, limit)
            )
        ]

    def find_run(self, name: str) -> RunInfo:
        if name in LAST:
            return stored.found_run(self.runs(limit=1, own=True), name)
        begins = b" where starts_with(id, %s) order by id desc limit 5"
        return stored.found_run(
            [
                stored.run_info(row)
                for row in self._rows(queries.RUNS + begins, (stored.text_of(name.upper()),))
            ],
            name,
            self._rows(queries.LEFT, (stored.text_of(name.upper()),)),
        )

    def delete_runs(self, runs: Sequence[RunInfo], content: Sequence[str]) -> int:
        """The space is used again by the server; what is returned are the bytes of the rows."""
        ids = [run.id for run in runs]
        left = [(run.id, stored.deleted_event(run)) for run in runs]

        def work(cursor: Cursor[TupleRow]) -> int:
            freed: int = 0
            for query in queries.DELETE_RUNS:
                cursor.execute(query, (ids,))
                freed += sum(size for (size,) in cursor.fetchall())
            cursor.execute(queries.DELETE_CONTENT, (list(content),))
            freed += sum(size for (size,) in cursor.fetchall())
            cursor.executemany(queries.LEAVE, left)
            return freed

        return self._db.write(work)

    def unfinished(self, identity: str) -> RunInfo | None:
        open_ones = b" where identity = %s and finished is null order by id desc limit 1"
        rows = self._rows(queries.RUNS + open_ones, (identity,))
        return stored.run_info(rows[0]) if rows else None

    # -- replies and content

    def reply(self, key: str, since: str | None = None) -> dict[str, Any] | None:
        rows = self._rows(queries.NEWEST_REPLY, (key, self._run, since or ""))
        return next(stored.readable((row[0],) for row in rows), None)

    def answers(self, keys: Sequence[str]) -> dict[str, list[StoredReply]]:
        found: dict[str, list[StoredReply]] = {}
        for key, at, data in self._rows(queries.ANSWERS, (list(keys), self._run)):
            found.setdefault(key, []).append(StoredReply(at, data))
        return found

    def keep_reply(
        self, key: str, judge: str, reply: Mapping[str, Any], known: int | None = None
    ) -> StoredReply | None:
        row = (key, stored.text_of(judge), stored.timestamp(), stored.encode(reply))
        waiting = self._undelivered.keep([row], self._run)
        is_stored = self._db.write(
            partial(self._add_reply, row=row, known=known), away=waiting.write
        )
        waiting.remove()
        return None if is_stored or known is None else self.answers([key])[key][known]

    def _add_reply(self, cursor: Cursor[TupleRow], row: stored.ReplyRow, known: int | None) -> bool:
        """False where there are more than `known`. What comes when the run is over already is not
        needed any more.
        """
        if not self._may_write:
            return bool(
                queries.only(cursor.execute(queries.ADD_REPLY, (self._run, *row, known)).fetchone())
                != queries.LATE
            )
        return (
            cursor.execute(queries.KEEP_REPLY, (*row, known, row[0], self._run, known)).rowcount > 0
        )

    def _deliver(self, rows: Sequence[stored.ReplyRow], run: str | None) -> None:
        """What an earlier process was replied while the store was away."""
        if self._may_write:
            self.add_rows("replies", rows)
        elif run is not None:
            view = self.in_run(run)
            for row in rows:
                self._db.write(partial(view._add_reply, row=row, known=None))

    def replies(self, keys: Sequence[str]) -> dict[str, bytes]:
        # In the order they were kept, so that the newest of one key is what remains.
        return dict(self._rows(queries.REPLIES, (list(keys), self._run)))

    def keep_replies(self, replies: Mapping[str, Any], judge: str) -> None:
        now = stored.timestamp()
        rows = [
            (key, stored.text_of(judge), now, stored.encode(reply))
            for key, reply in replies.items()
        ]
        waiting = self._undelivered.keep(rows, self._run)

        def work(cursor: Cursor[TupleRow]) -> None:
            if self._may_write:
                cursor.executemany(queries.INSERT_REPLY, rows)
            else:
                cursor.executemany(queries.ADD_REPLY, [(self._run, *row, None) for row in rows])

        self._db.write(work, away=waiting.write)
        waiting.remove()

    def blob(self, digest: str) -> bytes | None:
        rows = self._rows(b"select data from honestone.blobs where digest = %s", (digest,))
        return rows[0][0] if rows else None

    def keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        rows = list(blobs.items())
        self._db.write(lambda cursor: cursor.executemany(self._insert_blob, rows))

    @property
    def _insert_blob(self) -> bytes:
        return queries.INSERT_BLOB if self._may_write else queries.ADD_BLOB

    # -- the store itself

    def state(self) -> StoreState:
        counts = self._rows(queries.COUNTS, ())[0]
        return StoreState(
            shown=self._shown,
            engine="PostgreSQL",
            version=self._db.version,
            format=self.format,
            runs=int(counts[0]),
            unfinished=int(counts[1]),
            replies=int(counts[2]),
        )

    def rows_of(self, table: StoreTable) -> Iterator[StoreRow]:
        """Read rows in pages, each after the last key of the page before; the keys come first in
        each row.
        """
        keys, last = queries.KEYS[table], queries.FIRST[table]
        marks = ", ".join("%s" for _ in last)
        # A runner's reply counts in its run only, and the run is over when it is copied.
        own = "run is null and" if table == "replies" else ""
        after = f"where {own} ({keys}) > ({marks}) order by {keys} limit %s"
        query = f"select {keys}, {stored.COLUMNS_OF[table]} from honestone.{table} {after}".encode()
        while True:
            page = self._rows(query, (*last, stored.ROWS_AT_A_TIME))
            for row in page:
                yield tuple(row[len(last) :])
            if len(page) < stored.ROWS_AT_A_TIME:
                return
            last = tuple(page[-1][: len(last)])

    def add_rows(self, table: StoreTable, rows: Iterable[StoreRow]) -> int:
        added = 0
        for some in stored.batches(rows, self._origin, table):
            added += self._db.write(partial(queries.add_batch, query=queries.ADD[table], rows=some))
        return added

    def close(self) -> None:
        if self._journal is not None:
            self._journal.close()
        if self._live is not None:
            self._live.close()
        self._db.close()
        self._locks.clear()

    def _rows(self, query: bytes, given: Sequence[object]) -> list[Any]:
        return self._db.read(lambda cursor: cursor.execute(query, given).fetchall())


def roles_sql() -> str:
    """What makes the roles: whoever owns the tables and may make roles runs it."""
    return (files("honestone.adapters.stores.migrations") / "roles.sql").read_text(encoding="utf-8")


def _script(number: int) -> bytes:
    return (files("honestone.adapters.stores.migrations") / f"postgres-{number}.sql").read_bytes()
