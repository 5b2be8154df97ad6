"""Worlds: what a simulated artifact, its judges and its worker are like. A world file is one JSON
object of these parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric
from honestone.core.numbers import exact

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Points = Annotated[float, msgspec.Meta(ge=0, le=100)]
Spread = Annotated[float, msgspec.Meta(ge=0, le=1000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=100)]


class World(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One world, with its defaults.

    `mode`: criteria are marked 0-100 (`score`), or are `M` yes/no items each (`checklist`). `C`
    criteria, threshold `T` and `floor` in points. A start has criteria around `start_mu` (sd
    `start_sd`), or that share `start_met` of items met.

    Judges: `sd` points of error per criterion, or a `flip` of an item (`flip_no`: of one that is
    met). The share `rho` of the error's variance is common to the panel (with held-out judges it
    correlates by `rho_h`, by default half of `rho`), `tau` of the rest stays with a judge and a
    version, what is left is new at every look. An edit draws the errors of what it touches again,
    with correlation `keep_err`. `lenient`: points that every judge adds. `judge_fails`: the share
    of calls that give no marks.

    Worker, scores: the criterion in focus gains about `gain` points (sd `gain_sd`, less where there
    is little room) with `p_help` and loses 2-10 with `p_harm`; another one loses within `coll` with
    `p_coll` and gains 2-6 with `p_coll_help`. Worker, checklists: an item of the brief that is
    unmet is met afterwards with `p_fix`, one that is met breaks with `p_break`. Both: with `p_game`
    the edit is cosmetic: the panel likes it, a held-out judge `game_leak` of it; with `p_cata` the
    whole artifact is damaged. Several criteria in one edit: gains times `dilute`, harm to others
    times `coll_mult_all`. `trade_off`: what either of the first two criteria gains costs the other
    that many times as much; in a checklist each item fixed in one breaks a met item of the other
    with that probability.
    """

    name: str = ""
    mode: Literal["score", "checklist"] = "score"
    C: Count = 5
    M: Count = 6
    T: Points = 70.0
    floor: Points = 60.0
    start_mu: Points = 62.0
    start_sd: Spread = 9.0
    start_met: Share = 0.56
    panel: Count = 3
    holdout: Annotated[int, msgspec.Meta(ge=0, le=100)] = 2
    sd: Spread = 10.0
    flip: Share = 0.10
    flip_no: Share | None = None
    rho: Share = 0.0
    tau: Share = 0.5
    rho_h: Share | None = None
    lenient: Annotated[float, msgspec.Meta(ge=-100, le=100)] = 0.0
    keep_err: Share = 0.6
    judge_fails: Share = 0.0
    p_help: Share = 0.65
    p_harm: Share = 0.12
    gain: Spread = 18.0
    gain_sd: Spread = 6.0
    p_coll: Share = 0.15
    coll: tuple[Points, Points] = (3.0, 12.0)
    p_coll_help: Share = 0.05
    p_game: Share = 0.08
    game_leak: Share = 0.3
    p_cata: Share = 0.03
    p_fix: Share = 0.60
    p_break: Share = 0.03
    dilute: Share = 0.5
    coll_mult_all: Spread = 2.0
    trade_off: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.0

    @property
    def is_checklist(self) -> bool:
        return self.mode == "checklist"

    @property
    def panel_judges(self) -> tuple[str, ...]:
        return tuple(f"panel-{number}" for number in range(1, self.panel + 1))

    @property
    def heldout_judges(self) -> tuple[str, ...]:
        return tuple(f"held-out-{number}" for number in range(1, self.holdout + 1))

    def rubric(self) -> Rubric:
        """The product's rubric of this world. Its items, in order, are the places of a simulated
        version.
        """
        return Rubric(
            criteria=tuple(self._criteria()),
            title=self.name,
            threshold=exact(self.T) / 100,
            floor=exact(self.floor) / 100,
        )

    def _criteria(self) -> Iterator[Criterion]:
        for number in range(1, self.C + 1):
            name = f"criterion-{number}"
            items = [
                Item(id=f"item-{place}", requirement=f"Item {place} of criterion {number} is met")
                for place in range(1, self.M + 1)
            ]
            if not self.is_checklist:
                items = [
                    Item(id=name, requirement=f"Criterion {number}", anchors=SCALE, whole=True)
                ]
            yield Criterion(id=name, requirement=f"Criterion {number}", items=tuple(items))


SCALE = Anchors(levels=((Fraction(0), "none of it"), (Fraction(100), "all of it")))


def read_world(path: Path) -> World:
    """Raises FileError and UsageError, each with the file and what to change."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path}: cannot be read: {error.strerror}", hint="name a JSON file with --world"
        ) from None
    try:
        given = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise UsageError(
            f"{path}: not JSON: {error}", hint='a world file is one JSON object, such as {"sd": 15}'
        ) from None
    if not isinstance(given, dict):
        raise UsageError(
            f"{path}: must be one JSON object", hint='such as {"mode": "checklist", "flip": 0.2}'
        )
    return made_world(given, str(path))


def made_world(given: dict[str, object], place: str) -> World:
    """Raises UsageError, which names `place`."""
    for name in given:
        if name not in World.__struct_fields__:
            raise UsageError(
                f"{place}: a world has no parameter {name!r}",
                hint=near(name, World.__struct_fields__),
            )
    try:
        world = msgspec.convert(given, World)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{place}: {error}", hint="bench/improve/worlds.py says what each parameter is"
        ) from None
    if world.coll[0] > world.coll[1]:
        raise UsageError(
            f"{place}: `coll` must be the least and the most loss, in this order",
            hint="such as [3, 12]",
        )
    return world


def near(name: str, known: tuple[str, ...]) -> str:
    """The names that were probably meant first, else all."""
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(known)}"
