"""An anchored item along the edits of a run: what is believed of it in a version, with the truth of
the original as one more unknown.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from honestone.core.belief.assumptions import WHOLE, WorkerModel
from honestone.core.belief.items import FAKED
from honestone.core.belief.memory import ComparisonMemory, Results
from honestone.core.belief.scales.scores import (
    AIMED,
    ASIDE,
    SHARED_VAR,
    Component,
    EditEffect,
    ScoreBelief,
    ScoreModel,
    belief_of,
    headroom,
    merged_part,
    places_of,
)


class ScoreNode(NamedTuple):
    """An item in one version: whether the edit that made the version was aimed at it, and the votes
    about it, each with the judge's number and the points. `before` is the version before it; None:
    it is the original. Equal nodes have the same `number`.
    """

    number: int
    before: ScoreNode | None
    is_aimed: bool
    votes: tuple[tuple[int, float], ...]


class Seen(NamedTuple):
    """The belief after all votes of a chain, and the log of their probability."""

    belief: ScoreBelief
    evidence: float


class Gain(NamedTuple):
    mean: float
    var: float


class ScoreChain:
    """The beliefs along chains under one assumption about judges and worker."""

    def __init__(self, model: PairModel, worker: WorkerModel, memory: ComparisonMemory) -> None:
        self._model = model
        self._worker = worker
        self._originals: Results[Seen] = memory.results(
            "originals", model
        )  # no worker touched them
        self._seen: Results[Seen] = memory.results("scores", model, worker)

    def seen(self, last: ScoreNode) -> Seen:
        """Of a whole chain, by its last version."""
        new: list[ScoreNode] = []
        node: ScoreNode | None = last
        known: Seen | None = None
        while node is not None and (known := self._known(node)) is None:
            new.append(node)
            node = node.before
        for node in reversed(new):
            known = self._next(known, node)
            of = self._originals if node.before is None else self._seen
            of.keep(node.number, known)
        assert known is not None
        return known

    def _known(self, node: ScoreNode) -> Seen | None:
        of = self._originals if node.before is None else self._seen
        return of[node.number]

    def _next(self, before: Seen | None, node: ScoreNode) -> Seen:
        if before is None:
            belief, evidence = self._model.start(), 0.0
        else:
            belief = self._model.after_edit(before.belief, self._worker, is_aimed=node.is_aimed)
            evidence = before.evidence
        for judge, points in node.votes:
            belief, log_density = self._model.seen(belief, judge, points)
            evidence += log_density
        return Seen(belief, evidence)


def gain_of(belief: ScoreBelief) -> Gain:
    """How much higher the truth of the last version is than that of the original, which is the last
    unknown.
    """
    rows = [
        (
            part.weight,
            part.mean[0] - part.mean[-1],
            part.cov[0] + part.cov[-1] - 2.0 * part.cov[-len(part.mean)],
        )
        for part in belief.parts
    ]
    mean = sum([w * m for w, m, _ in rows])
    return Gain(mean, sum([w * (v + (m - mean) ** 2) for w, m, v in rows]))


class PairModel(ScoreModel, frozen=True, dict=True):
    """How judges are assumed to err, with the truth of the original as one more unknown after those
    of `ScoreModel`.
    """

    faked: float = FAKED

    @cached_property
    def _effects(self) -> dict[tuple[WorkerModel, bool], tuple[EditEffect, ...]]:
        return {}

    @cached_property
    def _first(self) -> ScoreBelief:
        (part,) = super().start().parts
        origin = places_of(len(part.mean)).columns[0](part.cov)
        return belief_of(
            [Component(1.0, [*part.mean, part.mean[0]], [*part.cov, *origin, part.cov[0]])]
        )

    def start(self) -> ScoreBelief:
        return self._first

    def after_edit(
        self, belief: ScoreBelief, worker: WorkerModel, *, is_aimed: bool
    ) -> ScoreBelief:
        """The belief after an edit of such a worker."""
        before = merged_part(belief)
        parts = []
        for change in self._effects_of(worker, is_aimed):
            worn = self._worn(before, change.error_correlation)
            by = change.by * headroom(before.mean[0]) if change.scales_with_headroom else change.by
            mean = [worn.mean[0] + by, worn.mean[1] + change.shared, *worn.mean[2:]]
            cov = list(worn.cov)
            cov[0] += change.sd * change.sd
            cov[SHARED_VAR] += change.shared_sd * change.shared_sd
            parts.append(Component(change.weight, mean, cov))
        return belief_of(parts)

    def _effects_of(self, worker: WorkerModel, is_aimed: bool) -> tuple[EditEffect, ...]:
        """The measured effects of edits, with the part that helps as this worker is assumed to
        help. One that writes everything again works on every item as on those it was given.
        """
        if (worker, is_aimed) not in self._effects:
            weight = worker.fixes if is_aimed else worker.lifts
            if is_aimed or worker.lifts >= WHOLE:
                helped, harmed, faked = AIMED
                others = [harmed, faked._replace(weight=self.faked)]
            else:
                *others, helped = ASIDE
            left = sum(one.weight for one in others)
            rest = [one._replace(weight=one.weight * (1.0 - weight) / left) for one in others]
            self._effects[worker, is_aimed] = (helped._replace(weight=weight), *rest)
        return self._effects[worker, is_aimed]

    @property
    def _error_vars(self) -> list[float | None]:
        return [*super()._error_vars, None]
