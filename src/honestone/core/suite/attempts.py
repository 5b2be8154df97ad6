"""Attempts: how the runs of one case become its result. Three-valued throughout: what could not be
judged did not fail.

one        as it is
pass@k     passes when one passes, fails when all fail (any of k, DESIGN-suites §8)
pass^k     passes when all pass, fails when one fails
mean       the gate over the means of the attempts' scores, criterion by criterion. It can be undecided where every attempt
           is decided: each passes or fails whatever its missing answers are, but the mean depends on those answers
best       the attempt with the highest score
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.judging.scorecard import Outcome, Scorecard, Verdict, judge_gate
from honestone.core.numbers import ONE, ZERO, percent, show_bar, show_points
from honestone.core.suite.case import AttemptRule, Case, Expect


class Status(StrEnum):
    """How a case ended. A target that failed is `target-error`, never a low score."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    TARGET_ERROR = "target-error"
    SKIPPED = "skipped"


OUTCOMES = {
    Status.PASSED: Outcome.PASS,
    Status.FAILED: Outcome.FAIL,
    Status.INCONCLUSIVE: Outcome.INCONCLUSIVE,
    Status.TARGET_ERROR: Outcome.INCONCLUSIVE,
    Status.SKIPPED: Outcome.SKIPPED,
}
_OF = {
    Outcome.PASS: Status.PASSED,
    Outcome.FAIL: Status.FAILED,
    Outcome.INCONCLUSIVE: Status.INCONCLUSIVE,
}


class Attempt(Struct, frozen=True, kw_only=True):
    """One run of a case, judged. `card` is None where the target failed. Scores are 0-1."""

    number: int
    status: Status
    low: Fraction = ZERO
    high: Fraction = ONE
    reasons: tuple[str, ...] = ()
    card: Scorecard | None = None

    @property
    def score(self) -> Fraction | None:
        return self.low if self.low == self.high else None

    @property
    def verdict(self) -> Outcome:
        return OUTCOMES[self.status]


class CaseResult(Struct, frozen=True, kw_only=True):
    """A case's result. `shown` is the attempt whose answers represent it; None without any."""

    status: Status
    low: Fraction = ZERO
    high: Fraction = ONE
    reasons: tuple[str, ...] = ()
    is_unstable: bool = False
    shown: Attempt | None = None

    @property
    def score(self) -> Fraction | None:
        return self.low if self.low == self.high and self.status is not Status.SKIPPED else None

    @property
    def verdict(self) -> Outcome:
        return OUTCOMES[self.status]


def skipped(reason: str) -> CaseResult:
    return CaseResult(status=Status.SKIPPED, reasons=(reason,))


def target_failed(number: int, why: str) -> Attempt:
    return Attempt(number=number, status=Status.TARGET_ERROR, reasons=(why,))


def judge_attempt(
    number: int, card: Scorecard, case: Case, verdict: Verdict | None = None
) -> Attempt:
    """What a scorecard says of one attempt: the gate, or what the case expects of the judges.
    `verdict`: the gate's, where it is known.
    """
    verdict = verdict or judge_gate(card, case.rubric)
    if case.expect is not None:
        verdict = meets(case.expect, card, verdict)
    return Attempt(
        number=number,
        status=_OF[verdict.outcome],
        low=card.low,
        high=card.high,
        reasons=verdict.reasons,
        card=card,
    )


def meets(expect: Expect, card: Scorecard, verdict: Verdict) -> Verdict:
    """Whether the judges stay inside what is expected of them: a test of the judges, not of the
    output.
    """
    missed: list[str] = []
    unsure: list[str] = []
    if expect.verdict is not None and verdict.outcome != expect.verdict:
        where = unsure if verdict.outcome is Outcome.INCONCLUSIVE else missed
        where.append(f"the verdict is {verdict.outcome}, expected {expect.verdict}")
    ranges = [("the score", card.low, card.high, expect.score)] if expect.score else []
    for name, span in expect.criteria.items():
        line = card.line(name)
        ranges.append((f"criterion '{name}'", line.low, line.high, span))
    for name, low, high, wanted in ranges:
        at_least, at_most = wanted
        shown = show_points(low) if low == high else f"{show_points(low)} to {show_points(high)}"
        finding = f"{name} is {shown}, expected {show_bar(at_least)} to {show_bar(at_most)}"
        if high < at_least or low > at_most:
            missed.append(finding)
        elif low < at_least or high > at_most:
            unsure.append(finding)
    if missed:
        return Verdict(Outcome.FAIL, tuple(missed))
    return Verdict(Outcome.INCONCLUSIVE, tuple(unsure)) if unsure else Verdict(Outcome.PASS)


