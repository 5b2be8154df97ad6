"""Asking on over a suite (`sure`): looks go to the cases that can still turn its bar.

Attempts wait here for their judges. Cases are opened in the suite's order, as many as have to pass
first, each with its first attempt, or with all of them where nothing less tells. Each attempt gets
the looks of as many judges as its rubric's quorum; then what is least certain gets the next look, or
its case the next attempt where that tells more. As many are taken at once as are needed in any case,
or nearly so (`sure_ahead`). Where the bar is reached, or out of reach, the rest
is not asked. What is on record is chosen in the same order, so that the same command again ends
where the first one did; the rest of the record is taken in before a look is paid, and at the end.
"""

from __future__ import annotations

import asyncio
from collections import ChainMap, Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import compress, takewhile
from operator import not_
from typing import Final

from honestone.core.belief.cases.suite import NOWHERE, SETTLED, Elsewhere, SuiteBelief
from honestone.core.belief.stated import EVEN
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import NOT_NEEDED, Ballot, Question
from honestone.core.judging.rubric import LEAST_LOOKS, Rubric
from honestone.core.record.case_belief import (
    belief_text,
    needs_every_attempt,
    output_digest,
    shown_text,
)
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.engine.cases import CaseWork
from honestone.engine.journal import NotAsked
from honestone.engine.judging.asking_on import AskingOn, looks_used_up
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel
from honestone.engine.sure_ahead import NextText
from honestone.engine.sure_opened import OpenedAttempts
from honestone.engine.sure_texts import (
    EQUAL,
    Key,
    WaitingText,
    ahead_of,
    believed_of,
    is_met,
    is_over,
    key_of,
    looks_at_case,
    may_turn,
    most_open,
    needs_of,
    open_of_case,
    own_by_first,
    take_each,
)
from honestone.ports import Checker

# Looks that are taken at once where a case has none yet, and afterwards, whatever they may decide: so
# many, and of a large suite one for so many cases.
FIRST_AT_ONCE: Final = 4
AT_ONCE: Final = 2
CASES_PER_LOOK_AT_ONCE: Final = 50
# Cases without a look are opened until enough pass, by so many standard deviations and whatever is
# likely of the judges: a first look at a case tells more than a further one at what seems to pass.
STEADY: Final = 2.0
# Looks at settled cases while an open one cannot be asked any more, each time up to `AT_ONCE`.
MOST_WHEN_STUCK: Final = 10
# A further attempt at a case that matters less is not worth a run of the target.
LEAST_MATTERS: Final = 0.001
NOT_ASKED: Final = "not asked: the suite was decided without it"


