"""A yes/no item along the edits of a run: the chain of its states from the original to a version.

What an edit does to the item depends on its state before and on nothing else, so the probability of
all votes is a product along the tree of versions. Votes about versions that were given up join the
chain where they branch off, as a message that says how probable they are from each state there
(belief propagation, which is exact on a tree). The chain itself is worked out forwards from the
original, so that one more version costs one more step.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import mul, sub
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.belief.assumptions import WorkerModel
from honestone.core.belief.items import ItemModel, Looks
from honestone.core.belief.memory import ComparisonMemory, Results
from honestone.core.belief.normal import NODES

# How often an edit that destroys the artifact breaks an item that is met.
ACCIDENT: Final = 0.8

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
