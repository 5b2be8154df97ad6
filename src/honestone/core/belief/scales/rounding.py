"""Judges that answer by few values of a scale: a mark is then an interval, and what is true may be
anywhere in it. Rounding is the same in every look and for all who use the same values, so that
further looks take little of it away.

Which values judges use is learned from all their marks of a text: where these are multiples of a
step, more often than chance explains, it is likely that they round to it. What is true of an item is
then believed on points of the scale, by how probable each mark is from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, inf, log, sqrt
from operator import mul
from typing import Final, TypeAlias, TypeVar

from honestone.core.belief.normal import Atom, below
from honestone.core.belief.scales.marks import (
    NEGLIGIBLE,
    SHARED,
    STARTS,
    DescribedLevels,
    MarksOfOne,
    ScoredItems,
)
from honestone.core.belief.scales.scores import OWN, Row
from honestone.core.judging.rubric import Key

# Steps that judges may round to, in points, each with its probability before the first mark.
STEPS: Final = ((100.0, 0.03), (50.0, 0.08), (100.0 / 3.0, 0.02), (25.0, 0.03), (20.0, 0.04))
# To what they round where they do not seem to.
FINE: Final = 5.0
FINE_PRIOR: Final = 1.0 - sum(prior for _, prior in STEPS)
# How probable rounding is at most where its values are the described levels: then these may be all
# that is ever true.
MOST_AT_LEVELS: Final = 0.7
# Points that a look is off by before it is rounded.
SDS: Final = (2.0, 9.0)
# Where the middle of a text's items may be, and how far they are from it. Far above 100 all of them
# have full marks.
MIDDLES: Final = (30.0, 50.0, 65.0, 80.0, 95.0, 120.0)
# How probable full marks are before the first mark.
FULL_MARKS: Final = 0.2
APART: Final = 13.0
# What may be true: full marks, nothing, and between these the middles of parts of five points, so
# that bars are on neither.
TRUTHS: Final = (0.0, *[2.5 + 5.0 * number for number in range(20)], 100.0)
# Items whose truth is told apart on both sides of the bar of the whole.
FEW: Final = 2
# What is less probable than this part of the likeliest does not count.
_HARDLY: Final = 0.2
_LEAST: Final = 1e-9

# Items by which rounding is found out, where there are more.
_ENOUGH: Final = 24

# The marks of each judge about an item, in rising order.
Marks: TypeAlias = tuple[tuple[float, ...], ...]
# An assumption: how far looks are off, and where the middle of the items is.
_Place: TypeAlias = tuple[float, float]
# The same with the step first.
_StepPlace: TypeAlias = tuple[float, float, float]


def with_rounding(
    plain: Sequence[tuple[float, ScoredItems]],
    marks: Mapping[Key, Collection[MarksOfOne]],
    levels: Mapping[Key, DescribedLevels],
    floors: frozenset[float],
    threshold: float,
) -> list[tuple[float, ScoredItems]]:
    """What is believed of the items if judges round, and what is believed if they do not (`plain`).
    Bars are in points.
    """
    of_items = {key: tuple(sorted([one.marks for one in of])) for key, of in marks.items()}
    counts: dict[Marks, int] = {}
    for own in of_items.values():
        if own:
            counts[own] = counts.get(own, 0) + 1
    shares = _shares(counts, set(levels.values()))
    rest = 1.0 - sum(shares.values())
    if rest > 1.0 - NEGLIGIBLE:
        return list(plain)
    bars = floors | {threshold}
    # A sum of several is near enough to normal for the bar of the whole.
    sides = bars if len(of_items) <= FEW else floors
    found = []
    for (step, middle), by_sd in _likely(shares).items():
        atoms: dict[tuple[Marks, DescribedLevels], tuple[Atom, ...]] = {}
        for key, own in of_items.items():
            place = own, levels[key]
            if place not in atoms:
                named = frozenset([mark for of in own for mark in of])
                cells = named & bars & frozenset(levels[key].points)
                atoms[place] = (
                    _atoms(_truth(step, middle, by_sd, own), cells, step, sides) if own else STARTS
                )
        items = {key: atoms[own, levels[key]] for key, own in of_items.items()}
        found.append((sum(by_sd.values()), items))
    more = [(rest * weight, items) for weight, items in plain if rest * weight > NEGLIGIBLE]
    return [*more, *found]


def _are_multiples(marks: Collection[float], step: float) -> bool:
    return all(abs(mark / step - round(mark / step)) < 1e-3 for mark in marks)


def _shares(
    counts: Mapping[Marks, int], levels: Collection[DescribedLevels]
) -> dict[_StepPlace, float]:
    """The probability of each assumption about judges that round, by these marks; the rest of it is
    that they do not.
    """
    marks = frozenset([mark for own in counts for of in own for mark in of])
    steps = [(step, prior) for step, prior in STEPS if marks and _are_multiples(marks, step)]
    if not steps:
        return {}
    every = list(counts)
    few = {own: counts[own] for own in every[:: -(-len(every) // _ENOUGH)]}
    logs = {step: _logs(step, few) for step, _ in steps}
    of_fine = _logs(FINE, few).values()
    top = max(*of_fine, *[one for of in logs.values() for one in of.values()])
    weights = {
        (step, *place): prior * exp(one - top)
        for step, prior in steps
        for place, one in logs[step].items()
    }
    fine = FINE_PRIOR * sum([exp(one - top) for one in of_fine])
    whole = fine + sum(weights.values())
    at_levels = {step for step, _ in steps if all(_is_step(step, points) for points, _ in levels)}
    of_levels = sum([one for place, one in weights.items() if place[0] in at_levels])
    most = MOST_AT_LEVELS * (of_levels + fine)
    less = min(most / of_levels, 1.0) if of_levels > 0.0 else 1.0
    return {
        place: one * (less if place[0] in at_levels else 1.0) / whole
        for place, one in weights.items()
    }


def _is_step(step: float, points: Sequence[float]) -> bool:
    """Whether levels are the multiples of a step."""
    return len(points) == round(100.0 / step) + 1 and _are_multiples(points, step)


def _likely(shares: Mapping[_StepPlace, float]) -> dict[tuple[float, float], dict[float, float]]:
    """The probability of each step and middle that is likely enough, by how far looks are off."""
    joint: dict[tuple[float, float], dict[float, float]] = {}
    for (step, sd, middle), one in shares.items():
        if one > 0.0:
            joint.setdefault((step, middle), {})[sd] = one
    joint = {place: _without_rest(by_sd) for place, by_sd in joint.items()}
    sums = _without_rest({place: sum(by_sd.values()) for place, by_sd in joint.items()})
    return {
        place: {sd: one * whole / sum(joint[place].values()) for sd, one in joint[place].items()}
        for place, whole in sums.items()
    }


K = TypeVar("K")


def _without_rest(shares: Mapping[K, float]) -> dict[K, float]:
    """Without what is hardly likely, and with the same sum."""
    least = _HARDLY * max(shares.values())
    likely = {one: share for one, share in shares.items() if share >= least}
    more = sum(shares.values()) / sum(likely.values())
    return {one: share * more for one, share in likely.items()}


def _atoms(
    truth: Row, cells: frozenset[float], step: float, bars: frozenset[float]
) -> tuple[Atom, ...]:
    """What is true of an item whose judges round to a step, as points on both sides of each bar.
    `cells`: described levels that judges named and that are bars. What rounds to one of these is at
    it: the bar means what is described there.
    """
    found: list[Atom] = []
    parts = _parts(cells, step, bars)
    for low, high, level in parts:
        row, at = truth[low:high], TRUTHS[low:high]
        mass = sum(row)
        if mass <= _LEAST:
            continue
        mean = sum(map(mul, row, at)) / mass if level is None else level
        var = sum([one * x * x for one, x in zip(row, at, strict=True)]) / mass - mean * mean
        if len(parts) == 1:
            found.append(Atom(mass, mean, max(var, 0.25)))
        elif cells or high < len(TRUTHS) or var < 1.0:
            found.append(Atom(mass, mean, 0.0))
        else:
            sd = sqrt(var)
            found.append(Atom(mass / 2.0, max(mean - sd, at[0]), 0.0))
            found.append(Atom(mass / 2.0, min(mean + sd, at[-1]), 0.0))
    return tuple(found)


@lru_cache(maxsize=256)
def _parts(
    cells: frozenset[float], step: float, bars: frozenset[float]
) -> list[tuple[int, int, float | None]]:
    """What of the scale is on the same side of every bar, as places of `TRUTHS`, or rounds to one of
    these levels, with that level.
    """
    sides: list[tuple[int, float | None]] = []
    for truth in TRUTHS:
        level = next((one for one in cells if abs(truth - one) <= step / 2.0), None)
        sides.append((0 if level is not None else sum(bar <= truth for bar in bars), level))
    starts = [place for place, one in enumerate(sides) if place == 0 or one != sides[place - 1]]
    ends = [*starts[1:], len(TRUTHS)]
    return [(low, high, sides[low][1]) for low, high in zip(starts, ends, strict=True)]


# ----------------------------------------------------------------------------------------------------------
# how probable marks are


def _logs(step: float, counts: Mapping[Marks, int]) -> dict[_Place, float]:
    """The log of the probability of all marks under each assumption."""
    found = {}
    # That a single mark is a multiple of a step says nothing: any mark is one of some step.
    items = sum(counts.values())
    one = sum([count * _first(step, own[0][0]) for own, count in counts.items()]) / items
    for sd in SDS:
        each = [(_evidence(step, sd, own), count) for own, count in counts.items()]
        for number, middle in enumerate(MIDDLES):
            whole = sum([count * logs[number] for logs, count in each])
            found[sd, middle] = _log_of(middle) + whole - one
    return found


@lru_cache(maxsize=512)
def _first(step: float, mark: float) -> float:
    """The log of the probability of one mark."""
    each = [zip(MIDDLES, _evidence(step, sd, ((mark,),)), strict=True) for sd in SDS]
    return log(sum([exp(_log_of(middle) + one) for of in each for middle, one in of]))


@lru_cache(maxsize=4_096)
def _evidence(step: float, sd: float, own: Marks) -> tuple[float, ...]:
    """The log of the probability of the marks of an item, by the middle of the text's."""
    likelihood = _likelihood(step, sd, own)
    return tuple(
        [log(max(sum(map(mul, _before(middle), likelihood)), 1e-300)) for middle in MIDDLES]
    )


