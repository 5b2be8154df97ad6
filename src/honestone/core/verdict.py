"""The gate: the one place that decides whether something passes. eval, the loop, certification and hooks all ask here.

A bar is met when the lower end of what is known meets it, missed when the upper end misses it, and open in between.
One missed bar fails; one open bar makes the verdict inconclusive; a mean can hide neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from honestone.core.numbers import show_bar, show_points
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Scorecard, missing


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 3, Outcome.SKIPPED: 3}


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome and why: every bar that is missed, or else every bar that is still open."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASS


@dataclass(frozen=True, slots=True)
class _Bar:
    """One condition on one interval. `strictly`: reaching the bar is not enough (required means above 0)."""

    low: Fraction
    high: Fraction
    bar: Fraction
    missed: str
    open: str
    strictly: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.low > self.bar or (self.low == self.bar and not self.strictly):
            return Outcome.PASS
        if self.high < self.bar or (self.high == self.bar and self.strictly):
            return Outcome.FAIL
        return Outcome.INCONCLUSIVE


def judge_gate(card: Scorecard, rubric: Rubric) -> Verdict:
    """Whether a scorecard passes its rubric's gate: threshold, floors and required criteria."""
    bars = [(bar, bar.outcome) for bar in _bars(card, rubric)]
    missed = tuple(bar.missed for bar, outcome in bars if outcome is Outcome.FAIL)
    if missed:
        return Verdict(Outcome.FAIL, missed)
    still_open = tuple(bar.open for bar, outcome in bars if outcome is Outcome.INCONCLUSIVE)
    if not card.applies:
        return Verdict(Outcome.INCONCLUSIVE, ("nothing in the rubric applies to this artifact", *still_open))
    if still_open:
        count = len(missing(card))
        why = f"{count} item{'s have' if count != 1 else ' has'} no answer"
        return Verdict(Outcome.INCONCLUSIVE, (why, *still_open))
    return Verdict(Outcome.PASS)


def _bars(card: Scorecard, rubric: Rubric) -> Iterator[_Bar]:
    for line in card.lines:
        if not line.applies:
            continue
        name = line.criterion.id
        if line.criterion.required:
            yield _Bar(
                line.low, line.high, Fraction(0), strictly=True,
                missed=f"required criterion '{name}' is not met: it scored 0",
                open=f"required criterion '{name}' may be 0: it is somewhere from {_span(line.low, line.high)}",
            )  # fmt: skip
        if line.floor > 0:
            bar = show_bar(line.floor)
            yield _Bar(
                line.low, line.high, line.floor,
                missed=f"criterion '{name}' is {_span(line.low, line.high, 'at most ')}, below its floor {bar}",
                open=f"criterion '{name}' is somewhere from {_span(line.low, line.high)}, its floor is {bar}",
            )  # fmt: skip
    if card.applies:
        bar = show_bar(rubric.threshold)
        yield _Bar(
            card.low, card.high, rubric.threshold,
            missed=f"the overall score is {_span(card.low, card.high, 'at most ')}, below the threshold {bar}",
            open=f"the overall score is somewhere from {_span(card.low, card.high)}, the threshold is {bar}",
        )  # fmt: skip


def _span(low: Fraction, high: Fraction, at_most: str = "") -> str:
    if low == high:
        return show_points(low)
    return f"{at_most}{show_points(high)}" if at_most else f"{show_points(low)} to {show_points(high)}"
