"""Assumptions about how judges misread a yes/no item, and how probable answers are under each.

A judge misreads an item when a latent error is below the quantile of its rate. A part of that error
is common to all judges (`shared`); it is integrated on Gauss-Hermite nodes. With the probability
`own` the answer of one judge about one item stays what it is however often it is asked; else each
look is a draw of its own. So equal looks of a judge that always answers the same say no more than
its first one, and how often its looks differ says which assumption is so.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from math import sqrt
from operator import mul
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.belief.normal import NODES, below, bits
from honestone.core.belief.scales.scores import witness_load


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
# How often the answer of a judge about an item stays when it is asked again.
OWN: Final = (0.1, 0.95)
OWN_LENIENT: Final = 0.8
# How often an answer that stays with its judge is another one all the same.
SLIP: Final = 0.01
_MOST_KNOWN: Final = 20_000
# A rate that leaves both answers possible.
_LEAST: Final = 1e-9
_WEIGHTS: Final = [weight for _, weight in NODES]


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


class NextAnswer(NamedTuple):
    """P(item is met), and P(the next answer of a judge is yes) if it is, and if it is not."""

    met: float
    if_met: float
    if_unmet: float

    @property
    def yes(self) -> float:
        return self.met * self.if_met + (1.0 - self.met) * self.if_unmet

    @property
    def moves(self) -> float:
        """The variance of P(item is met) that the answer adds."""
        yes = self.yes
        if not 0.0 < yes < 1.0:
            return 0.0
        return (self.met * (self.if_met - yes)) ** 2 / (yes * (1.0 - yes))

    @property
    def in_common(self) -> float:
        """Bits that the answer has in common with the truth of the item."""
        apart = self.met * bits(self.if_met) + (1.0 - self.met) * bits(self.if_unmet)
        return max(bits(self.yes) - apart, 0.0)


class ErrorModel(Struct, frozen=True, dict=True):
    """One assumption: how often looks misread items, which part of the latent error judges share
    (0-1), and how often an answer stays with its judge (0-1).
    """

    rates: Misreads
    shared: float
    own: float

    @cached_property
    def _known(self) -> dict[History, Likelihood]:
        return {}

    @cached_property
    def _rows(self) -> dict[tuple[bool, bool, int, int], list[float]]:
        return {}

    def likelihood(self, history: History) -> Likelihood:
        """How probable these answers are in each state of the item."""
        remembered = self._known.get(history)
        if remembered is None:
            unmet = met = _WEIGHTS
            for one in history:
                unmet = list(map(mul, unmet, self._row(False, one.held_out, one.yes, one.no)))
                met = list(map(mul, met, self._row(True, one.held_out, one.no, one.yes)))
            remembered = Likelihood(max(sum(unmet), 1e-300), max(sum(met), 1e-300))
            if len(self._known) < _MOST_KNOWN:
                self._known[history] = remembered
        return remembered

    def next_yes(self, history: History, own: JudgeAnswers) -> Likelihood:
        """P(the next answer of a judge is yes) in each state of the item. `own`: its answers so far,
        which are in the history if there are any.
        """
        others = list(history)
        if own in others:
            others.remove(own)
        more = tuple(sorted([*others, own._replace(yes=own.yes + 1)]))
        now, then = self.likelihood(history), self.likelihood(more)
        return Likelihood(min(then.unmet / now.unmet, 1.0), min(then.met / now.met, 1.0))

    def _row(self, is_met: bool, held_out: bool, wrong: int, right: int) -> list[float]:
        """P(one judge misread the item so often, and so often not), on each node of the shared
        error.
        """
        place = (is_met, held_out, wrong, right)
        remembered = self._rows.get(place)
        if remembered is None:
            remembered = self._rows[place] = [
                sum(
                    [
                        weight * rate**wrong * (1.0 - rate) ** right
                        for weight, rate in self._looks_of_one(rate)
                    ]
                )
                for rate in self._rates[is_met, held_out]
            ]
        return remembered

    def _looks_of_one(self, rate: float) -> tuple[tuple[float, float], ...]:
        """What the looks of one judge at one item may be like: each with its probability and the
        rate of misreading. They stay wrong, stay right, or are drawn again each time.
        """
        return (
            (self.own * rate, 1.0 - SLIP),
            (self.own * (1.0 - rate), SLIP * rate),
            (1.0 - self.own, rate),
        )

    @cached_property
    def _rates(self) -> dict[tuple[bool, bool], list[float]]:
        """P(misread), by node of the shared error; whether the item is met, and whether the judge
        is held out.
        """
        from statistics import NormalDist

        rates = {}
        for is_met, rate in ((False, self.rates.unmet), (True, self.rates.met)):
            edge = NormalDist().inv_cdf(rate)
            for held_out, load in (
                (False, sqrt(self.shared)),
                (True, witness_load(self.shared) * sqrt(self.shared)),
            ):
                rest = sqrt(1.0 - load * load)
                rates[is_met, held_out] = [
                    _inside(below((edge - load * s) / rest)) for s, _ in NODES
                ]
        return rates


def _inside(rate: float) -> float:
    return min(max(rate, _LEAST), 1.0 - _LEAST)


MODELS: Final = (
    ErrorModel(QUIET, SHARED[0], OWN[0]),
    *(ErrorModel(rates, shared, own) for rates, shared, own in product(RATES, SHARED, OWN)),
    ErrorModel(LENIENT, SHARED[0], OWN_LENIENT),
)
