"""The gate: the one place that decides whether something passes. eval, the loop, certification and hooks all ask here.

A bar is met when the lower end of what is known meets it, missed when the upper end misses it, and open in between.
One missed bar fails; one open bar makes the verdict inconclusive; a mean can hide neither.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from honestone.core.numbers import ZERO, show_bar, show_points
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


class _Bar(NamedTuple):
    """One condition on one interval. `strictly`: reaching the bar is not enough (required means above 0)."""

    low: Fraction
    high: Fraction
    bar: Fraction
    kind: str
    name: str = ""
    strictly: bool = False

    @property
    def outcome(self) -> Outcome:
        if self._meets(self.low):
            return Outcome.PASS
        return Outcome.INCONCLUSIVE if self.high is not self.low and self._meets(self.high) else Outcome.FAIL

    def _meets(self, score: Fraction) -> bool:
        return score > self.bar if self.strictly else score >= self.bar

    @property
    def missed(self) -> str:
        is_now = _span(self.low, self.high, "at most ")
        return {
            "required": f"required criterion '{self.name}' is not met: it scored 0",
            "floor": f"criterion '{self.name}' is {is_now}, below its floor {show_bar(self.bar)}",
            "threshold": f"the overall score is {is_now}, below the threshold {show_bar(self.bar)}",
        }[self.kind]

    @property
    def open(self) -> str:
        is_now = f"somewhere from {_span(self.low, self.high)}"
        return {
            "required": f"required criterion '{self.name}' may be 0: it is {is_now}",
            "floor": f"criterion '{self.name}' is {is_now}, its floor is {show_bar(self.bar)}",
            "threshold": f"the overall score is {is_now}, the threshold is {show_bar(self.bar)}",
        }[self.kind]


def overall(outcomes: Collection[Outcome]) -> Outcome:
    """Of several artifacts: fail if any failed, else inconclusive if any could not be judged, else pass."""
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    return Outcome.PASS if set(outcomes) == {Outcome.PASS} else Outcome.INCONCLUSIVE


def judge_gate(card: Scorecard, rubric: Rubric) -> Verdict:
    """Whether a scorecard passes its rubric's gate: threshold, floors and required criteria."""
    bars = [(bar, bar.outcome) for bar in _bars(card, rubric)]
    missed = tuple(bar.missed for bar, outcome in bars if outcome is Outcome.FAIL)
    if missed:
        return Verdict(Outcome.FAIL, missed)
    still_open = tuple(bar.open for bar, outcome in bars if outcome is Outcome.INCONCLUSIVE)
    if not card.applies:
        return Verdict(Outcome.INCONCLUSIVE, ("nothing in the rubric applies to this artifact", *still_open))
    if still_open or not card.has_marks:  # With every bar at 0, too: a missing mark is not a pass.
        count = len(missing(card))
        # None is missing from the mean of attempts of which one has no card at all.
        why = (f"{count} item{'s have' if count != 1 else ' has'} no answer",) if count else ()
        return Verdict(Outcome.INCONCLUSIVE, (*why, *still_open))
    return _PASS


_PASS = Verdict(Outcome.PASS)


def _bars(card: Scorecard, rubric: Rubric) -> Iterator[_Bar]:
    for line in card.lines:
        if not line.applies:
            continue
        if line.criterion.required:
            yield _Bar(line.low, line.high, ZERO, "required", line.criterion.id, strictly=True)
        if line.floor:
            yield _Bar(line.low, line.high, line.floor, "floor", line.criterion.id)
    if card.applies:
        yield _Bar(card.low, card.high, rubric.threshold, "threshold")


def _span(low: Fraction, high: Fraction, at_most: str = "") -> str:
    if low == high:
        return show_points(low)
    return f"{at_most}{show_points(high)}" if at_most else f"{show_points(low)} to {show_points(high)}"
