"""Marks on a scale that are exactly at a level: a bar there is reached, however many items are added
up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from math import inf, prod, sqrt
from typing import Final, NamedTuple

from honestone.core.belief.normal import Atom, below, cut, merged
from honestone.core.judging.rubric import Item

# What is nearer to a described level that a judge named, in points, is at that level.
NEAR_A_LEVEL: Final = 5.0
_SAME: Final = 1e-6
# Standard deviations beyond which there is hardly anything.
_HARDLY: Final = 6.0


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


def sum_of_parts(parts: Sequence[Sequence[Atom]], most: int) -> list[Atom]:
    """The distribution of a sum of independent parts: what comes of their points alone, each value
    with its mass, and all else as one atom. Where there would be more than so many points, all of
    it is one.
    """
    whole = [merged(list(part)) for part in parts]
    mass, mean = prod([one.mass for one in whole]), sum([one.mean for one in whole])
    all_of_it = Atom(mass, mean, sum([one.var for one in whole]))
    sums = {0.0: 1.0}
    for part in parts:
        own = [atom for atom in part if atom.var <= 0.0]
        then: dict[float, float] = {}
        for at, before in sums.items():
            for one in own:
                place = round(at + one.mean, 9)
                then[place] = then.get(place, 0.0) + before * one.mass
        sums = then
        if not sums or len(sums) > most:
            return [all_of_it]
    points = [Atom(own, at, 0.0) for at, own in sums.items() if own > 0.0]
    return [*points, *rest_of(all_of_it, points)]


def rest_of(whole: Atom, points: Sequence[Atom]) -> list[Atom]:
    """What of a distribution is in none of these points of it, as one atom."""
    left = whole.mass - sum([one.mass for one in points])
    if left <= 1e-12:
        return []
    mean = (whole.mass * whole.mean - sum([one.mass * one.mean for one in points])) / left
    square = whole.mass * (whole.var + whole.mean**2)
    square -= sum([one.mass * one.mean**2 for one in points])
    return [Atom(left, mean, max(square / left - mean * mean, 1e-9))]
