"""What a row of any store holds: ids, times, events and replies as JSON.

The classes of events are imported where they are needed: who lists runs needs none, and they take
long to make.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, overload

import msgspec
from msgspec.structs import replace

from honestone.core.errors import StoreError
from honestone.core.judging.spend import RunGrants
from honestone.ports import Recordable, RunInfo, RunOrigin, StoreRow, StoreTable

if TYPE_CHECKING:
    from honestone.core.events import Event, RecordedCase

# The columns of the table `runs`, in the order of `run_info`.
COLUMNS: Final = "id, kind, subject, identity, contract, started, finished, result, project, person"
# What is copied of each table. A finished run replaces the same one that was not: no other row ever
# changes.
COLUMNS_OF: Final[Mapping[StoreTable, str]] = {
    "runs": COLUMNS,
    "events": "run, seq, data",
    "cases": "run, number, id, data",
    "replies": "key, judge, at, data",
    "blobs": "digest, data",
}
# Of the table `replies`, in the order of its columns there.
ReplyRow: TypeAlias = tuple[str, str, str, bytes]
ROWS_AT_A_TIME: Final = 500
DAMAGED: Final = (
    "the other runs and every reply that was paid for are kept: `honestone runs` lists them, and running a command again "
    "costs only what is lost; or keep the folder and set HONESTONE_HOME to a new one"
)


def new_id(last: str) -> str:
    """A ULID: sorts by time, and after `last`, whatever the clock says."""
    from honestone.core.record.runs import run_id

    return run_id(time.time_ns() // 1_000_000, int.from_bytes(os.urandom(10)), last=last)


def batches(
    rows: Iterable[StoreRow], origin: RunOrigin, table: StoreTable
) -> Iterator[list[StoreRow]]:
    """The rows in lists that are not too long. A run without a project gets that of `origin`, an
    event its `once_of`.
    """
    every = iter(rows)
    while some := list(islice(every, ROWS_AT_A_TIME)):
        if table == "runs" and origin.project:
            some = [(*row[:8], row[8] or origin.project, row[9]) for row in some]
        elif table == "events":
            some = [(*row, _once_of_row(row[2])) for row in some]
        yield some


class NewEvent(NamedTuple):
    """An event as it is written. `once` is None where a run may hold several of its kind; `attempt`
    is the case and number that it is about.
    """

    data: bytes
    once: bytes | None
    attempt: tuple[object, object] | None

    @classmethod
    def of(cls, event: Recordable) -> NewEvent:
        plain = plain_event(event)
        about = (
            (plain["case"], plain["attempt"]) if "case" in plain and "attempt" in plain else None
        )
        return cls(encode(plain), once_of(plain), about)


class NewReply(NamedTuple):
    """A reply that a task keeps: `data` is its JSON, the rest as `ports.Store.keep_reply` has it."""

    key: str
    judge: str
    data: bytes
    known: int | None


class AboutCase(NamedTuple):
    """An event in the parts that `honestone.add_event` of a shared store takes: the `case` as the
    queue has it, and the `rest` as JSON. The store writes the other parts into the event itself, so
    that a runner does not say what an event is about.
    """

    type: str
    case: str
    attempt: int | None
    refused: str | None
    rest: bytes

    @classmethod
    def of(cls, event: NewEvent) -> AboutCase:
        from honestone.core.record.queue import name_in_queue

        rest = decode(event.data)
        type, case = rest.pop("type"), rest.get("case", "")
        if type in (*_OF_ATTEMPTS, _PASSED_BY):
            del rest["case"]
        refused = rest.pop("refused", None)
        return cls(
            type=type,
            case=name_in_queue(case),
            attempt=rest.pop("attempt", None),
            refused=None if refused is None else text_of(refused),
            rest=encode(rest),
        )


def follows_lost(place: int, events: Sequence[NewEvent], lost: Collection[int]) -> bool:
    """Whether an event of the same attempt before it was not kept: what was said of an output that
    is not on record.
    """
    about = events[place].attempt
    return about is not None and any(events[other].attempt == about for other in lost)


_OF_ATTEMPTS: Final = ("produced", "attempted")
_PASSED_BY: Final = "passed-by"


def once_of(plain: Mapping[str, Any]) -> bytes | None:
    """What of an event may be on record once in a run: an attempt's output, its judgement, that a
    case was passed by. A judgement that a limit refused may be there several times, and next to one
    that was not refused.
    """
    if plain.get("type") not in (*_OF_ATTEMPTS, _PASSED_BY) or plain.get("refused") is not None:
        return None
    what = f"{plain['type']} {plain.get('attempt')} {plain.get('case')}"
    return hashlib.sha256(what.encode("utf-8", "surrogatepass")).digest()[:16]


def once_of_attempts(case: str, attempts: int) -> list[bytes]:
    """The `once` of all events that `Store.cases_of` may find."""
    about: list[Mapping[str, Any]] = [{"type": _PASSED_BY, "case": case}]
    for number in range(1, attempts + 1):
        about += [{"type": type, "case": case, "attempt": number} for type in _OF_ATTEMPTS]
    return [once for plain in about if (once := once_of(plain)) is not None]


def _once_of_row(data: object) -> bytes | None:
    try:
        plain = decode(data) if isinstance(data, bytes) else None
    except ValueError:  # a damaged row is copied as it is
        return None
    return once_of(plain) if isinstance(plain, dict) else None


class NewRun(NamedTuple):
    """What is written of a run that starts: its first event without its cases, and these."""

    data: bytes
    cases: Sequence[RecordedCase] = ()

    @classmethod
    def of(cls, first: Recordable) -> NewRun:
        from honestone.core.events import SuiteStarted

        if not isinstance(first, SuiteStarted):
            return cls(encode(plain_event(first)))
        return cls(encode(plain_event(replace(first, cases=()))), first.cases)

    def rows(self, run: str) -> Iterator[list[tuple[str, int, str, bytes]]]:
        """The rows of the cases, in lists that are not too long; each time from the first, as a
        transaction may begin again.
        """
        every = (
            (run, number, text_of(one.id), encode(one.plain))
            for number, one in enumerate(self.cases, 1)
        )
        while some := list(islice(every, ROWS_AT_A_TIME)):
            yield some


class StoredCases(Sequence["RecordedCase"]):
    """The cases of a run, read from its store each time they are gone through, because they may be
    many.

    `read` gives the rows after a number, in order; `count` says how many there are.
    """

    def __init__(self, read: Callable[[int], Iterator[bytes]], count: Callable[[], int]) -> None:
        self._read = read
        self._count = count

    def __iter__(self) -> Iterator[RecordedCase]:
        return map(recorded_case, self._read(0))

    def __len__(self) -> int:
        return self._count()

    @overload
    def __getitem__(self, index: int) -> RecordedCase: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[RecordedCase]: ...
    def __getitem__(self, index: int | slice) -> RecordedCase | Sequence[RecordedCase]:
        if isinstance(index, slice):
            return tuple(self)[index]
        place = index if index >= 0 else len(self) + index
        found = next(self._read(place), None) if place >= 0 else None
        if found is None:
            raise IndexError(index)
        return recorded_case(found)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))
        )

    __hash__ = None  # type: ignore[assignment]


def _same(one: object, other: object) -> bool:
    return one == other


def recorded_case(data: bytes) -> RecordedCase:
    from honestone.core.events import RecordedCase

    return RecordedCase(decode(data))


def require_next(number: int, expected: int, run: str, store: str) -> None:
    """Raises StoreError where an event is missing before this one."""
    if number != expected:
        raise StoreError(
            f"the store {store!r} is damaged: event {expected} of run {run} is missing",
            hint=DAMAGED,
        )


def read_event(
    data: bytes, number: int, run: str, store: str, cases: Sequence[RecordedCase] = ()
) -> Event:
    """`cases` are those of its run, for its first event. Raises StoreError for a row that is
    damaged; `store` says where.
    """
    from honestone.core.events import SuiteStarted
    from honestone.core.record.event_codec import event_from_plain

    try:
        event = event_from_plain(decode(data))
    except Exception as error:  # whatever a damaged row does to the code that reads it
        what = f"event {number} of run {run} cannot be read ({type(error).__name__})"
        raise StoreError(f"the store {store!r} is damaged: {what}", hint=DAMAGED) from None
    if (
        isinstance(event, SuiteStarted) and not event.cases
    ):  # else it is of a store that kept them in the event
        return replace(event, cases=cases)
    return event


def text_of(value: str) -> str:
    """Remove from a text what a database refuses: U+0000, halves of surrogate pairs, and a path's
    bytes that are not UTF-8.
    """
    return value.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def deleted_event(run: RunInfo) -> bytes:
    """What stays of a run that is deleted: its only event."""
    return encode({"type": _DELETED, "at": timestamp(), "kind": run.kind, "started": run.started})


def _deleted_at(data: bytes) -> str | None:
    """When a run was deleted, from the event that stayed; None for another event."""
    with suppress(ValueError):
        plain = decode(data)
        if isinstance(plain, dict) and plain.get("type") == _DELETED:
            return str(plain.get("at"))
    return None


_DELETED: Final = "deleted"


def found_run(rows: list[RunInfo], name: str, left: Iterable[tuple[str, bytes]] = ()) -> RunInfo:
    """The only run that a name means. Raises StoreError where it means none or several. `left`:
    first events of that name whose run is not there.
    """
    if len(rows) == 1:
        return rows[0]
    for run, data in left if not rows else ():
        if (at := _deleted_at(data)) is not None:
            raise StoreError(
                f"run {run} was deleted on {at[:10]}",
                hint="`honestone runs` lists those that are left",
            )
    if not rows:
        raise StoreError(f"no run {name!r} in this store", hint="`honestone runs` lists them")
    raise StoreError(
        f"several runs begin with {name!r}: {', '.join(row.id for row in rows)}",
        hint="give more of the id",
    )


class _OfCase(msgspec.Struct):
    case: str | None = None


_decode_case = msgspec.json.Decoder(_OfCase).decode


def case_of(data: bytes) -> str | None:
    """The case that an event is about; None where that is nothing or cannot be read."""
    try:
        return _decode_case(data).case
    except msgspec.DecodeError:
        with suppress(ValueError):
            plain = json.loads(data)  # it may hold half a surrogate pair
            return plain.get("case") if isinstance(plain, dict) else None
    return None


def encode(value: Any) -> bytes:
    """Encode a value as JSON. A reply may hold half a surrogate pair, which is not UTF-8; it is
    kept all the same, escaped.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, default=lambda raw: json.loads(bytes(raw))).encode()


def decode(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data)


def readable(rows: Iterable[tuple[bytes]]) -> Iterator[dict[str, Any]]:
    """The replies among them; what is damaged is left out, and asked for again."""
    for (data,) in rows:
        with suppress(ValueError):
            if isinstance(found := decode(data), dict):
                yield found


def run_info(row: tuple[Any, ...]) -> RunInfo:
    """Make the RunInfo of a row with COLUMNS."""
    return RunInfo(**dict(zip(COLUMNS.split(", "), row, strict=True)))


def run_grants(row: tuple[Any, ...] | None) -> RunGrants:
    """Make the RunGrants of a row with calls, US dollars, the dearest price, and seconds since the
    run began.
    """
    assert row is not None
    return RunGrants(calls=int(row[0]), usd=row[1], dearest=row[2], seconds=max(0.0, row[3]))


def timestamp() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def plain_event(event: Recordable) -> Mapping[str, Any]:
    from honestone.core.events import Event
    from honestone.core.record.event_codec import event_to_plain

    return event_to_plain(event) if isinstance(event, Event) else event
