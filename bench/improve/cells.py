"""The cells of the leaderboard: which worlds, and which policies in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from driver import OBSERVERS, ORACLE, Settings
from msgspec.structs import replace
from worlds import World

PANEL: Final = "the panel's word"
"""The plain loop of other tools: three judges, one look, every change kept, and what the panel says
is believed.
"""
FEWER_CALLS: Final = "belief, 20 calls"

SCORE: Final = World(name="scores")
CHECKLIST: Final = World(name="checklist", mode="checklist")
SCORE_SHARED: Final = replace(SCORE, name="scores, shared errors", rho=0.5)
CHECKLIST_SHARED: Final = replace(CHECKLIST, name="checklist, shared errors", rho=0.5)
HEADLINE: Final = (SCORE, SCORE_SHARED, CHECKLIST, CHECKLIST_SHARED)

OTHERS: Final = (
    replace(SCORE_SHARED, name="scores: judges 5 points too kind", lenient=5),
    replace(SCORE_SHARED, name="scores: 25% of edits cosmetic", p_game=0.25),
    replace(SCORE_SHARED, name="scores: 10% accidents", p_cata=0.1),
    replace(SCORE_SHARED, name="scores: errors of 15 points", sd=15),
    replace(SCORE_SHARED, name="scores: weak worker", p_help=0.45, p_harm=0.25, p_coll=0.25),
    replace(SCORE_SHARED, name="scores: two criteria trade off", trade_off=0.5),
    replace(SCORE, name="scores: 20% of calls fail", judge_fails=0.2),
    replace(CHECKLIST_SHARED, name="checklist: 25% of edits cosmetic", p_game=0.25),
    replace(CHECKLIST_SHARED, name="checklist: 10% accidents", p_cata=0.1),
    replace(CHECKLIST_SHARED, name="checklist: 20% misread", flip=0.2),
    replace(CHECKLIST_SHARED, name="checklist: read too kindly", flip_no=0.025),
    replace(CHECKLIST, name="checklist: two criteria trade off", trade_off=0.5),
    replace(CHECKLIST, name="checklist: 20% of calls fail", judge_fails=0.2),
)
"""Worlds that no policy was tuned on."""

EXACT: Final = (
    replace(SCORE, name="scores without errors", sd=0, p_game=0),
    replace(CHECKLIST, name="checklist without errors", flip=0, p_game=0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One cell: `label` is the policy's name in the tables. `share` of the runs that the headline
    cells get.
    """

    label: str
    world: World
    settings: Settings
    share: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        return self.label, self.world.name


def jobs(policies: tuple[str, ...]) -> Iterator[Job]:
    """Every cell. `policies`: those of the product."""
    careful = [name for name in ("keep-best", "belief") if name in policies]
    for world in HEADLINE:
        word = Settings(policy="plain", rounds=5, patience=99)
        yield Job(label=PANEL, world=replace(world, holdout=0), settings=word)
        for name in (*policies, *OBSERVERS):
            yield Job(label=name, world=world, settings=Settings(policy=name))
        if "belief" in policies:
            yield Job(
                label=FEWER_CALLS,
                world=world,
                settings=Settings(policy="belief", max_calls=20),
                share=0.5,
            )
    for world in (*OTHERS, *EXACT):
        for name in (*careful, *((ORACLE,) if world in EXACT else ())):
            yield Job(label=name, world=world, settings=Settings(policy=name), share=0.25)
