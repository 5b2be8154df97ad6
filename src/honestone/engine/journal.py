"""The order of the steps around every paid call, over all processes that share a store.

Look the reply up; claim the request; look it up once more; have the call granted; wait for its slot;
ask; store the reply; give the claim back. The claim keeps two processes from paying for one request
at the same time. The second look-up is needed because another process may have stored the reply
between the first one and the claim. The reply is stored before anyone reads it, so that a kill
while it is read costs nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from honestone.core.judging.spend import AT_A_TIME, RunGrants
from honestone.core.record.rates import wait_of
from honestone.system import late_asyncio as asyncio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from types import TracebackType

    from honestone.core.judging.spend import GrantRequest, Meter, Usage
    from honestone.core.record.rates import RateLimits
    from honestone.ports import Journal, Store

# Places that are tried before waiting a little.
_LOOKED_AT: Final = 32
_FIRST_PAUSE: Final = 0.02
# Seconds between two looks at a request that another process is asking.
_LONGEST_PAUSE: Final = 0.5
# Numbers of the places that this process gave back, the last one at the end, by their account.
_GIVEN_BACK: Final[defaultdict[str, deque[int]]] = defaultdict(lambda: deque(maxlen=_LOOKED_AT))


class claimed:
    """The right to ask this request, for one process at a time. It ends with the process that has
    it.
    """

    def __init__(self, journal: Journal, key: str) -> None:
        self._journal = journal
        self._key = key

    async def __aenter__(self) -> None:
        pause = _FIRST_PAUSE
        while not await self._journal.claim_reply(self._key):
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    async def __aexit__(self, *ended: object) -> None:
        await self._journal.give_back_reply(self._key)


# How many calls wait for the rates of an account now, by its name, for whoever shows that; None: no
# one does.
RATE_WAITS: Final[ContextVar[Counter[str] | None]] = ContextVar("rate_waits", default=None)


@contextmanager
def _waiting(rates: RateLimits, is_of_run: bool) -> Iterator[None]:
    waits, account = RATE_WAITS.get(), rates.account
    if waits is None or is_of_run:
        yield
        return
    waits[account] += 1
    try:
        yield
    finally:
        waits[account] -= 1


def turn(
    journal: Journal, rates: RateLimits | None, tokens: int = 0, *, is_of_run: bool = False
) -> AbstractAsyncContextManager[None]:
    """A call's turn under the rates of its account, over all processes: one of its places, and a
    slot of each line. `is_of_run`: the rates are the limit of a run, so that no account is waited
    for.
    """
    return _AT_ONCE if rates is None else _Turn(journal, rates, tokens, is_of_run)


_AT_ONCE: Final = nullcontext()


class _Turn(AbstractAsyncContextManager[None]):
    def __init__(self, journal: Journal, rates: RateLimits, tokens: int, is_of_run: bool) -> None:
        self._is_of_run = is_of_run
        self._journal = journal
        self._rates = rates
        self._tokens = tokens
        self._place: int | None = None

    async def __aenter__(self) -> None:
        self._place = await _place(self._journal, self._rates, self._is_of_run)
        try:
            await self._wait()
        except BaseException:
            await self._give_back()
            raise

    async def __aexit__(self, *ended: object) -> None:
        await self._give_back()

    async def _wait(self) -> None:
        waits = [
            wait_of(await self._journal.take_slot(line, taken), taken)
            for line, taken in self._rates.lines(self._tokens).items()
        ]
        if any(waits):
            with _waiting(self._rates, self._is_of_run):
                await asyncio.sleep(max(waits))

    async def _give_back(self) -> None:
        if self._place is not None:
            await self._journal.give_back_reply(_place_name(self._place, self._rates))
            _GIVEN_BACK[self._rates.account].append(self._place)
            _line_of(self._rates.account).has_changed.set()


async def settle(journal: Journal, rates: RateLimits | None, estimated: int, usage: Usage) -> None:
    """Corrects the line of tokens by what a call really used, where the other side said it."""
    if rates is not None and rates.tokens_per_minute is not None and usage.input_tokens is not None:
        used = usage.input_tokens + (usage.output_tokens or 0)
        await journal.take_slot(
            f"{rates.account} tokens", 60 * (used - estimated) / rates.tokens_per_minute
        )


async def _place(journal: Journal, rates: RateLimits, is_of_run: bool) -> int | None:
    """One of as many places as calls of the account may be under way; it ends with its process."""
    if rates.concurrency is None:
        return None
    most, line = rates.concurrency, _line_of(rates.account)
    is_first = not line.first.locked()
    if is_first and (place := await _free_place(journal, rates, most)) is not None:
        return place
    with _waiting(rates, is_of_run):
        async with line.first:
            pause = _FIRST_PAUSE
            while (place := await _free_place(journal, rates, most)) is None:
                await line.wait(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
            return place


class _Line:
    """Those of this process who wait for a place of one account: the first looks for one, the
    others wait for the first. Else a runner with all its hands waiting would ask the store
    thousands of times a second.
    """

    def __init__(self) -> None:
        self.first = asyncio.Lock()
        # This process has given a place back since somebody looked.
        self.has_changed = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Until this process gives a place back, or that time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.has_changed.wait()
        self.has_changed.clear()


# By event loop, for locks belong to one.
_LINES: Final[WeakKeyDictionary[AbstractEventLoop, defaultdict[str, _Line]]] = WeakKeyDictionary()


def _line_of(account: str) -> _Line:
    return _LINES.setdefault(asyncio.get_running_loop(), defaultdict(_Line))[account]


async def _free_place(journal: Journal, rates: RateLimits, most: int) -> int | None:
    for number in _numbers_to_try(rates.account, most):
        if await journal.claim_reply(_place_name(number, rates)):
            return number
    return None


def _numbers_to_try(account: str, most: int) -> Iterator[int]:
    """First the place that this process gave back last, which is probably free still. Whether it is
    is said by the claim alone; another run may have fewer places.
    """
    given_back = _GIVEN_BACK[account]
    while given_back:
        number = given_back.pop()
        if number < most:
            yield number
            break
    import random

    yield from random.sample(range(most), min(most, _LOOKED_AT))


def _place_name(number: int, rates: RateLimits) -> str:
    return f"place {number} of {rates.account}"


class OutOfTime(Exception):
    """A call was under way when the minutes of the run were used up, and was ended."""


class NotAsked(Exception):
    """No judge was asked about a case. The message says why."""


class in_time:
    """Ends what is under way when the minutes of the run are used up: a vote that comes later does
    not count. After `reschedule(None)` nothing is ended any more.

    Raises OutOfTime.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._limit = asyncio.timeout(meter.seconds_left)

    async def __aenter__(self) -> asyncio.Timeout:
        return await self._limit.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        try:
            await self._limit.__aexit__(kind, error, at)
        except TimeoutError:
            raise OutOfTime(self._meter.minutes_used_up) from None
        if isinstance(error, TimeoutError) and self._limit.expired():
            raise OutOfTime(self._meter.minutes_used_up) from None


