"""The meter: what a run may spend and has spent. Retries and repeated questions are calls like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from honestone.core.events import total_spend
from honestone.core.spend import Spend, spend_from_plain


@dataclass(slots=True, kw_only=True)
class Meter:
    """Grants calls as long as every limit holds. `clock` gives seconds; `before` is what earlier processes used."""

    calls: int
    minutes: float
    usd: float | None
    clock: Callable[[], float]
    before: Spend = field(default_factory=Spend)
    seconds_before: float = 0.0
    spent: Spend = field(default_factory=Spend)
    _started: float = 0.0
    _granted: int = 0

    def __post_init__(self) -> None:
        self._started = self.clock()

    @property
    def seconds(self) -> float:
        """Worked on this run so far, in all processes together."""
        return self.seconds_before + self.clock() - self._started

    def exhausted(self) -> str | None:
        """Which limit is used up, in words."""
        if self.seconds >= self.minutes * 60:
            return f"--max-minutes {self.minutes:g} are used up"
        known = (self.before.usd or 0.0) + (self.spent.usd or 0.0)
        if self.usd is not None and known >= self.usd:
            return f"--max-usd {self.usd:g} is used up"
        return None

    def no_call_left(self) -> str | None:
        """Why no judge call would be granted now, without taking one."""
        if self.before.judge_calls + self._granted >= self.calls:
            return f"--max-calls {self.calls} are used up"
        return None

    def refuse_call(self) -> str | None:
        """Take one judge call, or say why not."""
        refusal = self.no_call_left() or self.exhausted()
        if refusal is None:
            self._granted += 1
        return refusal

    def give_back_call(self) -> None:
        """The call that was granted was never made."""
        self._granted -= 1

    def rest(self) -> Meter:
        """A meter for a part of the work, which grants what is left of this one."""
        known = (self.before.usd or 0.0) + (self.spent.usd or 0.0)
        return Meter(
            calls=max(0, self.calls - self.before.judge_calls - self.spent.judge_calls),
            minutes=max(0.0, self.minutes - self.seconds / 60),
            usd=None if self.usd is None else max(0.0, self.usd - known),
            clock=self.clock,
        )

    def counted(self, spend: Spend) -> None:
        """What was spent without asking this meter: by a worker, or under the limits of `rest`."""
        self.spent.join(spend)
        self._granted += spend.judge_calls


__all__ = ["Meter", "Spend", "spend_from_plain", "total_spend"]