def result_of(attempts: Sequence[Attempt], case: Case) -> CaseResult:
    """The result of a case's attempts (at least one, in order)."""
    if len(attempts) == 1:
        return _as_is(attempts[0], unstable=False)
    decided = {attempt.status for attempt in attempts} & {Status.PASSED, Status.FAILED}
    unstable = len(decided) == 2
    if case.attempt_rule is AttemptRule.PASS_AT_K:
        return _any_of(attempts, unstable)
    if case.attempt_rule is AttemptRule.PASS_HAT_K:
        return _all_of(attempts, unstable)
    if case.attempt_rule is AttemptRule.BEST:
        return _as_is(_best(attempts), unstable)
    return _mean_of(attempts, case, unstable)


def _as_is(attempt: Attempt, unstable: bool) -> CaseResult:
    return CaseResult(
        status=attempt.status,
        low=attempt.low,
        high=attempt.high,
        reasons=attempt.reasons,
        is_unstable=unstable,
        shown=attempt,
    )


def _any_of(attempts: Sequence[Attempt], unstable: bool) -> CaseResult:
    best = _best(attempts)
    low, high = max(a.low for a in attempts), max(a.high for a in attempts)
    passed = next((a for a in attempts if a.status is Status.PASSED), None)
    if passed is not None:
        return CaseResult(
            status=Status.PASSED, low=low, high=high, is_unstable=unstable, shown=passed
        )
    if all(a.status is Status.FAILED for a in attempts):
        why = (f"none of {len(attempts)} attempts passed", *best.reasons)
        return CaseResult(status=Status.FAILED, low=low, high=high, reasons=why, shown=best)
    return replace(_undecided(attempts, unstable), low=low, high=high, shown=best)


def _all_of(attempts: Sequence[Attempt], unstable: bool) -> CaseResult:
    low, high = min(a.low for a in attempts), min(a.high for a in attempts)
    failed = next((a for a in attempts if a.status is Status.FAILED), None)
    if failed is not None:
        count = sum(1 for a in attempts if a.status is Status.FAILED)
        why = (
            f"{count} of {len(attempts)} attempts failed, the first is {failed.number}",
            *failed.reasons,
        )
        return CaseResult(
            status=Status.FAILED,
            low=low,
            high=high,
            reasons=why,
            is_unstable=unstable,
            shown=failed,
        )
    if all(a.status is Status.PASSED for a in attempts):
        return CaseResult(status=Status.PASSED, low=low, high=high, shown=attempts[0])
    return replace(_undecided(attempts, unstable), low=low, high=high)


def _mean_of(attempts: Sequence[Attempt], case: Case, unstable: bool) -> CaseResult:
    cards = [attempt.card for attempt in attempts]
    first = next((attempt for attempt in attempts if attempt.card is not None), None)
    if first is None or case.expect is not None:
        return _all_of(attempts, unstable)
    card = mean_card(cards)
    verdict = judge_gate(card, case.rubric)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        undecided = _undecided(attempts, unstable)
        return replace(
            undecided,
            low=card.low,
            high=card.high,
            reasons=(*undecided.reasons, *verdict.reasons),
            shown=first,
        )
    return CaseResult(
        status=_OF[verdict.outcome],
        low=card.low,
        high=card.high,
        reasons=verdict.reasons,
        is_unstable=unstable,
        shown=first,
    )


def mean_card(cards: Sequence[Scorecard | None]) -> Scorecard:
    """The mean of scorecards of one rubric, criterion by criterion. One that is missing may be
    anything from 0 to 1.
    """
    known = [card for card in cards if card is not None]
    lines = []
    for index, line in enumerate(known[0].lines):
        same = [None if card is None else card.lines[index] for card in cards]
        applying = [one for one in same if one is None or one.applies]
        if not any(one is not None for one in applying):
            lines.append(line)
            continue
        low = sum((ZERO if one is None else one.low for one in applying), ZERO) / len(applying)
        high = sum((ONE if one is None else one.high for one in applying), ZERO) / len(applying)
        # The items of every attempt: the gate counts those without an answer, in whichever attempt
        # they are.
        items = tuple(item for one in applying if one is not None for item in one.items)
        lines.append(replace(line, items=items, low=low, high=high, applies=True, answered=None))
    low = sum((ZERO if card is None else card.low for card in cards), ZERO) / len(cards)
    high = sum((ONE if card is None else card.high for card in cards), ZERO) / len(cards)
    return Scorecard(
        lines=tuple(lines),
        low=low,
        high=high,
        applies=any(card.applies for card in known),
        short=next((card.short for card in known if card.short), ""),
    )


