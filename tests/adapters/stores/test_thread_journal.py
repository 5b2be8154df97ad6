"""A journal whose calls a thread makes: the loop is free while they wait, their order is kept, and
none is lost with its task.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pytest

from honestone.adapters.stores.memory import MemoryStore
from honestone.adapters.stores.thread_journal import ThreadJournal, through
from honestone.core.errors import StoreAway, StoreError
from honestone.core.events import OtherEvent
from honestone.core.record.event_codec import event_to_plain
from honestone.engine.journal import claimed
from honestone.testing import check_store


class Waiting(MemoryStore):
    """A store in memory that makes no call of its journal while it is `closed`, as a server that
    does not answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.open.set()
        self.waits = threading.Event()
        self.gave_up = False
        self.threads: set[str] = set()
        self._own = ThreadJournal(self, self._give_up)

    @property
    def journal(self) -> Any:
        return self._own

    def _give_up(self) -> None:
        self.gave_up = True
        self.open.set()

    def _wait(self) -> None:
        self.threads.add(threading.current_thread().name)
        self.waits.set()
        self.open.wait()
        if self.gave_up:
            raise StoreAway("it was given up")

    def append(self, run: str, event: Any, blobs: Mapping[str, bytes] | None = None) -> Any:
        self._wait()
        return super().append(run, event, blobs)

    def append_many(self, run: str, events: Iterable[Any]) -> Any:
        self._wait()
        return super().append_many(run, events)

    def claim_reply(self, key: str) -> bool:
        self._wait()
        return super().claim_reply(key)

    def close(self) -> None:
        self._own.close()
        super().close()


@pytest.fixture
def store() -> Iterator[Waiting]:
    made = Waiting()
    yield made
    made.open.set()
    made.close()


def event(n: int) -> OtherEvent:
    return OtherEvent(name="check", facts={"type": "check", "n": n})


def a_run(store: MemoryStore) -> str:
    return store.start_run(kind="eval", subject="s", identity="i", contract="c", first=event(-1))


def numbers(store: MemoryStore, run: str) -> list[object]:
    return [event_to_plain(one)["n"] for one in store.events(run)[1:]]


async def until(done: Callable[[], bool]) -> None:
    """Turns of the loop, until something holds that will."""
    while not done():
        await asyncio.sleep(0.001)


def test_it_keeps_the_promises_of_the_port() -> None:
    """The same checks as those of a store that answers at once."""
    check_store(Waiting, survives=False)


def test_the_loop_is_free_while_a_call_waits(store: Waiting) -> None:
    """A time limit of another task fires, and whatever beats in the loop beats, although the store
    does not answer.
    """
    run, beats = a_run(store), 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0)

    async def work() -> None:
        heart = asyncio.create_task(beat())
        store.open.clear()
        appended = asyncio.create_task(store.journal.append(run, event(1)))
        await until(store.waits.is_set)
        before = beats
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await asyncio.Event().wait()
        await until(lambda: beats > before + 3)
        assert not appended.done()
        store.open.set()
        assert await appended is None
        heart.cancel()

    asyncio.run(work())
    assert numbers(store, run) == [1] and store.threads == {"journal"}


def test_calls_are_made_in_the_order_in_which_they_were_begun(store: Waiting) -> None:
    """Whichever task is waited for first."""
    run = a_run(store)

    async def work() -> None:
        store.open.clear()
        tasks = [asyncio.create_task(store.journal.append(run, event(n))) for n in range(20)]
        await until(store.waits.is_set)
        store.open.set()
        for task in reversed(tasks):
            await task

    asyncio.run(work())
    assert numbers(store, run) == list(range(20))


def test_what_a_cancelled_task_had_begun_is_on_record(store: Waiting) -> None:
    """It was paid for. The task is cancelled once its call was made, at what it awaits next."""
    run, reached = a_run(store), []

    async def judged() -> None:
        await store.journal.append(run, event(1))
        reached.append("appended")
        await asyncio.sleep(0)
        reached.append("after that")

    async def work() -> None:
        store.open.clear()
        task = asyncio.create_task(judged())
        await until(store.waits.is_set)
        task.cancel()
        await asyncio.sleep(0)
        store.open.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelling() == 1

    asyncio.run(work())
    assert numbers(store, run) == [1] and reached == ["appended"]


