"""A scorecard combines the ballots on one version, and `judge_gate` compares it with the rubric.

Every score is an interval, because a missing vote is neither a 0 nor a pass: it may still be
anything from 0 to 1. The gate passes what passes at the lower end of the interval, fails what fails
at the upper end, and calls all else inconclusive. The rubric sets the denominator, so no judge can
change what a score is divided by. All arithmetic is in exact fractions: a score that is equal to
its bar meets it, on every machine.

Formulas (the weighted mean is AgentV's documented one; `scorer.py` computes them):
    item       the votes combined by the rule (mean, median, majority, min); a missing vote is 0 to 1
    criterion  mean of the items that apply; 1 minus it when negated
    group      sum(w*s) / sum(positive w) over what applies, cut to 0..1
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct, field

from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.numbers import ONE, ZERO, show_bar, show_points

# Two judges, or two looks of one, further apart than this on one criterion are flagged.
DISAGREEMENT = Fraction(20, 100)
DISAGREE: Final = "disagreement: "
LOOKS_DIFFER: Final = "looks differ: "
_ON: Final = " on "
NOBODY: Final[Mapping[str, str]] = MappingProxyType({})


class ItemLine(Struct, frozen=True, kw_only=True):
    """The combined votes on one item. Scores are 0-1.

    `met`: the combined score; None without a vote, and where every vote says "n/a" (`applies` is
        then False).
    `low`, `high`: the ends of what `met` can be once every vote is in.
    `unmet`: half or more of the votes say no (yes, for a penalty or a negated item); an anchored
        item is unmet below the rubric's threshold. None where that is not known.
    `votes`: pairs of a judge's id and its mark.
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
        """Whether a check answered it with a score, which has a bar of its own."""
        return any(mark.score is not None for _, mark in self.votes)

    @property
    def may_leave(self) -> bool:
        """Whether it has no score yet and may turn out not to apply."""
        return self.met is None and (self.item.may_not_apply or not self.applies)


class Line(Struct, frozen=True, kw_only=True):
    """The combined result of one criterion. Scores are 0-1.

    `parent`: the id of the criterion above it, None at the top.
    `low`, `high`: the ends of what the score can be once every vote is in.
    `by_judge`: the score by each look of a judge that answered all of this criterion's items.
    `judge_of`: whose look each of them is; empty where every judge looked once.
    `voters`: the smallest number of different judges on any item that judges were asked; None when
        code answers all of them.
    `may_leave`: it has no mark yet, and all of it may turn out not to apply.
    `answered`: the score by the votes there are, where votes are missing; else None.
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
    judge_of: Mapping[str, str] = field(default_factory=lambda: NOBODY)
    may_leave: bool = False
    answered: Fraction | None = None

    @property
    def score(self) -> Fraction | None:
        """The score by the judges that answered; None when an item has no answer."""
        if self.answered is not None:
            return self.answered
        # `is` comes first: most lines hold one fraction twice, and to compare fractions is slow.
        is_exact = self.low is self.high or self.low == self.high
        return self.low if self.applies and is_exact else None

    @property
    def spread(self) -> Fraction:
        """How far judges disagree: the highest score of one of them minus the lowest, 0-1. The score
        of a judge is the mean of its looks.
        """
        if not self.judge_of:
            return _span_of(self.by_judge.values())
        return _span_of(sum(own, ZERO) / len(own) for own in self._looks.values())

    @property
    def unsteady(self) -> dict[str, Fraction]:
        """The judges whose own looks differ, each with its highest score minus its lowest, 0-1."""
        if not self.judge_of:
            return {}
        spans = {judge: _span_of(own) for judge, own in self._looks.items()}
        return {judge: span for judge, span in spans.items() if span}

    @property
    def _looks(self) -> dict[str, list[Fraction]]:
        """The scores by the looks of each judge."""
        looks: dict[str, list[Fraction]] = {}
        for look, score in self.by_judge.items():
            looks.setdefault(self.judge_of.get(look, look), []).append(score)
        return looks

    @property
    def is_below_floor(self) -> bool:
        """Whether it is below its floor whatever the missing votes say."""
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
        """Whether a measuring check answers its only item. That check's own bar then says whether
        the criterion is met, not a score above 0.
        """
        return len(self.items) == 1 and self.items[0].is_measured

    @property
    def only_checks(self) -> bool:
        """Whether code answers all items of this criterion and of those below it."""
        return self.voters is None


class Scorecard(Struct, frozen=True, kw_only=True, dict=True):
    """The result of every criterion, and of the whole rubric. Scores are 0-1.

    `lines`: one for each criterion, parents before their children.
    `low`, `high`: the ends of what the overall score can be once every vote is in.
    `answered`: the overall score by the votes there are, where votes are missing; else None.
    `open`: judges whose missing votes can still change the score.
    `short`: why the quorum is not met; empty where it is.
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
        """The overall score by the judges that answered; None when an item has no answer, or
        nothing in the rubric applies.
        """
        if self.answered is not None:
            return self.answered
        return self.low if self.applies and self.low == self.high else None

    @cached_property
    def voters(self) -> int | None:
        """The smallest number of voters on any criterion; None when code answers all of them."""
        counts = [line.voters for line in self.lines if line.voters is not None]
        return min(counts) if counts else None

    @property
    def low_confidence(self) -> bool:
        """Whether fewer than two judges answered some item that judges were asked."""
        return self.voters is not None and self.voters < 2

    @property
    def has_marks(self) -> bool:
        return any(line.has_marks for line in self.lines)

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Criteria on which two judges, or two looks of one judge, are more than 20 points apart."""
        asked = [line for line in self.lines if line.items]
        return (
            *[
                f"{DISAGREE}{line.criterion.id} ({show_points(line.spread)})"
                for line in asked
                if line.spread > DISAGREEMENT
            ],
            *[
                f"{LOOKS_DIFFER}{judge}{_ON}{line.criterion.id} ({show_points(span)})"
                for line in asked
                for judge, span in line.unsteady.items()
                if span > DISAGREEMENT
            ],
        )

    def line(self, criterion: str) -> Line:
        """The line of the criterion with this id. Raises StopIteration where there is none."""
        return next(line for line in self.lines if line.criterion.id == criterion)

    @cached_property
    def values(self) -> tuple[tuple[Fraction, Fraction, bool], ...]:
        """The interval of every criterion, and whether it applies. This panel cannot tell two
        versions with equal values apart.
        """
        return tuple((line.low, line.high, line.applies) for line in self.lines)


def _span_of(scores: Iterable[Fraction]) -> Fraction:
    known = list(scores)
    return max(known) - min(known) if known else ZERO


def read_looks_differ(flag: str) -> tuple[str, str] | None:
    """The judge, and the criterion with the distance, of a flag about looks that differ; None for
    another flag.
    """
    if not flag.startswith(LOOKS_DIFFER):
        return None
    judge, _, where = flag.removeprefix(LOOKS_DIFFER).rpartition(_ON)
    return judge, where


def missing(card: Scorecard) -> list[Key]:
    """The keys of the items that apply and have no answer."""
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


class Verdict(Struct, frozen=True):
    """An outcome, with its reasons: every bar that is missed, or else every bar that is still open.

    `is_final`: a stated probability must not replace this outcome, as where the quorum is not met.
    `lacks_answers`: an answer that it needs is not there. `is_undecided`: every needed answer is
    there, and the probability is between the bars that `sure` asks for.
    """

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    is_final: bool = False
    lacks_answers: bool = False
    is_undecided: bool = False

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASS


class _Bar(NamedTuple):
    """One condition on one interval. `strictly`: the score must be above the bar, since `required`
    means more than 0. A bar of the kind `check` is made only for a required criterion whose
    measuring check missed its own bar, so it is always missed.
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
        return Outcome.INCONCLUSIVE if self._meets(self.high) else Outcome.FAIL

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


