"""What is believed about a yes/no item: unmet, met, or made to look met, together with the error
that the panel shares.

A judge misreads an item when its latent error is below the quantile of its misreading rate. The
error has the same three shares as in `scores`; the shared one is integrated on Gauss-Hermite nodes
that the belief keeps, a judge's own one by how often that judge has misread the item before (given
the node), which is a table. Where much is shared, it is not an error but a reading that looks
repeat (`CommonReading`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import log, sqrt
from operator import mul
from typing import Final, NamedTuple

from msgspec import Struct

from honestone.core.belief.normal import NODES, below
from honestone.core.belief.scales.scores import OWN, witness_load

START_MET: Final = 0.5
# How often an item that only looks met is read as met by a judge that the edit did not aim at.
LEAK: Final = 0.4
# How much of that stays with the judge: an earlier look counts as one of so many more.
LEAK_LOOKS: Final = 2.0
FIXED: Final = 0.5
FAKED: Final = 0.1
# What an edit does: to an unmet item that it was given, and (broken) to any that is met.
BROKEN: Final = 0.035

_NODE_WEIGHTS: Final = tuple(weight for _, weight in NODES)


class EditRates(NamedTuple):
    """What an edit does to a yes/no item: how often it fixes an unmet one that it was given, `lifts`
    one that it was not given, `breaks` one that is met, and makes one that it was given only look
    met (`faked`).
    """

    fixes: float
    lifts: float
    breaks: float
    faked: float = FAKED


USUAL_EDIT: Final = EditRates(FIXED, 0.0, BROKEN)


class Looks(NamedTuple):
    """What one judge has said of an item since an edit aimed at it."""

    yes: int = 0
    no: int = 0


class ItemBelief(NamedTuple):
    """Probabilities of unmet, met and cosmetic on each node of what judges share, as many nodes as
    the model has; they sum to 1. `met` is P(met).
    """

    weights: tuple[float, ...]
    met: float


def _belief(weights: Sequence[float]) -> ItemBelief:
    return ItemBelief(tuple(weights), _of_met(weights))


def _of_met(weights: Sequence[float]) -> float:
    """The sum of the parts of the state `met`."""
    nodes = _nodes_of(weights)
    return sum(weights[nodes : 2 * nodes])


def _nodes_of(weights: Sequence[float]) -> int:
    """Each has a weight in each of the three states."""
    return len(weights) // 3


class ItemModel(Struct, frozen=True, dict=True):
    """How judges are assumed to err: an item is misread at the rate `flip` (`flip_met`: one that is
    met), the share `rho` of the latent error is common to the panel (0 to 0.5: of more, seven nodes do
    not give the integral), and `own` of the rest stays with a judge and an item.
    """

    flip: float
    rho: float
    own: float = OWN
    flip_met: float | None = None

    @cached_property
    def _factors(self) -> dict[tuple[bool, bool, Looks], tuple[float, ...]]:
        return {}

    @property
    def misread_if_met(self) -> float:
        return self.flip if self.flip_met is None else self.flip_met

    def start(self) -> ItemBelief:
        return self._on_nodes(1.0 - START_MET, START_MET, 0.0)

    def seen(
        self, belief: ItemBelief, looks: Looks, *, held_out: bool, yes: bool
    ) -> tuple[ItemBelief, float]:
        """The belief after an answer, and the log of its probability. `looks`: this judge's earlier
        ones.
        """
        weights = list(map(mul, belief.weights, self.chances(looks, held_out=held_out, yes=yes)))
        total = sum(weights)
        return _belief([w / total for w in weights]), log(total)

    def chances(self, looks: Looks, *, held_out: bool, yes: bool) -> tuple[float, ...]:
        """P(this answer) for each state and node of a belief, after this judge's earlier `looks`."""
        return self._factors.get((held_out, yes, looks)) or self._factor(held_out, yes, looks)

    def yes_and_met(
        self, belief: ItemBelief, looks: Looks, *, held_out: bool
    ) -> tuple[float, float]:
        """P(the next answer is yes), and P(that, and the item is met)."""
        factor = self.chances(looks, held_out=held_out, yes=True)
        parts = list(map(mul, belief.weights, factor))
        return sum(parts), _of_met(parts)

    def edited(
        self, belief: ItemBelief, *, aimed: bool, edit: EditRates = USUAL_EDIT
    ) -> ItemBelief:
        """The belief after an edit. Where it was aimed at the item, the error that the panel shares
        is drawn again; what each judge said before is the caller's to keep.
        """
        lifts, breaks = edit.lifts, edit.breaks
        old, nodes = belief.weights, _nodes_of(belief.weights)
        if not aimed:
            both = list(zip(old[:nodes], old[nodes : 2 * nodes], strict=True))
            stays_unmet, stays_met = 1.0 - lifts, 1.0 - breaks
            met = [lifts * u + stays_met * m for u, m in both]
            unmet = [stays_unmet * u + breaks * m for u, m in both]
            return ItemBelief((*unmet, *met, *old[2 * nodes :]), sum(met))
        faked = sum(old[2 * nodes :])
        unmet_before = 1.0 - belief.met - faked
        met_now = (1.0 - breaks) * belief.met + edit.fixes * (unmet_before + faked)
        faked_now = (1.0 - edit.fixes) * faked + edit.faked * unmet_before
        return self._on_nodes(1.0 - met_now - faked_now, met_now, faked_now)

    def before(
        self, base: ItemBelief, version: ItemBelief, edit: EditRates = USUAL_EDIT
    ) -> ItemBelief:
        """The belief about an item of the base, after what was seen of it in a version whose edit
        was aimed at others.
        """
        lifts, breaks = edit.lifts, edit.breaks
        stays_unmet, stays_met = 1.0 - lifts, 1.0 - breaks
        nodes = _nodes_of(base.weights)
        were_unmet, were_met = [], []
        for unmet, met, seen_unmet, seen_met in zip(
            base.weights[:nodes],
            base.weights[nodes : 2 * nodes],
            version.weights[:nodes],
            version.weights[nodes : 2 * nodes],
            strict=True,
        ):
            if_unmet = seen_unmet / max(stays_unmet * unmet + breaks * met, 1e-300)
            if_met = seen_met / max(lifts * unmet + stays_met * met, 1e-300)
            were_unmet.append(unmet * (stays_unmet * if_unmet + lifts * if_met))
            were_met.append(met * (stays_met * if_met + breaks * if_unmet))
        weights = [*were_unmet, *were_met, *version.weights[2 * nodes :]]
        total = sum(weights)
        return _belief([w / total for w in weights])

    def _on_nodes(self, *states: float) -> ItemBelief:
        return _belief([state * weight for state in states for weight in self._node_weights])

    @property
    def _node_weights(self) -> Sequence[float]:
        """How probable each node is before the first look: of what judges share, and of a judge's own."""
        return _NODE_WEIGHTS

    def _factor(self, held_out: bool, yes: bool, looks: Looks) -> tuple[float, ...]:
        """P(this answer), by state and node, after what this judge said before."""
        wrong_if_unmet = self._misread(False, held_out, looks.yes, looks.no)
        wrong_if_met = self._misread(True, held_out, looks.no, looks.yes)
        unmet = [w if yes else 1.0 - w for w in wrong_if_unmet]
        met = [1.0 - w if yes else w for w in wrong_if_met]
        # What only looks met deceives the panel as if it were, and a held-out judge seldom.
        cosmetic = met
        if held_out:
            deceived = _deceived_again(looks)
            cosmetic = [deceived if yes else 1.0 - deceived] * len(met)
        found = self._factors[held_out, yes, looks] = (*unmet, *met, *cosmetic)
        return found

    def _misread(self, is_met: bool, held_out: bool, wrong: int, right: int) -> list[float]:
        """P(the next look misreads an item that is met, or unmet), on each node, after so many looks
        of this judge that did and did not.
        """
        chances = []
        for row in self._rates[is_met, held_out]:
            weighted = [
                w * p**wrong * (1.0 - p) ** right
                for p, w in zip(row, self._node_weights, strict=True)
            ]
            chances.append(sum([w * p for w, p in zip(weighted, row, strict=True)]) / sum(weighted))
        return chances

    @cached_property
    def _rates(self) -> dict[tuple[bool, bool], list[list[float]]]:
        """P(misread), by node of the shared error and node of the judge's own; whether the item is
        met, and whether the judge is held out.
        """
        from statistics import NormalDist

        by_truth = (
            (False, self.flip),
            (True, self.misread_if_met),
        )
        by_judge = ((False, sqrt(self.rho)), (True, witness_load(self.rho) * sqrt(self.rho)))
        rates = {}
        for (is_met, flip), (held_out, load) in product(by_truth, by_judge):
            edge = NormalDist().inv_cdf(flip)
            rest = 1.0 - load * load
            own, fresh = sqrt(self.own * rest), sqrt((1.0 - self.own) * rest)
            rates[is_met, held_out] = [
                [_apart(below((edge - load * s - own * o) / fresh)) for o, _ in NODES]
                for s, _ in NODES
            ]
        return rates


