"""What calls used and may use: judge calls, tokens, money. What is not known stays unknown, never
0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict, replace


class Usage(Struct, frozen=True, kw_only=True):
    """What one call cost, as far as the other side reported it. None is unknown, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None


class Spend(Struct, kw_only=True):
    """What several calls used. `usd` is None while no price is known, then the sum of the known
    ones.
    """

    judge_calls: int = 0
    cached_calls: int = 0
    worker_calls: int = 0
    target_calls: int = 0
    cached_outputs: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None

    @classmethod
    def of(cls, parts: Iterable[Spend]) -> Spend:
        """What several spent together."""
        total = cls()
        for part in parts:
            total.join(part)
        return total

    def add(self, usage: Usage) -> None:
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.cached_tokens += usage.cached_tokens or 0
        if usage.usd is not None:
            self.usd = (self.usd or 0.0) + usage.usd

    def join(self, other: Spend) -> None:
        for name in COUNTS:
            if more := getattr(other, name):  # Most counts of a call are 0.
                setattr(self, name, getattr(self, name) + more)
        if other.usd is not None:
            self.usd = (self.usd or 0.0) + other.usd

    def without(self, earlier: Spend) -> Spend:
        """The part of it that is not in `earlier`. An unknown price stays unknown."""
        usd = None if self.usd is None else self.usd - (earlier.usd or 0.0)
        return Spend(
            usd=usd, **{name: getattr(self, name) - getattr(earlier, name) for name in COUNTS}
        )

    def to_plain(self) -> dict[str, int | float]:
        """The spend as JSON, without what is 0, so that events stay small; `spend_from_plain` reads
        it back.
        """
        return {name: value for name, value in asdict(self).items() if value}


COUNTS = tuple(name for name in Spend.__struct_fields__ if name != "usd")


def spend_from_plain(plain: Mapping[str, int | float] | None) -> Spend:
    spend = Spend()
    for name, value in (plain or {}).items():
        setattr(spend, name, value)
    return spend


AT_A_TIME: Final = 8
# Calls that are taken together from the grants of a run: a sixteenth of those that are left, at
# most eight.
_SHARE: Final = 16
# US dollars; sums of prices are not exact.
_EXACT: Final = 1e-9


class RunGrants(Struct, frozen=True, kw_only=True):
    """What all processes of a run have taken. `calls` were granted, made or not; `usd` was spent,
    or is reserved for calls that are under way; `dearest` is the price of the dearest call so far.
    `seconds`: since the run began, by the store's clock.
    """

    calls: int = 0
    usd: float = 0.0
    dearest: float = 0.0
    seconds: float = 0.0


class GrantRequest(Struct, frozen=True, kw_only=True):
    """What is to be added to the grants of a run, in one step: nothing where a limit would be
    passed (None: not limited).
    """

    calls: int = 0
    usd: float = 0.0
    dearest: float = 0.0
    most_calls: int | None = None
    most_usd: float | None = None

    def of(self, known: RunGrants) -> RunGrants | None:
        """The grants after it; None where it is refused."""
        calls, usd = known.calls + self.calls, known.usd + self.usd
        if self.most_calls is not None and calls > self.most_calls:
            return None
        if self.most_usd is not None and usd > self.most_usd:
            return None
        return replace(known, calls=calls, usd=usd, dearest=max(known.dearest, self.dearest))


class CallAccount(Protocol):
    """Takes calls for a meter from the grants that all processes of its run share."""

    async def take_call(self) -> str | None:
        """None where a call may be made; else which limit is used up."""
        ...

    async def tell(self) -> None:
        """Put on record what was spent without a judge call, for the other processes, and hear what
        they spent.
        """
        ...

    async def give_back(self) -> None:
        """Give back what was granted and not used."""
        ...


