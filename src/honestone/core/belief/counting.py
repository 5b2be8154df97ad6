"""Distributions of counts and of sums, and P(contract met) where every item is answered yes or no.

Most rubrics are flat lists of such items. Their scores lie on a grid of whole steps, many items
have the same probability, and most of a distribution's tail is nothing; that makes an exact answer
some hundred times cheaper than `contract`, which knows every kind of rubric. Where the grid would be
too fine, or a rubric has anchors, penalties, negations or groups with bars, `CountedContract.of`
gives None.
`summed` is for those: parts that are alike are added as one, and many unequal ones on a grid.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import accumulate, pairwise
from math import exp, inf, lcm, lgamma, log, log1p, prod, sqrt
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from honestone.core.belief.normal import Atom, merged
from honestone.core.judging.rubric import Criterion, Key, Rubric

# Steps from 0 to full marks that a rubric may have.
_FINEST: Final = 4_000
# What is less probable is nothing.
LEAST_MASS: Final = 1e-12
# A tail of a distribution that is left out.
_TAIL: Final = 1e-13
# The same where sums are rounded.
_ROUGH_TAIL: Final = 1e-9
# Standard deviations from the mean within which all that matters is.
_DEVIATIONS: Final = 9.0
# Steps of a grid on which every sum of unequal parts lies exactly; with more, sums are rounded to
# one of so many steps: at least, and at most of few parts, and of many.
_EXACT: Final = 1_024
_FEWEST_STEPS: Final = 64
_FEW_STEPS: Final = 256
_MANY_STEPS: Final = 512
_FEW_PARTS: Final = 16
# How much finer than the whole a part of it is worked out.
_FINER: Final = 4
# Sums that are each worked out, where no grid is exact.
_MOST_SUMS: Final = 256
# From so many on neighbours are merged as they are added.
_MANY_SUMS: Final = 1_024
# Parts that may keep the widths of their atoms, as of answers on a scale; of more the mean width
# counts.
_MOST_WIDE: Final = 2
# Distances that differ by less, in points, are equal.
_EQUAL: Final = 1e-7
# Atoms that a distribution may have before neighbours are merged.
_MOST_ATOMS: Final = 192

H = TypeVar("H", bound=Hashable)


class Counts(NamedTuple):
    """P(count) for `first`, `first + step`, ...; what is missing has no weight that matters."""

    first: int
    step: int
    chances: Sequence[float]


class PartShape(NamedTuple):
    """Items that count alike: what one of them is worth on the grid, and how many have to be met."""

    step: int
    least: int


class CountShape(NamedTuple):
    """A rubric without its items. `least` is the number of steps that the whole has to reach."""

    parts: tuple[PartShape, ...]
    least: int


# How many items of a part have each history, in a fixed order.
PartHistories: TypeAlias = tuple[tuple[H, int], ...]


class CountedContract(Struct, frozen=True):
    """A rubric as counts: its shape, and the items of each part."""

    shape: CountShape
    keys: tuple[tuple[Key, ...], ...]

    @classmethod
    def of(cls, rubric: Rubric) -> CountedContract | None:
        """None where this form does not fit."""
        leaves = list(_leaves(rubric, rubric.criteria, None, Fraction(1)))
        if not all(_is_counted(one.criterion) for one in leaves):
            return None
        grid = lcm(*[one.worth.denominator for one in leaves])
        states = prod([len(one.criterion.items) + 1 for one in leaves])
        if grid > _FINEST or (grid > _EXACT and states <= _MOST_SUMS):
            return None
        parts: list[tuple[PartShape, tuple[Key, ...]]] = []
        free: dict[int, list[Key]] = {}
        for one, worth, floor in leaves:
            step = int(worth * grid)
            keys = tuple((one.id, item.id) for item in one.items)
            least = _least(floor * len(keys), required=one.required)
            if least:
                parts.append((PartShape(step, least), keys))
            else:
                free.setdefault(step, []).extend(keys)
        parts += [(PartShape(step, 0), tuple(keys)) for step, keys in free.items()]
        least = _least(rubric.threshold * grid, required=False)
        return cls(
            CountShape(tuple(shape for shape, _ in parts), least),
            tuple(keys for _, keys in parts),
        )

    @property
    def is_by_score(self) -> bool:
        """Whether each state of the items that reaches every bar scores more than each that misses
        one.
        """
        rows = [(*part, len(keys)) for part, keys in zip(self.shape.parts, self.keys, strict=True)]
        total = sum(step * size for step, _, size in rows)
        missed = [total - step * (size - least + 1) for step, least, size in rows if least]
        lowest = max(self.shape.least, sum(step * least for step, least, _ in rows))
        return max(missed, default=-1) < lowest

    def parts_by_history(self, history: Callable[[Key], H]) -> tuple[PartHistories[H], ...]:
        """For each part, how many of its items have each history."""
        parts = []
        for keys in self.keys:
            counts: dict[H, int] = {}
            for key in keys:
                own = history(key)
                counts[own] = counts.get(own, 0) + 1
            rows = counts.items()
            parts.append(tuple(rows) if len(rows) < 2 else tuple(sorted(rows, key=_in_order)))
        return tuple(parts)


def counts_of(histories: Iterable[H]) -> PartHistories[H]:
    """How many items have each history."""
    counts: dict[H, int] = {}
    for one in histories:
        counts[one] = counts.get(one, 0) + 1
    return tuple(counts.items())


def _in_order(row: tuple[object, int]) -> str:
    return repr(row)


# No item at all.
_NOTHING: Final = Counts(0, 1, (1.0,))


def reached(shape: CountShape, parts: Sequence[PartHistories[H]], met: Mapping[H, float]) -> float:
    """P(every bar is met). `met` is P(met) of an item by its history."""
    steps = []
    for part, histories in zip(shape.parts, parts, strict=True):
        own = _enough_of(part, _met_of(histories, met))
        if not own.chances:
            return 0.0
        steps.append(own)
    if len(steps) == 1:
        first, step, chances = steps[0]
        return min(sum(chances[max(-((first - shape.least) // step), 0) :]), 1.0)
    # The two halves are added up, and only the tail of both together.
    middle = len(steps) // 2
    before, after = steps[:middle], steps[middle:]
    if max(_states(before), _states(after)) <= _MOST_SUMS:
        return min(_reached_by_sums(before, after, shape.least), 1.0)
    half, other = (reduce(_with, half, _NOTHING) for half in (before, after))
    return min(_Reach(half, other, shape.least).with_steps(0), 1.0)


def _states(parts: Sequence[Counts]) -> int:
    return prod([len(part.chances) for part in parts])


def _reached_by_sums(before: Sequence[Counts], after: Sequence[Counts], least: int) -> float:
    """The same where both halves have few sums, which may be far apart on the grid."""
    sums = sorted(_sums_of(after))
    tails = [*accumulate([p for _, p in reversed(sums)], initial=0.0)][::-1]
    values = [steps for steps, _ in sums]
    return sum([p * tails[bisect_left(values, least - steps)] for steps, p in _sums_of(before)])


def _sums_of(parts: Sequence[Counts]) -> list[tuple[int, float]]:
    """Every sum of parts, with its probability."""
    found = [(0, 1.0)]
    for first, step, chances in parts:
        own = [(first + place * step, p) for place, p in enumerate(chances)]
        found = [(at + more, p * q) for at, p in found for more, q in own]
    return found


def _met_of(histories: PartHistories[H], met: Mapping[H, float]) -> Counts:
    """How many items of a part are met."""
    first: int = 0
    found: Sequence[float] = (1.0,)
    for own, count in histories:
        chance = met[own]
        # One item is not looked up: there are many of those.
        start, chances = (0, (1.0 - chance, chance)) if count == 1 else binomial(count, chance)
        first += start
        found = chances if len(found) == 1 else convolved(found, chances)
    return Counts(first, 1, found)


def _enough_of(part: PartShape, counts: Counts) -> Counts:
    """The steps that a part is worth, without what is below its own bar."""
    first, chances = counts.first, counts.chances
    if part.least > first:
        first, chances = part.least, chances[part.least - first :]
    return Counts(first * part.step, part.step, chances)


def turns(
    shape: CountShape, parts: Sequence[PartHistories[H]], met: Mapping[H, float]
) -> list[Mapping[H, float]]:
    """How much P(every bar is met) differs between an item that is met and one that is not, of each
    part by the item's history. As `reached` twice for each, but all parts are added up once from
    the first on and once from the last on.
    """
    counts = [_met_of(histories, met) for histories in parts]
    steps = list(map(_enough_of, shape.parts, counts))
    before = list(accumulate(steps, _with, initial=_NOTHING))
    after = list(accumulate(reversed(steps), _with, initial=_NOTHING))[::-1]
    known: dict[tuple[PartShape, PartHistories[H]], Mapping[H, float]] = {}
    for place, part in enumerate(zip(shape.parts, parts, strict=True)):
        if part not in known:
            reach = _Reach(before[place], after[place + 1], shape.least)
            known[part] = _turns_of(*part, counts[place], reach, met)
    return [known[part] for part in zip(shape.parts, parts, strict=True)]


def _turns_of(
    part: PartShape,
    histories: PartHistories[H],
    counts: Counts,
    reach: _Reach,
    met: Mapping[H, float],
) -> Mapping[H, float]:
    """The same of one part, whose items that are met are distributed as `counts`."""
    passing = [
        reach.with_steps(part.step * count) if count >= part.least else 0.0
        for count in range(counts.first, counts.first + len(counts.chances) + 1)
    ]
    return {history: _turned(counts.chances, met[history], passing) for history, _ in histories}


def _turned(chances: Sequence[float], met: float, passing: Sequence[float]) -> float:
    """How much an item of a part that is met changes P(every bar is met). `chances`: of each number
    of items that are met, and `passing` for each of these numbers and for one more.
    """
    gains = [more - less for less, more in pairwise(passing)]
    return sum([p * gain for p, gain in zip(_without_one(chances, met), gains, strict=True)])


def _without_one(chances: Sequence[float], met: float) -> list[float]:
    """The distribution of a count without one item that is met with such a probability. It is undone
    from the end at which errors shrink on the way.
    """
    turned = met > 0.5
    yes, no = (1.0 - met, met) if turned else (met, 1.0 - met)
    found, last = [], 0.0
    for chance in reversed(chances) if turned else chances:
        last = (chance - yes * last) / no
        found.append(last)
    # What is left over at the other end is nothing.
    return [*reversed(found[:-1]), 0.0] if turned else found


class _Reach:
    """How probable it is that the other parts of a rubric reach what is left of a bar."""

    def __init__(self, before: Counts, after: Counts, least: int) -> None:
        self._before = before
        self._after = after
        self._tails = [*accumulate(reversed(after.chances), initial=0.0)][::-1]
        self._least = least

    def with_steps(self, steps: int) -> float:
        before, after = self._before, self._after
        needed = self._least - steps - before.first - after.first
        most, total = len(self._tails) - 1, 0.0
        for place, chance in enumerate(before.chances):
            missing = -((place * before.step - needed) // after.step)
            if missing < most:
                total += chance * self._tails[max(missing, 0)]
        return total


class _Leaf(NamedTuple):
    """A criterion whose items count by themselves: what one of them is worth, of 1, and its floor."""

    criterion: Criterion
    worth: Fraction
    floor: Fraction


def _leaves(
    rubric: Rubric, criteria: Sequence[Criterion], parent: str | None, share: Fraction
) -> Iterator[_Leaf]:
    """The criteria, with those of a group in its place. A group with a bar of its own, or that is
    turned round, is left as it is, and is no leaf that can be counted.
    """
    total = sum([one.weight for one in criteria], Fraction(0))
    for one in criteria:
        own = share * one.weight / total if total > 0 else share
        floor = rubric.floor_of(one, parent)
        if one.children and one.weight > 0 and not (floor or one.required or one.negate):
            yield from _leaves(rubric, one.children, one.id, own)
        else:
            yield _Leaf(one, own / max(len(one.items), 1), floor)


def _is_counted(criterion: Criterion) -> bool:
    return (
        criterion.weight > 0
        and not criterion.negate
        and not criterion.children
        and all(item.anchors is None for item in criterion.items)
    )


def _least(bar: Fraction, *, required: bool) -> int:
    """The smallest whole number that reaches a bar."""
    return max(-(-bar.numerator // bar.denominator), 1 if required else 0)


@lru_cache(maxsize=4_096)
def binomial(count: int, chance: float) -> tuple[int, tuple[float, ...]]:
    """The first number of successes with a weight that matters, and P of it and those that follow."""
    if chance <= 0.0 or chance >= 1.0:
        return (count if chance >= 1.0 else 0), (1.0,)
    if count == 1:
        return 0, (1.0 - chance, chance)
    reach = _DEVIATIONS * sqrt(count * chance * (1.0 - chance)) + _DEVIATIONS
    first, last = max(int(count * chance - reach), 0), min(int(count * chance + reach), count)
    yes, no = log(chance), log1p(-chance)
    odds = [exp(_log_ways(count, k) + k * yes + (count - k) * no) for k in range(first, last + 1)]
    while len(odds) > 1 and odds[0] < _TAIL:
        odds = odds[1:]
        first += 1
    while len(odds) > 1 and odds[-1] < _TAIL:
        odds.pop()
    return first, tuple(odds)


def _log_ways(count: int, chosen: int) -> float:
    """The log of the number of ways to choose some of so many."""
    return lgamma(count + 1) - lgamma(chosen + 1) - lgamma(count - chosen + 1)


def convolved(left: Sequence[float], right: Sequence[float]) -> list[float]:
    if len(left) < len(right):
        left, right = right, left
    if len(right) == 2:  # one more item, which is most of all
        no, yes = right
        return [no * a + yes * b for a, b in zip((*left, 0.0), (0.0, *left), strict=True)]
    size = len(left)
    product = [0.0] * (size + len(right) - 1)
    is_empty = True
    for place, chance in enumerate(right):
        if chance > 0.0:
            span = slice(place, place + size)
            if is_empty:
                product[span] = [chance * new for new in left]
            else:
                rows = zip(product[span], left, strict=True)
                product[span] = [old + chance * new for old, new in rows]
            is_empty = False
    return product


def _with(whole: Counts, part: Counts) -> Counts:
    """The distribution of a sum. Parts with one step stay on it; others go to the grid's own."""
    if len(whole.chances) == 1:
        only = whole.chances[0]
        return Counts(whole.first + part.first, part.step, [only * one for one in part.chances])
    if whole.step != part.step:
        whole, part = _on_grid(whole), _on_grid(part)
    return Counts(whole.first + part.first, whole.step, convolved(whole.chances, part.chances))


