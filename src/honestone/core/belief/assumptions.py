"""What may be so of the judges and the worker of a run, and how probable each of it is by the votes.

How noisy the judges are, how much of their error they share, how much of it stays when one is asked
again, and what an edit of this worker does are not known. So every item is believed in several ways
at once, one for each member of a bank of assumptions, and each vote of the run says which of them
saw it coming.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from functools import lru_cache
from itertools import product
from math import exp
from typing import Final, Generic, NamedTuple, TypeVar

from honestone.core.belief.items import BROKEN, CommonReading, EditRates, ItemModel
from honestone.core.belief.scales.scores import ScoreModel

# The parts of a judge's error that the panel is assumed to share. Of yes/no items the larger one is
# that of a common reading.
SHARED: Final = (0.2, 0.5)
# Points that a judge's look is assumed to be off by.
SDS: Final = (6.0, 10.0, 15.0)
QUIET_SD: Final = 0.5
# Rates at which a judge is assumed to misread a yes/no item, each with its weight before the first
# vote. What judges share lets them look better than they are, so the higher rates have more of it.
FLIPS: Final = ((0.05, 0.5), (0.10, 1.0), (0.15, 1.5))
# Judges (mostly programs) that hardly err at all.
QUIET_FLIP: Final = 0.002
# Which part of the rest of its error stays with a judge and an item. Where only the outer two are
# assumed, judges of whom half stays are taken for those of whom most does, and are believed too little.
OWNS: Final = (0.1, 0.5, 0.8)
# Lenient judges take a third of what is unmet for met, again and again.
LENIENT: Final = ItemModel(0.25, 0.1, 0.6, flip_met=0.05)
# How probable judges that hardly err are before the first vote: where any of them is a model or a
# person, and where all of them are programs.
QUIET: Final = 0.15
QUIET_PROGRAMS: Final = 0.4
# How often an edit deceives a program, where it would deceive a model or a person once.
PROGRAMS_DECEIVED: Final = 0.1
# The weight at which a member of a bank is given up. It is below every prior, so that each is heard
# before it goes: with 3e-3, three of five went at the first look, whatever that said, and judges
# who happened to err late were taken for ones that do not err.
FORGOTTEN: Final = 3e-4
# The least weight of one that is never given up.
LEAST_WEIGHT: Final = 1e-6

# How often an edit makes an unmet item that it was given only look met, and how probable each is
# before the first vote: some workers hardly ever do.
FAKES: Final = ((0.02, 0.5), (0.15, 0.5))
# What edits of a worker may do, and how probable that is before the first vote.
_HELPFUL: Final = (
    (EditRates(fixes=0.50, lifts=0.05, breaks=BROKEN), 0.35),
    (EditRates(fixes=0.80, lifts=0.10, breaks=BROKEN), 0.10),
    (EditRates(fixes=0.25, lifts=0.25, breaks=0.06), 0.15),
    (EditRates(fixes=0.60, lifts=0.60, breaks=BROKEN), 0.10),
)
_HARDLY_HELPFUL: Final = (
    (EditRates(fixes=0.02, lifts=0.002, breaks=BROKEN), 0.10),
    (EditRates(fixes=0.02, lifts=0.002, breaks=0.30), 0.05),
    (EditRates(fixes=0.25, lifts=0.03, breaks=0.10), 0.15),
)
EDITS: Final = (
    *((one._replace(faked=faked), p * q) for (one, p), (faked, q) in product(_HELPFUL, FAKES)),
    *_HARDLY_HELPFUL,
)


class WorkerModel(NamedTuple):
    """An assumption about the worker: `fixes` is how often its edit fixes an unmet item that it was
    given, `lifts` how often one that it was not given, `breaks` how often it breaks an item that is
    met, and `prior` how probable that is before the first vote. A worker that writes the whole text
    again fixes what it was not asked for as often as what it was.
    """

    fixes: float
    lifts: float
    breaks: float
    prior: float


WORKERS: Final = (
    WorkerModel(fixes=0.02, lifts=0.002, breaks=BROKEN, prior=0.10),
    WorkerModel(fixes=0.02, lifts=0.002, breaks=0.30, prior=0.05),
    WorkerModel(fixes=0.50, lifts=0.06, breaks=BROKEN, prior=0.30),
    WorkerModel(fixes=0.25, lifts=0.03, breaks=BROKEN, prior=0.20),
    WorkerModel(fixes=0.80, lifts=0.10, breaks=BROKEN, prior=0.10),
    WorkerModel(fixes=0.50, lifts=0.06, breaks=0.30, prior=0.05),
    WorkerModel(fixes=0.40, lifts=0.40, breaks=BROKEN, prior=0.08),
    WorkerModel(fixes=0.80, lifts=0.80, breaks=BROKEN, prior=0.12),
)
# From this share of other items fixed, a worker is taken for one that writes everything again.
WHOLE: Final = 0.4
USUAL_WORKER: Final = WORKERS[2]
# Of anchored items nothing is broken for good, so that workers who differ in `breaks` alone are
# one.
WORKERS_OF_SCORES: Final = tuple(
    WorkerModel(
        fixes,
        lifts,
        BROKEN,
        sum(one.prior for one in WORKERS if (one.fixes, one.lifts) == (fixes, lifts)),
    )
    for fixes, lifts in dict.fromkeys((one.fixes, one.lifts) for one in WORKERS)
)
USUAL_OF_SCORES: Final = next(one for one in WORKERS_OF_SCORES if one.fixes == USUAL_WORKER.fixes)

M = TypeVar("M")


class Bank(Generic[M]):
    """Assumptions and how probable each is, by the votes so far: `priors` before the first. The
    numbers `lasting` are of those that are never given up.
    """

    def __init__(
        self, models: Sequence[M], priors: Sequence[float] = (), lasting: Collection[int] = ()
    ) -> None:
        self.models = models
        self._lasting = lasting
        shares = priors or [1.0] * len(models)
        total = sum(shares)
        self.weights: dict[int, float] = {
            index: share / total for index, share in enumerate(shares)
        }

    def instead_of(self, other: Bank[M], prior: Bank[M]) -> Bank[M]:
        """These assumptions, with what votes taught about `other`, which began as `prior` and has the
        same number of members.
        """
        learned = {index: w / prior.weights[index] for index, w in other.weights.items()}
        raised = {index: factor * self.weights[index] for index, factor in learned.items()}
        total = sum(raised.values())
        return self._with({index: weight / total for index, weight in raised.items()})

    def _with(self, weights: dict[int, float]) -> Bank[M]:
        changed = copy(self)
        changed.weights = weights
        return changed

    def fresh(self) -> Bank[M]:
        return copy(self)

    def learn(self, logs: Mapping[int, float]) -> None:
        """Take in the log of a ballot's probability under each member."""
        top = max(logs.values())
        raised = {index: weight * exp(logs[index] - top) for index, weight in self.weights.items()}
        total = sum(raised.values())
        for index in self._lasting:
            raised[index] = max(raised[index], LEAST_WEIGHT * total)
        likely = {
            index: weight
            for index, weight in raised.items()
            if weight > FORGOTTEN * total or index in self._lasting
        }
        left = sum(likely.values())
        self.weights = {index: weight / left for index, weight in likely.items()}


