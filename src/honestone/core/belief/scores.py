"""What is believed about an anchored item, from 0 to 100 points: a mixture of normal distributions
over its truth and the errors of the judges.

The unknowns are the truth, the error that all judges of the panel share, and an error of each judge
that stays with a version. A vote is their sum and a fresh error. Votes are taken in by Kalman's
update, which is exact; after an edit three things may have happened to the item, each with the
weight it had in measured loops, and only what came before is made one normal distribution of the
same mean and variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log, pi
from typing import Final, NamedTuple, TypeAlias

from honestone.core.belief.normal import Atom

START_MEAN: Final = 60.0
START_SD: Final = 15.0
# How much of the error that the panel shares a held-out judge shares too: another family, but not
# another world.
WITNESS_LOAD: Final = 0.5
# The share of the rest of a judge's error that stays with a version; the other half is new in every
# look.
OWN: Final = 0.5

Row: TypeAlias = list[float]


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


def headroom(mean: float) -> float:
    """How much of an edit's gain fits above a mean (0-1)."""
    return min(max((100.0 - mean) / 40.0, 0.0), 1.0)


class Component(NamedTuple):
    """A normal distribution over (truth, shared error, each judge's own error), with its weight.
    `cov` is the lower triangle of the covariances, by rows.
    """

    weight: float
    mean: Row
    cov: list[Row]


class ScoreBelief(NamedTuple):
    """A mixture whose weights sum to 1. `atoms` is its truth alone, with its mean and variance."""

    parts: tuple[Component, ...]
    atoms: tuple[Atom, ...]
    mean: float
    var: float


def belief_of(parts: list[Component]) -> ScoreBelief:
    """The mixture of these parts, whose weights sum to 1."""
    atoms = tuple([Atom(weight, mean[0], cov[0][0]) for weight, mean, cov in parts])
    mean = sum([w * m for w, m, _ in atoms])
    return ScoreBelief(
        tuple(parts), atoms, mean, sum([w * (v + (m - mean) ** 2) for w, m, v in atoms])
    )


@dataclass(frozen=True)
class ScoreModel:
    """How judges are assumed to err: `sd` points a look, of whose square the share `rho` is common
    to the panel. Judges are numbered, those of the panel first.
    """

    sd: float
    rho: float
    panel: int
    held_out: int

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
        cov = [[*[0.0] * index, var] for index, var in enumerate(self.usual)]
        cov[0][0] = START_SD * START_SD
        return belief_of([Component(1.0, [START_MEAN, *[0.0] * (len(cov) - 1)], cov)])

    def seen(self, belief: ScoreBelief, judge: int, vote: float) -> tuple[ScoreBelief, float]:
        """The belief after a judge's vote (points), and the log of the vote's density before it."""
        at, load, fresh = judge + 2, self.loads[judge], self.fresh[judge]
        found, logs = [], []
        for weight, mean, cov in belief.parts:
            shared = [cov[1][0], *[row[1] for row in cov[1:]]]
            own = [*cov[at], *[row[at] for row in cov[at + 1 :]]]
            pull = [row[0] + load * s + o for row, s, o in zip(cov, shared, own, strict=True)]
            spread = pull[0] + load * pull[1] + pull[at] + fresh
            miss = vote - mean[0] - load * mean[1] - mean[at]
            logs.append(log(weight) - 0.5 * (log(2.0 * pi * spread) + miss * miss / spread))
            step = miss / spread
            found.append(
                (
                    [m + p * step for m, p in zip(mean, pull, strict=True)],
                    [
                        [c - scaled * p for c, p in zip(row, pull, strict=False)]
                        for row, scaled in zip(cov, [p / spread for p in pull], strict=True)
                    ],
                )
            )
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
            cov[0] = [cov[0][0] + change.sd * change.sd]
            if change.shared_sd:
                cov[1] = [cov[1][0], cov[1][1] + change.shared_sd * change.shared_sd]
            parts.append(Component(change.weight, mean, cov))
        return belief_of(parts)

    def _worn(self, part: Component, error_correlation: float) -> Component:
        """Errors that are drawn again, with the correlation `kept` to the old ones."""
        rest = 1.0 - error_correlation * error_correlation
        cov = [part.cov[0]]
        for index, row in enumerate(part.cov[1:], 1):
            new = [
                error_correlation * row[0],
                *[error_correlation * error_correlation * c for c in row[1:]],
            ]
            new[index] += rest * self.usual[index]
            cov.append(new)
        return Component(
            part.weight, [part.mean[0], *[error_correlation * m for m in part.mean[1:]]], cov
        )


def merged_part(belief: ScoreBelief) -> Component:
    """The mixture as one normal distribution of the same mean and covariance."""
    if len(belief.parts) == 1:
        return belief.parts[0]
    size = range(len(belief.parts[0].mean))
    mean = [sum([p.weight * p.mean[i] for p in belief.parts]) for i in size]
    cov = [[0.0] * (index + 1) for index in size]
    for weight, centre, spread in belief.parts:
        off = [c - m for c, m in zip(centre, mean, strict=True)]
        cov = [
            [t + weight * (c + far * o) for t, c, o in zip(total, row, off, strict=False)]
            for total, row, far in zip(cov, spread, off, strict=True)
        ]
    return Component(1.0, mean, cov)
