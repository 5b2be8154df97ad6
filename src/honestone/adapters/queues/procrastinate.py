"""The queue of a shared store: procrastinate's tables in the same database and schema. Only this
file imports it.

Its job manager is used, and not its worker: that one stops its heartbeat before it waits for jobs
in hand, and ends when the server goes away. Every statement goes over our own connection, which
waits for a server that is away and commits once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

import msgspec
from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from procrastinate.schema import SchemaManager
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from honestone.core.record.queue import (
    LOST,
    CasesLeft,
    QueuedCase,
    RunnerCard,
    SeenRunner,
    name_in_queue,
)

if TYPE_CHECKING:
    from procrastinate.connector import BaseConnector
    from psycopg import Cursor
    from psycopg.rows import TupleRow

T = TypeVar("T")
TASK: Final = "case"
# Cases that are put into the queue by one statement.
_AT_A_TIME: Final = 5_000
# What a runner does with its cases are functions of the store (postgres-3.sql), which look at who
# asks.
_TAKE: Final = b"select id, run, name, deaths, errors, rank from honestone.take_cases(%s, %s, %s)"
_DONE: Final = b"select honestone.end_cases(%s)"
_GIVE_BACK: Final = b"select honestone.give_back_case(%s, %s, %s)"
_BEAT: Final = b"select honestone.beat(%s, %s, %s)"
_LEAVE: Final = b"select honestone.leave(%s)"
_SWEEP: Final = b"select id, run, name, deaths from honestone.sweep(%s, %s)"
_THERE: Final = b"select args ->> 'case' from honestone.procrastinate_jobs where queue_name = %s"
# Cases of an order after which the server looks at its queue again, so that it does not sort all of
# them for each that is taken.
_MANY: Final = 1_000
# Seconds that a command which ends waits for the server.
_ENDS_WITHIN: Final = 5.0
_MAKING: Final = b"select pg_advisory_xact_lock(hashtextextended('honestone queue', 0))"
_OPEN: Final = b"""
select orders.run from honestone.orders join honestone.runs on runs.id = orders.run
where runs.finished is null and not orders.is_paused order by orders.priority desc, orders.run
"""
_ORDER: Final = b"insert into honestone.orders (run, priority, plan) values (%s, %s, %s)"
_SEEN: Final = b"""
select id, data, extract(epoch from clock_timestamp() - at)::float8, extract(epoch from clock_timestamp() - since)::float8
from honestone.runners order by id
"""


class Transactions(Protocol):
    """A connection whose every write is one transaction that is committed once; a write inside
    another is a part of it.
    """

    def read(self, work: Callable[[Cursor[TupleRow]], T]) -> T: ...

    def write(self, work: Callable[[Cursor[TupleRow]], T]) -> T: ...

    def make(self, work: Callable[[Cursor[TupleRow]], None]) -> None: ...

    def at_most(self, seconds: float) -> AbstractContextManager[None]: ...

    def close(self) -> None: ...


class _Connector:
    """What the job manager asks of a connector, over our connection: nothing in it waits, and all
    of it may write.
    """

    def __init__(self, db: Transactions) -> None:
        self._db = db

    def get_sync_connector(self) -> _Connector:
        return self

    def execute_query(self, query: str, **given: object) -> None:
        self._db.write(lambda cursor: cursor.execute(query.encode(), _wrapped(given)))

    def execute_query_all(self, query: str, **given: object) -> list[dict[str, Any]]:
        def work(cursor: Cursor[TupleRow]) -> list[dict[str, Any]]:
            with cursor.connection.cursor(row_factory=dict_row) as rows:
                return rows.execute(query.encode(), _wrapped(given)).fetchall()

        return self._db.write(work)

    def execute_query_one(self, query: str, **given: object) -> dict[str, Any]:
        return self.execute_query_all(query, **given)[0]

    async def execute_query_async(self, query: str, **given: object) -> None:
        self.execute_query(query, **given)

    async def execute_query_one_async(self, query: str, **given: object) -> dict[str, Any]:
        return self.execute_query_one(query, **given)

    async def execute_query_all_async(self, query: str, **given: object) -> list[dict[str, Any]]:
        return self.execute_query_all(query, **given)


class ProcrastinateQueue:
    """The queue in the database that `db` is connected to; its tables are made where there are
    none. Answers `ports.Queue`.
    """

    def __init__(self, db: Transactions) -> None:
        self._db = db
        self._jobs = JobManager(cast("BaseConnector", _Connector(db)))
        if not db.read(_is_made):
            db.make(_make)

    def order(
        self, start: Callable[[], str], plan: bytes, cases: Sequence[str], *, priority: int
    ) -> str:
        def work(cursor: Cursor[TupleRow]) -> str:
            run = start()
            cursor.execute(_ORDER, (run, priority, plan))
            self._put(run, cases, priority)
            if len(cases) >= _MANY:
                cursor.execute(b"analyze honestone.procrastinate_jobs")
            return run

        return self._db.write(work)

    def queue_again(self, run: str, cases: Sequence[str], *, priority: int) -> None:
        def work(cursor: Cursor[TupleRow]) -> None:
            again = b"update honestone.orders set is_paused = false, priority = %s where run = %s"
            cursor.execute(again, (priority, run))
            there = {_case_of(row[0]) for row in cursor.execute(_THERE, (run,)).fetchall()}
            self._put(run, [case for case in cases if case not in there], priority)

        self._db.write(work)

    def _put(self, run: str, cases: Sequence[str], priority: int) -> None:
        for start in range(0, len(cases), _AT_A_TIME):
            self._jobs.batch_defer_jobs(
                [_job(run, case, priority) for case in cases[start : start + _AT_A_TIME]]
            )

    def orders(self) -> list[str]:
        return [
            str(row[0]) for row in self._db.read(lambda cursor: cursor.execute(_OPEN).fetchall())
        ]

    def plan_of(self, run: str) -> bytes | None:
        query = b"select plan from honestone.orders where run = %s"
        row = self._db.read(lambda cursor: cursor.execute(query, (run,)).fetchone())
        return None if row is None else bytes(row[0])

    def pause(self, run: str) -> None:
        query = b"update honestone.orders set is_paused = true where run = %s"
        with self._db.at_most(_ENDS_WITHIN):
            self._db.write(lambda cursor: cursor.execute(query, (run,)))

    def end(self, run: str) -> None:
        def work(cursor: Cursor[TupleRow]) -> None:
            cursor.execute(
                b"delete from honestone.procrastinate_jobs where queue_name = %s", (run,)
            )
            cursor.execute(b"delete from honestone.orders where run = %s", (run,))

        self._db.write(work)

    def take(
        self, runs: Sequence[str], runner: int, most: int = 1, *, done: Sequence[QueuedCase] = ()
    ) -> list[QueuedCase]:
        def work(cursor: Cursor[TupleRow]) -> list[QueuedCase]:
            if done:
                cursor.execute(_DONE, ([case.id for case in done],))
            if not runs or most < 1:
                return []
            rows = cursor.execute(_TAKE, (list(runs), runner, most)).fetchall()
            rows.sort(key=lambda row: (-row[5], row[0]))
            return [
                QueuedCase(id=id, run=run, case=_case_of(case), deaths=deaths, errors=errors or 0)
                for id, run, case, deaths, errors, _ in rows
            ]

        return self._db.write(work) if done or (runs and most > 0) else []

    def done(self, cases: Sequence[QueuedCase]) -> None:
        if cases:
            self.take((), 0, 0, done=cases)

    def give_back(self, case: QueuedCase, runner: int, *, is_error: bool = False) -> None:
        arguments = (case.id, runner, case.errors + is_error)
        self._db.write(lambda cursor: cursor.execute(_GIVE_BACK, arguments))

    def waiting(self, run: str) -> CasesLeft:
        rows = self._jobs.list_queues(queue=run)
        return next(
            (CasesLeft(todo=int(row["todo"]), doing=int(row["doing"])) for row in rows),
            CasesLeft(todo=0, doing=0),
        )

    def beat(self, runner: int | None, card: RunnerCard) -> int:
        data = msgspec.json.encode(card)
        arguments = (runner, data, card.silence)
        return int(
            _only(self._db.write(lambda cursor: cursor.execute(_BEAT, arguments).fetchone()))
        )

    def leave(self, runner: int) -> None:
        with self._db.at_most(_ENDS_WITHIN):
            self._db.write(lambda cursor: cursor.execute(_LEAVE, (runner,)))

    def runners(self) -> list[SeenRunner]:
        rows = self._db.read(lambda cursor: cursor.execute(_SEEN).fetchall())
        return [
            SeenRunner(
                id=int(id),
                card=msgspec.json.decode(data, type=RunnerCard),
                age=max(0.0, float(age)),
                since=max(0.0, float(since)),
            )
            for id, data, age, since in rows
        ]

    def sweep(self, silence: float) -> list[QueuedCase]:
        rows = self._db.write(lambda cursor: cursor.execute(_SWEEP, (silence, LOST)).fetchall())
        return [
            QueuedCase(id=id, run=run, case=_case_of(case), deaths=deaths)
            for id, run, case, deaths in rows
        ]

    def close(self) -> None:
        self._db.close()


def _job(run: str, case: str, priority: int) -> Job:
    # The name of its queue is that of its run, so that a runner which refuses a run never takes a
    # case of it.
    return Job(
        id=None,
        queue=run,
        priority=priority,
        lock=None,
        queueing_lock=None,
        task_name=TASK,
        task_kwargs={
            "run": run,
            "case": name_in_queue(case),
            # What a database cannot make of that: the id in JSON, and its bytes, in an event and in
            # what may be there once.
            "json": json.dumps(case),
            "bytes": case.encode("utf-8", "surrogatepass").hex(),
        },
    )


def _case_of(text: str) -> str:
    return text.encode().decode("unicode_escape")


def _wrapped(given: Mapping[str, object]) -> dict[str, object]:
    return {name: _as_sent(value) for name, value in given.items()}


def _as_sent(value: object) -> object:
    if isinstance(value, dict):
        return Jsonb(value)
    if isinstance(value, list):
        return [_as_sent(one) for one in value]
    if isinstance(value, tuple):
        return tuple(_as_sent(one) for one in value)
    return value


def _is_made(cursor: Cursor[TupleRow]) -> bool:
    there = b"select exists (select from pg_catalog.pg_tables where schemaname = 'honestone' and tablename = 'orders')"
    return bool(_only(cursor.execute(there).fetchone()))


def _make(cursor: Cursor[TupleRow]) -> None:
    """Make the tables of the queue. Of several processes at once only the first does it."""
    cursor.execute(_MAKING)
    if not _is_made(cursor):
        cursor.execute(b"set local search_path = honestone")
        cursor.connection.execute(SchemaManager.get_schema().encode())
        cursor.connection.execute((files("honestone.adapters.queues") / "queue.sql").read_bytes())


def _only(row: tuple[Any, ...] | None) -> Any:
    assert row is not None
    return row[0]
