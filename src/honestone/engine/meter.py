"""The meter: what a run may spend and has spent. Retries and repeated questions are calls like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from honestone.ports import Usage


@dataclass(slots=True, kw_only=True)
class Spend:
    """What was used. `usd` is None as long as nobody told a price; then it is the sum of the known ones."""

    judge_calls: int = 0
    cached_calls: int = 0
    worker_calls: int = 0
    target_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None

    def add(self, usage: Usage) -> None:
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        self.cached_tokens += usage.cached_tokens or 0
        if usage.usd is not None:
            self.usd = (self.usd or 0.0) + usage.usd

    def join(self, other: Spend) -> None:
        for name in (
            "judge_calls",
            "cached_calls",
            "worker_calls",
            "target_calls",
            "input_tokens",
            "output_tokens",
            "cached_tokens",
        ):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.usd is not None:
            self.usd = (self.usd or 0.0) + other.usd

    def to_plain(self) -> dict[str, Any]:
        """Without what is 0, so that events stay small; `spend_from_plain` reads it back."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


def spend_from_plain(plain: dict[str, Any] | None) -> Spend:
    return Spend(**(plain or {}))


def total_spend(log: Iterable[Mapping[str, Any]]) -> Spend:
    """What the events of a run say was spent."""
    total = Spend()
    for event in log:
        if "spend" in event:
            total.join(spend_from_plain(event["spend"]))
    return total


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

    def counted(self, spend: Spend) -> None:
        self.spent.join(spend)
