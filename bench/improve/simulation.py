"""One simulated run: versions whose quality is known, judges that misread them, and a worker that
edits them.

Everything that is random has a generator of its own, made from the seed, the run and what it is
for: the n-th look of a judge at a version, the n-th edit. So what a judge says does not depend on
who was asked before, and all policies start from the same artifact.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import Final
from zlib import crc32

import msgspec
from msgspec.structs import replace
from worlds import World

from honestone.core.judging.ballot import Ballot, JudgeState, Mark
from honestone.core.judging.rubric import Key, Rubric

YES: Final = Mark(True)
NO: Final = Mark(False)
POINTS: Final = tuple(Mark(tenth / 10) for tenth in range(1001))
"""A judge answers with one decimal. True qualities have one too, so that a judge without error is
always right.
"""

HARM_TO_FOCUS: Final = (2.0, 10.0)
LIFT_BY_CHANCE: Final = (2.0, 6.0)
COSMETIC_LOSS: Final = (0.0, 3.0)
COSMETIC_GAIN: Final = (8.0, 20.0)
MOST_COSMETIC: Final = 30.0
ACCIDENT: Final = (8.0, 30.0)
BROKEN_BY_ACCIDENT: Final = 0.35
FIXED_UNASKED: Final = 0.10
FULL_ROOM: Final = 40.0
"""So many points below 100, an edit has its whole effect."""
_SLACK: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Quality:
    """The truth about one version. Lists are by item, in the order of the rubric.

    `true`: points, or 1 and 0 for met and unmet. `cosmetic`: the points that the panel sees too
    many, or 1 for an item that only looks met. `shared` and `own` (by judge) are the errors that
    stay with the version, as standard normal values.
    """

    true: list[float]
    cosmetic: list[float]
    shared: list[float]
    own: list[list[float]]


class Simulation:
    """The versions of one run, numbered from 0, the original. `is_truthful`: judges make no errors."""

    def __init__(
        self, world: World, rubric: Rubric, *, seed: int, run: int, is_truthful: bool = False
    ) -> None:
        self.world = world
        self._is_truthful = is_truthful
        self.keys: tuple[Key, ...] = tuple(key for key, _ in rubric.questions())
        self.criteria = tuple(criterion.id for criterion in rubric.criteria)
        self._seed = (((seed << 32) + stream_of(world) << 32) + run) << 64
        self._per = world.M if world.is_checklist else 1
        judges = (*world.panel_judges, *world.heldout_judges)
        self._judges: Mapping[str, int] = {judge: place for place, judge in enumerate(judges)}
        self._loads = _loads(world)
        self._misread = (
            _threshold(world.flip),
            _threshold(world.flip if world.flip_no is None else world.flip_no),
        )
        self.versions = [self._start()]

    # -- the truth

    def scores(self, version: int) -> list[float]:
        """The true points of each criterion."""
        true, per = self.versions[version].true, self._per
        if not self.world.is_checklist:
            return true
        return [sum(true[at : at + per]) * 100 / per for at in range(0, len(true), per)]

    def overall(self, version: int) -> float:
        scores = self.scores(version)
        return sum(scores) / len(scores)

    def meets_contract(self, version: int) -> bool:
        scores = self.scores(version)
        least = sum(scores) >= len(scores) * (self.world.T - _SLACK)
        return least and min(scores) >= self.world.floor - _SLACK

    def lacking(self, version: int) -> float:
        """The points that its criteria lack together of the floors and, all in all, of the threshold."""
        scores = self.scores(version)
        below = sum(max(0.0, self.world.floor - score) for score in scores)
        return below + max(0.0, self.world.T * len(scores) - sum(scores))

    def regressed(self, version: int) -> bool:
        """Whether a criterion that met its floor in the original no longer does."""
        floor = self.world.floor - _SLACK
        return any(
            was >= floor > now
            for was, now in zip(self.scores(0), self.scores(version), strict=True)
        )

    # -- judges

    def ballot(self, judge: str, version: int, look: int = 0) -> Ballot:
        """What a judge says; `look` counts from 0, each draws errors of its own."""
        place = self._judges[judge]
        if self._is_truthful:
            true = self.versions[version].true
            marks = (
                [YES if one else NO for one in true]
                if self.world.is_checklist
                else list(map(_points, true))
            )
            return Ballot(judge=judge, marks=dict(zip(self.keys, marks, strict=True)))
        random = self._random(1, version, place, look)
        if self.world.judge_fails and random.random() < self.world.judge_fails:
            return Ballot(
                judge=judge,
                marks={},
                state=JudgeState.DEGRADED,
                reason="simulated: no reply",
                kind="model",
            )
        marks = self._readings(random, self.versions[version], place)
        return Ballot(judge=judge, marks=dict(zip(self.keys, marks, strict=True)), kind="model")

    def _readings(self, random: Random, quality: Quality, place: int) -> list[Mark]:
        world, gauss = self.world, random.gauss
        is_held_out = place >= world.panel
        shared, own, fresh = self._loads[is_held_out]
        errors = [
            shared * common + own * mine + fresh * gauss(0.0, 1.0)
            for common, mine in zip(quality.shared, quality.own[place], strict=True)
        ]
        if not world.is_checklist:
            leak = world.game_leak if is_held_out else 1.0
            return [
                _points(true + world.lenient + leak * cosmetic + world.sd * error)
                for true, cosmetic, error in zip(
                    quality.true, quality.cosmetic, errors, strict=True
                )
            ]
        unmet, met = self._misread
        marks = []
        for true, cosmetic, error in zip(quality.true, quality.cosmetic, errors, strict=True):
            looks_met = true or (
                cosmetic and (not is_held_out or random.random() < world.game_leak)
            )
            is_misread = error < (met if looks_met else unmet)
            marks.append(YES if bool(looks_met) != is_misread else NO)
        return marks

    # -- the worker

    def edit(self, base: int, focus: Collection[str], listed: Collection[Key]) -> int:
        """A new version: an edit of `base` for these criteria. `listed` are the unmet items that
        the worker was shown.
        """
        random = self._random(2, len(self.versions), 0, 0)
        targets = {self.criteria.index(name) for name in focus}
        before = self.versions[base]
        if self.world.is_checklist:
            true, cosmetic, touched = self._fixed(random, before, targets, listed)
        else:
            true, cosmetic, touched = self._moved(random, before, targets)
        self.versions.append(self._redrawn(random, before, true, cosmetic, touched))
        return len(self.versions) - 1

    def _moved(
        self, random: Random, before: Quality, targets: set[int]
    ) -> tuple[list[float], list[float], list[int]]:
        world, chance, between = self.world, random.random, random.uniform
        is_wide = len(targets) > 1
        effect = world.dilute if is_wide else 1.0
        p_coll = world.p_coll * (world.coll_mult_all if is_wide else 1.0)
        cosmetic, changes = list(before.cosmetic), []
        for place, quality in enumerate(before.true):
            change = 0.0
            if place in targets:
                change = self._effect(random, quality) if (u := chance()) < world.p_help else 0.0
                change *= effect
                if u > 1 - world.p_harm:
                    change = -between(*HARM_TO_FOCUS)
                if chance() < world.p_game:
                    change = -between(*COSMETIC_LOSS)
                    cosmetic[place] = min(
                        cosmetic[place] + between(*COSMETIC_GAIN) * effect, MOST_COSMETIC
                    )
            if place not in targets or is_wide:
                u = chance()
                if u < p_coll:
                    change -= between(*world.coll)
                elif u > 1 - world.p_coll_help:
                    change += between(*LIFT_BY_CHANCE)
            changes.append(change)
        if chance() < world.p_cata:
            changes = [-between(*ACCIDENT) for _ in changes]
        self._trade(changes)
        true = [
            _tenths(quality + change) for quality, change in zip(before.true, changes, strict=True)
        ]
        touched = [place for place, change in enumerate(changes) if change or place in targets]
        return true, cosmetic, touched

    def _effect(self, random: Random, quality: float) -> float:
        room = min(max((100 - quality) / FULL_ROOM, 0.0), 1.0)
        return abs(random.gauss(self.world.gain, self.world.gain_sd)) * room

    def _trade(self, changes: list[float]) -> None:
        """A gain on one of the first two criteria costs the other."""
        if self.world.trade_off and len(changes) > 1:
            first, second = max(changes[0], 0.0), max(changes[1], 0.0)
            changes[0] -= self.world.trade_off * second
            changes[1] -= self.world.trade_off * first

    def _fixed(
        self, random: Random, before: Quality, targets: set[int], listed: Collection[Key]
    ) -> tuple[list[float], list[float], list[int]]:
        world, chance = self.world, random.random
        is_wide = len(targets) > 1
        effect = world.dilute if is_wide else 1.0
        is_accident = chance() < world.p_cata
        p_break = (
            BROKEN_BY_ACCIDENT
            if is_accident
            else world.p_break * (world.coll_mult_all if is_wide else 1.0)
        )
        true, cosmetic = list(before.true), list(before.cosmetic)
        touched, fixed = set[int](), list[int]()
        for place, key in enumerate(self.keys):
            is_target, is_listed = place // self._per in targets, key in listed
            if is_target and is_listed:
                touched.add(place)
            if true[place]:
                if chance() < p_break:
                    true[place] = 0.0
                    touched.add(place)
            elif is_target:
                u = chance()
                if u < (world.p_fix if is_listed else FIXED_UNASKED) * effect:
                    if not is_accident:
                        fixed.append(place)
                elif is_listed and u > 1 - world.p_game * effect:
                    cosmetic[place] = 1.0
        for place in fixed:
            true[place], cosmetic[place] = 1.0, 0.0
            touched.add(place)
        touched.update(self._broken_by(random, fixed, true))
        return true, cosmetic, sorted(touched)

    def _broken_by(self, random: Random, fixed: list[int], true: list[float]) -> list[int]:
        """The items of one of the first two criteria that break because items of the other were
        fixed.
        """
        broken: list[int] = []
        for place in fixed if self.world.trade_off else ():
            other = 1 - place // self._per
            if (
                other not in (0, 1)
                or other >= len(self.criteria)
                or random.random() >= self.world.trade_off
            ):
                continue
            met = [
                at
                for at in range(other * self._per, (other + 1) * self._per)
                if true[at] and at not in fixed
            ]
            if met:
                broken.append(random.choice(met))
                true[broken[-1]] = 0.0
        return broken

    # -- versions

    def _start(self) -> Quality:
        world, random = self.world, self._random(0, 0, 0, 0)
        count = len(self.keys)
        if world.is_checklist:
            true = [float(random.random() < world.start_met) for _ in range(count)]
        else:
            true = [
                round(min(max(random.gauss(world.start_mu, world.start_sd), 5.0), 97.0), 1)
                for _ in range(count)
            ]
        errors = [
            [random.gauss(0.0, 1.0) for _ in range(count)] for _ in range(1 + len(self._judges))
        ]
        return Quality(true, [0.0] * count, errors[0], errors[1:])

    def _redrawn(
        self,
        random: Random,
        before: Quality,
        true: list[float],
        cosmetic: list[float],
        touched: list[int],
    ) -> Quality:
        """The errors of what was touched are drawn again, correlated with the old ones."""
        keep, new = self.world.keep_err, sqrt(1 - self.world.keep_err**2)
        errors = [list(before.shared), *map(list, before.own)]
        for one in errors:
            for place in touched:
                one[place] = keep * one[place] + new * random.gauss(0.0, 1.0)
        return Quality(true, cosmetic, errors[0], errors[1:])

    def _random(self, purpose: int, version: int, judge: int, look: int) -> Random:
        return Random(self._seed + (purpose << 48) + (version << 24) + (judge << 12) + look)


@cache
def stream_of(world: World) -> int:
    """So that two worlds are independent at one seed. The name and who judges do not matter: all
    start from the same.
    """
    nameless = replace(world, name="", panel=1, holdout=0)
    return crc32(msgspec.json.encode(nameless))


def _loads(world: World) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """What shared, own and fresh errors count, for the panel and for held-out judges. Squares add
    up to 1.
    """
    rho_h = world.rho / 2 if world.rho_h is None else world.rho_h
    panel = sqrt(world.rho)
    held_out = min(1.0, rho_h / panel) if panel else 0.0

    def of(shared: float) -> tuple[float, float, float]:
        rest = 1 - shared * shared
        return shared, sqrt(rest * world.tau), sqrt(rest * (1 - world.tau))

    return of(panel), of(held_out)


def _threshold(flip: float) -> float:
    """An item is misread when its error, a standard normal value, is below this."""
    if not 0 < flip < 1:
        return float("inf") if flip else float("-inf")
    return NormalDist().inv_cdf(flip)


def _tenths(points: float) -> float:
    return round(min(max(points, 0.0), 100.0), 1)


def _points(reading: float) -> Mark:
    return POINTS[round(min(max(reading, 0.0), 100.0) * 10)]
