"""Figures and their goals: what the benches print, and what the table of README.md is made of."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    value: str
    goal: str
    good: bool


ROWS: list[Row] = []
"""Every row shown so far."""


def show(name: str, value: str, goal: str, *, good: bool) -> None:
    ROWS.append(Row(name, value, goal, good))
    print(f"{name:<48}{value:>36}   {goal:<28}{'' if good else 'not met'}".rstrip(), flush=True)


class Over(tuple[float, ...]):
    """One figure, measured in each of several rounds."""

    __slots__ = ()

    @property
    def mid(self) -> float:
        return statistics.median(self)

    def said(self, unit: str, digits: int = 2) -> str:
        """The median, and between which values the rounds were."""
        spread = f" ({min(self):.{digits}f}-{max(self):.{digits}f})" if len(self) > 1 else ""
        return f"{self.mid:.{digits}f}{unit}{spread}"


def over(rounds: int, measure: Callable[[], dict[str, float]]) -> dict[str, Over]:
    """Each figure over the rounds; whatever is compared was measured in the same round."""
    found = [measure() for _ in range(rounds)]
    return {name: Over(one[name] for one in found) for name in found[0]}
