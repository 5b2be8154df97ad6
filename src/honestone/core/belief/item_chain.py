"""A yes/no item along the edits of a run: the chain of its states from the original to a version.

What an edit does to the item depends on its state before and on nothing else, so the probability of
all votes is a product along the tree of versions. Votes about versions that were given up join the
chain where they branch off, as a message that says how probable they are from each state there
(belief propagation, which is exact on a tree). The chain itself is worked out forwards from the
original, so that one more version costs one more step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod, sqrt
from operator import mul, sub
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.belief.assumptions import WorkerModel
from honestone.core.belief.counting import convolved, without_tails
from honestone.core.belief.items import ItemModel, Looks
from honestone.core.belief.memory import ComparisonMemory, Results
from honestone.core.belief.normal import NODES, below

# How often an edit that destroys the artifact breaks an item that is met.
ACCIDENT: Final = 0.8

# Points that differ by less are equal.
_CLOSE: Final = 1e-9
# Sums of half of the items that are each worked out: always, and where no grid has them.
_FEW: Final = 729
_MOST_OF_HALF: Final = 6_561
# Steps of a grid: of all points, or of what is within so many standard deviations.
_MOST_STEPS: Final = 1_024
_DEVIATIONS: Final = 16.0
# How often the largest item fits into the grid at least.
_LARGEST: Final = 8.0
# What is less probable is nothing.
_LEAST: Final = 1e-12
# Slices of points to a standard deviation of a normal part, where there are more than a few.
_NARROW: Final = 50.0

COUNT: Final = len(NODES)
_NODE_WEIGHTS: Final = tuple(weight for _, weight in NODES)

# Weights of unmet, met and cosmetic on each node of the shared error, as in `items`.
Weights: TypeAlias = list[float]


class ItemVote(NamedTuple):
    """A judge's answer about an item, and what it answered before about the same state of it."""

    held_out: bool
    is_good: bool
    before: Looks


class ItemNode(NamedTuple):
    """An item in one version: the edit that made the version, the votes about it, and the versions
    that branch off there. `before` is the version before it on a chain; None for the original and
    for what branches off. Equal nodes have the same `number`, equal votes the same `votes_number`.
    """

    number: int
    before: ItemNode | None
    is_aimed: bool
    is_accident: bool
    votes: tuple[ItemVote, ...]
    votes_number: int
    branches: tuple[ItemNode, ...]


class Joint(NamedTuple):
    """P(state of the original, state and shared error of the last version, all votes): a row for
    each state of the original.
    """

    was_unmet: Weights
    was_met: Weights


class ItemChain:
    """The probabilities of chains under one assumption about judges and worker."""

    def __init__(
        self, model: ItemModel, worker: WorkerModel, faked: float, memory: ComparisonMemory
    ) -> None:
        self._model = model
        self._worker = worker
        self._faked = faked
        self._votes: Results[Weights] = memory.results("votes", model)
        self._messages: Results[Weights] = memory.results("messages", model, worker, faked)
        self._states: Results[Weights] = memory.results("states", model, worker, faked)
        self._met_first: Results[Weights] = memory.results("met first", model, worker, faked)
        self._steps: dict[tuple[bool, bool], EditStep] = {}

    def evidence(self, last: ItemNode) -> float:
        """The probability of all votes about the item, by the last version of its chain."""
        return sum(self._state(last))

    def joint(self, last: ItemNode) -> Joint:
        """The state of a whole chain, by its last version. What began unmet is the rest of what
        began met, so that the chain is worked out once more and not twice.
        """
        state = self._state(last)
        was_met = self._along(last, self._met_first, _only_met)
        return Joint(list(map(sub, state, was_met)), was_met)

    def _state(self, last: ItemNode) -> Weights:
        """The state of the last version alone, whatever the original was."""
        return self._along(last, self._states, lambda start: start)

    def _along(
        self, last: ItemNode, known: Results[Weights], first: Callable[[Weights], Weights]
    ) -> Weights:
        """The weights of the last version, from those of the last one before it that are known.
        `first` picks what of the original counts.
        """
        new: list[ItemNode] = []
        node: ItemNode | None = last
        row: Weights | None = None
        while node is not None and (row := known[node.number]) is None:
            new.append(node)
            node = node.before
        for node in reversed(new):
            if row is None:
                row = first(list(map(mul, self._model.start().weights, self._weights(node))))
            else:
                row = self._step(node).after(row, self._weights(node))
            known.keep(node.number, row)
        assert row is not None
        return row

    def _weights(self, node: ItemNode) -> Weights:
        """What the votes about a version, and those about all that branches off, say of its state."""
        weights = self._votes[node.votes_number]
        if weights is None:
            weights = self._votes.keep(node.votes_number, votes_on(node.votes, self._model))
        for branch in node.branches:
            weights = list(map(mul, weights, self._message(branch)))
        return weights

    def _message(self, branch: ItemNode) -> Weights:
        """What all votes about a branch say of the state where it branches off."""
        message = self._messages[branch.number]
        # A stack of its own: a run may have more rounds than Python lets functions call themselves.
        waiting = [branch]
        while message is None:
            node = waiting[-1]
            new = [one for one in node.branches if self._messages[one.number] is None]
            if new:
                waiting += new
                continue
            waiting.pop()
            if self._messages[node.number] is None:
                self._messages.keep(node.number, self._step(node).back(self._weights(node)))
            message = self._messages[branch.number]
        return message

    def _step(self, node: ItemNode) -> EditStep:
        place = (node.is_aimed, node.is_accident)
        step = self._steps.get(place)
        if step is None:
            # What becomes of an edit that destroyed the artifact says little about the worker's
            # others.
            breaks = ACCIDENT if node.is_accident else self._worker.breaks
            step = EditStep(self._worker, node.is_aimed, breaks, self._faked)
            self._steps[place] = step
        return step