def _on_grid(counts: Counts) -> Counts:
    if counts.step == 1:
        return counts
    grid = [0.0] * ((len(counts.chances) - 1) * counts.step + 1)
    grid[:: counts.step] = counts.chances
    return Counts(counts.first, 1, grid)


def coins(alike: Mapping[float, int]) -> tuple[int, Sequence[float]]:
    """The first number of yes with a weight that matters, and P of it and those that follow.
    `alike`: how many items have each probability of yes.
    """
    first, found = 0, [1.0]
    for chance, count in alike.items():
        start, more = binomial(count, chance)
        first, found = first + start, convolved(found, more)
    return first, found


# ------------------------------------------------------------------------------------------------------------
# sums of unequal parts


class Summand(NamedTuple):
    """Independent parts of a sum: so many that have the same distribution."""

    atoms: Sequence[Atom]
    times: int


def summed(parts: Iterable[Summand], *, share: float = 1.0) -> list[Atom]:
    """The distribution of the sum of independent parts; empty where a part is. Exact where they are
    points on a grid, or few; of many unequal ones rounded to the steps of a grid, but for its ends.
    `share`: which part (0-1) of another sum it is; of a small one fewer steps do.
    """
    mass, mean, var = 1.0, 0.0, 0.0
    points: list[Summand] = []
    wide: list[Summand] = []
    for part in parts:
        atoms, count = part
        if not atoms:
            return []
        if len(atoms) > 1 and _span(atoms) > _EQUAL:
            (wide if _is_uneven(atoms) else points).append(part)
        else:
            own = merged(list(atoms))
            mass, mean = mass * own.mass**count, mean + count * own.mean
            var += count * _mean_var(atoms)
    if sum([count for _, count in wide]) > _MOST_WIDE:
        points, wide = points + wide, []
    var += sum([count * _mean_var(atoms) for atoms, count in points])
    most = _FEW_STEPS if len(points) <= _FEW_PARTS else _MANY_STEPS
    steps = min(max(int(_FINER * share * _MANY_STEPS), _FEWEST_STEPS), most)
    exact = _EXACT if share >= 1.0 else 0
    sums = [Atom(mass * own, mean + at, var) for at, own in _sum_of_points(points, steps, exact)]
    rows = [tuple(atoms) for atoms, count in wide for _ in range(count)]
    if len(sums) == 1 and rows:
        return _added(sums, _sum_of_wide(tuple(rows)))
    return reduce(_added_coarsely, rows, sums)