# The reasons that `_Bar` and `_why_open` write. A suite puts the attempt's number in front.
_GATE_REASON: Final = late_pattern(
    r"(?:attempt \d+: )?(?:"
    r"(?:required )?criterion '(?P<criterion>.*)' (?:"
    r"is not met: it scored [\d.]+"
    r"|may be 0: it is .*"
    r"|is .*, (?:below )?its floor (?:is )?\S+"
    r")"
    r"|the overall (?P<threshold>score) is .*, (?:below )?the threshold (?:is )?\S+"
    r"|\d+ items? ha(?:s|ve) no (?P<answer>answer)"
    r")",
    re.DOTALL,
)


def read_gate_reason(reason: str) -> tuple[str, str] | None:
    """Say what a reason from `judge_gate` is about: ("criterion", its id), ("threshold", ...) or
    ("answer", ...); None for another reason. A run on record stores only the text of a reason, so
    it is read back from that.
    """
    match = _GATE_REASON.fullmatch(reason)
    if match is None:
        return None
    return next((kind, name) for kind, name in match.groupdict().items() if name is not None)


def overall(outcomes: Collection[Outcome]) -> Outcome:
    """The outcome of several artifacts together: fail if any failed, pass if all passed, else
    inconclusive.
    """
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    return Outcome.PASS if set(outcomes) == {Outcome.PASS} else Outcome.INCONCLUSIVE


def are_undecided(open_parts: Iterable[bool]) -> bool:
    """Whether an inconclusive whole is undecided: by whether each of its inconclusive parts is.
    One part that lacks answers leaves the whole without them.
    """
    parts = list(open_parts)
    return bool(parts) and all(parts)


def judge_gate(card: Scorecard, rubric: Rubric) -> Verdict:
    """Compare a scorecard with its rubric's gate: threshold, floors and required criteria.

    A missed bar comes before an open one: where one bar is missed for sure, no missing vote can
    save the version, and the verdict is a fail.
    """
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
    # A card without a mark meets a gate whose bars are all 0, but a missing mark is not a pass.
    if still_open or not card.has_marks:
        lacks = not card.has_marks or bool(missing(card))
        return Verdict(Outcome.INCONCLUSIVE, (*_why_open(card), *still_open), lacks_answers=lacks)
    return _PASS


_PASS = Verdict(Outcome.PASS)


def _why_open(card: Scorecard) -> Iterator[str]:
    # The mean of several attempts can be open with no item missing: one attempt has no card.
    count = len(missing(card))
    if count:
        yield "1 item has no answer" if count == 1 else f"{count} items have no answer"
    if card.open:
        yield f"votes that did not come leave it open: {', '.join(card.open)} (see --quorum)"


def _bars(card: Scorecard, rubric: Rubric) -> Iterator[_Bar]:
    """Every bar of the gate that this scorecard has to meet."""
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
    """An interval in points: `62`, `40 to 62`, or with `at_most` its upper end alone."""
    if low == high:
        return show_points(low)
    if at_most:
        return f"{at_most}{show_points(high)}"
    return f"{show_points(low)} to {show_points(high)}"
