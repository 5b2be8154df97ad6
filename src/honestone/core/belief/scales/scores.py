"""What is believed about an anchored item, from 0 to 100 points: a mixture of normal distributions
over its truth and the errors of the judges.

The unknowns are the truth, the error that all judges of the panel share, and an error of each judge
that stays with a version. A vote is their sum and a fresh error. Votes are taken in by Kalman's
update, which is exact; after an edit three things may have happened to the item, each with the
weight it had in measured loops, and only what came before is made one normal distribution of the
same mean and variance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from math import exp, isqrt, log, pi
from operator import itemgetter, mul
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.belief.normal import Atom

START_MEAN: Final = 60.0
START_SD: Final = 15.0
# How much of the error that the panel shares a held-out judge shares too: another family, but not
# another world.
WITNESS_LOAD: Final = 0.5
# From this part of the error that is shared, of yes/no items, it may be what every judge gets wrong.
MUCH_SHARED: Final = 0.5
# The share of the rest of a judge's error that stays with a version; the other half is new in every
# look.
OWN: Final = 0.5

Row: TypeAlias = list[float]
# The lower triangle of a symmetric matrix, row after row. One flat list: the sums over it are most
# of what beliefs cost, and one pass over 36 numbers takes a third of the time of eight over rows.
Triangle: TypeAlias = list[float]


class _Places(NamedTuple):
    """How to read a triangle of a size: the row and the column of each entry of a vector that is
    laid over it, its diagonal, and each column of the whole matrix.
    """

    by_row: Callable[[Row], tuple[float, ...]]
    by_column: Callable[[Row], tuple[float, ...]]
    diagonal: list[int]
    columns: Sequence[Callable[[Triangle], tuple[float, ...]]]


@lru_cache(maxsize=64)
def places_of(size: int) -> _Places:
    """Of at least two unknowns."""
    entries = [(row, column) for row in range(size) for column in range(row + 1)]
    at = {entry: place for place, entry in enumerate(entries)}
    columns = [
        itemgetter(*[at[max(row, column), min(row, column)] for row in range(size)])
        for column in range(size)
    ]
    return _Places(
        by_row=itemgetter(*[row for row, _ in entries]),
        by_column=itemgetter(*[column for _, column in entries]),
        diagonal=[at[index, index] for index in range(size)],
        columns=columns,
    )


def witness_load(shared: float) -> float:
    """By how much the shared error of a yes/no item moves a held-out judge, where it moves the panel
    by 1. `shared`: the part (0-1) of the error that the panel shares. Where it is large, a held-out
    judge that agrees says nothing against it.
    """
    return 1.0 if shared >= MUCH_SHARED else WITNESS_LOAD


class EditEffect(NamedTuple):
    """One of the things that an edit may do to an item. `shared` moves the panel's view and not the
    truth (a cosmetic edit); `kept` is the correlation of the judges' errors before and after.
    """

    weight: float
    by: float
    sd: float
    error_correlation: float
    scales_with_headroom: bool = False
    shared: float = 0.0
    shared_sd: float = 0.0


# An edit that was aimed at the item: it helps (by more where there is more room), does nothing or
# harm, or is cosmetic.
AIMED: Final = (
    EditEffect(0.60, 15.0, 7.0, 0.5, scales_with_headroom=True),
    EditEffect(0.30, -2.0, 5.0, 0.5),
    EditEffect(0.10, -1.0, 3.0, 0.5, shared=12.0, shared_sd=5.0),
)
# An edit that was aimed at something else: the item is untouched, damaged or lifted.
ASIDE: Final = (
    EditEffect(0.80, 0.0, 0.5, 1.0),
    EditEffect(0.15, -8.0, 6.0, 0.6),
    EditEffect(0.05, 4.0, 3.0, 0.6),
)


# Where the variance of the shared error stands in a triangle.
SHARED_VAR: Final = 2


def headroom(mean: float) -> float:
    """How much of an edit's gain fits above a mean (0-1)."""
    return min(max((100.0 - mean) / 40.0, 0.0), 1.0)


class Component(NamedTuple):
    """A normal distribution over (truth, shared error, each judge's own error), with its weight.
    `cov` are the covariances.
    """

    weight: float
    mean: Row
    cov: Triangle


class ScoreBelief(NamedTuple):
    """A mixture whose weights sum to 1. `atoms` is its truth alone, with its mean and variance."""

    parts: tuple[Component, ...]
    atoms: tuple[Atom, ...]
    mean: float
    var: float


def belief_of(parts: list[Component]) -> ScoreBelief:
    """The mixture of these parts, whose weights sum to 1."""
    atoms = tuple([Atom(weight, mean[0], cov[0]) for weight, mean, cov in parts])
    mean = sum([w * m for w, m, _ in atoms])
    return ScoreBelief(
        tuple(parts), atoms, mean, sum([w * (v + (m - mean) ** 2) for w, m, v in atoms])
    )


class _Gain(NamedTuple):
    """What a judge's next vote tells about each unknown, whatever it is: `spread` is the variance of
    the vote, `log` that of its density's divisor (squared), `pull` the covariance of each unknown
    with it, and `after` the covariances that are left.
    """

    spread: float
    log: float
    pull: Row
    after: Triangle


