"""What a suite is held to, and how sure a run of it states that its bar is met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

from msgspec import Struct

from honestone.core.belief.cases.suite import (
    CaseBelief,
    SuiteBelief,
    SuiteChance,
    as_one,
    by_text,
)
from honestone.core.belief.stated import Ground, StatedBelief, settled
from honestone.core.belief.verdict import CLOSE, TextBelief

# Looks at each attempt of a case, where nothing else is said.
LOOKS_PER_CASE: Final = 6


class SuiteBar(Struct, frozen=True, kw_only=True):
    """What a suite is held to: the share of cases that has to pass, how sure that has to be (0-1;
    None: nothing is asked for), and the limit of looks. `is_alone`: it is not a split
    of an improvement, which shares out the looks itself.
    """

    least: Fraction
    sure: Fraction | None = None
    max_looks: int | None = None
    is_alone: bool = True

    def need(self, cases: int) -> int:
        return ceil(self.least * cases)

    def looks(self, attempts: int) -> int:
        """The most looks at all cases, which may have so many attempts together."""
        return self.max_looks or LOOKS_PER_CASE * attempts


def grounds_of_texts(
    texts: Iterable[TextBelief], alike: Mapping[str, int] | None = None
) -> list[Ground]:
    """How often each judge looked at these texts, of which so many looks were `alike`."""
    looks: dict[str, int] = {}
    for judge, count in (look for text in texts for look in text.looks.items()):
        looks[judge] = looks.get(judge, 0) + count
    return [
        Ground(
            kind="looks",
            judge=judge,
            looks=count,
            alike=None if alike is None else alike.get(judge, 0),
        )
        for judge, count in looks.items()
    ]


def suite_belief(
    cases: Sequence[CaseBelief],
    bar: SuiteBar,
    *,
    not_asked: int = 0,
    not_yet_asked: int = 0,
    alike: Mapping[str, int] | None = None,
) -> StatedBelief | None:
    """How sure it is that enough cases pass; None where nothing was judged. `not_asked` and
    `not_yet_asked`: how many cases are skipped, and how many a run under way has not come to.
    `alike`: of each judge, how many looks had the same reply as another at the same text, where that
    is known.
    """
    if not cases:
        return None
    cases, need = as_one(cases), bar.need(len(cases))
    suite = SuiteBelief(cases, need)
    chance = suite.chance
    if chance is None:
        return None
    looks = grounds_of_texts((text for one, _ in by_text(cases) for text in one.texts), alike)
    certain = sum(one.certain is not None for one in cases)
    passing = "1 case passes" if len(cases) == 1 else f"{len(cases):,} cases pass"
    found = StatedBelief(
        probability=_stated(chance, bar.sure),
        target=None if bar.sure is None else float(bar.sure),
        looks=sum([one.looks or 0 for one in looks]),
        max_looks=bar.looks(sum(one.tries for one in cases))
        if bar.sure is not None and bar.is_alone
        else None,
        rests_on=(
            *looks,
            *([Ground(kind="checks", items=certain)] if certain else []),
        ),
        subject=f"at least {need:,} of {passing}",
        contrary=f"fewer than {need:,} of {passing}",
        not_asked=not_asked,
        not_yet_asked=not_yet_asked,
        without_output=sum(one.is_down for one in cases),
    )
    return settled(found, is_exhausted=not suite.can_pass)


def is_judged(suite: SuiteBelief) -> bool:
    """Whether anything is known of a case, by judges or by code."""
    return any(one.is_looked_at for one in suite.cases)


def lack_of_judges(suite: SuiteBelief) -> str:
    """What is missing where neither a pass nor a failure is left to the cases of which judges enough
    for the quorum answered; empty where one is.
    """
    short = sum(one.is_short and not one.is_down for one in suite.cases)
    if not short:
        return ""
    known = [one for one in suite.cases if not one.is_short]
    passing = sum(one.certain is not False for one in known)
    failing = sum(one.certain is not True for one in known)
    if passing >= suite.need or failing > suite.size - suite.need:
        return ""
    return f"the quorum of {'1 case' if short == 1 else f'{short:,} cases'} is not met"


def _stated(chance: SuiteChance, sure: Fraction | None) -> float:
    """Where a bar is reached only by what is assumed of cases without a look, it is not reached."""
    if sure is None or chance.low == chance.high:
        return chance.chance
    target = float(sure)
    if chance.low >= target:
        return chance.low
    if chance.high <= 1.0 - target:
        return chance.high
    inside = min(max(chance.chance, 1.0 - target + CLOSE), target - CLOSE)
    return min(max(inside, chance.low), chance.high)
