"""Assumptions about the worker: how often its edits fix, lift and break an item."""

from __future__ import annotations

from typing import Final, NamedTuple

from honestone.core.belief.items import BROKEN


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