def _only_met(start: Weights) -> Weights:
    nothing = [0.0] * COUNT
    return [*nothing, *start[COUNT : 2 * COUNT], *nothing]


def votes_on(votes: tuple[ItemVote, ...], model: ItemModel) -> Weights:
    weights = [1.0] * (3 * COUNT)
    for held_out, is_good, before in votes:
        weights = list(map(mul, weights, model.chances(before, held_out=held_out, yes=is_good)))
    return weights


class EditStep(Struct, frozen=True):
    """What an edit does to the state of an item: unmet, met, or made to look met."""

    worker: WorkerModel
    is_aimed: bool
    breaks: float
    faked: float

    def after(self, row: Weights, here: Weights) -> Weights:
        """The state after the edit. `here`: what the votes about the new version say of it."""
        breaks = self.breaks
        unmet, met, faked = row[:COUNT], row[COUNT : 2 * COUNT], row[2 * COUNT :]
        if self.is_aimed:  # the errors of earlier looks are drawn again
            was_unmet, was_met, was_faked = sum(unmet), sum(met), sum(faked)
            to_met = self.worker.fixes * (was_unmet + was_faked) + (1.0 - breaks) * was_met
            to_faked = (1.0 - self.worker.fixes) * (was_faked + self.faked * was_unmet)
            to_unmet = was_unmet + was_met + was_faked - to_met - to_faked
            return [
                *[to_unmet * a for a in map(mul, _NODE_WEIGHTS, here)],
                *[to_met * a for a in map(mul, _NODE_WEIGHTS, here[COUNT:])],
                *[to_faked * a for a in map(mul, _NODE_WEIGHTS, here[2 * COUNT :])],
            ]
        lift = self.worker.lifts
        stays_unmet, stays_met = 1.0 - lift, 1.0 - breaks
        # `here` is longer than a part, and each loop takes as much of it as it needs.
        return [
            *[(stays_unmet * u + breaks * m) * h for u, m, h in zip(unmet, met, here)],  # noqa: B905
            *[(lift * u + stays_met * m) * h for u, m, h in zip(unmet, met, here[COUNT:])],  # noqa: B905
            *map(mul, faked, here[2 * COUNT :]),
        ]

    def back(self, later: Weights) -> Weights:
        """What the votes about the version after the edit say of the state before it."""
        breaks = self.breaks
        unmet, met, faked = later[:COUNT], later[COUNT : 2 * COUNT], later[2 * COUNT :]
        if self.is_aimed:
            if_unmet, if_met, if_faked = (
                sum([a * w for a, w in zip(part, _NODE_WEIGHTS, strict=True)])
                for part in (unmet, met, faked)
            )
            not_fixed = 1.0 - self.worker.fixes
            from_unmet = self.worker.fixes * if_met + not_fixed * (
                self.faked * if_faked + (1.0 - self.faked) * if_unmet
            )
            from_met = (1.0 - breaks) * if_met + breaks * if_unmet
            from_faked = self.worker.fixes * if_met + not_fixed * if_faked
            return [share for share in (from_unmet, from_met, from_faked) for _ in NODES]
        lift = self.worker.lifts
        stays_unmet, stays_met = 1.0 - lift, 1.0 - breaks
        both = list(zip(unmet, met, strict=True))
        return [
            *[stays_unmet * u + lift * m for u, m in both],
            *[stays_met * m + breaks * u for u, m in both],
            *faked,
        ]


# ------------------------------------------------------------------------------------------------------------
# what all items gained