@dataclass(kw_only=True)
class SuiteAsking:
    """The looks of a suite's run. `record` is the run so far, `need` how many cases have to pass,
    `target` the bar (0-1), `most` the limit of looks. `began` (ISO time): when the run did, in whatever
    process; looks on record from then on are taken where they are chosen. `paid_before`: the calls that this run paid
    before it was resumed; where it is not None, only looks that were paid count against the limit,
    and every case gets as many as its quorum all the same. Its `slot` is entered by each attempt of
    the run, when it is opened. `asks_all`: every case gets a look; `asks_once`: and no further one.
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
    began: str | None = None
    paid_before: int | None = None
    asks_all: bool = False
    asks_once: bool = False
    on_record: Mapping[str, Sequence[Ballot]] = field(default_factory=dict)
    alongside: Mapping[str, TextBelief] = field(default_factory=dict)
    apart: Mapping[str, TextBelief] = field(default_factory=dict)
    hopeless: float | None = None
    has_output: Callable[[str], None] = lambda id: None
    over: str | None = None
    _at_once: int = field(init=False)
    _first_at_once: int = field(init=False)
    _opened: OpenedAttempts = field(init=False)
    _inside: set[Key] = field(default_factory=set)
    _ended: set[Key] = field(default_factory=set)
    _when_stuck: int = 0
    _done_before: dict[Hashable, int] = field(default_factory=dict)
    _left_out: frozenset[str] | None = None
    _elsewhere: Elsewhere = NOWHERE
    _waiting: dict[Key, WaitingText] = field(default_factory=dict)
    # Attempts that gave the same text as one that waits, and all.
    _shared: dict[Key, WaitingText] = field(default_factory=dict)
    _texts: ChainMap[Key, WaitingText] = field(init=False)
    _by_shown: dict[Hashable, WaitingText] = field(default_factory=dict)
    _places: dict[str, int] = field(init=False)
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        cases = self.record.cases
        self._at_once = max(AT_ONCE, len(cases) // CASES_PER_LOOK_AT_ONCE)
        self._first_at_once = max(FIRST_AT_ONCE, 2 * self._at_once)
        self._texts = ChainMap(self._waiting, self._shared)
        self._places = {id: place for place, id in enumerate(cases)}
        for one in cases.values():
            self._done_before |= one.tried({}).looks_by_text()
        # No attempt is judged before it is over, so an earlier process of this run chose every look that
        # it needs. They are on record.
        was_over = bool(self._done_before)
        self._opened = OpenedAttempts(record=self.record, was_over=was_over)
        if was_over:
            self._when_stuck = MOST_WHEN_STUCK
            return
        first, size = max(self.need, LEAST_LOOKS), len(self._opened.cases)
        if self.asks_all:
            first = max(first, min(self.most if self.paid_before is None else size, size))
        self._opened.begin(first)

    # -- what the run calls

    @asynccontextmanager
    async def slot(self, id: str, number: int) -> AsyncIterator[None]:
        """Entered by an attempt, when it is opened."""
        key = (id, number)
        async with self._changed:
            await self._changed.wait_for(lambda: key in self._opened.keys or self.over is not None)
            self._inside.add(key)
            self._changed.notify_all()
        try:
            yield
        finally:
            async with self._changed:
                self._inside.discard(key)
                self._ended.add(key)
                self.has_output(id)
                if not self.record.cases[id].has_ended(number):
                    self._opened.without_output.add(id)
                self._changed.notify_all()

    async def consult(
        self, rubric: Rubric, question: Question, checks: Sequence[Ballot]
    ) -> list[Consulted]:
        """The looks at one output, when the suite is decided. Raises NotAsked where it got none."""
        asking = AskingOn.of(self.panel, question, rubric, checks)
        key = id, _ = key_of(question)
        self.has_output(id)
        case = self.record.cases[id].case
        text = belief_text(case).see_all(checks)
        needs_score = needs_every_attempt(case) and rubric.asks_judges and rubric.can_fail
        if text.probability in (0.0, 1.0) and not needs_score:
            return asking.consulted()
        diff = (question.workspace or {}).get("diff")
        output = output_digest(question.output, diff)
        shown = self.record.cases[id].tried({}).named(shown_text(output, checks))
        # Looked up and entered at once: another case of the text may come while this one waits.
        async with self._changed:
            waiting = self._by_shown.get(shown)
            if waiting is not None:
                other = own_by_first(self._waiting, self._places, waiting, asking)
                self._shared[other] = waiting
            else:
                name = self.record.text_of(id, question.output, diff)
                done = asyncio.get_running_loop().create_future()
                waiting = WaitingText(case, asking, text, done, name, output, shown)
                waiting.know(self.on_record.get(name, ()))
                self._waiting[key] = self._by_shown[shown] = waiting
            self._changed.notify_all()
        return await self._looks_of(waiting, asking)

    async def _looks_of(self, waiting: WaitingText, asking: AskingOn) -> list[Consulted]:
        """The looks at a text, when the suite is decided. `asking`: of one of the attempts that gave
        it; calls are counted with the one that they were asked about.
        """
        await waiting.done
        found = waiting.asking
        if not found.looking.looks and not found.failed:
            raise NotAsked(self.over or NOT_ASKED)
        if found is not asking:
            asking.share(found)
        over = self.over
        return asking.consulted(NOT_NEEDED if over is None or over == NOT_ASKED else over)

    # -- what decides

    async def drive(self) -> None:
        """Takes looks until the bar is decided, a limit is reached or nothing is left to ask."""
        try:
            while self.over is None:
                async with self._changed:
                    await self._changed.wait_for(self._is_quiet)
                over = await self._step()
                # What else is on record costs nothing, and may open it again.
                self.over = None if over and await self._recall(of_run=True) else over
        finally:
            async with self._changed:
                self.over = self.over or NOT_ASKED
                for one in self._waiting.values():
                    if not one.done.done():
                        one.done.set_result(None)
                self._changed.notify_all()

    def _is_quiet(self) -> bool:
        """Whether every attempt that is open waits for judges or has ended."""
        waiting = {key for key, one in self._waiting.items() if not one.done.done()}
        waiting |= self._shared.keys()
        rest = self._opened.keys - self._ended - waiting
        return all(id in self._opened.without_output for id, _ in rest) and self._inside <= waiting

    async def _step(self) -> str | None:
        """One look or several, or attempts opened; why it is over, or None."""
        asked = self._asked()
        if self._opened.was_over:
            await self._recall(of_run=True)
        belief = self.belief()
        is_decided = self._is_decided(belief)
        lone = self._lone(belief, asked) if is_decided else {}
        if is_decided and not lone:
            return NOT_ASKED
        short = [key for key, one in asked.items() if one.is_short]
        is_first = bool(short) or self._opened.has_left
        left = self.most - self._looks
        if left <= 0 and not (is_first and self.paid_before is not None):
            return used_up(self.most, of_split=self.paid_before is not None)
        if short:
            most = len(short) if self.paid_before is not None else left
            # Where each gets a look, nothing is decided without it.
            ahead = len(short) if self.asks_all else self._ahead(belief, short)
            return await self._take(short[: min(max(ahead, self._first_at_once), most)])
        if self.asks_once and not self._opened.has_left:
            unknown = self._unknown(belief, self._opened.cases)
            if not unknown:
                return NOT_ASKED
            await self._let_in(lambda: self._opened.open_next(unknown[: self._first_at_once]))
            return None
        if (
            len(lone) > self._first_at_once
            and self._opened.has_left
            and is_met(belief, self.target)
        ):
            # One case more that passes, and none of them decides it alone: fewer looks than at each.
            await self._let_in(lambda: self._opened.begin(1))
            return None
        if lone:
            needed = most_open(needs_of(lone, self._texts))
            count = max(self._ahead(belief, needed, is_decided=True), self._at_once)
            return await self._take(needed[: min(count, left)])
        matters, more = self._open(belief, asked)
        widest = max([*matters.values(), *more.values()], default=0.0)
        # Cases that are open hardly decide it, or are settled.
        wants_more = self.asks_all or belief.at_least(STEADY) < self.need or widest < SETTLED
        if self._opened.has_left and wants_more:
            count = max(self._ahead_of_cases(belief), self._first_at_once)
            await self._let_in(lambda: self._opened.begin(count))
            return None
        if self._is_lost(belief):
            return "not asked: targets that failed leave no way to pass"
        wanted = self._next_attempts(belief, matters, more)
        if wanted:
            await self._let_in(lambda: self._opened.open_next(wanted))
            return None
        if not matters:
            return "not asked: no judge is worth another look"
        return await self._look_at_open(belief, matters, left)

    async def _look_at_open(
        self, belief: SuiteBelief, matters: Mapping[Key, float], left: int
    ) -> str | None:
        """Looks at the cases that are least certain, at most `left`; why it is over, or None."""
        needs, count = needs_of(matters, self._texts), self._at_once
        needed = most_open(needs)
        if self._is_stuck(belief, matters):
            self._when_stuck += 1
            if self._when_stuck > MOST_WHEN_STUCK:
                return "not asked: more looks of these judges would not tell"
        else:
            equal = [key for key in needed if needs[key] >= EQUAL * needs[needed[0]]]
            count = max(self._ahead(belief, equal), count)
        return await self._take(needed[: min(count, left)])

    def _ahead(self, belief: SuiteBelief, keys: Sequence[Key], *, is_decided: bool = False) -> int:
        """How many of these texts can get a look at once, in this order: until it is decided, or where
        it is, until it may be open again.
        """
        if len(keys) <= self._at_once:
            return 0
        attempts: dict[Key, list[Key]] = {}
        for key, one in self._texts.items():
            attempts.setdefault(one.key, []).append(key)
        texts = (
            NextText(attempts[key], one.next_judge, one.looks)
            for key in keys
            for one in [self._waiting[key]]
        )

        def turns(then: SuiteBelief) -> bool:
            return is_over(then, self.target, self._out) is not is_decided

        return ahead_of(self._opened.known_cases, self._texts, belief).count(texts, turns)

    def _ahead_of_cases(self, belief: SuiteBelief) -> int:
        """How many cases can be begun at once."""
        left = self._opened.left

        def is_enough(then: SuiteBelief) -> bool:
            return then.at_least(STEADY) >= self.need or is_over(then, self.target, self._out)

        # What several attempts may give is not known.
        lone = takewhile(lambda id: self.record.cases[id].case.attempts == 1, left)
        texts = (NextText([(id, 1)]) for id in lone)
        return ahead_of(self._opened.known_cases, self._texts, belief).count(texts, is_enough)

    async def _let_in(self, opens: Callable[[], None]) -> None:
        async with self._changed:
            opens()
            self._changed.notify_all()

    def _next_attempts(
        self, belief: SuiteBelief, matters: Mapping[Key, float], more: Mapping[str, float]
    ) -> list[str]:
        """The cases whose next attempt tells more than any further look. Where no look is left that
        tells, what can still decide it is worth a run.
        """
        if self.asks_all and (unknown := self._unknown(belief, more)):
            return unknown[: self._first_at_once]
        if not more:
            return []
        tells = max(more.values()) >= max(matters.values(), default=LEAST_MATTERS)
        is_last = self._when_stuck >= MOST_WHEN_STUCK and self._is_stuck(belief, matters)
        if tells or ((not matters or is_last) and may_turn(belief, self.target, self._out)):
            return most_open(more)[: self._first_at_once]
        return []

    def _unknown(self, belief: SuiteBelief, ids: Iterable[str]) -> list[str]:
        """Those of these cases that have no answer, and can have another attempt."""
        several = [id for id in ids if self._opened.next_attempt(id) is not None]
        known = belief.by_case() if several else {}
        return [id for id in several if id not in known]

    @property
    def _out(self) -> float:
        """The probability below which the bar is out of reach."""
        return 1.0 - self.target if self.hopeless is None else self.hopeless

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
        return new + min(recalled + sum(self._done_before.values()), self.paid_before)

    @property
    def _seen(self) -> int:
        """Every look at a text of the suite, whoever paid for it."""
        found = dict(self._done_before)
        for one in self._waiting.values():
            found[one.shown] = max(one.seen, found.get(one.shown, 0))
        return sum(found.values())

    def _asked(self) -> dict[Key, WaitingText]:
        """The attempts that a judge can be asked about, in the suite's order, however soon their
        targets were done. One that can get no more judges and has fewer than its quorum counts for
        no outcome, whatever else is asked.
        """
        return {
            key: one
            for key, one in sorted(
                self._waiting.items(), key=lambda row: (row[0][1], self._places[row[0][0]])
            )
            if one.is_askable and (one.is_short or not one.is_below_quorum)
        }

    def _open(
        self, belief: SuiteBelief, asked: Mapping[Key, WaitingText]
    ) -> tuple[dict[Key, float], dict[str, float]]:
        """How much what is open depends on each attempt that can be asked about, and on the next
        attempt of each case.
        """
        matters, more = dict[Key, float](), dict[str, float]()
        # Another attempt tells nothing where the bar is reached or missed without it.
        chance = belief.chance
        turns = 1.0 if chance is None else chance.high * (1.0 - chance.low)
        for id in self._opened.begun:
            if self.record.cases[id].is_statable:
                found = open_of_case(belief, self._opened.known(id), self._texts)
                for number, one in found.by_number.items():
                    text = self._texts.get((id, number))
                    if text is not None and text.key in asked:
                        matters[text.key] = max(one, matters.get(text.key, 0.0))
                if found.next is not None and self._opened.next_attempt(id) is not None:
                    more[id] = turns * found.next
        return {key: matters[key] for key in asked if key in matters}, more

    async def _recall(self, *, of_run: bool = False) -> bool:
        """Take in what was on record about the cases before this run began, or all of it (`of_run`),
        since it costs nothing; whether that is a look that was not chosen yet. A record with more
        looks than the limit leaves none to ask, but where only looks that were paid count.
        """
        before = self._seen
        for one in self._asked().values():
            if not one.is_recalled and self.began is not None:
                one.is_recalled = True
                one.known += await one.take_recorded(self.began)
            if not one.is_all_recalled and (of_run or self.began is None):
                one.is_all_recalled = True
                one.recalled += await one.take_recorded()
        return self._seen > before

    def _lone(self, belief: SuiteBelief, asked: Mapping[Key, WaitingText]) -> dict[Key, float]:
        """The texts that speak for the outcome by one look alone, where their cases turn it: nothing
        is decided on one look.
        """
        passes = is_met(belief, self.target)
        spoken = {id: one for id, one in belief.by_case().items() if (one >= EVEN) is passes}
        more = len(spoken) - (self.need if passes else belief.size - self.need + 1)
        seen, cases = Counter[str](), dict[Key, list[str]]()
        for (id, number), one in self._texts.items():
            is_own = one.key == (id, number) or one.key[0] != id
            seen[id] += one.seen if is_own else 0
            if is_own and id in spoken:
                cases.setdefault(one.key, []).append(id)
        found = dict[Key, float]()
        for key, one in asked.items():
            alone = [id for id in cases.get(key, ()) if one.seen == seen[id] == 1]
            if alone and len(alone) > more:
                found[key] = spoken[alone[0]] * (1.0 - spoken[alone[0]])
        return found

    def _is_stuck(self, belief: SuiteBelief, matters: Mapping[Key, float]) -> bool:
        """Whether what can be asked about is settled, and what is open cannot be asked about any
        more: looks then tell only how the judges err.
        """
        if any(one >= SETTLED for one in matters.values()):
            return False
        rest = [key for key, one in self._waiting.items() if key not in matters and one.seen]
        if not all(self.record.cases[id].is_statable for id, _ in rest):
            return True
        found = {
            id: open_of_case(belief, self._opened.known(id), self._texts).by_number
            for id, _ in rest
        }
        return any(found[id].get(number, 0.0) >= SETTLED for id, number in rest)

    def _is_decided(self, belief: SuiteBelief) -> bool:
        chance = belief.chance
        if chance is None or (self.asks_all and self._has_unseen(belief)):
            return False
        if chance.chance in (0.0, 1.0):
            return True
        if any(one.seen and one.is_short for one in self._waiting.values()):
            return False
        return self._seen >= LEAST_LOOKS and is_over(belief, self.target, self._out)

    def _is_lost(self, belief: SuiteBelief) -> bool:
        """Whether targets that failed leave no way to pass, and a failure is not likely either: looks
        at the other cases would decide nothing.
        """
        chance = belief.chance
        if belief.can_pass or chance is None or chance.high < EVEN:
            return False
        return not (self.asks_all and self._has_unseen(belief))

    def _has_unseen(self, belief: SuiteBelief) -> bool:
        if self._opened.has_left:
            return True
        if any(not one.seen and one.is_askable for one in self._waiting.values()):
            return True
        return bool(self._unknown(belief, self._opened.cases))

    async def _take(self, keys: Sequence[Key]) -> str | None:
        found = [self._waiting[key] for key in keys]
        totals: dict[str, int] = {}
        for one in self._waiting.values():
            for judge, looks in one.asking.looking.looks.items():
                totals[judge] = totals.get(judge, 0) + len(looks)
        wanted = []
        for one in found:
            judge = one.asking.looking.least_asked(totals) or ""
            totals[judge] = totals.get(judge, 0) + 1
            wanted.append(judge)
        chosen = [(one, judge) for one, judge in zip(found, wanted, strict=True) if judge]
        on_record = [await one.asking.is_on_record(judge, self.began) for one, judge in chosen]
        await self._take_known(list(compress(chosen, on_record)))
        if not all(on_record):
            # What else is on record comes first, and then other looks may be needed. Looks that an
            # earlier process of this run took are on record too, and the others follow.
            if await self._recall():
                return None
            await take_each(compress(chosen, map(not_, on_record)))
        refused = next((one.asking.refused for one in found if one.asking.refused), None)
        return None if refused is None else f"not asked: {refused}"

    async def _take_known(self, looks: Sequence[tuple[WaitingText, str]]) -> None:
        """Looks that were on record before."""
        before = [one.seen for one, _ in looks]
        await take_each(looks)
        for (one, _), seen in zip(looks, before, strict=True):
            one.known += one.seen - seen

    def belief(self) -> SuiteBelief:
        cases = [
            believed_of(one, looks_at_case(self._texts, one.case))
            for one in self._opened.known_cases.values()
            if not one.case.skip
        ]
        return SuiteBelief(cases, self.need, elsewhere=self._texts_elsewhere())

    def _texts_elsewhere(self) -> Elsewhere:
        """Without the texts that a case of this run has too: what was said of them counts there.
        Counted again only where there are more of these.
        """
        here = {one.name for one in self._waiting.values()}
        shared = frozenset(one for one in here if one in self.alongside or one in self.apart)
        if shared != self._left_out:
            self._left_out = shared
            alongside, apart = (
                [text for name, text in texts.items() if name not in shared]
                for texts in (self.alongside, self.apart)
            )
            self._elsewhere = Elsewhere.of(alongside, apart)
        return self._elsewhere


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


def used_up(most: int, *, of_split: bool) -> str:
    if of_split:
        return f"not asked: the {most} looks at this split are used up"
    return looks_used_up(most)


@dataclass(kw_only=True)
class SureCaseWork(CaseWork):
    """The work on cases whose judges are asked by need."""

    asking: SuiteAsking

    def reason_to_skip(self, case: CaseRecord) -> str | None:
        if case.case.skip is None and self.asking.over is not None:
            return self.asking.over
        return super().reason_to_skip(case)
