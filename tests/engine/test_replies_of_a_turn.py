"""Replies that come in one turn of the event loop are one transaction, and on disk before any of
them is read.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from statement_driver import TURNS

from honestone.adapters.stores import stored
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.record.rates import RateLimits
from honestone.engine.journal import RATE_WAITS, turn
from honestone.ports import StoredReply


class Counted(MemoryStore):
    """Notes how many replies each transaction holds."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def keep_together(self, replies: Sequence[stored.NewReply]) -> list[StoredReply | None]:
        self.sizes.append(len(replies))
        return super().keep_together(replies)


@pytest.fixture
def store() -> Iterator[Counted]:
    counted = Counted()
    yield counted
    counted.close()


def test_replies_of_one_turn_are_one_transaction(store: Counted) -> None:
    """Whoever continues finds all of them on record; a later turn is a transaction of its own."""

    async def keep(key: str) -> None:
        await store.journal.keep_reply(key, "judge", {"to": key}, 0)
        assert all(store.reply(other) for other in ("a", "b", "c"))

    async def run() -> None:
        await asyncio.gather(keep("a"), keep("b"), keep("c"))
        await keep("d")

    asyncio.run(run())
    assert store.sizes == [3, 1]
    assert store.reply("d") == {"to": "d"}


def test_a_late_reply_among_others_is_answered_by_the_first(store: Counted) -> None:
    """Each task of the turn hears of its own reply: late ones get what was on record before."""
    store.keep_reply("late", "judge", {"n": 1})

    async def run() -> list[StoredReply | None]:
        keep = store.journal.keep_reply
        return await asyncio.gather(
            keep("new", "judge", {"n": 2}, 0), keep("late", "judge", {"n": 3}, 0)
        )

    first, second = asyncio.run(run())
    assert first is None and second is not None
    assert json.loads(second.data) == {"n": 1} == store.reply("late")


def test_a_cancelled_task_keeps_what_was_paid_for(store: Counted) -> None:
    """Its reply, and those of the others of the turn."""

    async def run() -> None:
        keep = store.journal.keep_reply
        tasks = [asyncio.ensure_future(keep(key, "judge", {"to": key}, 0)) for key in "ab"]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    assert store.reply("a") == {"to": "a"} and store.reply("b") == {"to": "b"}


def test_a_reply_that_cannot_be_written_harms_no_other(store: Counted) -> None:
    """It fails in its own task, before the transaction."""

    async def run() -> list[Any]:
        keep = store.journal.keep_reply
        asked = keep("bad", "judge", {"no JSON": object()}, 0), keep("good", "judge", {"n": 1}, 0)
        return await asyncio.gather(*asked, return_exceptions=True)

    bad, good = asyncio.run(run())
    assert isinstance(bad, TypeError) and good is None
    assert store.reply("good") == {"n": 1} and store.reply("bad") is None


@pytest.mark.kills
def test_a_kill_at_any_statement_costs_the_replies_of_one_turn_at_most(tmp_path: Path) -> None:
    """What was read is on record, and what is on record is not paid for again. All that is paid for
    twice came in the same turn.
    """
    driver = Path(__file__).with_name("statement_driver.py")
    done = subprocess.run(
        [sys.executable, str(driver), str(tmp_path)], capture_output=True, text=True, check=True
    )
    trials = json.loads(done.stdout)
    killed = [trial for trial in trials if trial["killed"]]
    assert len(killed) > 20 and len(trials) == len(killed) + 2
    twice = [set(trial["first"]) & set(trial["second"]) for trial in trials]
    for trial, both in zip(trials, twice, strict=True):
        read = {line.split()[1] for line in trial["first"] if line.startswith("read")}
        paid_again = {line.split()[1] for line in both if line.startswith("paid")}
        assert not read & paid_again
        assert any(paid_again <= set(turn) for turn in TURNS)
        assert [line for line in trial["second"] if line.startswith("read")]
    assert any(len([line for line in both if line.startswith("paid")]) > 1 for both in twice), (
        "no kill met the replies of a turn in the air"
    )


class Claims(MemoryStore):
    """Notes the places that are claimed."""

    def __init__(self) -> None:
        super().__init__()
        self.tried: list[str] = []

    def claim_reply(self, key: str) -> bool:
        self.tried.append(key)
        return super().claim_reply(key)


def test_the_place_given_back_last_is_tried_first() -> None:
    """One claim a call where it is free; another run with fewer places never takes one above."""
    store = Claims()
    rates = RateLimits(account="an account of this test alone", concurrency=1000)
    fewer = RateLimits(account=rates.account, concurrency=1)

    async def call(limits: RateLimits) -> None:
        async with turn(store.journal, limits):
            pass

    async def run() -> None:
        for _ in range(5):
            await call(rates)
        await call(fewer)

    asyncio.run(run())
    *many, last = store.tried
    assert len(many) == 5 and len(set(many)) == 1
    assert last == f"place 0 of {rates.account}"
    store.close()


def test_of_many_who_wait_for_a_place_one_looks_for_it() -> None:
    """And each gets its turn as soon as this process gives a place back."""
    store = Claims()
    rates = RateLimits(account="an account with two places", concurrency=2)
    done = 0

    async def call(until: asyncio.Event) -> None:
        nonlocal done
        async with turn(store.journal, rates):
            await until.wait()
            done += 1

    async def run() -> None:
        gate = asyncio.Event()
        calls = [asyncio.create_task(call(gate)) for _ in range(100)]
        while len(store.tried) < 6:
            await asyncio.sleep(0)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(store.tried) < 20 and done == 0
        looked = len(store.tried)
        gate.set()
        await asyncio.gather(*calls)
        assert len(store.tried) - looked <= 3 * 100

    asyncio.run(asyncio.wait_for(run(), 60))
    assert done == 100
    store.close()


@pytest.mark.parametrize("is_of_run", [False, True])
def test_what_waits_for_the_limit_of_a_run_waits_for_no_account(is_of_run: bool) -> None:
    """A desk shows the accounts that runners wait for: a run is none."""
    store, waits = Claims(), Counter[str]()
    rates = RateLimits(account="one place", concurrency=1)

    async def run() -> Counter[str]:
        RATE_WAITS.set(waits)
        async with turn(store.journal, rates, is_of_run=is_of_run):
            other = asyncio.create_task(_entered(turn(store.journal, rates, is_of_run=is_of_run)))
            looked = len(store.tried)
            while len(store.tried) == looked:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            found = +waits
        await other
        return found

    found = asyncio.run(asyncio.wait_for(run(), 60))
    assert found == ({} if is_of_run else {"one place": 1})
    store.close()


async def _entered(opened: AbstractAsyncContextManager[None]) -> None:
    async with opened:
        pass
