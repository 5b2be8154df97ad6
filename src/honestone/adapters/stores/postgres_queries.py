"""What a PostgreSQL store asks its database, statement by statement."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from honestone.adapters.stores import stored
from honestone.ports import (
    StoreRow,
    StoreTable,
)

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.rows import TupleRow

RUNS: Final = f"select {stored.COLUMNS} from honestone.runs".encode()

INSERT_RUN: Final = b"""
insert into honestone.runs (id, kind, subject, identity, contract, started, project, person)
values (%s, %s, %s, %s, %s, %s, %s, %s)
"""

APPEND: Final = b"""
insert into honestone.events (run, seq, data, once)
select %s, coalesce(max(seq), 0) + 1, %s, %s from honestone.events where run = %s
on conflict (run, once) where once is not null do nothing
"""

# Before an append: of processes that append to a run at once each waits for the one before, and
# then sees its number. Without that they choose the same number, and all but one begin again.
IN_TURN: Final = b"select pg_advisory_xact_lock(%s)"

# With `once = any(...)` all events of the run would be read until the server has looked at its
# tables.
STORED_ONCE: Final = b"""
select once, seq, data from unnest(%s::bytea[]) wanted join honestone.events on run = %s and once = wanted
"""

INSERT_CASE: Final = b"insert into honestone.cases (run, number, id, data) values (%s, %s, %s, %s)"
CASES: Final = b"select number, data from honestone.cases where run = %s and number > %s order by number limit %s"

# Its index is of the digests of ids, which may be long.
CASES_BY_ID: Final = b"""
select number, data from unnest(%s::text[]) name
join honestone.cases on run = %s and md5(id) = md5(name) and id = name
"""

INSERT_REPLY: Final = (
    b"insert into honestone.replies (key, judge, at, data) values (%s, %s, %s, %s)"
)

# A reply that a runner was given counts in its run only: `%s` is the run that is worked on, null
# outside of one.
OF_RUN: Final = b" and (run is null or run = %s)"

NEWEST_REPLY: Final = (
    b"select data from honestone.replies where key = %s"
    + OF_RUN
    + b" and at >= %s order by id desc limit 1"
)

ANSWERS: Final = (
    b"select key, at, data from honestone.replies where key = any(%s)" + OF_RUN + b" order by id"
)

REPLIES: Final = (
    b"select key, data from honestone.replies where key = any(%s)" + OF_RUN + b" order by id"
)

KEEP_REPLY: Final = (
    b"""
