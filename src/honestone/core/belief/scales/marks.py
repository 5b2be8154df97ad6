"""What is believed about an item on a scale of one text, by every mark of its judges.

The unknowns are those of `scores`: the truth, an error that all judges share, one of each judge that
stays with the text, and a fresh one of each look. No edit comes between the looks at one text, and
all judges err alike, so that what Kalman's updates come to there has a closed form. Of the marks it
needs how often each judge looked, their mean, and how far they are from it, and these are the same
whatever is assumed of the size of the errors. In which order judges answered is in none of them.

What judges put exactly at a level is exactly there: a bar there is reached, however many items are
added up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, inf, log, pi, sqrt
from typing import Final, NamedTuple, TypeAlias

from honestone.core.belief.normal import Atom, below, cut
from honestone.core.belief.scales.scores import OWN, START_MEAN, START_SD
from honestone.core.judging.rubric import Item, Key

# Points that a judge's look at an item is assumed to be off by.
SDS: Final = (0.5, 6.0, 10.0, 15.0)
# Assumptions less probable than this share of all do not count.
NEGLIGIBLE: Final = 2e-3
# What is believed of an item before its first mark. One that is worked on is seldom far from the
# middle; any text may be anywhere on the scale, in one of four cases.
STARTS: Final = (Atom(0.75, START_MEAN, START_SD**2), Atom(0.25, 50.0, 35.0**2))
# Which part of the error all judges share.
SHARED: Final = 0.35
# The variance of what stays with a judge, where that of what is fresh is 1.
_STAYS: Final = OWN / (1.0 - OWN)
# What is nearer to a described level that a judge named, in points, is at that level.
NEAR_A_LEVEL: Final = 5.0
_SAME: Final = 1e-6
# Standard deviations beyond which there is hardly anything.
_HARDLY: Final = 6.0


class ItemMarks(NamedTuple):
    """All that counts of the marks (points) of an item. `looks`: of each judge, how often it looked,
    in rising order. `centre`: their mean, in which the marks of one judge weigh the less the more
    of them there are. `apart`: how far they are from it, squared, where the variance of the fresh
    error is 1.
    """

    looks: tuple[int, ...]
    centre: float
    apart: float

    @classmethod
    def of(cls, by_judge: Iterable[MarksOfOne]) -> ItemMarks:
        """In a fixed order, so that sums do not depend on which judge looked when."""
        rows = sorted(by_judge)
        if len(rows) < 2:
            return cls((rows[0].looks,), rows[0].mean, rows[0].apart) if rows else NO_MARKS
        weights = [_weight(one.looks) for one in rows]
        centre = sum([w * one.mean for w, one in zip(weights, rows, strict=True)]) / sum(weights)
        apart = [
            one.apart + w * (one.mean - centre) ** 2 for w, one in zip(weights, rows, strict=True)
        ]
        return cls(tuple([one.looks for one in rows]), centre, sum(apart))


NO_MARKS: Final = ItemMarks((), 0.0, 0.0)


class MarksOfOne(NamedTuple):
    """The marks of one judge in rising order: how often it looked, their mean, and how far they are
    from it, squared.
    """

    looks: int
    mean: float
    apart: float
    marks: tuple[float, ...]

    def and_one(self, mark: float) -> MarksOfOne:
        marks = tuple(sorted((*self.marks, mark)))
        if len(marks) == 1:
            return MarksOfOne(1, mark, 0.0, marks)
        mean = sum(marks) / len(marks)
        return MarksOfOne(len(marks), mean, sum([(one - mean) ** 2 for one in marks]), marks)


NO_MARK: Final = MarksOfOne(0, 0.0, 0.0, ())


def _weight(looks: int) -> float:
    """One by the variance of the mean error of a judge, where that of its fresh error is 1."""
    return looks / (1.0 + _STAYS * looks)


class _Case(NamedTuple):
    """One of the cases in which an item may be before its first mark, after so many looks: `log` of
    what its weight and the spread of the marks' centre make of its probability, the `mean` and the
    variance (`spread`) of that centre, which part of its distance from the mean is true (`gain`),
    and the variance of the truth that is left (`var`).
    """

    log: float
    mean: float
    spread: float
    gain: float
    var: float


class _AfterLooks(NamedTuple):
    """What an assumption makes of so many looks whatever the marks are: the log of the density of
    what is fresh in them, their variance, and the cases.
    """

    log: float
    fresh: float
    cases: tuple[_Case, ...]


@lru_cache(maxsize=4_096)
def _after_looks(sd: float, looks: tuple[int, ...]) -> _AfterLooks:
    fresh = (1.0 - OWN) * (1.0 - SHARED) * sd * sd
    weight = sum([_weight(one) for one in looks])
    logs = [log(2.0 * pi * fresh) * count + log(1.0 + _STAYS * count) for count in looks]
    cases = []
    for mass, mean, var in STARTS:
        spread = var + SHARED * sd * sd + fresh / weight
        gain = var / spread
        cases.append(
            _Case(
                log(mass) - 0.5 * log(spread * weight / fresh), mean, spread, gain, var - gain * var
            )
        )
    return _AfterLooks(-0.5 * sum(logs), fresh, tuple(cases))


def log_density(sd: float, marks: ItemMarks) -> float:
    """The log of the density of an item's marks, if a look is off by `sd` points."""
    looks, centre, apart = marks
    if not looks:
        return 0.0
    log_fresh, fresh, cases = _after_looks(sd, looks)
    chances = [
        exp(of_case - 0.5 * (centre - mean) ** 2 / spread) for of_case, mean, spread, _, _ in cases
    ]
    return log_fresh - 0.5 * apart / fresh + log(sum(chances))


