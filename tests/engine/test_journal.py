"""Paid calls of several processes on one store: whatever their order and whoever is killed when, no
request is paid twice without a kill, none is forgotten, and the cap holds.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.stores.memory import MemoryStore
from honestone.adapters.stores.thread_journal import ThreadJournal
from honestone.core.judging.spend import Meter, RunGrants, Spend, Usage
from honestone.engine.journal import JournalAccount, claimed, reserve_in, take_call
from honestone.ports import Journal

RUN = "run"


class LateJournal(ThreadJournal):
    """A journal whose calls wait: each is made, and then answered, after as many turns of the loop
    as chance wants.
    """

    def __init__(self, store: MemoryStore, chance: random.Random) -> None:
        super().__init__(store, lambda: None)
        self._chance = chance
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._made: list[Any] = []

    def _begin(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        answer = loop.create_future()
        self._waiting.append((call, answer))
        if len(self._waiting) == 1:
            loop.call_soon(self._step)
        return answer

    def _step(self) -> None:
        if self._chance.random() < 0.5:
            call, answer = self._waiting[0]
            if self._made:
                self._waiting.popleft()
                answer.set_result(self._made.pop())
            else:
                self._made.append(call())
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._step)


def journal_of(store: MemoryStore, chance: random.Random, waits: bool) -> Journal:
    """That of one process. `waits`: of a store that waits for a server."""
    return LateJournal(store, chance) if waits else store.journal


class World:
    """A store in memory, and what was paid for. `waits`: each process has a journal whose calls
    wait.
    """

    def __init__(self, chance: random.Random, waits: bool) -> None:
        self.store = MemoryStore()
        self.chance = chance
        self.waits = waits
        self.paid: Counter[str] = Counter()

    async def turn(self) -> None:
        for _ in range(self.chance.randint(0, 3)):
            await asyncio.sleep(0)

    async def ask(self, journal: Journal, key: str, meter: Meter) -> bool:
        """As a panel does. False where the limit is reached."""
        await self.turn()
        if await journal.recall(key):
            return True
        async with claimed(journal, key):
            await self.turn()
            if await journal.recall(key):
                return True
            if meter.refuse_call() is not None:
                return False
            self.paid[key] += 1
            await self.turn()
            await journal.keep_reply(key, "judge", {"to": key})
            return True


@given(
    seed=st.integers(0, 2**32),
    processes=st.integers(2, 6),
    requests=st.integers(1, 6),
    kills=st.integers(0, 3),
    waits=st.booleans(),
)
def test_equal_requests_are_paid_once(
    seed: int, processes: int, requests: int, kills: int, waits: bool
) -> None:
    """Each process asks every request, in an order of its own; some are killed anywhere. Every
    survivor has all replies, and no more is paid for twice than was under way at a kill.
    """
    chance = random.Random(seed)
    world = World(chance, waits)

    async def process(keys: list[str]) -> None:
        meter, journal = (
            Meter(calls=100, minutes=9, usd=None, clock=lambda: 0.0),
            journal_of(world.store, chance, waits),
        )
        for key in keys:
            assert await world.ask(journal, key, meter)

    async def run() -> int:
        names = [f"request {n}" for n in range(requests)]
        tasks = [
            asyncio.create_task(process(chance.sample(names, len(names)))) for _ in range(processes)
        ]
        doomed = chance.sample(tasks, min(kills, processes - 1))
        for task in doomed:
            await world.turn()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return len(doomed)

    killed = asyncio.run(run())
    assert len(world.paid) == requests
    assert sum(world.paid.values()) <= requests + killed
    for name in world.paid:
        assert world.store.claim_reply(name), "no claim outlives who had it"
    world.store.close()


def a_meter(
    store: MemoryStore,
    cap: int,
    *,
    usd: float | None = None,
    before: Spend | None = None,
    block: int = 8,
    journal: Journal | None = None,
) -> Meter:
    """That of one process which works on the run."""
    meter = Meter(calls=cap, minutes=9, usd=usd, clock=lambda: 0.0, before=before or Spend())
    reserve_in(store, RUN, meter, at_a_time=block)
    if journal is not None:
        meter.account = JournalAccount(journal, RUN, meter)
    return meter


@given(
    cap=st.integers(0, 60),
    kept=st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), min_size=1, max_size=6),
)
def test_the_cap_holds_over_kills(cap: int, kept: list[tuple[int, int]]) -> None:
    """Each process makes calls and is killed; of some of them the record says something to the next
    one, of the rest nothing does. All together never make more than the cap.
    """
    store = MemoryStore()
    made, on_record = 0, 0

    async def process(calls: int) -> int:
        meter = a_meter(store, cap, before=Spend(judge_calls=on_record))
        for done in range(calls):
            if await take_call(meter) is not None:
                return done
        return calls

    for calls, recorded in kept:
        done = asyncio.run(process(calls))
        made += done
        on_record = min(made, on_record + min(recorded, done))
        assert made <= cap
    store.close()


@given(cap=st.integers(0, 300))
def test_without_a_kill_every_call_of_the_cap_is_granted(cap: int) -> None:
    """What is taken several at a time is used to the last."""
    store = MemoryStore()

    async def process() -> int:
        meter = a_meter(store, cap)
        granted = 0
        while await take_call(meter) is None:
            granted += 1
            assert granted <= store.open_grants(RUN, RunGrants()).calls <= cap
        return granted

    assert asyncio.run(process()) == cap
    store.close()


@given(
    seed=st.integers(0, 2**32),
    cap=st.integers(0, 120),
    runners=st.integers(1, 6),
    kills=st.integers(0, 4),
    block=st.integers(1, 8),
    waits=st.booleans(),
)
def test_the_cap_holds_over_many_runners_and_kills(
    seed: int, cap: int, runners: int, kills: int, block: int, waits: bool
) -> None:
    """Several processes work on one run at once, each with several calls under way; some are killed
    anywhere, others end in order and give back the rest. The cap is never passed, and what is
    missing from it was in the hands of the killed.
    """
    chance = random.Random(seed)
    store = MemoryStore()
    made: Counter[int] = Counter()

    async def caller(number: int, meter: Meter) -> None:
        while await take_call(meter) is None:
            made[number] += 1
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(0)
            meter.made(Usage())
            if chance.random() < 0.02:
                return

    async def runner(number: int) -> None:
        meter = a_meter(store, cap, block=block, journal=journal_of(store, chance, waits))
        async with asyncio.TaskGroup() as group:
            for _ in range(chance.randint(1, block)):
                group.create_task(caller(number, meter))
        assert meter.account is not None
        await meter.account.give_back()

    async def run() -> None:
        tasks = [asyncio.create_task(runner(number)) for number in range(runners)]
        for task in chance.sample(tasks, min(kills, runners)):
            for _ in range(chance.randint(0, 40)):
                await asyncio.sleep(0)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        last = a_meter(store, cap)
        while await take_call(last) is None:
            made[-1] += 1

    asyncio.run(run())
    assert cap - kills * block <= made.total() <= cap
    assert store.open_grants(RUN, RunGrants()).calls == cap
    store.close()


@given(
    seed=st.integers(0, 2**32),
    cap=st.integers(1, 400).map(lambda cents: cents / 100),
    runners=st.integers(1, 4),
    prices=st.lists(st.integers(1, 30).map(lambda cents: cents / 100), min_size=1, max_size=5),
    waits=st.booleans(),
)
def test_money_is_reserved_for_calls_under_way(
    seed: int, cap: float, runners: int, prices: list[float], waits: bool
) -> None:
    """Once the price of the dearest call is known, so much is reserved for each call before it is
    made: what all runners spend together does not pass the limit. No runner waits for ever, and one
    alone spends all that a call still fits in.
    """
    chance = random.Random(seed)
    store = MemoryStore()
    spent: list[float] = []

    async def caller(meter: Meter) -> None:
        while await take_call(meter) is None:
            price = chance.choice(prices)
            spent.append(price)
            for _ in range(chance.randint(0, 3)):
                await asyncio.sleep(0)
            meter.made(Usage(usd=price))

    async def runner() -> None:
        meter = a_meter(store, 10_000, usd=cap, journal=journal_of(store, chance, waits))
        await asyncio.gather(caller(meter), caller(meter))
        assert meter.account is not None
        await meter.account.give_back()

    async def run() -> None:
        store.open_grants(RUN, RunGrants(dearest=max(prices)))
        await asyncio.gather(*(runner() for _ in range(runners)))
        await runner()

    asyncio.run(run())
    assert sum(spent) <= cap + 1e-6
    assert sum(spent) > cap - max(prices) - 1e-6
    assert abs(store.open_grants(RUN, RunGrants()).usd - sum(spent)) < 1e-6
    store.close()


def test_minutes_count_from_the_start_of_the_run_where_that_is_asked() -> None:
    """A runner that joins later has no more time than the first one."""
    store = MemoryStore()
    run = store.start_run(
        kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
    )
    time.sleep(0.05)
    meter = Meter(calls=1, minutes=0.0005, usd=None, clock=lambda: 0.0)
    reserve_in(store, run, meter, from_start=True)
    assert meter.seconds >= 0.05 and "--max-minutes" in str(asyncio.run(take_call(meter)))
    store.close()