insert into honestone.replies (key, judge, at, data) select %s, %s, %s, %s
where %s::int is null or (select count(*) from honestone.replies where key = %s"""
    + OF_RUN
    + b") <= %s::int"
)

# What those do who may write to no table: functions that look at who asks (postgres-3.sql).
MAY_WRITE: Final = b"select has_table_privilege('honestone.events', 'insert')"

ADD_EVENT: Final = b"select honestone.add_event(%s, %s, %s, %s, %s, %s)"
ADD_REPLY: Final = b"select honestone.add_reply(%s, %s, %s, %s, %s, %s)"
ADD_BLOB: Final = b"select honestone.add_blob(%s, %s)"

ADD_GRANTS: Final = b"""
select honestone.add_grants(%(run)s, %(calls)s, %(usd)s, %(dearest)s, %(most_calls)s, %(most_usd)s)
"""

ADD_SLOT: Final = b"select honestone.take_slot(%(line)s, %(more)s)"
LATE: Final = "late"

INSERT_BLOB: Final = (
    b"insert into honestone.blobs (digest, data) values (%s, %s) on conflict do nothing"
)

TAKE_SLOT: Final = b"""
insert into honestone.rates as line (account, at)
values (%(line)s, extract(epoch from clock_timestamp())::float8 + %(more)s::float8)
on conflict (account) do update
set at = greatest(line.at, extract(epoch from clock_timestamp())::float8) + %(more)s::float8
returning at - extract(epoch from clock_timestamp())::float8
"""

STATE: Final = b"calls, usd, dearest, extract(epoch from clock_timestamp())::float8 - at"

OPEN_GRANTS: Final = (
    b"""
insert into honestone.grants as known (run, calls, usd, dearest)
values (%(run)s, %(calls)s, %(usd)s, %(dearest)s)
on conflict (run) do update set calls = greatest(known.calls, excluded.calls), usd = greatest(known.usd, excluded.usd),
    dearest = greatest(known.dearest, excluded.dearest)
returning """
    + STATE
)

GRANT: Final = (
    b"""
update honestone.grants
set calls = calls + %(calls)s, usd = usd + %(usd)s, dearest = greatest(dearest, %(dearest)s)
where run = %(run)s and calls + %(calls)s <= coalesce(%(most_calls)s, 2147483647)
    and usd + %(usd)s <= coalesce(%(most_usd)s, 'infinity'::float8)
returning """
    + STATE
)

GRANTS: Final = b"select " + STATE + b" from honestone.grants where run = %(run)s"

# First events whose run is not there: it was deleted.
LEFT: Final = (
    b"select run, data from honestone.events where starts_with(run, %s) and seq = 1"
    b" and not exists (select from honestone.runs where id = run) limit 5"
)
DELETE_RUNS: Final = (
    b"delete from honestone.events where run = any(%s) returning octet_length(data)",
    b"delete from honestone.cases where run = any(%s) returning octet_length(data)",
    b"delete from honestone.grants where run = any(%s) returning 0",
    b"delete from honestone.live where run = any(%s) returning 0",
    b"delete from honestone.runs where id = any(%s) returning 0",
)
DELETE_CONTENT: Final = (
    b"delete from honestone.blobs where digest = any(%s) returning octet_length(data)"
)
LEAVE: Final = b"insert into honestone.events (run, seq, data) values (%s, 1, %s)"
EVENTS: Final = (
    b"select seq, data from honestone.events where run = %s and seq > %s order by seq limit %s"
)

# Those that may be on record several times.
EVENTS_AGAIN: Final = EVENTS.replace(b" order", b" and once is null order")

COUNTS: Final = b"""
select (select count(*) from honestone.runs), (select count(*) from honestone.runs where finished is null),
    (select count(*) from honestone.replies)
"""

FIRST: Final[Mapping[StoreTable, tuple[object, ...]]] = {
    "runs": ("",),
    "events": ("", 0),
    "cases": ("", 0),
    "replies": (0,),
    "blobs": ("",),
}

KEYS: Final[Mapping[StoreTable, str]] = {
    "runs": "id",
    "events": "run, seq",
    "cases": "run, number",
    "replies": "id",
    "blobs": "digest",
}

ADD: Final[Mapping[StoreTable, bytes]] = {
    "runs": f"""
insert into honestone.runs as known ({stored.COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
on conflict (id) do update set finished = excluded.finished, result = excluded.result
where known.finished is null and excluded.finished is not null
""".encode(),
    "events": b"insert into honestone.events (run, seq, data, once) values (%s, %s, %s, %s) on conflict do nothing",
    "cases": INSERT_CASE + b" on conflict do nothing",
    "replies": b"""
insert into honestone.replies (key, judge, at, data)
select key, judge, at, data from (values (%s::text, %s::text, %s::text, %s::bytea)) as new (key, judge, at, data)
where not exists (
    select 1 from honestone.replies old
    where old.key = new.key and old.judge = new.judge and old.at = new.at and old.data = new.data
)
""",
    "blobs": INSERT_BLOB,
}


def on_record(
    cursor: Cursor[TupleRow], run: str, every: Sequence[stored.NewEvent]
) -> dict[bytes, tuple[int, bytes]]:
    """The number and data of those events that are on record already, by their `once`."""
    once = [new.once for new in every if new.once is not None]
    rows = cursor.execute(STORED_ONCE, (once, run)).fetchall() if once else []
    return {bytes(key): (number, data) for key, number, data in rows}


def add_events(cursor: Cursor[TupleRow], run: str, every: Sequence[stored.NewEvent]) -> set[int]:
    """Add events through a function of the database, for roles that may not write to its tables.
    Returns the places of those that were not added.
    """
    lost: set[int] = set()
    for place, new in enumerate(every):
        if stored.follows_lost(place, every, lost):
            lost.add(place)
            continue
        about = stored.AboutCase.of(new)
        arguments = (run, about.case, about.type, about.attempt, about.refused, about.rest)
        if not only(cursor.execute(ADD_EVENT, arguments).fetchone()):
            lost.add(place)
    return lost


def places_lost(every: Sequence[stored.NewEvent], known: Collection[bytes]) -> set[int]:
    lost: set[int] = set()
    stored_keys = set(known)
    for place, new in enumerate(every):
        if new.once in stored_keys or stored.follows_lost(place, every, lost):
            lost.add(place)
        elif new.once is not None:  # of several in one transaction the first one counts
            stored_keys.add(new.once)
    return lost


def add_batch(cursor: Cursor[TupleRow], query: bytes, rows: Sequence[StoreRow]) -> int:
    cleaned = [
        tuple(stored.text_of(value) if isinstance(value, str) else value for value in row)
        for row in rows
    ]
    cursor.executemany(query, cleaned)
    return int(cursor.rowcount)


def format_of(cursor: Cursor[TupleRow]) -> int:
    # Not to_regclass: it does not see a table that another session made since this transaction
    # began.
    there = b"select exists (select from pg_catalog.pg_tables where schemaname = 'honestone' and tablename = 'format')"
    if not only(cursor.execute(there).fetchone()):
        return 0
    return int(only(cursor.execute(b"select version from honestone.format").fetchone()))


def only(row: tuple[Any, ...] | None) -> Any:
    assert row is not None
    return row[0]


def lock_number(name: str) -> int:
    """The number of an advisory lock, a signed integer of 64 bits."""
    return int.from_bytes(
        hashlib.sha256(f"honestone {name}".encode()).digest()[:8], "big", signed=True
    )


def try_lock(cursor: Cursor[TupleRow], identity: str) -> bool:
    return bool(
        only(
            cursor.execute(b"select pg_try_advisory_lock(%s)", (lock_number(identity),)).fetchone()
        )
    )