def _log_of(middle: float) -> float:
    """The log of how probable a middle of the items is before the first mark."""
    return log(FULL_MARKS if middle > 100.0 else (1.0 - FULL_MARKS) / (len(MIDDLES) - 1))


def _truth(step: float, middle: float, by_sd: Mapping[float, float], own: Marks) -> Row:
    """How probable each truth of an item is by its marks."""
    found = [0.0] * len(TRUTHS)
    for sd, share in by_sd.items():
        after = list(map(mul, _before(middle), _likelihood(step, sd, own)))
        part = share / max(sum(after), 1e-300)
        found = [one + part * more for one, more in zip(found, after, strict=True)]
    whole = sum(found)
    return [one / whole for one in found] if whole > 0.0 else _before(middle)


@lru_cache(maxsize=1_024)
def _likelihood(step: float, sd: float, own: Marks) -> Row:
    """How probable the marks of an item are, by its truth. Looks of one judge, and the looks of
    several, have errors in common: so many count for fewer.
    """
    of_all = 1.0 / (1.0 + SHARED * (len(own) - 1))
    counts: dict[float, float] = {}
    for marks in own:
        part = of_all / (1.0 + OWN * (len(marks) - 1))
        for mark in marks:
            counts[mark] = counts.get(mark, 0.0) + part
    rows = [(_chances(step, sd, mark), count) for mark, count in counts.items()]
    row, count = rows[0]
    logs = [count * one for one in row]
    for row, count in rows[1:]:
        logs = [one + count * more for one, more in zip(logs, row, strict=True)]
    return list(map(exp, logs))


@lru_cache(maxsize=512)
def _chances(step: float, sd: float, mark: float) -> Row:
    """The log of the probability of a mark, by what is true."""
    high = inf if mark > 100.0 - 0.5 * step else mark + 0.5 * step
    low = -inf if mark < 0.5 * step else mark - 0.5 * step
    return [
        log(max(below((high - truth) / sd) - below((low - truth) / sd), _LEAST)) for truth in TRUTHS
    ]


@lru_cache(maxsize=16)
def _before(middle: float) -> Row:
    """How probable each truth of an item is before its first mark; beyond an end it is at it."""
    edges = [-inf, *[5.0 * number for number in range(21)], inf]
    at = [below((edge - middle) / APART) for edge in edges]
    return [more - less for less, more in pairwise(at)]
