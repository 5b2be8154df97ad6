"""Asking on over a suite (`sure`): looks go to the cases that can still turn its bar.

Attempts wait here for their judges. Cases are opened in the suite's order, as many as have to pass
first. Looks that are on record are taken first; then each case gets those of as many judges as its
rubric's quorum; then the case that is least certain gets the next look. Where the bar is reached,
or out of reach, the rest is not asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final

from honestone.core.belief.stated import EVEN
from honestone.core.belief.suite import NOWHERE, CaseBelief, Elsewhere, SuiteBelief, SuiteChance
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import CHECK, Ballot, Question
from honestone.core.judging.rubric import LEAST_LOOKS, Rubric
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.engine.cases import CaseWork
from honestone.engine.journal import NotAsked
from honestone.engine.judging.asking_on import AskingOn
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel
from honestone.ports import Checker

# Looks that are taken at once where no case has one yet, and afterwards.
FIRST_AT_ONCE: Final = 4
AT_ONCE: Final = 2
# A case whose outcome varies less is settled.
SETTLED: Final = 0.03
# Looks at settled cases while an open one cannot be asked any more, each time up to `AT_ONCE`.
MOST_WHEN_STUCK: Final = 10
# Cases that vary less than this part of the most open one wait.
COMPARABLE: Final = 0.5
NOT_ASKED: Final = "not asked: the suite was decided without it"


@dataclass(slots=True)
class _Waiting:
    """An attempt whose judges are asked from here. Of the looks `seen` so many were `known` to the
    loop, and so many `recalled` from the record. `name`: of the text.
    """

    asking: AskingOn
    text: TextBelief
    done: asyncio.Future[None]
    name: str
    seen: int = 0
    known: int = 0
    recalled: int = 0
    is_recalled: bool = False

    @property
    def is_short(self) -> bool:
        """Whether its outcome does not count yet: too few judges looked, and another one can."""
        return self.asking.looking.is_short

    @property
    def is_below_quorum(self) -> bool:
        looking = self.asking.looking
        return len(looking.looks) < looking.needed

    def learn(self) -> None:
        """Take in the looks that are new."""
        looks = [one for found in self.asking.looking.looks.values() for one in found]
        text = TextBelief(self.asking.looking.rubric)
        self.text = text.see_all([*self.asking.looking.checks, *looks])
        self.seen = len(looks)


@dataclass(kw_only=True)
class SuiteAsking:
    """The looks of a suite's run. `record` is the run so far, `need` how many cases have to pass,
    `target` the bar (0-1), `most` the limit of looks. `paid_before`: the calls that this run paid
    before it was resumed; where it is not None, only looks that were paid count against the limit,
    and every case gets as many as its quorum all the same. Used as `slots` of the run: an attempt
    enters when its case is opened. `asks_all`: every case gets a look; `asks_once`: and no further one.
    `has_output` hears of each case whose target is done.

    `on_record`: by text the looks that count and cost nothing. `alongside` and `apart`: texts that
    the same judges looked at, as in `SuiteBelief`, by their names. `hopeless` (0-1): below it the
    bar is out of reach.
    """

    panel: Panel
    record: SuiteRecord
    need: int
    target: float
    most: int
    paid_before: int | None = None
    asks_all: bool = False
    asks_once: bool = False
    on_record: Mapping[str, Sequence[Ballot]] = field(default_factory=dict)
    alongside: Mapping[str, TextBelief] = field(default_factory=dict)
    apart: Mapping[str, TextBelief] = field(default_factory=dict)
    hopeless: float | None = None
    has_output: Callable[[str], None] = lambda id: None
    over: str | None = None
    _order: list[str] = field(default_factory=list)
    _opened: int = 0
    _entered: int = 0
    _admitted: int = 0
    _inside: int = 0
    _when_stuck: int = 0
    _done_before: int = 0
    _left_out: frozenset[str] | None = None
    _elsewhere: Elsewhere = NOWHERE
    _waiting: dict[str, _Waiting] = field(default_factory=dict)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self._order = [id for id, one in self.record.cases.items() if not one.is_complete]
        self._opened = min(max(self.need, LEAST_LOOKS), len(self._order))
        done = (one for one in self.record.cases.values() if one.is_complete)
        self._done_before = sum(looks_of(one) for one in done)

    # -- what the run calls

    async def __aenter__(self) -> object:
        async with self._changed:
            number = self._entered
            self._entered += 1
            await self._changed.wait_for(lambda: number < self._opened or self.over is not None)
            self._admitted += 1
            self._inside += 1
            self._changed.notify_all()
        return None

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        async with self._changed:
            self._inside -= 1
            self._changed.notify_all()
        return None

    async def consult(
        self, rubric: Rubric, question: Question, checks: Sequence[Ballot]
    ) -> list[Consulted]:
        """The looks at one output, when the suite is decided. Raises NotAsked where it got none."""
        asking = AskingOn.of(self.panel, question, rubric, checks)
        id = question.case or ""
        self.has_output(id)
        text = TextBelief(rubric).see_all(checks)
        if text.probability in (0.0, 1.0):
            return asking.consulted()
        diff = (question.workspace or {}).get("diff")
        text_id = self.record.text_of(id, question.output, diff)
        for ballot in self.on_record.get(text_id, ()):
            asking.looking.add(ballot.voter, ballot)
        waiting = _Waiting(asking, text, asyncio.get_running_loop().create_future(), text_id)
        if asking.looking.looks:
            waiting.learn()
            waiting.known = waiting.seen
        async with self._changed:
            self._waiting[id] = waiting
            self._changed.notify_all()
        await waiting.done
        if not waiting.asking.looking.looks and not waiting.asking.failed:
            raise NotAsked(self.over or NOT_ASKED)
        return asking.consulted()

    # -- what decides

    async def drive(self) -> None:
        """Takes looks until the bar is decided, a limit is reached or nothing is left to ask."""
        try:
            while self.over is None:
                async with self._changed:
                    await self._changed.wait_for(self._is_quiet)
                self.over = await self._step()
        finally:
            async with self._changed:
                self.over = self.over or NOT_ASKED
                self._opened = len(self._order)
                for one in self._waiting.values():
                    if not one.done.done():
                        one.done.set_result(None)
                self._changed.notify_all()

    def _is_quiet(self) -> bool:
        """Whether every attempt that is open waits for judges or has ended."""
        waiting = sum(not one.done.done() for one in self._waiting.values())
        return self._admitted >= self._opened and self._inside == waiting

    async def _step(self) -> str | None:
        """One look or several; why it is over, or None."""
        asked = self._open()
        await self._recall(asked.values())
        belief = self.belief()
        chances = {id: self._passing(belief, id) for id in asked if self._tells(id)}
        is_decided = self._is_decided(belief.chance)
        lone = self._lone(belief, asked) if is_decided else {}
        if is_decided and not lone:
            return NOT_ASKED
        short = [id for id, one in asked.items() if one.is_short]
        is_first = bool(short) or self._opened < len(self._order)
        left = self.most - self._looks
        if left <= 0 and not (is_first and self.paid_before is not None):
            return self._used_up
        if short:
            most = FIRST_AT_ONCE if self.paid_before is not None else min(FIRST_AT_ONCE, left)
            return await self._take(short[:most])
        if self.asks_once and self._opened == len(self._order):
            return NOT_ASKED
        if lone:
            return await self._take(most_open(lone)[: min(AT_ONCE, left)])
        if self._opened < len(self._order) and self._wants_more(belief, chances):
            async with self._changed:
                self._opened = min(self._opened + FIRST_AT_ONCE, len(self._order))
                self._changed.notify_all()
            return None
        if not chances:
            return "not asked: no judge is worth another look"
        if self._is_stuck(belief, chances):
            self._when_stuck += 1
            if self._when_stuck > MOST_WHEN_STUCK:
                return "not asked: more looks of these judges would not tell"
        return await self._take(most_open(chances)[: min(AT_ONCE, left)])

    @property
    def _used_up(self) -> str:
        if self.paid_before is None:
            return f"not asked: --max-looks {self.most} are used"
        return f"not asked: the {self.most} looks at this split are used"

    @property
    def _looks(self) -> int:
        """Those that count against the limit. A look that an earlier process of this run paid is
        recalled as one of another run is, so as many count as this one paid.
        """
        if self.paid_before is None:
            return self._seen
        waiting = self._waiting.values()
        recalled = sum(one.recalled for one in waiting)
        new = sum(one.seen - one.known - one.recalled for one in waiting)
        return new + min(recalled + self._done_before, self.paid_before)

    @property
    def _seen(self) -> int:
        """Every look at a case of the suite, whoever paid for it."""
        return sum(one.seen for one in self._waiting.values()) + self._done_before

    def _open(self) -> dict[str, _Waiting]:
        """The cases that a judge can be asked about, in the suite's order, however soon their
        targets were done. A case that can get no more judges and has fewer than its quorum counts
        for no outcome, whatever else is asked.
        """
        waiting = ((id, self._waiting[id]) for id in self._order if id in self._waiting)
        return {
            id: one
            for id, one in waiting
            if self._is_worth(one) and (one.is_short or not one.is_below_quorum)
        }

    async def _recall(self, asked: Iterable[_Waiting]) -> None:
        """Take in what is on record about the cases that are new here: all of it, since it costs
        nothing. A record with more looks than the limit leaves none to ask, but where only looks
        that were paid count.
        """
        for one in asked:
            if not one.is_recalled:
                one.is_recalled = True
                await one.asking.take_recorded()
                one.learn()
                one.recalled = one.seen - one.known

    def _lone(self, belief: SuiteBelief, asked: Mapping[str, _Waiting]) -> dict[str, float]:
        """The cases that speak for the outcome by one look alone, where one case turns it: nothing
        is decided on one look.
        """
        chance = belief.chance
        passes = chance is not None and chance.low >= self.target
        spoken = {id: one for id, one in belief.by_case().items() if (one >= EVEN) is passes}
        if len(spoken) > (self.need if passes else belief.size - self.need + 1):
            return {}
        return {id: one for id, one in spoken.items() if id in asked and asked[id].seen == 1}

    def _tells(self, id: str) -> bool:
        """Whether looks at its output say whether it passes."""
        return self.record.cases[id].wants_met is not None

    def _passing(self, belief: SuiteBelief, id: str) -> float:
        is_turned = self.record.cases[id].wants_met is False
        return belief.passing(self._waiting[id].text, is_turned=is_turned)

    def _is_stuck(self, belief: SuiteBelief, chances: Mapping[str, float]) -> bool:
        """Whether the cases that can be asked are settled, and one that is open cannot be asked any
        more: looks then tell only how the judges err.
        """
        if any(one * (1.0 - one) >= SETTLED for one in chances.values()):
            return False
        rest = [id for id, one in self._waiting.items() if id not in chances and one.seen]
        if not all(map(self._tells, rest)):
            return True
        return any(
            one * (1.0 - one) >= SETTLED for one in (self._passing(belief, id) for id in rest)
        )

    def _is_decided(self, chance: SuiteChance | None) -> bool:
        if chance is None or (self.asks_all and self._has_unseen()):
            return False
        if chance.chance in (0.0, 1.0):
            return True
        if any(one.seen and one.is_short for one in self._waiting.values()):
            return False
        out = 1.0 - self.target if self.hopeless is None else self.hopeless
        is_met, is_out = chance.low >= self.target, chance.high <= out
        return self._seen >= LEAST_LOOKS and (is_met or is_out)

    def _has_unseen(self) -> bool:
        return self._opened < len(self._order) or any(
            not one.seen and self._is_worth(one) for one in self._waiting.values()
        )

    def _wants_more(self, belief: SuiteBelief, chances: dict[str, float]) -> bool:
        """Whether the cases that are open cannot decide it, or are settled."""
        expected = belief.expected
        widest = max([one * (1.0 - one) for one in chances.values()], default=0.0)
        return self.asks_all or expected < self.need - 0.5 or widest < SETTLED

    async def _take(self, ids: Sequence[str]) -> str | None:
        found = [self._waiting[id] for id in ids]
        totals: dict[str, int] = {}
        for one in self._waiting.values():
            for judge, looks in one.asking.looking.looks.items():
                totals[judge] = totals.get(judge, 0) + len(looks)
        wanted = []
        for one in found:
            judge = one.asking.looking.least_asked(totals) or ""
            totals[judge] = totals.get(judge, 0) + 1
            wanted.append(judge)
        await asyncio.gather(
            *(one.asking.take([judge]) for one, judge in zip(found, wanted, strict=True) if judge)
        )
        for one in found:
            one.learn()
        refused = next((one.asking.refused for one in found if one.asking.refused), None)
        return None if refused is None else f"not asked: {refused}"

    @staticmethod
    def _is_worth(one: _Waiting) -> bool:
        return one.asking.looking.least_asked() is not None

    def belief(self) -> SuiteBelief:
        cases = [self._case(id, one) for id, one in self.record.cases.items() if not one.case.skip]
        return SuiteBelief(cases, self.need, elsewhere=self._texts_elsewhere())

    def _texts_elsewhere(self) -> Elsewhere:
        """Without the texts that a case of this run has too: what was said of them counts there.
        Counted again only where there are more of these.
        """
        here = {one.name for one in self._waiting.values()}
        shared = frozenset(one for one in here if one in self.alongside or one in self.apart)
        if shared != self._left_out:
            self._left_out = shared
            self._elsewhere = Elsewhere.of(
                *(
                    [text for name, text in texts.items() if name not in shared]
                    for texts in (self.alongside, self.apart)
                )
            )
        return self._elsewhere

    def _case(self, id: str, one: CaseRecord) -> CaseBelief:
        waiting = self._waiting.get(id)
        if waiting is None:
            return one.believed_as
        return one.believed_by(waiting.text, is_short=waiting.is_below_quorum)


def looks_of(case: CaseRecord) -> int:
    """How many looks at what is shown of a case gave marks."""
    return sum(bool(one.marks) and one.judge != CHECK for one in case.shown_ballots)


def most_open(chances: Mapping[str, float]) -> list[str]:
    """The cases that the next looks are best spent on, by the probability that each passes: the one
    that is least certain, and others that are nearly as open. A look at a settled case would not be
    missed.
    """
    open_by = {id: chance * (1.0 - chance) for id, chance in chances.items()}
    least = COMPARABLE * max(open_by.values())
    found = [id for id, one in open_by.items() if one >= least]
    return sorted(found, key=lambda id: -open_by[id])


class SuiteEvaluator(Evaluator):
    """Checks first; then the suite decides who looks."""

    def __init__(
        self, rubric: Rubric, checker: Checker, panel: Panel, *, asking: SuiteAsking
    ) -> None:
        super().__init__(rubric, checker, panel)
        self._asking = asking

    @property
    def waits_for_checks(self) -> bool:
        return True

    async def consult(self, question: Question, checks: Sequence[Ballot]) -> list[Consulted]:
        return await self._asking.consult(self.rubric, question, checks)


@dataclass(kw_only=True)
class SureCaseWork(CaseWork):
    """The work on cases whose judges are asked by need."""

    asking: SuiteAsking

    def reason_to_skip(self, case: CaseRecord) -> str | None:
        if case.case.skip is None and self.asking.over is not None:
            return self.asking.over
        return CaseWork.reason_to_skip(self, case)