def _is_uneven(atoms: Sequence[Atom]) -> bool:
    """Whether some of them are wider than others."""
    least = min([v for _, _, v in atoms])
    return any(v - least > 1e-9 for _, _, v in atoms)


def _mean_var(atoms: Sequence[Atom]) -> float:
    total = sum([w for w, _, _ in atoms])
    return sum([w * v for w, _, v in atoms]) / total if total > 0.0 else 0.0


# A value, and its probability.
_Point: TypeAlias = tuple[float, float]


def _sum_of_points(parts: Sequence[Summand], steps: int, exact: int) -> list[_Point]:
    """Of many unequal parts on so many steps, if no grid of `exact` steps has every sum."""
    if sum([count for _, count in parts]) < 2:
        return _every_sum(parts)
    span = sum([count * _span(atoms) for atoms, count in parts])
    step = _common_step(parts, least=span / max(steps, exact))
    if step is not None:
        return _on_one_grid(_rows(parts, _EQUAL), step)
    states = [len(atoms) ** count for atoms, count in parts]
    if sum(states) <= _MOST_SUMS and prod(states) <= _MOST_SUMS:
        return _every_sum(parts)
    step = span / steps
    return _with_ends(_on_one_grid(_rows(parts, step), step, _ROUGH_TAIL), parts)


