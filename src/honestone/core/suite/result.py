"""A suite's result: rates over its cases as intervals, and the gate on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from honestone.core.numbers import ONE, ZERO, show_bar, show_points
from honestone.core.suite.attempts import CaseResult, Status
from honestone.core.verdict import Outcome, Verdict

UNDECIDED = (Status.INCONCLUSIVE, Status.TARGET_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """`passes` and `scores` are intervals (0-1) over the cases that were not skipped; None when all were."""

    counts: dict[Status, int]
    passes: tuple[Fraction, Fraction] | None
    scores: tuple[Fraction, Fraction] | None

    @property
    def pass_rate(self) -> Fraction | None:
        return _point(self.passes, self.is_decided)

    @property
    def mean_score(self) -> Fraction | None:
        return _point(self.scores, self.is_decided)

    @property
    def is_decided(self) -> bool:
        return not any(self.counts[status] for status in UNDECIDED)


def _point(span: tuple[Fraction, Fraction] | None, is_decided: bool) -> Fraction | None:
    return span[0] if span is not None and is_decided and span[0] == span[1] else None


def rates_of(results: Sequence[CaseResult]) -> Rates:
    counts = Counter(result.status for result in results)
    ran = [result for result in results if result.status is not Status.SKIPPED]
    every = {status: counts.get(status, 0) for status in Status}
    if not ran:
        return Rates(counts=every, passes=None, scores=None)
    passed = sum(1 for result in ran if result.status is Status.PASSED)
    unsure = sum(1 for result in ran if result.status in UNDECIDED)
    return Rates(
        counts=every,
        passes=(Fraction(passed, len(ran)), Fraction(passed + unsure, len(ran))),
        scores=(
            sum((result.low for result in ran), ZERO) / len(ran),
            sum((result.high for result in ran), ZERO) / len(ran),
        ),
    )


def judge_suite(rates: Rates, *, least: Fraction = ONE, is_cut_short: bool = False) -> Verdict:
    """A suite passes when the share of passed cases reaches `least`: the lower end passes, the upper end fails.

    `is_cut_short`: a budget ended it before every case was reached, so that it cannot pass.
    """
    if rates.passes is None:
        if is_cut_short:
            return Verdict(Outcome.INCONCLUSIVE, ("no case was reached",))
        return Verdict(Outcome.SKIPPED, ("every case was skipped",))
    low, high = rates.passes
    failed, unsure = rates.counts[Status.FAILED], sum(rates.counts[status] for status in UNDECIDED)
    if high < least:
        count = sum(rates.counts[status] for status in Status if status is not Status.SKIPPED)
        some = "" if low == high else "at most "
        why = (
            f"{failed} of {count} cases failed"
            if least == ONE
            else f"the pass rate is {some}{show_points(high)}%, below --min-pass-rate {show_bar(least)}%"
        )
        return Verdict(Outcome.FAIL, (why,))
    if low < least:
        return Verdict(Outcome.INCONCLUSIVE, (f"{unsure} case{'s' if unsure != 1 else ''} could not be judged",))
    if is_cut_short:
        return Verdict(Outcome.INCONCLUSIVE, ("not every case was reached",))
    return Verdict(Outcome.PASS)
