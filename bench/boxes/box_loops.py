"""Whole runs of `improve` by belief, in worlds where the truth is known: how often a PASS is so.

A text has yes/no items, a worker edits it, judges misread it. Drives the product's own `decide`, as
`bench/improve` does. No world is one of the assumptions of `core/belief/assumptions.py`: how often
edits fix, break and fake is drawn for each run, and how often a held-out judge is deceived, too.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from box_worlds import WORLDS, World
from driver import MAX_CALLS, Drive, version_name

from honestone.core.events import ImprovementStarted, StartedArtifact
from honestone.core.judging.ballot import Ballot, JudgeKind, Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.named import policy_named
from honestone.core.loop.state import LoopLimits

PANEL = ("p0", "p1", "p2")
HELD_OUT = ("h0", "h1")
LIMITS = LoopLimits(calls=MAX_CALLS, minutes=60, rounds=16, patience=16)
# An item is not misread more often than this, however hard it is to read.
MOST_MISREAD = 0.45


@dataclass(frozen=True)
class LoopWorld:
    """How judges misread (`of`), what they are, and the range of how often an edit makes an unmet
    item that it was given only look met.
    """

    name: str
    of: World
    fakes: tuple[float, float] = (0.0, 0.0)
    kind: JudgeKind = "model"


@dataclass(frozen=True)
class ItemState:
    """`edit`: the number of the edit that last touched it; its errors are drawn again by that."""

    is_met: bool
    is_faked: bool = False
    edit: int = 0


class SimulatedText:
    """The versions of one run: what is true of them, what judges answer, and what edits do."""

    def __init__(self, world: LoopWorld, seed: int) -> None:
        draw = random.Random(f"loop {world.name} {seed}")
        self._world, self._seed = world, seed
        self.count = draw.randint(6, 10)
        self.least = draw.choice((self.count, self.count, self.count - 1))
        self._fixes, self._breaks = draw.uniform(0.3, 0.8), draw.uniform(0.0, 0.06)
        self._fakes = draw.uniform(*world.fakes)
        self._deceived = draw.uniform(0.2, 0.5)
        judges = (*PANEL, *HELD_OUT)
        self._rates = {judge: draw.uniform(*world.of.rates) for judge in judges}
        self._stays = {judge: draw.uniform(*world.of.stays) for judge in judges}
        self._hard = [draw.uniform(0.5, 1.5) for _ in range(self.count)]
        self._versions = [tuple(ItemState(draw.random() < 0.4) for _ in range(self.count))]
        self.keys: list[Key] = [(f"i{number}", f"i{number}") for number in range(self.count)]

    # -- the truth

    def met(self, version: int) -> int:
        return sum(item.is_met for item in self._versions[version])

    def meets_contract(self, version: int) -> bool:
        return self.met(version) >= self.least

    def overall(self, version: int) -> float:
        return 100.0 * self.met(version) / self.count

    def regressed(self, version: int) -> bool:
        return self.met(version) < self.met(0)

    # -- judges

    def ballot(self, judge: str, version: int, look: int = 0) -> Ballot:
        answers = [
            self._answer(judge, place, item, look)
            for place, item in enumerate(self._versions[version])
        ]
        marks = {key: Mark(answer) for key, answer in zip(self.keys, answers, strict=True)}
        return Ballot(judge=judge, marks=marks, kind=self._world.kind)

    def _answer(self, judge: str, place: int, item: ItemState, look: int) -> bool:
        of, held_out = self._world.of, judge in HELD_OUT
        seen = item.is_met or (item.is_faked and not held_out)
        if item.is_faked and held_out:
            seen = self._draw("deceived", judge, place, item.edit) < self._deceived
        rate = self._rates[judge] * self._hard[place] * (1.0 if seen else of.lenient)
        source = self._draw("source", judge, place, item.edit)
        if source < of.shared:
            drawn = self._draw("all", place, item.edit)
        elif source < of.shared + (1.0 - of.shared) * self._stays[judge]:
            drawn = self._draw("own", judge, place, item.edit)
        else:
            drawn = self._draw("look", judge, place, item.edit, look)
        return seen != (drawn < min(rate, MOST_MISREAD))

    def _draw(self, *of: object) -> float:
        return random.Random(f"{self._world.name} {self._seed} {of}").random()

    # -- the worker

    def edit(self, base: int, focus: Collection[str], listed: Collection[Key]) -> int:
        number = len(self._versions)
        items = zip(self.keys, self._versions[base], strict=True)
        edited = [self._edited(item, number, key, key in listed) for key, item in items]
        self._versions.append(tuple(edited))
        return number

    def _edited(self, item: ItemState, number: int, key: Key, is_listed: bool) -> ItemState:
        drawn = self._draw("edit", number, key)
        if item.is_met:
            if drawn < self._breaks:
                return ItemState(False, edit=number)
            return ItemState(True, edit=number) if is_listed else item
        if not is_listed:
            return item
        if drawn < self._fixes:
            return ItemState(True, edit=number)
        is_faked = item.is_faked or drawn > 1.0 - self._fakes
        return ItemState(False, is_faked, edit=number)


def loop_rubric(text: SimulatedText) -> Rubric:
    criteria = tuple(
        Criterion(id=id, requirement=id, items=(Item(id=id, requirement=id, whole=True),))
        for id, _ in text.keys
    )
    least = Fraction(text.least, text.count)
    return Rubric(criteria=criteria, threshold=least, floor=Fraction(0))


def driven(world: LoopWorld, seed: int) -> Drive:
    """One run to its end."""
    text, policy = SimulatedText(world, seed), policy_named("belief")
    rubric = loop_rubric(text)
    started = ImprovementStarted(
        contract={},
        contract_id="",
        rubric=rubric,
        panel=PANEL,
        holdouts=HELD_OUT,
        artifact=StartedArtifact(path="text.md", digest=version_name(0)),
        policy=policy.name,
        worker="simulated",
        limits=LIMITS.to_plain(),
    )
    drive = Drive(policy.start(started, Scorer(rubric)), text, MAX_CALLS)
    drive.to_the_end(policy)
    return drive


_BY_NAME = {world.name: world for world in WORLDS}
LOOP_WORLDS = (
    *[LoopWorld(f"improve: {name}", world) for name, world in _BY_NAME.items()],
    LoopWorld("improve: edits that fake", _BY_NAME["new at each look, few"], fakes=(0.05, 0.25)),
    LoopWorld("improve: programs", _BY_NAME["new at each look, many"], kind="program"),
)
