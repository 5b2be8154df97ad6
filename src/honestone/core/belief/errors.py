"""Assumptions about how judges misread a yes/no item, and how probable answers are under each.

A judge misreads an item when a latent error is below the quantile of its rate. A part of that error
is common to all judges (`shared`), a part of the rest stays with one judge and one item however
often it is asked (`own`), and what is left is new in each look. The two parts that last are
integrated on Gauss-Hermite nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import sqrt
from statistics import NormalDist
from typing import Final, NamedTuple, TypeAlias

from honestone.core.belief.normal import NODES, below
from honestone.core.belief.scores import WITNESS_LOAD


class Misreads(NamedTuple):
    """How often a look misreads an item that is truly unmet, and one that is met."""

    unmet: float
    met: float


# Judges, mostly programs, that hardly err at all.
QUIET: Final = Misreads(0.002, 0.002)
# What judges are assumed to misread otherwise: both ways alike, or lenient ones that take a third
# of what is unmet for met, again and again.
RATES: Final = (Misreads(0.05, 0.05), Misreads(0.10, 0.10), Misreads(0.15, 0.15))
LENIENT: Final = Misreads(0.30, 0.02)
# Parts of the latent error that all judges share.
SHARED: Final = (0.1, 0.5)
# Parts of the rest that stay with a judge and an item: how often the looks of one judge differ says
# which is so.
OWN: Final = (0.1, 0.8)
_MOST_KNOWN: Final = 20_000
# A rate that leaves both answers possible.
_LEAST: Final = 1e-9


class JudgeAnswers(NamedTuple):
    """How often one judge answered yes and no about one item of the same bytes."""

    yes: int
    no: int
    held_out: bool = False


# What all judges answered about one item, in a fixed order, so that items with equal histories are
# equal.
History: TypeAlias = tuple[JudgeAnswers, ...]


class Likelihood(NamedTuple):
    """P(answers) if the item is unmet, and if it is met."""

    unmet: float
    met: float


@dataclass(frozen=True)
class ErrorModel:
    """One assumption: how often looks misread items; `shared` and `own` are parts of the latent
    error (0-1).
    """

    rates: Misreads
    shared: float
    own: float
    _known: dict[History, Likelihood] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _rows: dict[tuple[bool, bool, int, int], list[float]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def likelihood(self, history: History) -> Likelihood:
        """How probable these answers are in each state of the item."""
        found = self._known.get(history)
        if found is None:
            unmet = met = 0.0
            if_unmet = [self._row(False, one.held_out, one.yes, one.no) for one in history]
            if_met = [self._row(True, one.held_out, one.no, one.yes) for one in history]
            for node, (_, weight) in enumerate(NODES):
                unmet += weight * _product([row[node] for row in if_unmet])
                met += weight * _product([row[node] for row in if_met])
            found = Likelihood(max(unmet, 1e-300), max(met, 1e-300))
            if len(self._known) < _MOST_KNOWN:
                self._known[history] = found
        return found

    def _row(self, is_met: bool, held_out: bool, wrong: int, right: int) -> list[float]:
        """P(one judge misread the item so often, and so often not), on each node of the shared
        error.
        """
        place = (is_met, held_out, wrong, right)
        found = self._rows.get(place)
        if found is None:
            found = self._rows[place] = [
                sum(
                    [
                        weight * rate**wrong * (1.0 - rate) ** right
                        for rate, (_, weight) in zip(rates, NODES, strict=True)
                    ]
                )
                for rates in self._tables[is_met, held_out]
            ]
        return found

    @cached_property
    def _tables(self) -> dict[tuple[bool, bool], list[list[float]]]:
        """P(misread), by node of the shared error and node of the judge's own; whether the item is
        met, and whether the judge is held out.
        """
        found = {}
        for is_met, rate in ((False, self.rates.unmet), (True, self.rates.met)):
            edge = NormalDist().inv_cdf(rate)
            for held_out, load in (
                (False, sqrt(self.shared)),
                (True, WITNESS_LOAD * sqrt(self.shared)),
            ):
                rest = 1.0 - load * load
                own, fresh = sqrt(self.own * rest), sqrt((1.0 - self.own) * rest)
                found[is_met, held_out] = [
                    [_inside(below((edge - load * s - own * o) / fresh)) for o, _ in NODES]
                    for s, _ in NODES
                ]
        return found


def _product(factors: list[float]) -> float:
    result = 1.0
    for factor in factors:
        result *= factor
    return result


def _inside(rate: float) -> float:
    return min(max(rate, _LEAST), 1.0 - _LEAST)


MODELS: Final = (
    ErrorModel(QUIET, SHARED[0], OWN[0]),
    *(ErrorModel(rates, shared, own) for rates, shared, own in product(RATES, SHARED, OWN)),
    ErrorModel(LENIENT, SHARED[0], OWN[1]),
)
