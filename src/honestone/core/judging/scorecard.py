"""Scorecards: what ballots together make of one version. Code does all arithmetic, exactly, and the
rubric owns the denominator: an item without a vote is an interval from 0 to 1, never a number.

Formulas (DESIGN §5.1, §8; the weighted mean is AgentV's documented one):
    item       the votes combined by the rule (mean, median, majority, min); a vote that did not come is 0 to 1
    criterion  mean of the items that apply; 1 minus it when negated
    group      sum(w*s) / sum(positive w) over what applies, cut to 0..1
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from typing import Final, NamedTuple

from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.numbers import ONE, ZERO, show_bar, show_points

# Two judges further apart than this on one criterion are flagged.
DISAGREEMENT = Fraction(20, 100)


class Rule(StrEnum):
    """How the votes on one item become one number."""

    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"
    MIN = "min"


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLine:
    """One item's votes together. `met` (0-1) is None without a vote, and where every vote says
    "n/a"
    (`applies` False).

    `unmet`: half or more say no (to a penalty or negated: yes); an anchored item is unmet below the
        rubric's threshold. `low` and `high`: what it may be once every vote is in.
    """

    item: Item
    met: Fraction | None
    low: Fraction
    high: Fraction
    applies: bool
    unmet: bool | None
    votes: tuple[tuple[str, Mark], ...]

    @property
    def is_measured(self) -> bool:
        """Whether its answer is a score with a bar of its own."""
        return any(mark.score is not None for _, mark in self.votes)

    @property
    def may_leave(self) -> bool:
        return self.met is None and (self.item.may_not_apply or not self.applies)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One criterion's combined result; scores are 0-1.

    `score` is that of the judges who answered, None when an item has no answer; with the votes that
    did not come it is somewhere in `low`..`high`. `by_judge` holds judges whose answers to this
    criterion are complete. `voters` is the smallest number of judges, each counted once, on any
    item that judges were asked (None when code answers all).
    `may_leave`: nothing in it is marked yet, and all of it may be "n/a".
    """

    criterion: Criterion
    parent: str | None
    floor: Fraction
    low: Fraction
    high: Fraction
    applies: bool
    by_judge: Mapping[str, Fraction]
    items: tuple[ItemLine, ...]
    voters: int | None
    may_leave: bool = False
    answered: Fraction | None = None

    @property
    def score(self) -> Fraction | None:
        if self.answered is not None:
            return self.answered
        return (
            self.low if self.applies and (self.low is self.high or self.low == self.high) else None
        )

    @property
    def spread(self) -> Fraction:
        """Highest complete judge minus lowest: how much they disagree."""
        return max(self.by_judge.values()) - min(self.by_judge.values()) if self.by_judge else ZERO

    @property
    def is_below_floor(self) -> bool:
        """Certainly below: whatever the missing marks are."""
        return self.applies and self.high < self.floor

    @property
    def has_marks(self) -> bool:
        return any(line.met is not None for line in self.items)

    @property
    def short_items(self) -> Iterator[ItemLine]:
        """The items that cost this criterion marks."""
        best = ZERO if self.criterion.is_penalty else ONE
        return (item for item in self.items if item.met is not None and item.met != best)

    @property
    def is_measured(self) -> bool:
        """Whether it is one item that a measuring check answered: that check's own bar says whether
        it is met.
        """
        return len(self.items) == 1 and self.items[0].is_measured

    @property
    def only_checks(self) -> bool:
        """Whether code alone answers this criterion and all below it."""
        return self.voters is None


@dataclass(frozen=True, kw_only=True)
class Scorecard:
    """Every criterion's line, parents before children, and the whole. Scores are 0-1.

    `open`: judges whose votes did not come and may still change the score. `short`: why the quorum
        is not met.
    """

    lines: tuple[Line, ...]
    low: Fraction
    high: Fraction
    applies: bool
    answered: Fraction | None = None
    open: tuple[str, ...] = ()
    short: str = ""

    @property
    def score(self) -> Fraction | None:
        """Of those who answered: None when an item has no answer, and when nothing in the rubric
        applies.
        """
        if self.answered is not None:
            return self.answered
        return self.low if self.applies and self.low == self.high else None

    @cached_property
    def voters(self) -> int | None:
        counts = [line.voters for line in self.lines if line.voters is not None]
        return min(counts) if counts else None

    @property
    def low_confidence(self) -> bool:
        """Some item that judges were asked has fewer than two voters."""
        return self.voters is not None and self.voters < 2

    @property
    def has_marks(self) -> bool:
        return any(line.has_marks for line in self.lines)

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Criteria on which two judges are more than 20 points apart."""
        return tuple(
            f"disagreement: {line.criterion.id} ({show_points(line.spread)})"
            for line in self.lines
            if line.items and line.spread > DISAGREEMENT
        )

    def line(self, criterion: str) -> Line:
        return next(line for line in self.lines if line.criterion.id == criterion)

    @cached_property
    def values(self) -> tuple[tuple[Fraction, Fraction, bool], ...]:
        """What every criterion scored: two versions with equal values are indistinguishable to this
        panel.
        """
        return tuple((line.low, line.high, line.applies) for line in self.lines)


def missing(card: Scorecard) -> list[Key]:
    """Items without an answer."""
    return [
        (line.criterion.id, item.item.id)
        for line in card.lines
        for item in line.items
        if item.met is None and item.applies
    ]


class Outcome(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    SKIPPED = "skipped"


EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 3, Outcome.SKIPPED: 3}


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome and why: every bar that is missed, or else every bar that is still open.

    `is_final`: no probability takes its place, as where a quorum is not met.
    """

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    is_final: bool = False

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASS


