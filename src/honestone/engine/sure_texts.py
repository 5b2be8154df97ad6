"""Texts of a suite under `sure` that wait for their judges: what was said of each, how much is open, and
how many are asked at once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Final, TypeAlias, TypeVar

import msgspec

from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Ballot, Question
from honestone.core.record.case_belief import (
    AttemptLooks,
    OpenAttempts,
    belief_text,
    open_attempts,
)
from honestone.core.record.record import CaseRecord
from honestone.core.suite.case import Case
from honestone.engine.judging.asking_on import AskingOn
from honestone.engine.sure_ahead import Ahead

# Cases that vary less than this part of the most open one wait; those that vary as much are asked with it.
COMPARABLE: Final = 0.5
EQUAL: Final = 0.999
_Open = TypeVar("_Open")
# An attempt: the id of its case and its number.
Key: TypeAlias = tuple[str, int]


class WaitingText(msgspec.Struct):
    """An attempt whose judges are asked from here. Of the looks `seen` so many were `known` before the
    run, and so many `recalled` from what was put on record since then. `name`: of the text; `output`: the digest of what
    the attempt gave; `shown`: what attempts share whose judges are shown the same.
    """

    case: Case
    asking: AskingOn
    text: TextBelief
    done: asyncio.Future[None]
    name: str
    output: str
    shown: Hashable = None
    seen: int = 0
    known: int = 0
    recalled: int = 0
    is_recalled: bool = False
    is_all_recalled: bool = False

    @property
    def looks(self) -> AttemptLooks:
        ballots = self.asking.looking.ballots
        return AttemptLooks(ballots, self.text, self.is_below_quorum, self.output)

    @property
    def key(self) -> Key:
        """The attempt that it waits as."""
        return key_of(self.asking.question)

    @property
    def next_judge(self) -> str:
        """The one that looked least."""
        looking = self.asking.looking
        return min(looking.judges, key=lambda one: len(looking.looks.get(one.id, ()))).id

    @property
    def is_askable(self) -> bool:
        """Whether another look of any judge is worth its call."""
        return not self.asking.looking.is_exhausted

    @property
    def is_short(self) -> bool:
        """Whether its outcome does not count yet: too few judges looked, and another one can."""
        return self.asking.looking.is_short

    @property
    def is_below_quorum(self) -> bool:
        looking = self.asking.looking
        return len(looking.looks) < looking.needed

    def know(self, ballots: Iterable[Ballot]) -> None:
        """Begin with looks that count and cost nothing."""
        for ballot in ballots:
            self.asking.looking.add(ballot.voter, ballot)
        if self.asking.looking.looks:
            self.learn()
            self.known = self.seen

    async def take_recorded(self, before: str | None = None) -> int:
        """Take in what is on record, or was `before` a time: so many looks."""
        seen = self.seen
        await self.asking.take_recorded(before=before)
        self.learn()
        return self.seen - seen

    def learn(self) -> None:
        """Take in the looks that are new."""
        looks = [one for found in self.asking.looking.looks.values() for one in found]
        text = belief_text(self.case)
        self.text = text.see_all([*self.asking.looking.checks, *looks])
        self.seen = len(looks)


async def take_each(looks: Iterable[tuple[WaitingText, str]]) -> None:
    """A look at each text by its judge, at once."""
    chosen = list(looks)
    await asyncio.gather(*(one.asking.take([judge]) for one, judge in chosen))
    for one, _ in chosen:
        one.learn()


def key_of(question: Question) -> Key:
    """The attempt that a question is about."""
    return question.case or "", question.attempt or 1


def open_of_case(
    belief: SuiteBelief, case: CaseRecord, waiting: Mapping[Key, WaitingText]
) -> OpenAttempts:
    """How much a case depends on each of its attempts, and on the next one."""
    here = looks_at_case(waiting, case.case)
    opened = sorted({*(one.number for one in case.attempts), *here})
    return open_attempts(case.tried(here), opened, belief)


def believed_of(case: CaseRecord, waiting: Mapping[int, AttemptLooks]) -> CaseBelief:
    """What is believed of a case with the looks at its attempts that wait for more."""
    return case.believed_with(waiting) if waiting else case.believed_as


def most_open(open_by: Mapping[_Open, float]) -> list[_Open]:
    """What the next looks are best spent on, by how open each is: the one that is least certain,
    and others that are nearly as open. A look at what is settled would not be missed.
    """
    least = COMPARABLE * max(open_by.values())
    found = [id for id, one in open_by.items() if one >= least]
    return sorted(found, key=lambda id: -open_by[id])


def own_by_first(
    waiting: dict[Key, WaitingText], places: Mapping[str, int], same: WaitingText, asking: AskingOn
) -> Key:
    """A text waits as the first of the attempts that gave it, by the suite's order (`places`),
    whichever was done first, so that the order of looks is that of the suite. Returns the one of the
    two that does not own it.
    """
    owner, other = same.key, key_of(asking.question)
    if (places[owner[0]], owner[1]) <= (places[other[0]], other[1]):
        return other
    asking.share(same.asking)
    same.asking = asking
    waiting[other] = waiting.pop(owner)
    return owner


def needs_of(matters: Mapping[Key, float], texts: Mapping[Key, WaitingText]) -> dict[Key, float]:
    """How much each attempt needs a look: the more cases have its text (`texts`: by attempt), the more.
    Those with fewer looks come first.
    """
    rows = {(one.key, id) for (id, _), one in texts.items()}
    cases = Counter([key for key, _ in rows])
    fewer = sorted(matters, key=lambda key: texts[key].seen)
    return {key: matters[key] * cases[key] for key in fewer}


def ahead_of(
    cases: Mapping[str, CaseRecord], texts: Mapping[Key, WaitingText], belief: SuiteBelief
) -> Ahead:
    return Ahead(
        cases=cases, under_way=lambda id: looks_at_case(texts, cases[id].case), belief=belief
    )


def may_turn(belief: SuiteBelief, target: float, out: float) -> bool:
    """Whether a suite is open, and what has no look yet can decide it: the bar is met from the
    probability `target` on, and out of reach up to `out`.
    """
    chance = belief.chance
    if chance is None or chance.low >= target or chance.high <= out:
        return False
    return chance.high >= target or chance.low <= out


def is_met(belief: SuiteBelief, target: float) -> bool:
    """Whether its bar is reached, whatever comes of what has no look."""
    chance = belief.chance
    return chance is not None and chance.low >= target


def is_over(belief: SuiteBelief, target: float, out: float) -> bool:
    """Whether its bar is reached, or out of reach, whatever comes of what has no look."""
    chance = belief.chance
    return chance is not None and (chance.low >= target or chance.high <= out)


def looks_at_case(waiting: Mapping[Key, WaitingText], case: Case) -> dict[int, AttemptLooks]:
    """The looks at each attempt of a case that waits, by its number."""
    found = ((number, waiting.get((case.id, number))) for number in range(1, case.attempts + 1))
    return {number: one.looks for number, one in found if one is not None}
