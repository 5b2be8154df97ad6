"""The journal of a store: what the engine asks of it while it works on a run, in one class. How a
call is made is said by its subclasses: at once for a store that answers in microseconds
(`LoopJournal`), by a thread for one that waits for a server (`thread_journal`).

Events that several tasks append to runs at about the same time are one transaction a run, whoever
wished for it. So are replies that come in one turn of the event loop, where the store is a file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from honestone.adapters.stores import stored
from honestone.ports import CaseOnRecord, Recordable, Store, StoredReply
from honestone.system.together import Together

if TYPE_CHECKING:
    from honestone.core.events import Event
    from honestone.core.judging.spend import GrantRequest, RunGrants
    from honestone.core.live import LiveRun


T = TypeVar("T")
Wish = TypeVar("Wish")

# Events that were not kept, by their place among those of a wish, with what is on record instead.
Lost: TypeAlias = "Mapping[int, Event | None]"
_NONE: Lost = {}


class AppendWish(NamedTuple):
    """Events that a task appends to a run."""

    run: str
    events: Sequence[Recordable]

    def lost(self, found: Mapping[int, Lost]) -> Lost:
        """Its part of what `append_wishes` returned."""
        return found.get(id(self), _NONE)


def append_wishes(store: Store, wishes: Sequence[AppendWish]) -> Mapping[int, Lost]:
    """Appends all in order. What was lost, by the `id` of the wish; wishes that lost nothing are
    left out.
    """
    found: dict[int, Lost] = {}
    runs = {wish.run for wish in wishes}
    for run in runs:
        some = wishes if len(runs) == 1 else [wish for wish in wishes if wish.run == run]
        events = [event for wish in some for event in wish.events]
        lost = _append(store, run, events)
        if lost:
            start = 0
            for wish in some:
                end = start + len(wish.events)
                found[id(wish)] = {
                    place - start: event for place, event in lost.items() if start <= place < end
                }
                start = end
    return found


def _append(store: Store, run: str, events: Sequence[Recordable]) -> Lost:
    """One statement is a transaction of its own."""
    if len(events) > 1:
        return store.append_many(run, events)
    return _NONE if (other := store.append(run, events[0])) is None else {0: other}


def found_cases(
    store: Store, asked: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], CaseOnRecord]:
    """The cases that are there, by run and id."""
    runs = dict.fromkeys(run for run, _ in asked)
    every = {run: store.cases_of(run, [id for other, id in asked if other == run]) for run in runs}
    return {(run, id): case for run, cases in every.items() for id, case in cases.items()}


class GroupingStore(Store, Protocol):
    """A store that keeps several replies in one transaction."""

    def keep_together(self, replies: Sequence[stored.NewReply]) -> Sequence[StoredReply | None]:
        """What `keep_reply` returns, for each of them. Either all are on disk or, when it raises,
        none.
        """
        ...


class StoreJournal(ABC):
    """Implements `ports.Journal` for a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._look_up: Callable[[str], Awaitable[Mapping[str, Sequence[StoredReply]]]]
        self._look_up = self._together(lambda keys: store.answers(list(dict.fromkeys(keys))))
        self._find_cases: Callable[
            [tuple[str, str]], Awaitable[Mapping[tuple[str, str], CaseOnRecord]]
        ]
        self._find_cases = self._together(lambda asked: found_cases(store, asked))

    @abstractmethod
    async def _call(self, call: Callable[[], T]) -> T:
        """What a call of the store gives."""

    @abstractmethod
    def _together(self, act: Callable[[Sequence[Wish]], T]) -> Callable[[Wish], Awaitable[T]]:
        """Asks for one thing; what several tasks ask for in one turn is one call of the store."""

    @abstractmethod
    async def _append_together(self, wish: AppendWish) -> Mapping[int, Lost]:
        """Appends these events, with those of other tasks; see `append_wishes`."""

    async def recall(self, key: str) -> Sequence[StoredReply]:
        return (await self._look_up(key)).get(key, ())

    async def reply(self, key: str, since: str | None = None) -> dict[str, Any] | None:
        return await self._call(lambda: self._store.reply(key, since))

    async def keep_reply(
        self, key: str, judge: str, reply: Mapping[str, Any], known: int | None = None
    ) -> StoredReply | None:
        return await self._call(lambda: self._store.keep_reply(key, judge, reply, known))

    async def claim_reply(self, key: str) -> bool:
        return await self._call(lambda: self._store.claim_reply(key))

    async def give_back_reply(self, key: str) -> None:
        await self._call(lambda: self._store.give_back_reply(key))

    async def grant(self, run: str, request: GrantRequest) -> tuple[bool, RunGrants]:
        return await self._call(lambda: self._store.grant(run, request))

    async def take_slot(self, line: str, seconds: float) -> float:
        return await self._call(lambda: self._store.take_slot(line, seconds))

    async def append(
        self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None
    ) -> Event | None:
        return await self._call(lambda: self._store.append(run, event, blobs))

    async def append_many(self, run: str, events: Iterable[Recordable]) -> Lost:
        wish = AppendWish(run, tuple(events))
        return wish.lost(await self._append_together(wish)) if wish.events else {}

    async def finish_run(self, run: str, result: str, event: Recordable) -> None:
        await self._call(lambda: self._store.finish_run(run, result, event))

    async def result_of(self, run: str) -> str | None:
        return await self._call(lambda: self._store.result_of(run))

    async def case_of(self, run: str, id: str) -> CaseOnRecord | None:
        return (await self._find_cases((run, id))).get((run, id))

    async def blob(self, digest: str) -> bytes | None:
        return await self._call(lambda: self._store.blob(digest))

    async def keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        await self._call(lambda: self._store.keep_blobs(blobs))

    def keep_live(self, run: str, record: Callable[[], LiveRun]) -> None:
        self._store.keep_live(run, record)


class LoopJournal(StoreJournal):
    """For a store whose calls take microseconds, less than handing them to a thread: they are made
    in the event loop, and nothing is awaited for them.
    """

    def __init__(self, store: GroupingStore) -> None:
        super().__init__(store)
        self._keep: Callable[[stored.NewReply], Awaitable[Mapping[int, StoredReply | None]]]
        self._keep = self._together(
            lambda new: dict(zip(map(id, new), store.keep_together(new), strict=True))
        )
        self._append: Callable[[AppendWish], Awaitable[Mapping[int, Lost]]]
        self._append = self._together(lambda wishes: append_wishes(store, wishes))

    async def _call(self, call: Callable[[], T]) -> T:
        return call()

    def _together(self, act: Callable[[Sequence[Wish]], T]) -> Callable[[Wish], Awaitable[T]]:
        return Together[Wish, T](act)

    async def _append_together(self, wish: AppendWish) -> Mapping[int, Lost]:
        return await self._append(wish)

    async def keep_reply(
        self, key: str, judge: str, reply: Mapping[str, Any], known: int | None = None
    ) -> StoredReply | None:
        # What cannot be written is found here, before it meets the replies of other tasks.
        new = stored.NewReply(key, judge, stored.encode(reply), known)
        return (await self._keep(new))[id(new)]