def _best(attempts: Sequence[Attempt]) -> Attempt:
    """The highest score; of equal ones the earlier. An attempt without a score is below every one
    that has one.
    """
    return max(attempts, key=lambda a: (a.score is not None, a.low, a.high, -a.number))


def _undecided(attempts: Sequence[Attempt], unstable: bool) -> CaseResult:
    """Neither passed nor failed: target-error where a target failed, else inconclusive.

    The reasons come from the first attempt with that status. Under `mean` there may be no such
    attempt: attempts that score 100, 75 to 100 and 25 against a threshold of 70 pass, pass and
    fail, and their mean is 66 2/3 to 75. The case is inconclusive then, because the missing answer
    decides it, and the reasons are those of the gate over the mean.
    """
    for status in (Status.TARGET_ERROR, Status.INCONCLUSIVE):
        for attempt in attempts:
            if attempt.status is status:
                reasons = tuple(f"attempt {attempt.number}: {reason}" for reason in attempt.reasons)
                return CaseResult(
                    status=status, reasons=reasons, is_unstable=unstable, shown=attempt
                )
    return CaseResult(status=Status.INCONCLUSIVE, is_unstable=unstable, shown=attempts[0])


UNDECIDED = (Status.INCONCLUSIVE, Status.TARGET_ERROR)


class Rates(Struct, frozen=True, kw_only=True):
    """`passes` and `scores` are intervals (0-1) over the cases that were not skipped; None when all
    were. `short`: how many lack judges for their quorum, by the words that say so.
    """

    counts: dict[Status, int]
    passes: tuple[Fraction, Fraction] | None
    scores: tuple[Fraction, Fraction] | None
    short: Mapping[str, int] = {}

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


def rates_of(results: Iterable[CaseResult]) -> Rates:
    counts, low, high = dict.fromkeys(Status, 0), ZERO, ZERO
    short = Counter[str]()
    for result in results:
        counts[result.status] += 1
        card = None if result.shown is None else result.shown.card
        if result.status is Status.INCONCLUSIVE and card is not None and card.short:
            short[card.short] += 1
        if result.status is not Status.SKIPPED:
            low, high = low + result.low, high + result.high
    ran = sum(counts.values()) - counts[Status.SKIPPED]
    if not ran:
        return Rates(counts=counts, passes=None, scores=None)
    passed, unsure = counts[Status.PASSED], sum(counts[status] for status in UNDECIDED)
    return Rates(
        counts=counts,
        passes=(Fraction(passed, ran), Fraction(passed + unsure, ran)),
        scores=(low / ran, high / ran),
        short=short,
    )


def judge_suite(rates: Rates, *, least: Fraction = ONE, is_cut_short: bool = False) -> Verdict:
    """A suite passes when the share of passed cases reaches `least`: the lower end passes, the
    upper
    end fails.

    `is_cut_short`: a budget ended it before every case was reached, so that it cannot pass.
    """
    if rates.passes is None:
        if is_cut_short:
            return Verdict(Outcome.INCONCLUSIVE, ("no case was reached",))
        return Verdict(Outcome.SKIPPED, ("every case was skipped",))
    lacks = not rates.is_decided
    low, high = rates.passes
    failed, unsure = rates.counts[Status.FAILED], sum(rates.counts[status] for status in UNDECIDED)
    if high < least:
        count = sum(rates.counts[status] for status in Status if status is not Status.SKIPPED)
        if least == ONE:
            why = f"{failed} of {count} {'case' if count == 1 else 'cases'} failed"
        else:
            rate = f"{'' if low == high else 'at most '}{percent(high, least)}"
            why = f"the pass rate is {rate}, below --min-pass-rate {show_bar(least)}%"
        return Verdict(Outcome.FAIL, (why,), lacks_answers=lacks)
    if low < least:
        return Verdict(
            Outcome.INCONCLUSIVE,
            (_unsure_words(unsure, rates.short),),
            lacks_answers=lacks,
        )
    if is_cut_short:
        why = "not every case was reached"
        return Verdict(Outcome.INCONCLUSIVE, (why,), lacks_answers=lacks)
    return Verdict(Outcome.PASS, lacks_answers=lacks)


def _unsure_words(unsure: int, short: Mapping[str, int]) -> str:
    """With what the cases lack, in the words of one of them where all lack the same."""
    words, lacking = f"{_cases(unsure)} could not be judged", sum(short.values())
    if not lacking:
        return words
    if len(short) == 1 and lacking == unsure:
        return f"{words}: {next(iter(short))}"
    return f"{words}: the quorum of {_cases(lacking)} is not met"


def _cases(count: int) -> str:
    return f"{count} case{'s' if count != 1 else ''}"
