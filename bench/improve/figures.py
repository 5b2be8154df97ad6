"""The figures of one cell, as the document `honestone.improve-bench/1`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Final, TypeAlias

import msgspec
from cells import PANEL
from driver import Outcome
from worlds import World

from honestone.core.loop.state import Result

SCHEMA: Final = "honestone.improve-bench/1"
PRICE_OF_A_FALSE_PASS: Final = 3.0


class Figure(msgspec.Struct, frozen=True):
    """A mean and its standard error. None: not defined, of no runs or (the error) of one."""

    value: float | None
    se: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        if not values:
            return cls(None, None)
        return cls(fmean(values), stdev(values) / sqrt(len(values)) if len(values) > 1 else None)

    @classmethod
    def share(cls, facts: Iterable[bool]) -> Figure:
        """How many percent of the facts hold."""
        return cls.of([100.0 * fact for fact in facts])


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are percent of all runs, `false_share` percent of those that ended PASSED, `final`
    points, `stated` 0-1.

    `panel_true_pass` and `panel_false_pass`: no judge was held out, and the panel said pass. `u3`:
    true PASS minus three times false PASS, of 100 runs.
    """

    schema: str = SCHEMA
    world: World
    policy: str
    runs: int
    seed: int
    true_pass: Figure
    false_pass: Figure
    false_share: Figure
    u3: Figure
    panel_true_pass: Figure
    panel_false_pass: Figure
    final: Figure
    regressed: Figure
    judge_calls: Figure
    judge_calls_max: int
    holdout_calls: Figure
    worker_calls: Figure
    worker_calls_max: int
    rounds_max: int
    stated: Figure
    results: dict[str, int]
    seconds: float


def figures_of(
    outcomes: Sequence[Outcome], *, world: World, policy: str, seed: int, seconds: float
) -> Figures:
    """`outcomes`: at least one."""
    passed = [one for one in outcomes if one.result is Result.PASSED]
    utilities = [_utility(one) for one in outcomes]
    return Figures(
        world=world,
        policy=policy,
        runs=len(outcomes),
        seed=seed,
        true_pass=Figure.share(value > 0 for value in utilities),
        false_pass=Figure.share(value < 0 for value in utilities),
        false_share=Figure.share(not one.is_good for one in passed),
        u3=Figure.of(utilities),
        panel_true_pass=Figure.share(_panel_passed(one, world) and one.is_good for one in outcomes),
        panel_false_pass=Figure.share(
            _panel_passed(one, world) and not one.is_good for one in outcomes
        ),
        final=Figure.of([one.final for one in outcomes]),
        regressed=Figure.share(one.regressed for one in outcomes),
        judge_calls=Figure.of([one.judge_calls for one in outcomes]),
        judge_calls_max=max(one.judge_calls for one in outcomes),
        holdout_calls=Figure.of([one.holdout_calls for one in outcomes]),
        worker_calls=Figure.of([one.worker_calls for one in outcomes]),
        worker_calls_max=max(one.worker_calls for one in outcomes),
        rounds_max=max(one.rounds for one in outcomes),
        stated=Figure.of([one.stated for one in passed if one.stated is not None]),
        results=dict(sorted(Counter(str(one.result) for one in outcomes).items())),
        seconds=seconds,
    )


def _utility(one: Outcome) -> float:
    if one.result is not Result.PASSED:
        return 0.0
    return 100.0 if one.is_good else -100.0 * PRICE_OF_A_FALSE_PASS


def _panel_passed(one: Outcome, world: World) -> bool:
    return not world.holdout and one.result is Result.UNCONFIRMED


# -- the leaderboard


class Measured(msgspec.Struct, frozen=True):
    """One cell of the leaderboard. Where the panel's word is believed, its PASSes are what the
    panel said.
    """

    label: str
    figures: Figures

    @property
    def true_pass(self) -> Figure:
        return self.figures.panel_true_pass if self.label == PANEL else self.figures.true_pass

    @property
    def false_pass(self) -> Figure:
        return self.figures.panel_false_pass if self.label == PANEL else self.figures.false_pass

    @property
    def false_share(self) -> Figure:
        """Percent of the PASSes."""
        if self.label != PANEL:
            return self.figures.false_share
        true, false = self._shares
        if not true + false:
            return Figure(None, None)
        share, count = false / (true + false), (true + false) * self.figures.runs
        return Figure(
            100 * share, 100 * sqrt(share * (1 - share) / (count - 1)) if count > 1.5 else None
        )

    @property
    def u3(self) -> Figure:
        if self.label != PANEL:
            return self.figures.u3
        (true, false), runs = self._shares, self.figures.runs
        value = true - PRICE_OF_A_FALSE_PASS * false
        variance = true + PRICE_OF_A_FALSE_PASS**2 * false - value**2
        return Figure(100 * value, 100 * sqrt(variance / (runs - 1)) if runs > 1 else None)

    @property
    def _shares(self) -> tuple[float, float]:
        return (self.true_pass.value or 0.0) / 100, (self.false_pass.value or 0.0) / 100


Record: TypeAlias = Mapping[tuple[str, str], Measured]
"""By label and name of the world."""


def mean(cells: Sequence[Figure]) -> Figure:
    """Of independent cells, at least one."""
    errors = [one.se or 0.0 for one in cells]
    return Figure(
        fmean(one.value or 0.0 for one in cells), sqrt(sum(e * e for e in errors)) / len(cells)
    )