def _every_sum(parts: Iterable[Summand]) -> list[_Point]:
    found = [(0.0, 1.0)]
    for atoms, count in parts:
        for _ in range(count):
            found = [(at + m, mass * w) for w, m, _ in atoms for at, mass in found]
    return found


def _span(atoms: Sequence[Atom]) -> float:
    means = [mean for _, mean, _ in atoms]
    return max(means) - min(means)


def _common_step(parts: Iterable[Summand], least: float) -> float | None:
    """The largest step of which all distances are multiples; None where it is below `least`."""
    step = 0.0
    for gap in _gaps(parts):
        other = gap
        while other > _EQUAL:
            rest = step % other
            step, other = other, 0.0 if other - rest < _EQUAL else rest
            if _EQUAL < other < least:
                return None
        if step < least:
            return None
    return step


def _gaps(parts: Iterable[Summand]) -> Iterator[float]:
    """The distances between the points of each part."""
    for atoms, _ in parts:
        means = sorted([mean for _, mean, _ in atoms])
        yield from [after - one for one, after in pairwise(means) if after > one]


def _rows(parts: Iterable[Summand], unit: float) -> Iterator[list[_Point]]:
    """The sum of each part. Parts of two points with the same probabilities whose distances are as
    many units, about, are one part of the mean distance.
    """
    alike: dict[tuple[float, float, int], tuple[int, float, float]] = {}
    for atoms, count in parts:
        points = sorted([(mean, mass) for mass, mean, _ in atoms])
        if len(points) > 2:
            yield from [points] * count
            continue
        (low, no), (high, yes) = points
        place = no, yes, round((high - low) / unit)
        known, start, gaps = alike.get(place, (0, 0.0, 0.0))
        alike[place] = known + count, start + count * low, gaps + count * (high - low)
    for (no, yes, _), (count, start, gaps) in alike.items():
        first, chances = binomial(count, yes / (no + yes))
        whole, gap = (no + yes) ** count, gaps / count
        yield [(start + k * gap, whole * one) for k, one in enumerate(chances, first)]


