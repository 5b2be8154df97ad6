"""P(contract met) where every item is answered yes or no: the exact distribution of a count.

Most rubrics are flat lists of such items. Their scores lie on a grid of whole steps, many items
have the same probability, and most of a distribution's tail is nothing; that makes an exact answer
some hundred times cheaper than `contract`, which knows every kind of rubric. Where the grid would be
too fine, or a rubric has anchors, penalties, groups or negations, `CountedContract.of` gives None.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import exp, lcm, lgamma, log, log1p, sqrt
from typing import Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from honestone.core.judging.rubric import Criterion, Key, Rubric

# Steps from 0 to full marks that a rubric may have.
_FINEST: Final = 4_000
# A tail of a distribution that is left out.
_TAIL: Final = 1e-13
# Standard deviations from the mean within which all that matters is.
_DEVIATIONS: Final = 9.0

H = TypeVar("H", bound=Hashable)


class Counts(Struct, frozen=True):
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
        if not all(map(_is_counted, rubric.criteria)):
            return None
        total = sum((one.weight for one in rubric.criteria), Fraction(0))
        worths = [one.weight / total / len(one.items) for one in rubric.criteria]
        grid = lcm(*[worth.denominator for worth in worths])
        if grid > _FINEST:
            return None
        parts: list[tuple[PartShape, tuple[Key, ...]]] = []
        free: dict[int, list[Key]] = {}
        for one, worth in zip(rubric.criteria, worths, strict=True):
            step = int(worth * grid)
            keys = tuple((one.id, item.id) for item in one.items)
            least = _least(rubric.floor_of(one, None) * len(keys), required=one.required)
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


def reached(shape: CountShape, parts: Sequence[PartHistories[H]], met: Mapping[H, float]) -> float:
    """P(every bar is met). `met` is P(met) of an item by its history."""
    whole = Counts(0, 1, (1.0,))
    for part, histories in zip(shape.parts, parts, strict=True):
        found: Sequence[float] = [1.0]
        first = 0
        for own, count in histories:
            start, chances = binomial(count, met[own])
            first += start
            found = convolved(found, chances)
        if part.least > first:
            found = found[part.least - first :]
            first = part.least
        if not found:
            return 0.0
        whole = _with(whole, Counts(first * part.step, part.step, found))
    places = enumerate(whole.chances)
    enough = [p for place, p in places if whole.first + place * whole.step >= shape.least]
    return min(sum(enough), 1.0)


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
    if count == 1:
        return 0, (1.0 - chance, chance)
    if chance <= 0.0 or chance >= 1.0:
        return (count if chance >= 1.0 else 0), (1.0,)
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
    size = len(left)
    product = [0.0] * (size + len(right) - 1)
    for place, chance in enumerate(right):
        if chance > 0.0:
            product[place : place + size] = [
                old + chance * new
                for old, new in zip(product[place : place + size], left, strict=True)
            ]
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
