"""Whose turn it is at a server: how many calls may be under way, and time limits that do not count
the wait for a turn.

A server on this machine often answers one call at a time. What is sent to it together waits in its
queue, where the time limit of each call runs, so all but the first few would be lost. Such a server
is given as many calls as would be answered in time if it took them one after another; how long one
takes is seen from the answers. Where no setting says how many it takes at a time, that is found out too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final, NamedTuple

from honestone.adapters.capacity import Capacity

# Of a call's time limit, how much may be spent in a server's queue and on the answer by what has
# been seen.
_SHARE: Final = 0.5

# How long an answer of a server takes that has not been seen to answer, at most: more is found out
# by waiting.
_UNSEEN_SECONDS: Final = 2.0

# So many answers tell how long one takes: the slowest of them counts.
_SEEN: Final = 8

_limits: ContextVar[tuple[asyncio.Timeout, ...]] = ContextVar("limits", default=())


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """`asyncio.timeout` in which waiting for a turn at a server does not count."""
    async with asyncio.timeout(seconds) as limit:
        before = _limits.set((*_limits.get(), limit))
        try:
            yield
        finally:
            _limits.reset(before)


@asynccontextmanager
async def _uncounted() -> AsyncIterator[None]:
    """The time limits around this call are stopped."""
    clock = asyncio.get_running_loop().time
    began = clock()
    ends = [(limit, limit.when()) for limit in _limits.get()]
    for limit, _ in ends:
        limit.reschedule(None)
    try:
        yield
    finally:
        for limit, end in ends:
            if end is not None and not limit.expired():
                limit.reschedule(end + clock() - began)


class WantedTurn(NamedTuple):
    """What a call waits for; as of `Turns.turn`."""

    most: int
    seconds: float
    is_found_out: bool


class Turn:
    """One call under way. `at_once`: so many were when it began, with it."""

    def __init__(self, at_once: int) -> None:
        self.at_once = at_once


class Turns:
    """The calls to one server. `is_local`: it is on this machine, and may answer one call at a
    time.
    """

    def __init__(self, *, is_local: bool) -> None:
        self.is_local = is_local
        self.under_way = 0
        # How many at most since a call was lost, until answers have told more.
        self._bound: int | None = None
        self._capacity = Capacity()
        self._seen: deque[float] = deque(maxlen=_SEEN)
        self._waiting: deque[tuple[asyncio.Future[None], WantedTurn]] = deque()

    def turn(self, most: int, seconds: float, *, is_found_out: bool = False) -> _Taken:
        """Waits until fewer than `most` calls are under way, or than would be answered in `seconds`
        each. `is_found_out`: no more either than the server has been seen to answer together.
        """
        return _Taken(self, WantedTurn(most, seconds, is_found_out))

    async def take(self, wanted: WantedTurn) -> Turn:
        """A turn as of `turn`, which has to be given back."""
        if self._waiting or self.under_way >= self._headroom(wanted):
            await self._wait(wanted)
        else:
            self.under_way += 1
        return Turn(self.under_way)

    def give_back(self) -> None:
        self.under_way -= 1
        self._next()

    def answered(self, turn: Turn, took: float) -> None:
        """What a call took tells how many there may be at once: with twice as many it would take
        twice as long at most.
        """
        self._seen.append(turn.at_once / max(took, 1e-6))
        if self.is_local:
            self._capacity.answered(turn.at_once, took)
        if self._bound is not None and len(self._seen) == _SEEN:
            self._bound = None

    def timed_out(self, turn: Turn) -> bool:
        """Whether other calls at the same time may be the reason: then fewer are made at once from
        now on, and the call is worth another try.
        """
        if not self.is_local or turn.at_once < 2:
            return False
        self._seen.clear()
        self._capacity.lost(turn.at_once)
        self._bound = min(self._bound or turn.at_once, max(1, turn.at_once // 2))
        return True

    def refused(self, turn: Turn) -> None:
        """The server was too busy for one more call: it is given fewer where it is found out how
        many it takes. Else so many would be turned away that calls run out of tries.
        """
        if self.is_local:
            self._capacity.refused(turn.at_once)

    def _headroom(self, wanted: WantedTurn) -> int:
        most = wanted.most
        if not self.is_local:
            return most
        if wanted.is_found_out:
            most = min(most, self._capacity.level)
        if self._bound is not None:
            most = min(most, self._bound)
        return max(1, min(most, int(self._rate() * wanted.seconds * _SHARE)))

    def _rate(self) -> float:
        """Calls a second if they are answered one after another."""
        return min(self._seen) if self._seen else 1 / _UNSEEN_SECONDS

    async def _wait(self, wanted: WantedTurn) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((mine, wanted))
        try:
            async with _uncounted():
                await mine
        except BaseException:
            if mine.done() and not mine.cancelled():
                self.under_way -= 1
            self._next()
            raise

    def _next(self) -> None:
        """Gives turns to those who wait, in their order. A turn is counted when it is given."""
        while self._waiting:
            mine, wanted = self._waiting[0]
            if not mine.done() and self.under_way >= self._headroom(wanted):
                return
            self._waiting.popleft()
            if not mine.done():
                self.under_way += 1
                mine.set_result(None)


class _Taken:
    """A turn for as long as this is open. Every call opens one, and an async generator is dear: its
    loop has to know of each.
    """

    def __init__(self, turns: Turns, wanted: WantedTurn) -> None:
        self._turns = turns
        self._wanted = wanted

    async def __aenter__(self) -> Turn:
        return await self._turns.take(self._wanted)

    async def __aexit__(self, *ended: object) -> None:
        self._turns.give_back()