class PointsGained(NamedTuple):
    """The distribution of the points that yes/no items gained together: of two independent halves,
    the probability of each sum. It is exact where a grid of whole steps has every sum, and of up to
    some sixteen items that are worth different points; of more, points are rounded to steps, by
    which P(gain) is off by less than 0.002.
    """

    one: Mapping[float, float]
    other: Mapping[float, float]

    @classmethod
    def of(cls, steps: Mapping[float, Sequence[float]]) -> PointsGained:
        """`steps`: by the points that an item is worth, the distribution of how many more of these
        are met, from the lowest possible number to the highest.
        """
        parts = list(steps.items())
        halves = parts[: len(parts) // 2], parts[len(parts) // 2 :]
        states = max([prod([len(shares) for _, shares in half]) for half in halves])
        if states <= _FEW:
            return cls(*map(_sums_of, halves))
        if _is_on_grid(list(steps)):
            return cls(_sums_of(parts), _NOTHING)
        if states <= _MOST_OF_HALF:
            return cls(*map(_sums_of, halves))
        return cls(_rounded_sums(parts), _NOTHING)

    @property
    def mean(self) -> float:
        return sum([sum([p * points for points, p in half.items()]) for half in self])

    def above_zero(self, mean: float, var: float) -> float:
        """P(these points and a normal part are more than 0)."""
        if var > _CLOSE:
            width = sqrt(var) / _NARROW
            one, other = (_in_slices(half, width) for half in self)
            return sum(
                [
                    p * q * below((at + more + mean) / sqrt(var))
                    for at, p in one
                    for more, q in other
                ]
            )
        rows = sorted(self.other.items())
        tails = [*accumulate([p for _, p in reversed(rows)], initial=0.0)][::-1]
        points = [at for at, _ in rows]
        return sum(
            [p * tails[bisect_right(points, _CLOSE - mean - at)] for at, p in self.one.items()]
        )


_NOTHING: Final = {0.0: 1.0}
NOTHING_GAINED: Final = PointsGained(_NOTHING, _NOTHING)


def one_more(shares: Sequence[float], up: float, down: float) -> list[float]:
    """The distribution of a number of steps, from the lowest possible to the highest, after one
    more item that may go a step up or down.
    """
    stays = max(1.0 - up - down, 0.0)
    lower, same, higher = [*shares, 0.0, 0.0], [0.0, *shares, 0.0], [0.0, 0.0, *shares]
    return [down * a + stays * b + up * c for a, b, c in zip(lower, same, higher, strict=True)]


def _sums_of(parts: Sequence[tuple[float, Sequence[float]]]) -> dict[float, float]:
    """Every sum of points, with its probability."""
    found = dict(_NOTHING)
    for points, shares in parts:
        moves = [(points * step, share) for step, share in _moves(shares)]
        added: dict[float, float] = {}
        for value, p in found.items():
            for by, share in moves:
                place = round(value + by, 9)
                added[place] = added.get(place, 0.0) + p * share
        found = added
    return found


def _moves(shares: Sequence[float]) -> list[tuple[int, float]]:
    """Numbers of steps that have a weight."""
    return [(step, share) for step, share in enumerate(shares, -(len(shares) // 2)) if share > 0.0]


def _is_on_grid(points: Sequence[float]) -> bool:
    """Whether all of them are multiples of a step of which few make up the whole."""
    step = 0.0
    for other in points:
        while other > _CLOSE:
            rest = step % other
            step, other = other, 0.0 if other - rest < _CLOSE else rest
        if step < 100.0 / _MOST_STEPS:
            return False
    return True


def _rounded_sums(parts: Sequence[tuple[float, Sequence[float]]]) -> dict[float, float]:
    """The sums on a grid of so many steps around their mean, which no item's points are less than.
    That nothing changes is exact; what comes to nothing otherwise is a little more or less.
    """
    var = sum([points**2 * _var_of(shares) for points, shares in parts])
    # Where all of it is nearly certain, no item takes many steps.
    largest = max([points for points, _ in parts])
    step = max(_DEVIATIONS * sqrt(var), _LARGEST * largest) / _MOST_STEPS
    by_steps: dict[int, list[float]] = {}
    for points, shares in parts:
        place = max(round(points / step), 1)
        by_steps[place] = convolved(by_steps.get(place, [1.0]), shares)
    lowest, found = 0, [1.0]
    for place, shares in sorted(by_steps.items()):
        moves = [(one, share) for one, share in _moves(shares) if share > _LEAST]
        first, last = moves[0][0], moves[-1][0]
        own = [0.0] * (place * (last - first) + 1)
        for one, share in moves:
            own[place * (one - first)] = share
        cut, found = without_tails(convolved(found, own), _LEAST)
        lowest += place * first + cut
    sums = {step * place: share for place, share in enumerate(found, lowest)}
    stays = prod([shares[len(shares) // 2] for _, shares in parts])
    rest = max(sums.pop(0.0, 0.0) - stays, 0.0) / 2.0
    return {**sums, 0.0: stays, -0.25 * step: rest, 0.25 * step: rest}


def _var_of(shares: Sequence[float]) -> float:
    moves = _moves(shares)
    mean = sum([step * share for step, share in moves])
    return sum([share * (step - mean) ** 2 for step, share in moves])


def _in_slices(points: Mapping[float, float], width: float) -> list[tuple[float, float]]:
    """Points that are nearly alike as one, by their mean."""
    if len(points) <= _FEW:
        return list(points.items())
    masses: dict[int, float] = {}
    sums: dict[int, float] = {}
    for at, p in points.items():
        place = round(at / width)
        masses[place] = masses.get(place, 0.0) + p
        sums[place] = sums.get(place, 0.0) + p * at
    return [(sums[place] / mass, mass) for place, mass in masses.items() if mass > 0.0]
