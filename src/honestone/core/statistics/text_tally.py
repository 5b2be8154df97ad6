"""What many judged texts come to: counts, and means by criterion with their intervals, kept up row
by row in memory that does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from math import sqrt

from msgspec import Struct, field

from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.numbers import NORMAL, percent, show_bar
from honestone.core.statistics.rates import wilson

_TOP = 100.0


class MeanTally:
    """The mean of scores from 0 to 100 with its 95% interval.

    Scores that are all 0 or 100 are a rate, whose interval is Wilson's. Others have that of their
    standard error, cut to 0..100. Suites use the same two.
    """

    __slots__ = ("_at_top", "_mean", "_others", "_squares", "_sum", "count")

    def __init__(self) -> None:
        self.count = 0
        self._sum = self._mean = self._squares = 0.0
        self._at_top = self._others = 0

    def add(self, score: float) -> None:
        """One more score, by Welford's method."""
        self.count += 1
        self._sum += score
        before = score - self._mean
        self._mean += before / self.count
        self._squares += before * (score - self._mean)
        self._at_top += score == _TOP
        self._others += score not in (0.0, _TOP)

    @property
    def mean(self) -> float | None:
        """None of no score."""
        if not self.count:
            return None
        # The sum of short decimals is more exact than the running mean.
        return self._sum / self.count if self._others else _TOP * self._at_top / self.count

    @property
    def interval(self) -> tuple[float, float] | None:
        """None where there are too few scores for one."""
        if not self.count:
            return None
        if not self._others:
            low, high = wilson(self._at_top, self.count)
            return low * _TOP, high * _TOP
        if self.count < 2:
            return None
        half = NORMAL * sqrt(self._squares / (self.count - 1)) / sqrt(self.count)
        mean = self._sum / self.count
        return max(0.0, mean - half), min(_TOP, mean + half)


class Count(StrEnum):
    """What a text counts as."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "undecided"
    OPEN = "could not be judged"


_COUNTED = {Outcome.PASS: Count.PASSED, Outcome.FAIL: Count.FAILED}


class TextTally(Struct):
    """Texts of one kind: all of a table, or one group of it."""

    counts: dict[Count, int] = field(default_factory=lambda: dict.fromkeys(Count, 0))
    scores: MeanTally = field(default_factory=MeanTally)
    criteria: dict[str, MeanTally] = field(default_factory=dict)

    def add(
        self,
        outcome: Outcome,
        score: float | None,
        criteria: Mapping[str, float | None],
        *,
        is_undecided: bool = False,
    ) -> None:
        """One more text. A score that is not known counts in no mean. `is_undecided`: it lacks no
        answer (`Verdict.is_undecided`).
        """
        other = Count.UNDECIDED if is_undecided else Count.OPEN
        self.counts[_COUNTED.get(outcome, other)] += 1
        if score is not None:
            self.scores.add(score)
        for id, one in criteria.items():
            tally = self.criteria.get(id)
            if tally is None:
                tally = self.criteria[id] = MeanTally()
            if one is not None:
                tally.add(one)

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def open(self) -> int:
        """How many neither passed nor failed."""
        return self.counts[Count.UNDECIDED] + self.counts[Count.OPEN]

    def verdict(self, least: Fraction) -> Verdict:
        """Pass when the share of texts that passed reaches `least`, whatever the open ones are;
        fail when it cannot reach it.
        """
        total, passed, open_ = self.total, self.counts[Count.PASSED], self.open
        if not total:
            return Verdict(Outcome.SKIPPED, ("the table has no rows",))
        low, high = Fraction(passed, total), Fraction(passed + open_, total)
        if high < least:
            if least == 1:
                failed = self.counts[Count.FAILED]
                return Verdict(Outcome.FAIL, (f"{failed:,} of {total:,} did not pass",))
            most = "" if low == high else "at most "
            bar = show_bar(least)
            why = f"the pass rate is {most}{percent(high, least)}, below --min-pass-rate {bar}%"
            return Verdict(Outcome.FAIL, (why,))
        if low < least:
            why = ", ".join(open_words(self.counts[Count.UNDECIDED], open_))
            lacks = bool(self.counts[Count.OPEN])
            return Verdict(
                Outcome.INCONCLUSIVE, (why,), lacks_answers=lacks, is_undecided=not lacks
            )
        return Verdict(Outcome.PASS)


def open_words(undecided: int, open_: int) -> list[str]:
    """`["2 undecided", "1 could not be judged"]`, of all that are open; none where there is none."""
    counts = {Count.UNDECIDED: undecided, Count.OPEN: open_ - undecided}
    return [f"{number:,} {count}" for count, number in counts.items() if number]