def _on_one_grid(
    rows: Iterable[Sequence[_Point]], step: float, tail: float = _TAIL
) -> list[_Point]:
    """The sum of independent rows, each rounded to steps from its likeliest value, in rising order.
    `tail`: what is less probable at the ends is left out.
    """
    at, first, masses = 0.0, 0, [1.0]
    for row in sorted(rows, key=len):
        middle, _ = max(row, key=itemgetter(1))
        places = [round((value - middle) / step) for value, _ in row]
        low = places[0]
        own = [0.0] * (places[-1] - low + 1)
        for place, (_, mass) in zip(places, row, strict=True):
            own[place - low] += mass
        cut, masses = without_tails(convolved(masses, own), tail)
        at, first = at + middle, first + low + cut
    return [(at + place * step, mass) for place, mass in enumerate(masses, first) if mass > 0.0]


def without_tails(masses: list[float], tail: float) -> tuple[int, list[float]]:
    """How many were left out at the start, and the rest."""
    first, last = 0, len(masses)
    while first < last - 1 and masses[first] < tail:
        first += 1
    while last > first + 1 and masses[last - 1] < tail:
        last -= 1
    return first, masses[first:last]


def _with_ends(sums: Sequence[_Point], parts: Sequence[Summand]) -> list[_Point]:
    """With the probabilities of the lowest and of the highest sum, which a bar may ask for exactly,
    and no other sum there.
    """
    low, high, none, full, gap = 0.0, 0.0, 1.0, 1.0, inf
    for atoms, count in parts:
        points = _distinct(atoms)
        (first, no), (last, yes) = points[0], points[-1]
        low, none = low + count * first, none * no**count
        high, full = high + count * last, full * yes**count
        gap = min(gap, points[1][0] - first, last - points[-2][0])
    inside = [(min(max(value, low + gap), high - gap), mass) for value, mass in sums]
    inside = _less(_less(inside[::-1], full)[::-1], none)
    return [(low, none), *inside, (high, full)]