class JournalAccount:
    """Takes calls for a meter from the grants of a run in the store. Implements
    `core.judging.spend.CallAccount`.
    """

    def __init__(self, journal: Journal, run: str, meter: Meter) -> None:
        self._journal = journal
        self._run = run
        self._meter = meter
        self._asking: asyncio.Event | None = None

    async def take_call(self) -> str | None:
        while True:
            await self.tell()
            await self._ask_for(self._meter.request)
            refusal = self._meter.refuse_call()
            if refusal is None or not self._meter.awaits_prices:
                return refusal
            await asyncio.sleep(_FIRST_PAUSE)

    async def tell(self) -> None:
        await self._ask_for(self._meter.news)

    async def give_back(self) -> None:
        await self._ask_for(self._meter.rest_of_grants)

    async def _ask_for(self, what: Callable[[], GrantRequest | None]) -> None:
        """Ask the store until nothing is left to ask, with one request of this process at a time."""
        while True:
            if self._asking is not None:
                await self._asking.wait()
                continue
            request = what()
            if request is None:
                return
            self._asking = asyncio.Event()
            try:
                granted, grants = await self._journal.grant(self._run, request)
                self._meter.answered(request, granted=granted, grants=grants)
            finally:
                self._asking.set()
                self._asking = None


async def take_call(meter: Meter) -> str | None:
    """One judge call; else which limit is used up. Where the limit of money is reserved for calls
    under way, it waits.
    """
    if meter.account is not None:
        return await meter.account.take_call()
    while (refusal := meter.refuse_call()) is not None and meter.awaits_prices:
        await asyncio.sleep(_FIRST_PAUSE)
    return refusal


async def give_back(meter: Meter) -> None:
    """What was taken from the grants of the run and not used, for its other processes or the next
    one.
    """
    if meter.account is not None:
        await meter.account.give_back()


def reserve_in(
    store: Store, run: str, meter: Meter, *, at_a_time: int = AT_A_TIME, from_start: bool = False
) -> None:
    """From now on the meter takes its calls from the grants of a run, several at a time, before
    they are made: those of other processes count too, and those of a killed one. Call it when
    `meter.before` is complete. `from_start`: the minutes count from the start of the run, by the
    store's clock, and not those that were worked.
    """
    before = meter.before
    grants = store.open_grants(run, RunGrants(calls=before.judge_calls, usd=before.usd or 0.0))
    if from_start:
        meter.seconds_before = grants.seconds
    meter.share(grants, JournalAccount(store.journal, run, meter), at_a_time)