def test_a_claim_that_is_on_its_way_to_a_cancelled_task_is_given_back(store: Waiting) -> None:
    """Else no task of any process could ask that request until this one ends."""

    async def ask() -> None:
        async with claimed(store.journal, "key"):
            await asyncio.sleep(0)
            raise AssertionError("it was cancelled")

    async def work() -> None:
        store.open.clear()
        task = asyncio.create_task(ask())
        await until(store.waits.is_set)
        task.cancel()
        await asyncio.sleep(0)
        store.open.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await store.journal.claim_reply("key")

    asyncio.run(work())


def test_a_task_that_is_cancelled_twice_waits_no_longer(store: Waiting) -> None:
    """A second Ctrl-C, while the server does not answer. What was begun is made all the same."""
    run = a_run(store)

    async def work() -> None:
        store.open.clear()
        task = asyncio.create_task(store.journal.append(run, event(1)))
        await until(store.waits.is_set)
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        store.open.set()

    asyncio.run(work())
    store.journal.close()
    assert numbers(store, run) == [1]


def test_a_cancelled_task_does_not_wait_for_ever() -> None:
    """Where no answer comes it is cancelled after a while."""

    async def work() -> None:
        task = asyncio.create_task(through(asyncio.get_running_loop().create_future(), 0.01))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


def test_an_error_is_raised_in_each_task_that_waits(store: Waiting) -> None:
    """Also where several tasks were looked up together; the next call works."""

    class Broken(Waiting):
        is_broken = True

        def answers(self, keys: Any) -> Any:
            if self.is_broken:
                raise StoreError("it is broken")
            return super().answers(keys)

    broken = Broken()

    async def work() -> None:
        found = await asyncio.gather(
            *(broken.journal.recall(key) for key in "ab"), return_exceptions=True
        )
        assert [str(one) for one in found] == ["it is broken"] * 2
        broken.is_broken = False
        assert await broken.journal.recall("a") == ()

    asyncio.run(work())
    broken.close()


def test_a_store_that_is_closed_has_made_every_call(store: Waiting) -> None:
    """Also those whose tasks have ended, because the loop was closed."""
    run = a_run(store)

    async def work() -> None:
        store.open.clear()
        tasks = [asyncio.create_task(store.journal.append(run, event(n))) for n in range(5)]
        await until(store.waits.is_set)
        for _ in range(2):
            for task in tasks:
                task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        store.open.set()

    asyncio.run(work())
    store.journal.close()
    assert numbers(store, run) == list(range(5))


def test_a_call_that_does_not_end_is_given_up(
    store: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server does not answer, and the command is to end."""
    monkeypatch.setattr("honestone.adapters.stores.thread_journal._CLOSE_SECONDS", 0.05)
    run = a_run(store)

    async def work() -> None:
        store.open.clear()
        task = asyncio.create_task(store.journal.append(run, event(1)))
        await until(store.waits.is_set)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(work())
    store.journal.close()
    assert store.gave_up and numbers(store, run) == []


def test_events_of_about_the_same_time_are_one_transaction(store: Waiting) -> None:
    """Those of several tasks, also where they come in several turns of the loop."""
    run, together = a_run(store), list[int]()
    kept = store.append_many

    def counted(run: str, events: Any) -> Any:
        together.append(len(events))
        return kept(run, events)

    store.append_many = counted  # type: ignore[method-assign]

    async def late(n: int) -> None:
        for _ in range(n):
            await asyncio.sleep(0)
        assert await store.journal.append(run, event(n)) is None

    async def work() -> None:
        await asyncio.gather(*(late(n) for n in range(10)))

    asyncio.run(work())
    assert together == [10] and sorted(map(str, numbers(store, run))) == sorted(map(str, range(10)))


def test_an_event_whose_loop_ended_before_its_time_is_kept(store: Waiting) -> None:
    """By what is appended in the next loop, or when the journal is closed."""
    run = a_run(store)

    async def left(n: int) -> None:
        asyncio.get_running_loop().call_soon(
            asyncio.create_task(store.journal.append(run, event(n))).cancel
        )
        await asyncio.sleep(0.001)

    async def next_one() -> None:
        await store.journal.append(run, event(2))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("honestone.adapters.stores.thread_journal.PATIENCE_OF_CANCELLED", 0)
        asyncio.run(left(1))
        asyncio.run(next_one())
        asyncio.run(left(3))
    store.journal.close()
    assert numbers(store, run) == [1, 2, 3]