class Meter(Struct, kw_only=True):
    """Grants calls as long as every limit holds. `clock` gives seconds; `before` is what earlier
    processes used, and `lost` the calls that were granted to them besides: a process that was
    killed may have made them. `is_by_record`: a person asked for no call at all (--recorded), so the
    record answers; a limit that leaves none to a part of the work is not that.

    Where the price of calls is known and limited, a call is granted only if the dearest one so far
    would still fit, next to those under way. With an `account` calls come from the grants of a run,
    several at a time.
    """

    calls: int
    minutes: float
    usd: float | None
    clock: Callable[[], float]
    before: Spend = field(default_factory=Spend)
    seconds_before: float = 0.0
    spent: Spend = field(default_factory=Spend)
    lost: int = 0
    account: CallAccount | None = None
    is_by_record: bool = False
    _started: float = 0.0
    _granted: int = 0
    _under_way: int = 0
    _dearest: float = 0.0
    _shared: RunGrants | None = None
    _in_hand: int = 0
    _owed: int = 0
    _reserved_usd: float = 0.0
    _at_a_time: int = AT_A_TIME
    _is_fully_reserved: bool = False

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def limits(self) -> dict[str, int | float | None]:
        """The limits as a run records them."""
        return {"calls": self.calls, "minutes": self.minutes, "usd": self.usd}

    @property
    def seconds(self) -> float:
        """Worked on this run so far, in all processes together."""
        return self.seconds_before + self.clock() - self._started

    @property
    def seconds_left(self) -> float:
        """The seconds until the minutes are used up: a call that is under way then is ended."""
        return max(0.0, self.minutes * 60 - self.seconds)

    @property
    def minutes_used_up(self) -> str:
        """What is said where the minutes are used up."""
        return f"--max-minutes {self.minutes:g} are used up"

    def exhausted(self) -> str | None:
        """Which limit is used up, in words."""
        if self.seconds >= self.minutes * 60:
            return self.minutes_used_up
        if self.usd is not None and (
            self._known_usd >= self.usd or (self._is_fully_reserved and not self._under_way)
        ):
            return f"--max-usd {self.usd:g} is used up"
        return None

    def no_call_left(self) -> str | None:
        """Why no judge call would be granted now, without taking one."""
        if not self._in_hand and self._calls_taken >= self.calls:
            return f"--max-calls {self.calls} are used up"
        return None

    def refuse_call(self) -> str | None:
        """Take one judge call, or say why not. With an account, one that is in hand: see `request`."""
        if self._shared is None:
            self._is_fully_reserved = not self._fits(1)
        refusal = self.no_call_left() or self.exhausted()
        if refusal is None and self._is_fully_reserved:
            refusal = f"--max-usd {self.usd:g} is reserved for calls under way"
        if refusal is None:
            self._granted += 1
            self._under_way += 1
            self._in_hand -= self._shared is not None
        return refusal

    @property
    def awaits_prices(self) -> bool:
        """Another call may be granted once the price of one that is under way is known."""
        return (
            self._is_fully_reserved
            and self._under_way > 0
            and self.exhausted() is None
            and self.no_call_left() is None
        )

    def made(self, usage: Usage) -> None:
        """The call that was granted came to its end, and cost this much as far as it is known."""
        self._under_way -= 1
        self._is_fully_reserved = False
        self._dearest = max(self._dearest, usage.usd or 0.0)
        self.spent.add(usage)

    def give_back_call(self) -> None:
        """Take back a granted call that was never made."""
        self._granted -= 1
        self._under_way -= 1
        self._is_fully_reserved = False
        self._in_hand += self._shared is not None

    # -- grants that are shared

    def share(self, grants: RunGrants, account: CallAccount, at_a_time: int = AT_A_TIME) -> None:
        """Take calls from these grants from now on, at most `at_a_time` at once. Call it when
        `before` is complete.
        """
        self.lost = max(0, grants.calls - self.before.judge_calls)
        self._shared, self.account, self._at_a_time = grants, account, at_a_time

    def request(self) -> GrantRequest | None:
        """What to ask for before a call can be granted; None where one is in hand, or none can be
        had. Answer it with `answered` in any case.
        """
        if (
            self._shared is None
            or self._in_hand > 0
            or self._is_fully_reserved
            or self.no_call_left()
            or self.exhausted()
        ):
            return None
        calls = self._several(self._shared)
        usd = self._reserved(calls) - self._reserved_usd
        self._reserved_usd += usd
        limit = None
        if self.usd is not None:
            limit = self.usd + (_EXACT if self._price else -_EXACT)
        return GrantRequest(
            calls=calls, usd=usd, dearest=self._dearest, most_calls=self.calls, most_usd=limit
        )

    def news(self) -> GrantRequest | None:
        """What was spent, and is not on record for the other processes yet; None where no limit
        depends on it.
        """
        usd = 0.0 if self.usd is None else self._reserved(self._in_hand) - self._reserved_usd
        if self._shared is None or (not self._owed and abs(usd) < _EXACT):
            return None
        calls, self._owed = self._owed, 0
        self._reserved_usd += usd
        return GrantRequest(calls=calls, usd=usd, dearest=self._dearest)

    def rest_of_grants(self) -> GrantRequest | None:
        """Gives back the calls that are in hand; those under way keep what is reserved for them."""
        usd = 0.0 if self.usd is None else self._reserved(0) - self._reserved_usd
        if self._shared is None or (self._in_hand == self._owed and abs(usd) < _EXACT):
            return None
        calls, self._in_hand, self._owed = self._owed - self._in_hand, 0, 0
        self._reserved_usd += usd
        return GrantRequest(calls=calls, usd=usd, dearest=self._dearest)

    def answered(self, request: GrantRequest, *, granted: bool, grants: RunGrants) -> None:
        """What became of a request, and the grants after it."""
        self._shared = grants
        if granted and request.most_calls is not None:
            self._in_hand += request.calls
        elif not granted:
            self._reserved_usd -= request.usd
            self._is_fully_reserved = not self._fits(1)

    @property
    def _price(self) -> float:
        """What a call is taken to cost: as much as the dearest one so far."""
        return max(self._dearest, self._shared.dearest if self._shared is not None else 0.0)

    def _reserved(self, more: int) -> float:
        """US dollars of this process: spent, and what the calls under way and so many more may
        cost.
        """
        return (self.spent.usd or 0.0) + (self._under_way + more) * self._price

    def _fits(self, more: int) -> bool:
        """Whether the limit of money leaves room for so many calls, as far as it is known here."""
        return (
            self.usd is None
            or not self._price
            or self._others_usd + self._reserved(more) <= self.usd + _EXACT
        )

    @property
    def _others_usd(self) -> float:
        return (
            (self.before.usd or 0.0)
            if self._shared is None
            else self._shared.usd - self._reserved_usd
        )

    @property
    def _known_usd(self) -> float:
        return self._others_usd + (self.spent.usd or 0.0)

    @property
    def _calls_taken(self) -> int:
        return (
            self.before.judge_calls + self._granted
            if self._shared is None
            else self._shared.calls + self._owed
        )

    def _several(self, grants: RunGrants) -> int:
        """Several at a time where many are left: a killed process loses what it had in hand."""
        several = min(self._at_a_time, (self.calls - grants.calls) // _SHARE)
        if self.usd is not None and self._price:
            several = min(several, int((self.usd - grants.usd) / self._price) // _SHARE)
        return max(1, several)

    # -- parts of the work

    def rest(self) -> Meter:
        """A meter for a part of the work, which grants what is left of this one."""
        return Meter(
            calls=max(0, self.calls - self.before.judge_calls - self.lost - self.spent.judge_calls),
            minutes=max(0.0, self.minutes - self.seconds / 60),
            usd=None if self.usd is None else max(0.0, self.usd - self._known_usd),
            clock=self.clock,
        )

    def counted(self, spend: Spend) -> None:
        """What was spent without asking this meter: by a worker, or under the limits of `rest`."""
        self.spent.join(spend)
        self._granted += spend.judge_calls
        self._owed += spend.judge_calls if self._shared is not None else 0