def _distinct(atoms: Iterable[Atom]) -> list[_Point]:
    """The points of a part in rising order. Equal ones are one, as where penalties leave nothing."""
    found: list[_Point] = []
    for value, mass in sorted([(mean, mass) for mass, mean, _ in atoms]):
        if found and value - found[-1][0] <= _EQUAL:
            found[-1] = value, found[-1][1] + mass
        else:
            found.append((value, mass))
    return found


def _less(points: Sequence[_Point], mass: float) -> list[_Point]:
    """Without so much, from the first on."""
    found = []
    for value, own in points:
        taken = min(own, mass)
        mass -= taken
        if own > taken:
            found.append((value, own - taken))
    return found


def sum_of_parts(parts: Sequence[Sequence[Atom]], most: int) -> list[Atom]:
    """The distribution of a sum of independent parts: what comes of their points alone, each value
    with its mass, and all else as one atom. Where there would be more than so many points, all of
    it is one.
    """
    whole = [merged(list(part)) for part in parts]
    mass, mean = prod([one.mass for one in whole]), sum([one.mean for one in whole])
    all_of_it = Atom(mass, mean, sum([one.var for one in whole]))
    points = [[atom for atom in part if atom.var <= 0.0] for part in parts]
    if _least_sums(points) > most or mass_of_points(points) <= LEAST_MASS:
        return [all_of_it]
    sums = {0.0: 1.0}
    for own in points:
        then: dict[float, float] = {}
        for at, before in sums.items():
            for one in own:
                place = round(at + one.mean, 9)
                then[place] = then.get(place, 0.0) + before * one.mass
        sums = then
        if len(sums) > most:
            return [all_of_it]
    found = [Atom(mass, at, 0.0) for at, mass in sums.items() if mass > 0.0]
    return [*found, *rest_of(all_of_it, found)]