class ItemAssumption(NamedTuple):
    """How judges misread yes/no items, and what an edit does to them."""

    judges: ItemModel
    edits: EditRates


@lru_cache(maxsize=64)
def score_models(panel: int, held_out: int) -> tuple[ScoreModel, ...]:
    quiet = ScoreModel(QUIET_SD, SHARED[0], panel, held_out)
    return quiet, *(ScoreModel(sd, rho, panel, held_out) for sd, rho in product(SDS, SHARED))


@lru_cache(maxsize=2)
def item_bank(*, are_programs: bool) -> Bank[ItemAssumption]:
    """The assumptions about yes/no items, before the first vote."""
    quiet = QUIET_PROGRAMS if are_programs else QUIET
    deceived = PROGRAMS_DECEIVED if are_programs else 1.0
    little, much = SHARED
    noisy = [(LENIENT, 1.0)]
    for (flip, weight), own in product(FLIPS, OWNS):
        noisy += [(ItemModel(flip, little, own), weight), (CommonReading(flip, much, own), weight)]
    total = sum(weight for _, weight in noisy)
    judges = [(ItemModel(QUIET_FLIP, little), quiet)]
    judges += [(one, (1.0 - quiet) * weight / total) for one, weight in noisy]
    rows = [
        (ItemAssumption(model, edits._replace(faked=deceived * edits.faked)), prior * share)
        for (model, prior), (edits, share) in product(judges, EDITS)
    ]
    return Bank([one for one, _ in rows], [prior for _, prior in rows])
