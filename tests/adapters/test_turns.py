"""Turns at a server: on this machine as many calls as are answered in time, and no time limit for
the wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.adapters.endpoint import Endpoint, EndpointAnswer
from honestone.adapters.transport import Transport
from honestone.adapters.turns import Turns, time_limit
from honestone.engine.judging.retrying import with_retries
from honestone.ports import CallFailed
from property_examples import examples

T = TypeVar("T")


class FastClock(asyncio.SelectorEventLoop):
    """A loop in which nobody waits: its clock goes on to what comes next."""

    now = 0.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=FastClock) as runner:
        return runner.run(work)


class Server:
    """Answers `slots` calls at a time, each after `seconds`; forgets a call whose caller has gone."""

    def __init__(self, seconds: float, slots: int) -> None:
        self.seconds, self.free = seconds, asyncio.Semaphore(slots)
        self.under_way = self.peak = self.calls = 0

    async def answer(self) -> None:
        self.calls += 1
        self.under_way += 1
        self.peak = max(self.peak, self.under_way)
        try:
            async with self.free:
                await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1


async def crowd(
    server: Server,
    turns: Turns,
    *,
    calls: int,
    most: int,
    limit: float,
    attempts: int = 5,
    is_found_out: bool = False,
) -> int:
    """How many of so many calls are answered when all are made at once, each tried again where that
    is worth it.
    """
    clock = asyncio.get_running_loop().time

    async def one() -> bool:
        for _ in range(attempts):
            async with turns.turn(most, limit, is_found_out=is_found_out) as turn:
                began = clock()
                try:
                    async with asyncio.timeout(limit):
                        await server.answer()
                except TimeoutError:
                    if turns.timed_out(turn):
                        continue
                    return False
                turns.answered(turn, clock() - began)
                return True
        return False

    return sum(await asyncio.gather(*(one() for _ in range(calls))))


@pytest.mark.parametrize("most", [2, 10, 64])
def test_a_server_that_answers_one_at_a_time_loses_no_call(most: int) -> None:
    """20 calls of half a second with a limit of 3 s are 20 calls and 20 answers, however many may
    be under way.
    """

    async def scene() -> tuple[int, int]:
        server = Server(0.5, 1)
        return await crowd(server, Turns(is_local=True), calls=20, most=most, limit=3), server.calls

    assert run(scene()) == (20, 20)


@settings(max_examples=examples(60), deadline=None)
@given(
    seconds=st.floats(0.05, 30),
    limit=st.floats(1, 120),
    slots=st.integers(1, 8),
    most=st.integers(1, 64),
    calls=st.integers(1, 40),
    is_found_out=st.booleans(),
)
def test_every_call_that_can_be_answered_in_time_is(
    seconds: float, limit: float, slots: int, most: int, calls: int, is_found_out: bool
) -> None:
    """Whatever a local server takes for a call and however many it answers at once: none is lost to
    its queue, and no more are under way than `most`.
    """
    if seconds * 2.5 > limit:
        return

    async def scene() -> tuple[int, int]:
        server = Server(seconds, slots)
        answered = await crowd(
            server,
            Turns(is_local=True),
            calls=calls,
            most=most,
            limit=limit,
            is_found_out=is_found_out,
        )
        return answered, server.peak

    answered, peak = run(scene())
    assert answered == calls and peak <= most


def test_a_server_that_answers_many_at_a_time_gets_many() -> None:
    """`concurrency` is reached where answers take no longer for it."""

    async def scene() -> int:
        server = Server(0.2, 20)
        await crowd(server, Turns(is_local=True), calls=200, most=16, limit=3)
        return server.peak

    assert run(scene()) == 16


@pytest.mark.parametrize("slots", [1, 2, 4, 16, 64, 100])
@pytest.mark.parametrize("seconds", [0.01, 1.0, 20.0])
def test_how_many_a_server_answers_together_is_found_out(seconds: float, slots: int) -> None:
    """Where no table says it, a server gets as many at once as make it answer more a second, up to
    64, and never more than four times as many as it has slots: the last level that is tried.
    """

    async def scene() -> tuple[float, int]:
        server, clock = Server(seconds, slots), asyncio.get_running_loop().time
        await crowd(server, Turns(is_local=True), calls=2000, most=64, limit=300, is_found_out=True)
        return clock(), server.peak

    took, peak = run(scene())
    useful = min(slots, 64)
    assert useful <= peak <= min(64, 4 * slots)
    assert took <= 1.3 * seconds * 2000 / useful + 20 * seconds


@settings(max_examples=examples(40), deadline=None)
@given(slots=st.integers(1, 32), seconds=st.floats(0.3, 20), calls=st.integers(1, 200))
def test_a_server_that_turns_calls_away_is_given_as_many_as_it_takes(
    slots: int, seconds: float, calls: int
) -> None:
    """A server that has no queue loses no call to the five tries that each has, and turns few away
    once it has said how many are too many.
    """

    async def scene() -> tuple[int, int]:
        turns, clock = Turns(is_local=True), asyncio.get_running_loop().time
        busy = refused = 0

        async def post() -> bool:
            nonlocal busy, refused
            async with turns.turn(64, 120, is_found_out=True) as turn:
                began = clock()
                if busy >= slots:
                    await asyncio.sleep(0.005)
                    refused += 1
                    turns.refused(turn)
                    raise CallFailed("too many", retryable=True)
                busy += 1
                try:
                    await asyncio.sleep(seconds)
                finally:
                    busy -= 1
                turns.answered(turn, clock() - began)
                return True

        async def one() -> bool:
            with suppress(CallFailed):
                return await with_retries(post, total_seconds=10**6, clock=clock)
            return False

        return sum(await asyncio.gather(*(one() for _ in range(calls)))), refused

    answered, refused = run(scene())
    assert answered == calls and refused <= calls


@pytest.mark.parametrize("status", [429, 503])
def test_what_says_that_it_is_too_busy_is_asked_fewer_at_a_time(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no table says how many: two at once were too many, so it is one."""
    here = Endpoint(provider="mine", base_url="http://127.0.0.1:1/v1", is_found_out=True)

    async def scene() -> int:
        transport, both, under_way, peak = Transport(), asyncio.Barrier(2), 0, 0

        async def busy(*_: object) -> EndpointAnswer:
            await both.wait()
            return EndpointAnswer(status, {}, b"{}")

        async def idle(*_: object) -> EndpointAnswer:
            nonlocal under_way, peak
            under_way += 1
            peak = max(peak, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            return EndpointAnswer(200, {}, b"{}")

        def posts(count: int) -> Iterator[Coroutine[Any, Any, object]]:
            return (transport.post(here, "/chat", {}, model="m") for _ in range(count))

        monkeypatch.setattr(transport, "call", busy)
        await asyncio.gather(*posts(2), return_exceptions=True)
        monkeypatch.setattr(transport, "call", idle)
        await asyncio.gather(*posts(6))
        await transport.close()
        return peak

    assert asyncio.run(scene()) == 1


def test_a_server_that_is_given_few_calls_is_not_given_more() -> None:
    """Nothing is found out from a server that has less to do than it may have."""

    async def scene() -> int:
        server, turns = Server(1, 64), Turns(is_local=True)
        for _ in range(50):
            await crowd(server, turns, calls=1, most=64, limit=99, is_found_out=True)
        await crowd(server, turns, calls=10, most=64, limit=99, is_found_out=True)
        return server.peak

    assert run(scene()) <= 4


def test_a_server_elsewhere_is_asked_as_often_as_its_table_says() -> None:
    """Nothing is found out about it: its own limits answer with 429."""

    async def scene() -> tuple[int, int]:
        server = Server(1, 1)
        return await crowd(server, Turns(is_local=False), calls=8, most=8, limit=3.5), server.peak

    assert run(scene()) == (3, 8)


def test_waiting_for_a_turn_is_not_part_of_a_time_limit() -> None:
    """Four calls of a second each, one after another, each within a limit of 1.5 s; one that takes
    longer itself ends.
    """

    async def scene() -> list[str]:
        turns = Turns(is_local=False)

        async def one(seconds: float) -> str:
            try:
                async with time_limit(1.5), turns.turn(1, 99):
                    await asyncio.sleep(seconds)
            except TimeoutError:
                return "late"
            return "in time"

        return await asyncio.gather(one(1), one(1), one(2), one(1), one(1))

    assert run(scene()) == ["in time", "in time", "late", "in time", "in time"]


def test_a_call_that_is_given_up_leaves_its_turn_to_the_next() -> None:
    """Whether it waited or had just been given its turn."""

    async def scene() -> int:
        turns, done = Turns(is_local=True), 0

        async def one() -> None:
            nonlocal done
            async with turns.turn(1, 99):
                await asyncio.sleep(1)
                done += 1

        tasks = [asyncio.create_task(one()) for _ in range(6)]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        await asyncio.sleep(0.5)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert turns.under_way == 0
        return done

    assert run(scene()) == 4
