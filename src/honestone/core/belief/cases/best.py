"""How probable it is that the best of several attempts passes: the one whose true answers score
highest, of equal ones the first.

Each attempt is a distribution of scores, and what part of it passes. Where what passes always scores
more than what fails, the best attempt passes if any of them does; that needs none of this.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod

from honestone.core.belief.verdict import Assumption, TextBelief

# Points by which scores differ that are not equal.
_CLOSE = 1e-6


class _Above:
    """P(a score is above another one), of scores with their probabilities (which need not sum to 1)."""

    def __init__(self, rows: Sequence[tuple[float, float]]) -> None:
        rows = sorted(rows)
        self._points = [points for points, _ in rows]
        masses = accumulate([mass for _, mass in reversed(rows)], initial=0.0)
        self._masses = list(masses)[::-1]

    def chance(self, points: float, *, or_equal: bool) -> float:
        edge = points - _CLOSE if or_equal else points + _CLOSE
        return self._masses[bisect_left(self._points, edge)]


class _Attempt:
    """The scores of one attempt (points, probability): every one, those that pass, and the others."""

    def __init__(self, text: TextBelief, one: Assumption, *, is_turned: bool) -> None:
        every = _rows(text, one, is_met=False)
        met = _rows(text, one, is_met=True)
        unmet = [*every, *[(points, -mass) for points, mass in met]]
        self.passing, self.failing = (unmet, met) if is_turned else (met, unmet)
        self._above = _Above(every)

    def is_below(self, points: float, *, is_first: bool) -> float:
        """P(it is not the best one, where another one scores so much). `is_first`: it comes before
        that one.
        """
        return 1.0 - self._above.chance(points, or_equal=is_first)


def _rows(text: TextBelief, one: Assumption, *, is_met: bool) -> list[tuple[float, float]]:
    return [(mean, mass) for mass, mean, _ in text.scores_under(one, is_met=is_met)]


def best_passes(texts: Sequence[TextBelief], one: Assumption, *, is_turned: bool) -> float:
    """P(the best of these attempts passes) if an assumption is so. Turned attempts pass where what
    is believed of their text is not so.
    """
    attempts = [_Attempt(text, one, is_turned=is_turned) for text in texts]
    return min(max(_passing(attempts), 0.0), 1.0)


def depends_on_each(
    texts: Sequence[TextBelief], one: Assumption, *, is_turned: bool
) -> list[float]:
    """How much of whether the best attempt passes depends on each attempt, 0 to .25: by how much the
    variance of that is less where the true answers of this attempt are known.
    """
    attempts = [_Attempt(text, one, is_turned=is_turned) for text in texts]
    whole = _passing(attempts)
    return [_depends_on(attempts, number, whole) for number in range(len(attempts))]


def _passing(attempts: Sequence[_Attempt]) -> float:
    return sum([mass for _, _, mass in _winning(attempts, range(len(attempts)))])


def _winning(
    attempts: Sequence[_Attempt], among: Sequence[int]
) -> Iterator[tuple[int, float, float]]:
    """Each attempt that may be the best of these, by its number, and pass, with each score, and the
    probability of that.
    """
    for number in among:
        for points, mass in attempts[number].passing:
            others = [
                attempts[other].is_below(points, is_first=other < number)
                for other in among
                if other != number
            ]
            yield number, points, mass * prod(others)


def _depends_on(attempts: Sequence[_Attempt], number: int, whole: float) -> float:
    own = attempts[number]
    others = [other for other in range(len(attempts)) if other != number]
    won = list(_winning(attempts, others))
    before, after = (
        _Above([(points, mass) for other, points, mass in won if (other < number) is is_before])
        for is_before in (True, False)
    )
    found = 0.0
    for is_passing, rows in ((True, own.passing), (False, own.failing)):
        for points, mass in rows:
            passes = before.chance(points, or_equal=True) + after.chance(points, or_equal=False)
            if is_passing:
                below = [
                    attempts[other].is_below(points, is_first=other < number) for other in others
                ]
                passes += prod(below)
            found += mass * (passes - whole) ** 2
    return min(max(found, 0.0), 0.25)