class ScoreModel(Struct, frozen=True, dict=True):
    """How judges are assumed to err: `sd` points a look, of whose square the share `rho` is common
    to the panel. Judges are numbered, those of the panel first.
    """

    sd: float
    rho: float
    panel: int
    held_out: int

    @cached_property
    def _worn_by(self) -> dict[float, tuple[Row, Triangle, Triangle]]:
        return {}

    @cached_property
    def loads(self) -> list[float]:
        return [1.0] * self.panel + [WITNESS_LOAD] * self.held_out

    @cached_property
    def fresh(self) -> list[float]:
        """The variance that is new in each look, by judge."""
        return [
            (1.0 - OWN) * (1.0 - load * load * self.rho) * self.sd * self.sd for load in self.loads
        ]

    @cached_property
    def usual(self) -> list[float]:
        """The variance of each unknown but the truth before any vote."""
        own = [OWN * (1.0 - load * load * self.rho) * self.sd * self.sd for load in self.loads]
        return [0.0, self.rho * self.sd * self.sd, *own]

    def start(self) -> ScoreBelief:
        size = len(self.usual)
        cov = [0.0] * (size * (size + 1) // 2)
        for place, var in zip(places_of(size).diagonal, self.usual, strict=True):
            cov[place] = var
        cov[0] = START_SD * START_SD
        return belief_of([Component(1.0, [START_MEAN, *[0.0] * (size - 1)], cov)])

    def seen(self, belief: ScoreBelief, judge: int, vote: float) -> tuple[ScoreBelief, float]:
        """The belief after a judge's vote (points), and the log of the vote's density before it."""
        at, load = judge + 2, self.loads[judge]
        found, logs = [], []
        for weight, mean, cov in belief.parts:
            gain = self._gain(cov, judge)
            miss = vote - mean[0] - load * mean[1] - mean[at]
            logs.append(log(weight) - 0.5 * (gain.log + miss * miss / gain.spread))
            step = miss / gain.spread
            found.append(([m + p * step for m, p in zip(mean, gain.pull, strict=True)], gain.after))
        top = max(logs)
        weights = [exp(one - top) for one in logs]
        total = sum(weights)
        parts = [
            Component(w / total, m, c)
            for w, (m, c) in zip(weights, found, strict=True)
            if w > 1e-3 * total
        ]
        if len(parts) < len(found):
            left = sum([p.weight for p in parts])
            parts = [p._replace(weight=p.weight / left) for p in parts]
        return belief_of(parts), top + log(total)

    def _gain(self, cov: Triangle, judge: int) -> _Gain:
        at, load = judge + 2, self.loads[judge]
        by_row, by_column, _, columns = places_of(isqrt(2 * len(cov)))
        sums = zip(columns[0](cov), columns[1](cov), columns[at](cov), strict=True)
        pull = [t + load * s + o for t, s, o in sums]
        spread = pull[0] + load * pull[1] + pull[at] + self.fresh[judge]
        scaled = [p / spread for p in pull]
        entries = zip(cov, by_row(scaled), by_column(pull), strict=True)
        return _Gain(spread, log(2.0 * pi * spread), pull, [c - s * p for c, s, p in entries])

    def edited(self, belief: ScoreBelief, *, aimed: bool) -> ScoreBelief:
        """The belief about the item after an edit."""
        before = merged_part(belief)
        worn: dict[float, Component] = {1.0: before}
        parts = []
        for change in AIMED if aimed else ASIDE:
            if change.error_correlation not in worn:
                worn[change.error_correlation] = self._worn(before, change.error_correlation)
            _, mean, cov = worn[change.error_correlation]
            by = change.by * headroom(before.mean[0]) if change.scales_with_headroom else change.by
            mean, cov = [mean[0] + by, mean[1] + change.shared, *mean[2:]], list(cov)
            cov[0] += change.sd * change.sd
            cov[SHARED_VAR] += change.shared_sd * change.shared_sd
            parts.append(Component(change.weight, mean, cov))
        return belief_of(parts)

    def _worn(self, part: Component, error_correlation: float) -> Component:
        """Errors that are drawn again, with such a correlation to the old ones; what is true stays
        what it was.
        """
        if error_correlation == 1.0:
            return part
        means, factors, fresh = self._wear(error_correlation)
        return Component(
            part.weight,
            list(map(mul, means, part.mean)),
            [f * c + new for f, c, new in zip(factors, part.cov, fresh, strict=True)],
        )

    def _wear(self, error_correlation: float) -> tuple[Row, Triangle, Triangle]:
        """What means and covariances are multiplied by, and what is added to the latter."""
        found = self._worn_by.get(error_correlation)
        if found is None:
            rest = 1.0 - error_correlation * error_correlation
            means = [1.0 if usual is None else error_correlation for usual in self._error_vars]
            places = places_of(len(means))
            factors = list(map(mul, places.by_row(means), places.by_column(means)))
            fresh = [0.0] * len(factors)
            for place, var in zip(places.diagonal, self._error_vars, strict=True):
                fresh[place] = 0.0 if var is None else rest * var
            found = self._worn_by[error_correlation] = (means, factors, fresh)
        return found

    @property
    def _error_vars(self) -> list[float | None]:
        """The usual variance of each unknown that is an error; None: it is a truth."""
        return [None, *self.usual[1:]]


def merged_part(belief: ScoreBelief) -> Component:
    """The mixture as one normal distribution of the same mean and covariance."""
    if len(belief.parts) == 1:
        return belief.parts[0]
    size = len(belief.parts[0].mean)
    by_row, by_column, _, _ = places_of(size)
    mean = [sum([p.weight * p.mean[i] for p in belief.parts]) for i in range(size)]
    cov = [0.0] * len(belief.parts[0].cov)
    for weight, centre, spread in belief.parts:
        off = [c - m for c, m in zip(centre, mean, strict=True)]
        entries = zip(cov, spread, by_row(off), by_column(off), strict=True)
        cov = [total + weight * (c + far * o) for total, c, far, o in entries]
    return Component(1.0, mean, cov)
