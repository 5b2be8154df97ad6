"""Asking judges on until a verdict is as sure as the rubric demands (`sure`): the first two looks at
once, then one at a time, each chosen by what is known by then.

A second look of a judge is a draw of its own, so the record knows it: the same command again finds
every look there, chooses the same ones and pays for none of them twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count, islice

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.belief.next_look import FAILURES, AskedLook, Looking
from honestone.core.judging.ballot import NOT_ASKED, NOT_NEEDED, Ballot, JudgeState, Question
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.spend import Spend
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import DividedJudge, usd_a_call


class AskingOn(Struct, kw_only=True):
    """The looks of a panel at one question. Each `look` asks one judge once more.

    `failed`: of each judge the last call that gave no mark; `unanswered`: why each of them gave none.
    `taken`: the numbers, from 0, of the looks that were taken here.
    """

    panel: Panel
    question: Question
    looking: Looking
    seats: dict[str, Seat]
    spends: list[tuple[str, Spend]] = field(default_factory=list)
    failed: dict[str, Consulted] = field(default_factory=dict)
    unanswered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    taken: dict[str, set[int]] = field(default_factory=dict)
    refused: str | None = None

    @classmethod
    def of(
        cls, panel: Panel, question: Question, rubric: Rubric, checks: Sequence[Ballot]
    ) -> AskingOn:
        seats = {seat.id: seat for seat in panel.seats if seat.draw_of is None}
        judges = [
            AskedLook(id=seat.id, kind=seat.kind, usd=usd_a_call(seat.judge))
            for seat in seats.values()
        ]
        return cls(
            panel=panel,
            question=question,
            looking=Looking(rubric=rubric, judges=judges, checks=checks),
            seats=seats,
        )

    async def to_end(self) -> list[Consulted]:
        """Asks until the verdict is decided, or a limit or the judges are used up."""
        await self.take_recorded(most=self.looking.most)
        while self.refused is None and (wanted := self.looking.next_looks()):
            await self.take(wanted, self._part(wanted))
        return self.consulted(self._why_over())

    def _why_over(self) -> str:
        """Why a judge that never looked was not asked."""
        looking = self.looking
        if self.refused is not None:
            return NOT_ASKED + self.refused
        if looking.is_decided:
            return NOT_NEEDED
        if looking.count >= looking.most:
            return looks_used_up(looking.most)
        return f"{NOT_ASKED}no answer of it would decide the verdict"

    def _part(self, judges: Sequence[str]) -> Sequence[str]:
        """The criteria that the next look asks; empty for all of them, as where what is on record
        does not count.
        """
        is_whole = self.panel.ask != "rubric" or self.panel.fresh or self.panel.oldest_reply
        if len(judges) > 1 or is_whole:
            return ()
        (name,) = judges
        seat = self._seat(name, ())
        judge = seat.judge
        if not isinstance(judge, DividedJudge):
            return ()
        question = replace(self.question, draw=seat.draw)
        return self.looking.part(name, lambda ids: judge.size_of(question.part_of(ids)))

    async def take_recorded(self, most: int | None = None, before: str | None = None) -> None:
        """Take in the looks that are on record (`before`: from before that time), at most `most` of
        them: they cost nothing.
        """
        left = {id for id in self.seats if not self.looking.is_certain}
        while left and (most is None or self.looking.count < most) and self.refused is None:
            judge = self.looking.least_asked(among=left)
            if judge is None:
                break
            known = await self.panel.on_record(self._seat(judge, ()), self.question, before)
            if known is None:
                left.discard(judge)
            else:
                await self.take([judge], known.part)

    async def is_on_record(self, judge: str, before: str | None = None) -> bool:
        """Whether its next look at all of the criteria is (`before`: from before that time)."""
        known = await self.panel.on_record(self._seat(judge, ()), self.question, before)
        return known is not None and not known.part

    async def take(self, judges: Sequence[str], part: Sequence[str] = ()) -> None:
        """A look of each of these judges, at once, at `part` of the criteria (empty: at all); one
        that gives no mark is asked once more.
        """
        question = self.question.part_of(part)
        for failures in range(FAILURES):
            asked = [self._seat(judge, judges[:place]) for place, judge in enumerate(judges)]
            consulted = await self.panel.consult(question, asked)
            missed = []
            for judge, seat, one in zip(judges, asked, consulted, strict=False):
                if failures:
                    self._count_once(one.spend)
                self.spends.append((one.ballot.judge, one.spend))
                if one.ballot.marks or one.ballot.tampered:
                    self.looking.add(judge, one.ballot)
                    self.taken.setdefault(judge, set()).add(seat.draw - self.seats[judge].draw)
                elif one.refused is not None:
                    self.refused = one.refused
                    self.failed.setdefault(judge, one)
                else:
                    self.failed[judge] = one
                    why = one.ballot.reason or "no mark"
                    self.unanswered[judge] = (*self.unanswered.get(judge, ()), why)
                    missed.append(judge)
            judges = [one for one in missed if self._may_answer(one)]
            if not judges or self.refused is not None:
                break
        self.looking.given_up.update(missed)

    def _count_once(self, spend: Spend) -> None:
        """Asked once more, a look finds the replies that it has paid for or counted already."""
        self.panel.meter.spent.cached_calls -= spend.cached_calls
        spend.cached_calls = 0

    def _may_answer(self, judge: str) -> bool:
        """A judge that is not there is not asked again."""
        return self.failed[judge].ballot.state is not JudgeState.SKIPPED

    def _seat(self, judge: str, before: Sequence[str]) -> Seat:
        """The seat of its next look: the first that has no marks yet. Of two looks asked at once, the
        first may fail and the second answer.
        """
        first = self.seats[judge]
        taken = self.taken.get(judge, set())
        elsewhere = len(self.looking.looks.get(judge, ())) - len(taken)
        free = (number for number in count(elsewhere) if number not in taken)
        number = next(islice(free, before.count(judge), None))
        if number == 0:
            return first
        draw = first.draw + number
        return replace(first, id=self._name_of_look(judge, number), draw=draw, draw_of=judge)

    def _name_of_look(self, judge: str, number: int) -> str:
        """`#2` is its second look. A name that another judge of the panel has is passed over."""
        names = (f"{judge}#{place}" for place in count(2))
        return next(islice((name for name in names if name not in self.seats), number - 1, None))

    def share(self, other: AskingOn) -> None:
        """Take over what judges said of the same text; each has its own calls."""
        self.looking, self.failed, self.refused = other.looking, other.failed, other.refused
        self.unanswered, self.taken = other.unanswered, other.taken

    def consulted(self, why_not: str = NOT_NEEDED) -> list[Consulted]:
        """Every look with marks, in the order of the panel, and of each judge without one why it
        has none: `why_not` where it was not asked.
        """
        looks = self.looking.looks
        order = dict.fromkeys([*(id for id in self.seats if id in looks), *looks])
        found = [
            Consulted(ballot=ballot, spend=Spend())
            for id in order
            for ballot in self._with_unanswered(id, looks[id])
        ]
        for id, seat in self.seats.items():
            if id in self.looking.looks:
                continue
            failed = self.failed.get(id)
            ballot = (
                Ballot(judge=id, kind=seat.kind, marks={}, state=JudgeState.SKIPPED, reason=why_not)
                if failed is None
                else failed.ballot
            )
            found.append(Consulted(ballot=replace(ballot, judge=id, draw_of=None), spend=Spend()))
        spent: dict[str, Spend] = {}
        for judge, spend in self.spends:
            spent.setdefault(judge, Spend()).join(spend)
        known = [replace(one, spend=spent.pop(one.ballot.judge, Spend())) for one in found]
        # Calls of a look that gave no mark, of a judge whose other looks did.
        lost = Spend.of(spent.values())
        if known:
            first = known[0]
            known[0] = replace(
                first, spend=Spend.of([first.spend, lost]), refused=self._refusal(first)
            )
        return known

    def _with_unanswered(self, judge: str, looks: Sequence[Ballot]) -> list[Ballot]:
        first, *more = looks
        return [replace(first, unanswered=self.unanswered.get(judge, ())), *more]

    def _refusal(self, first: Consulted) -> str | None:
        return self.refused or first.refused


def looks_used_up(most: int) -> str:
    """Why a judge was not asked where every look that may be bought was."""
    return f"{NOT_ASKED}--max-looks {most} are used up"


class SureEvaluator(Evaluator):
    """Checks first; then judges, until the verdict is as sure as the rubric demands."""

    @property
    def waits_for_checks(self) -> bool:
        return True

    async def consult(self, question: Question, checks: Sequence[Ballot]) -> list[Consulted]:
        asking = AskingOn.of(self.panel, question, self.rubric, checks)
        return await asking.to_end()