def truth_by(sd: float, marks: ItemMarks) -> tuple[Atom, ...]:
    """What is believed of an item by its marks, if a look is off by `sd` points."""
    looks, centre, _ = marks
    if not looks:
        return STARTS
    cases = _after_looks(sd, looks).cases
    chances = [
        exp(of_case - 0.5 * (centre - mean) ** 2 / spread) for of_case, mean, spread, _, _ in cases
    ]
    whole = sum(chances)
    return tuple(
        [
            Atom(chance / whole, mean + gain * (centre - mean), var)
            for chance, (_, mean, _, gain, var) in zip(chances, cases, strict=True)
        ]
    )


# ------------------------------------------------------------------------------------------------------------
# levels


class NearLevel(NamedTuple):
    """A described level; what is from `low` to `high`, in points, is exactly at it."""

    level: float
    low: float
    high: float


class DescribedLevels(NamedTuple):
    """Of a scale, in points, and how near to one of them is at it."""

    points: tuple[float, ...]
    within: float

    @classmethod
    def of(cls, item: Item) -> DescribedLevels:
        assert item.anchors is not None
        low, high = float(item.anchors.lowest), float(item.anchors.highest)
        points = tuple(
            [100.0 * (float(one) - low) / (high - low) for one, _ in item.anchors.levels]
        )
        nearest = min([above - below for below, above in pairwise(points)])
        return cls(points, min(NEAR_A_LEVEL, nearest / 2.0))


@lru_cache(maxsize=4_096)
def near_levels(levels: DescribedLevels, marks: Collection[float]) -> tuple[NearLevel, ...]:
    """What these marks say is exactly at a level: what is near one that they name. A mark a little
    above a level says that it is reached, the less the further it is, so that no better mark
    makes a bar at that level much less probable. Beyond the ends of the scale (0 and 100) there is
    nothing, so an end has what would be there.
    """
    found, within = [], levels.within
    for level in levels.points:
        above = min([mark - level for mark in marks if mark > level - _SAME], default=inf)
        if above < _SAME:
            low = -inf if level <= 0.0 else level - within
            found.append(NearLevel(level, low, inf if level >= 100.0 else level + within))
        elif above < 2.0 * within and level > 0.0:
            half = 0.5 * above
            found.append(NearLevel(level, level - within + half, level + half))
    return tuple(found)


def at_levels(atoms: Sequence[Atom], near: Sequence[NearLevel]) -> tuple[Atom, ...]:
    """The atoms, with what is at a level as a point there. The levels rise, and no two of them have
    the same part.
    """
    found: dict[float, float] = {}
    rest: list[Atom] = []
    for atom in atoms:
        mass, mean, var = atom
        if var <= 0.0:
            rest.append(atom)
            continue
        far = _HARDLY * sqrt(var)
        least, most = mean - far, mean + far
        reached = -inf
        for level, low, high in near:
            if low >= most or high <= least:
                continue
            if low > least:
                rest.append(cut(atom, reached, low))
            found[level] = found.get(level, 0.0) + mass * _share(atom, low, high)
            reached = high
        if reached == -inf:
            rest.append(atom)
        elif reached < most:
            rest.append(cut(atom, reached, inf))
    points = [Atom(mass, level, 0.0) for level, mass in found.items()]
    return tuple([one for one in (*points, *rest) if one.mass > 0.0])


def _share(atom: Atom, low: float, high: float) -> float:
    """Which part of an atom is from `low` to `high`."""
    sd = sqrt(atom.var)
    return below((high - atom.mean) / sd) - below((low - atom.mean) / sd)


# ------------------------------------------------------------------------------------------------------------
# all items


class ScaleSeen(NamedTuple):
    """What looks said of an item: their marks, and the described levels that they named, or came near.
    What is true of it may be exactly one of these.
    """

    marks: ItemMarks
    near: tuple[NearLevel, ...]

    @classmethod
    def of(cls, levels: DescribedLevels, by_judge: Collection[MarksOfOne]) -> ScaleSeen:
        named = frozenset([mark for one in by_judge for mark in one.marks])
        return cls(ItemMarks.of(by_judge), near_levels(levels, named))


# What is believed of each item.
ScoredItems: TypeAlias = Mapping[Key, tuple[Atom, ...]]


def scored_by_error(seen: Mapping[Key, ScaleSeen]) -> list[tuple[float, ScoredItems]]:
    """What is believed of the items, under each assumption about how far looks are off, with its
    probability. The negligible ones are left out.
    """
    counts: dict[ItemMarks, int] = {}
    for marks, _ in seen.values():
        counts[marks] = counts.get(marks, 0) + 1
    logs = [sum([count * log_density(sd, own) for own, count in counts.items()]) for sd in SDS]
    top = max(logs)
    weights = [exp(one - top) for one in logs]
    whole = sum(weights)
    return [
        (weight / whole, _scored(sd, seen))
        for weight, sd in zip(weights, SDS, strict=True)
        if weight > NEGLIGIBLE * whole
    ]


def _scored(sd: float, seen: Mapping[Key, ScaleSeen]) -> ScoredItems:
    """If a look is off by `sd` points. Items that are seen alike share what is believed of them."""
    known: dict[ScaleSeen, tuple[Atom, ...]] = {}
    found = {}
    for key, one in seen.items():
        if one not in known:
            known[one] = at_levels(truth_by(sd, one.marks), one.near)
        found[key] = known[one]
    return found