class _Bar(NamedTuple):
    """One condition on one interval. `strictly`: reaching the bar is not enough (required means
    above 0). The kind `check` is always missed: a required criterion whose measuring check has its
    own bar, which was not reached.
    """

    low: Fraction
    high: Fraction
    bar: Fraction
    kind: str
    name: str = ""
    strictly: bool = False

    @property
    def outcome(self) -> Outcome:
        if self.kind == "check":
            return Outcome.FAIL
        if self._meets(self.low):
            return Outcome.PASS
        return (
            Outcome.INCONCLUSIVE
            if self.high is not self.low and self._meets(self.high)
            else Outcome.FAIL
        )

    def _meets(self, score: Fraction) -> bool:
        return score > self.bar if self.strictly else score >= self.bar

    @property
    def missed(self) -> str:
        is_now = _span(self.low, self.high, "at most ")
        return {
            "required": f"required criterion '{self.name}' is not met: it scored 0",
            "check": f"required criterion '{self.name}' is not met: it scored {is_now}",
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


_GATE_REASON: Final = re.compile(
    r"(?:attempt \d+: )?(?:(?:required )?criterion '(?P<criterion>.*)' (?:is not met: it scored [\d.]+|may be 0: it is .*"
    r"|is .*, (?:below )?its floor (?:is )?\S+)|the overall (?P<threshold>score) is .*, (?:below )?the threshold (?:is )?\S+"
    r"|\d+ items? ha(?:s|ve) no (?P<answer>answer))",
    re.DOTALL,
)


def read_gate_reason(reason: str) -> tuple[str, str] | None:
    """What a reason that `judge_gate` gave is about: ("criterion", its id), ("threshold", ...) or
    ("answer", ...); None for another reason. A run on record holds the words alone.
    """
    found = _GATE_REASON.fullmatch(reason)
    return (
        None
        if found is None
        else next((kind, name) for kind, name in found.groupdict().items() if name is not None)
    )


def overall(outcomes: Collection[Outcome]) -> Outcome:
    """Of several artifacts: fail if any failed, else inconclusive if any could not be judged, else
    pass.
    """
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    return Outcome.PASS if set(outcomes) == {Outcome.PASS} else Outcome.INCONCLUSIVE


def judge_gate(card: Scorecard, rubric: Rubric) -> Verdict:
    """Whether a scorecard passes its rubric's gate: threshold, floors and required criteria."""
    if card.short:
        return Verdict(Outcome.INCONCLUSIVE, (card.short,), is_final=True)
    bars = [(bar, bar.outcome) for bar in _bars(card, rubric)]
    missed = tuple(bar.missed for bar, outcome in bars if outcome is Outcome.FAIL)
    if missed:
        return Verdict(Outcome.FAIL, missed)
    still_open = tuple(bar.open for bar, outcome in bars if outcome is Outcome.INCONCLUSIVE)
    if not card.applies:
        reasons = ("nothing in the rubric applies to this artifact", *still_open)
        return Verdict(Outcome.INCONCLUSIVE, reasons, is_final=True)
    if still_open or not card.has_marks:  # With every bar at 0, too: a missing mark is not a pass.
        count = len(missing(card))
        # None is missing from the mean of attempts of which one has no card at all.
        why: tuple[str, ...] = ()
        if count:
            why = ("1 item has no answer" if count == 1 else f"{count} items have no answer",)
        if card.open:
            why = (
                *why,
                f"votes that did not come leave it open: {', '.join(card.open)} (see --quorum)",
            )
        return Verdict(Outcome.INCONCLUSIVE, (*why, *still_open))
    return _PASS


_PASS = Verdict(Outcome.PASS)


def _bars(card: Scorecard, rubric: Rubric) -> Iterator[_Bar]:
    for line in card.lines:
        if not line.applies:
            continue
        if line.criterion.required and not line.is_measured:
            yield _Bar(line.low, line.high, ZERO, "required", line.criterion.id, strictly=True)
        elif line.criterion.required and line.items[0].unmet:
            yield _Bar(line.low, line.high, ZERO, "check", line.criterion.id)
        if line.floor:
            yield _Bar(line.low, line.high, line.floor, "floor", line.criterion.id)
    if card.applies:
        yield _Bar(card.low, card.high, rubric.threshold, "threshold")


def _span(low: Fraction, high: Fraction, at_most: str = "") -> str:
    if low == high:
        return show_points(low)
    return (
        f"{at_most}{show_points(high)}" if at_most else f"{show_points(low)} to {show_points(high)}"
    )