def _least_sums(parts: Iterable[Sequence[Atom]]) -> int:
    """How many sums of these points there are at least: each part adds one less than it has."""
    return 1 + sum([len({round(one.mean, 9) for one in part}) - 1 for part in parts])


def mass_of_points(parts: Iterable[Sequence[Atom]]) -> float:
    """The probability that each part is at one of these points of it."""
    return prod([sum([mass for mass, _, _ in part]) for part in parts])


def rest_of(whole: Atom, points: Sequence[Atom]) -> list[Atom]:
    """What of a distribution is in none of these points of it, as one atom."""
    left = whole.mass - sum([one.mass for one in points])
    if left <= LEAST_MASS:
        return []
    mean = (whole.mass * whole.mean - sum([one.mass * one.mean for one in points])) / left
    square = whole.mass * (whole.var + whole.mean**2)
    square -= sum([one.mass * one.mean**2 for one in points])
    return [Atom(left, mean, max(square / left - mean * mean, 1e-9))]


@lru_cache(maxsize=512)
def _sum_of_wide(rows: tuple[tuple[Atom, ...], ...]) -> list[Atom]:
    """The same few take part in many sums, so theirs is remembered."""
    first, *others = rows
    return reduce(_added_coarsely, others, list(first))


def _added_coarsely(sums: list[Atom], atoms: Sequence[Atom]) -> list[Atom]:
    return _added(_coarser(sums) if len(sums) > _MOST_ATOMS else sums, atoms)


def _added(left: Sequence[Atom], right: Sequence[Atom]) -> list[Atom]:
    """The distribution of the sum of two independent parts."""
    if len(left) == 1:
        ((mass, mean, var),) = left
        return [Atom(mass * w, mean + m, var + v) for w, m, v in right]
    if len(left) * len(right) > _MANY_SUMS:
        return _added_in_slices(left, right)
    found: dict[tuple[float, float], float] = {}
    for w1, m1, v1 in left:
        for w2, m2, v2 in right:
            place = (round(m1 + m2, 6), v1 + v2)
            found[place] = found.get(place, 0.0) + w1 * w2
    atoms = [Atom(w, m, v) for (m, v), w in found.items()]
    return atoms if len(atoms) <= _MOST_SUMS else _coarser(atoms)


def _added_in_slices(left: Sequence[Atom], right: Sequence[Atom]) -> list[Atom]:
    """The same, where there are too many sums to list them first: neighbours are merged at once, by
    mean and variance.
    """
    means = [[mean for _, mean, _ in atoms] for atoms in (left, right)]
    low, high = sum(map(min, means)), sum(map(max, means))
    width = (high - low) / (_MOST_ATOMS // 2) or 1.0
    count = _MOST_ATOMS // 2 + 1
    masses, firsts, seconds = [0.0] * count, [0.0] * count, [0.0] * count
    offsets = [(mass, mean - low, var) for mass, mean, var in left]
    for w1, m1, v1 in offsets:
        for w2, m2, v2 in right:
            mean, mass = m1 + m2, w1 * w2
            place = int(mean / width)
            masses[place] += mass
            firsts[place] += mass * mean
            seconds[place] += mass * (v1 + v2 + mean * mean)
    atoms = []
    for mass, first, second in zip(masses, firsts, seconds, strict=True):
        if mass > 0.0:
            mean = first / mass
            atoms.append(Atom(mass, low + mean, max(second / mass - mean * mean, 0.0)))
    return atoms


def _coarser(atoms: list[Atom]) -> list[Atom]:
    """Neighbours merged, by mean and variance."""
    low, high = min(a.mean for a in atoms), max(a.mean for a in atoms)
    width = (high - low) / (_MOST_ATOMS // 2) or 1.0
    slices: dict[int, list[Atom]] = {}
    for atom in atoms:
        slices.setdefault(int((atom.mean - low) / width), []).append(atom)
    return [merged(slices[place]) for place in sorted(slices)]
