"""What calls used: judge calls, tokens, money. What is not known stays unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call cost, as far as the other side reported it. None is unknown, never 0."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None


@dataclass(slots=True, kw_only=True)
class Spend:
    """What several calls used. `usd` is None while no price is known, then the sum of the known ones."""

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
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.usd is not None:
            self.usd = (self.usd or 0.0) + other.usd

    def without(self, earlier: Spend) -> Spend:
        """The part of it that is not in `earlier`. An unknown price stays unknown."""
        usd = None if self.usd is None else self.usd - (earlier.usd or 0.0)
        return Spend(usd=usd, **{name: getattr(self, name) - getattr(earlier, name) for name in COUNTS})

    def to_plain(self) -> dict[str, int | float]:
        """Without what is 0, so that events stay small; `spend_from_plain` reads it back."""
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


COUNTS = tuple(one.name for one in fields(Spend) if one.name != "usd")


def spend_from_plain(plain: Mapping[str, int | float] | None) -> Spend:
    spend = Spend()
    for name, value in (plain or {}).items():
        setattr(spend, name, value)
    return spend