class CommonReading(ItemModel, frozen=True, dict=True):
    """Judges that share a reading: one that is wrong at the rate `flip` is common to all of them,
    held-out ones too, and a look repeats it with the probability `rho`. With the probability `own`
    of the rest it repeats such a reading of the judge's own; else it reads afresh. So the looks at
    an item whose common reading is wrong contradict each other, and enough of them show it.
    """

    @property
    def _node_weights(self) -> Sequence[float]:
        return self.flip, 1.0 - self.flip

    @cached_property
    def _rates(self) -> dict[tuple[bool, bool], list[list[float]]]:
        own = (1.0 - self.rho) * self.own
        fresh = (1.0 - self.rho - own) * self.flip
        wrong, right = (
            [_apart(of_all + of_own + fresh) for of_own in (own, 0.0)] for of_all in (self.rho, 0.0)
        )
        return {place: [wrong, right] for place in product((False, True), (False, True))}


def _deceived_again(looks: Looks) -> float:
    """P(a held-out judge takes what only looks met for met), after its earlier looks. Its rate is not
    known: a beta distribution of the mean LEAK, which is worth LEAK_LOOKS looks.
    """
    return (LEAK * LEAK_LOOKS + looks.yes) / (LEAK_LOOKS + looks.yes + looks.no)


def _apart(rate: float) -> float:
    """A rate that leaves both answers possible."""
    return min(max(rate, 1e-9), 1.0 - 1e-9)
