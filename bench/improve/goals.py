"""What `belief` has to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from cells import FEWER_CALLS, HEADLINE
from figures import Figure, Measured, Record, mean

MOST_JUDGE_CALLS: Final = 30
MOST_WORKER_CALLS: Final = 16
MEAN_JUDGE_CALLS: Final = 24.0
OVERSTATED: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A bar that a figure must reach, or (`is_most`) must not exceed."""

    what: str
    bar: float
    figure: Figure
    is_most: bool = False

    @property
    def outcome(self) -> str:
        """Missed means by more than two standard errors."""
        if self.figure.value is None:
            return "not measured"
        short = self.figure.value - self.bar if self.is_most else self.bar - self.figure.value
        if short <= 0:
            return "met"
        return "within the error" if short <= 2 * (self.figure.se or 0.0) else "missed"


_HEADLINE: Final[Mapping[str, tuple[float, float, float, float]]] = dict(
    zip(
        [world.name for world in HEADLINE],
        [
            (8.0, 62.0, 74.0, 14.0),
            (11.0, 64.0, 74.0, 13.0),
            (2.0, 82.0, 82.0, 4.0),
            (3.5, 84.0, 82.0, 4.0),
        ],
        strict=True,
    )
)
"""By world: PASSes that are false, true PASSes, quality, regressed runs."""

_OTHERS: Final[Mapping[str, float]] = {
    "checklist: 25% of edits cosmetic": 60,
    "checklist: 20% misread": 15,
    "checklist: 10% accidents": 68,
    "scores: 10% accidents": 32,
    "scores: errors of 15 points": 5,
    "scores: 25% of edits cosmetic": 3,
    "checklist: 20% of calls fail": 50,
    "checklist: two criteria trade off": 40,
}
"""By world: U3."""


def goals(found: Record) -> Iterator[Goal]:
    """Those whose cells were measured."""
    belief = {world: one for (label, world), one in found.items() if label == "belief"}
    for world, bars in _HEADLINE.items():
        if world in belief:
            yield from _of_world(world, belief[world], bars)
    for label, bar in (("belief", 64.0), ("strict", 43.0), (FEWER_CALLS, 38.0)):
        cells = [found[label, world] for world in _HEADLINE if (label, world) in found]
        if len(cells) == len(_HEADLINE):
            yield Goal(what=f"{label}: mean U3", bar=bar, figure=mean([one.u3 for one in cells]))
            if label == "belief":
                lowest = min((one.u3 for one in cells), key=lambda one: one.value or 0.0)
                yield Goal(what="belief: lowest U3", bar=45, figure=lowest)
    for world, bar in _OTHERS.items():
        if world in belief:
            yield Goal(what=f"{world}: U3", bar=bar, figure=belief[world].u3)
    kind, weak = belief.get("scores: judges 5 points too kind"), belief.get("scores: weak worker")
    if kind is not None:
        yield Goal(
            what="scores: judges 5 points too kind: PASSes false",
            bar=33,
            figure=kind.false_share,
            is_most=True,
        )
    if weak is not None:
        yield Goal(what="scores: weak worker: quality", bar=67, figure=weak.figures.final)
        yield Goal(
            what="scores: weak worker: regressed",
            bar=40,
            figure=weak.figures.regressed,
            is_most=True,
        )


def _of_world(world: str, one: Measured, bars: tuple[float, float, float, float]) -> Iterator[Goal]:
    false, true, quality, regressed = bars
    figures, share = one.figures, one.false_share
    yield Goal(what=f"{world}: PASSes false", bar=false, figure=share, is_most=True)
    yield Goal(what=f"{world}: true PASSes", bar=true, figure=figures.true_pass)
    yield Goal(what=f"{world}: quality", bar=quality, figure=figures.final)
    yield Goal(what=f"{world}: regressed", bar=regressed, figure=figures.regressed, is_most=True)
    yield Goal(
        what=f"{world}: judge calls", bar=MEAN_JUDGE_CALLS, figure=figures.judge_calls, is_most=True
    )
    for what, most, count in (
        ("judge calls of any run", MOST_JUDGE_CALLS, figures.judge_calls_max),
        ("worker calls of any run", MOST_WORKER_CALLS, figures.worker_calls_max),
    ):
        yield Goal(what=f"{world}: {what}", bar=most, figure=Figure(count, None), is_most=True)
    if figures.stated.value is not None and share.value is not None:
        over = Figure(100 * figures.stated.value - (100 - share.value), share.se)
        yield Goal(
            what=f"{world}: stated above what is so", bar=OVERSTATED, figure=over, is_most=True
        )
