"""Looks at a suite that are asked at once: whichever answers first, and wherever the process ends, the
same ones are bought, each of them once.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from math import exp, factorial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.core.artifact import Artifact, Version
from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.verdict import TextBelief
from honestone.core.events import AttemptJudged, CasePassedBy, OutputProduced
from honestone.core.judging.ballot import Ballot, Mark, Question
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.numbers import exact
from honestone.core.record.record import CaseRecord
from honestone.core.suite.case import AttemptRule, Case
from honestone.engine.journal import NotAsked
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.seats import Seat
from honestone.engine.sure_ahead import Ahead, NextText, all_marks, at_least
from honestone.engine.sure_suites import SuiteAsking
from honestone.engine.sure_texts import is_over

KEY = ("p", "p")
RUBRIC = Rubric(
    criteria=(
        Criterion(id="p", requirement="x", items=(Item(id="p", requirement="x", whole=True),)),
    )
)
# A look: the output, the judge and which of its looks that is.
Look = tuple[str, str, int]


class Stopped(Exception):
    """The process ended."""


class Process:
    """One that is killed after so many `writes`: nothing of it is on record then. `now`: the time."""

    def __init__(self, writes: int | None = None, now: str = "1") -> None:
        self.now, self._left = now, writes

    def write(self) -> None:
        if self._left == 0:
            raise Stopped
        self._left = None if self._left is None else self._left - 1


class Panel:
    """Judges whose answers are known beforehand, with when each was put on record. `order`: who is done
    first, of calls at once; what flies when the process is killed is lost.
    """

    ask, fresh, oldest_reply = "rubric", False, True

    def __init__(
        self,
        answers: Sequence[bool],
        order: Sequence[int],
        record: dict[Look, tuple[str, Ballot]],
        process: Process | None = None,
    ) -> None:
        judge: Any = SimpleNamespace(is_paid=True)
        self.seats = [Seat(id=id, judge=judge, draw=10 * n) for n, id in enumerate(("ann", "bob"))]
        self._answers, self._order = answers, order
        self.process = process or Process()
        self.record, self.paid = record, list[Look]()
        self.in_the_air, self.most = 0, 0

    def _look(self, seat: Seat, question: Question) -> Look:
        return question.output or "", seat.draw_of or seat.id, seat.draw % 10

    async def on_record(
        self, seat: Seat, question: Question, before: str | None = None
    ) -> Question | None:
        found = self.record.get(self._look(seat, question))
        return question if found and (before is None or found[0] < before) else None

    async def consult(self, question: Question, seats: Sequence[Seat]) -> list[Consulted]:
        return [await self._one(seat, question) for seat in seats]

    async def _one(self, seat: Seat, question: Question) -> Consulted:
        look = self._look(seat, question)
        if look not in self.record:
            self.paid.append(look)
            self.in_the_air += 1
            self.most = max(self.most, self.in_the_air)
            for _ in range(self._order[len(self.paid) % len(self._order)]):
                await asyncio.sleep(0)
            self.in_the_air -= 1
            self.process.write()
            self.record[look] = self.process.now, self.answer(look)
        return Consulted(ballot=self.record[look][1], spend=Spend())

    def answer(self, look: Look) -> Ballot:
        output, judge, number = look
        case, _, attempt = output.partition(".")
        place = number + 7 * int(case) + 3 * len(judge) + 5 * int(attempt)
        met = self._answers[place % len(self._answers)]
        name, draw_of = (f"{judge}#{number + 1}", judge) if number else (judge, None)
        return Ballot(judge=name, marks={KEY: Mark(met)}, draw_of=draw_of, kind="llm")


def case_record(id: str, attempts: int = 1) -> CaseRecord:
    case = Case(id=id, rubric=RUBRIC, attempts=attempts, attempt_rule=AttemptRule.PASS_AT_K)
    return CaseRecord(case=case, scorer=Scorer(RUBRIC), rubric="r", contract="c", is_asked_on=True)


def case_records(size: int, attempts: int = 1) -> dict[str, CaseRecord]:
    return {str(n): case_record(str(n), attempts) for n in range(size)}


async def looks_of(
    panel: Any, cases: dict[str, CaseRecord], need: int, most: int | None = None, **options: Any
) -> str | None:
    """A run of a suite to its end, from what is on record of its cases; why it was over."""
    record: Any = SimpleNamespace(cases=cases, text_of=lambda id, output, _: f"{id} {output}")
    limit = 6 * len(cases) if most is None else most
    asking = SuiteAsking(
        panel=panel, record=record, need=need, target=0.9, most=limit, began="1", **options
    )

    def put(event: OutputProduced | AttemptJudged | CasePassedBy) -> None:
        panel.process.write()
        cases[event.case].add(event)

    async def attempt(id: str, number: int) -> None:
        artifact = Artifact("a.md", Version.of_text("a"))
        async with asking.slot(id, number):
            if asking.over is not None:
                put(CasePassedBy(case=id, reason=asking.over))
                return
            output = f"{id}.{number}"
            if cases[id].output_of(number) is None:
                put(OutputProduced(case=id, attempt=number, output=output, spend=Spend()))
            try:
                question = Question(
                    artifact=artifact, criteria=(), case=id, attempt=number, output=output
                )
                found = await asking.consult(RUBRIC, question, ())
                ballots = tuple(one.ballot for one in found if one.ballot.marks)
                put(AttemptJudged(case=id, attempt=number, ballots=ballots, spend=Spend()))
            except NotAsked as why:
                put(CasePassedBy(case=id, reason=str(why)))

    async with asyncio.TaskGroup() as tasks:
        for id, case in cases.items():
            for number in range(1, case.case.attempts + 1):
                if not case.has_ended(number):
                    tasks.create_task(attempt(id, number))
        await asking.drive()
    return asking.over


ORDERS = st.lists(st.integers(0, 4), min_size=1, max_size=6)
ANSWERS = st.lists(st.booleans(), min_size=1, max_size=30) | st.just([True])


@pytest.mark.slow
@settings(deadline=None)
@given(
    answers=ANSWERS,
    orders=st.tuples(ORDERS, ORDERS),
    size=st.integers(2, 12),
    attempts=st.integers(1, 2),
    missing=st.integers(0, 3),
    most=st.none() | st.integers(2, 12),
    asks=st.sampled_from(["by need", "all", "in a loop", "once in a loop"]),
    earlier=st.sets(
        st.tuples(st.integers(0, 12), st.sampled_from(["ann", "bob"]), st.integers(0, 2))
    ),
    writes=st.integers(0, 120),
)
def test_what_is_bought_depends_on_the_record_alone(
    answers: list[bool],
    orders: tuple[list[int], list[int]],
    size: int,
    attempts: int,
    missing: int,
    most: int | None,
    asks: str,
    earlier: set[tuple[int, str, int]],
    writes: int,
) -> None:
    """Not on which call ends first, nor on where the process was killed, while judges are asked or when
    all were: it pays at most for what flew once more. Looks of an `earlier` run are free.
    """
    need = max(size - missing, 1)
    of_loop = {"paid_before": 0, "asks_all": True, "hopeless": 0.05}
    options: dict[str, Any] = {
        "by need": {},
        "all": {"asks_all": True},
        "in a loop": of_loop,
        "once in a loop": {**of_loop, "asks_once": True},
    }[asks]
    sayer = Panel(answers, [0], {})
    free = {
        look: ("0", sayer.answer(look))
        for case, judge, number in earlier
        for look in [(f"{case}.1", judge, earlier_one) for earlier_one in range(number + 1)]
    }

    def bought(panel: Panel, cases: dict[str, CaseRecord], **more: Any) -> str | None:
        return asyncio.run(looks_of(panel, cases, need, most, **{**options, **more}))

    whole, cases = Panel(answers, orders[0], dict(free)), case_records(size, attempts)
    why = bought(whole, cases)
    assert set(whole.paid) == set(whole.record) - set(free)
    assert len(set(whole.paid)) == len(whole.paid)
    other = Panel(answers, orders[1], dict(free))
    assert bought(other, case_records(size, attempts)) == why
    assert Counter(other.paid) == Counter(whole.paid)
    killed = Panel(answers, orders[1], dict(free), Process(writes))
    rest = case_records(size, attempts)
    try:
        bought(killed, rest)
    except* Stopped:
        pass
    left = set(whole.record) - set(killed.record)
    if asks.endswith("loop"):
        options["paid_before"] = len(killed.paid)
    resumed = Panel(answers, orders[0], killed.record)
    found = bought(resumed, rest)
    assert set(resumed.paid) == left and len(resumed.paid) == len(left)
    if not all(one.is_complete or one.passed_by for one in rest.values()):
        assert found == why
    for id, case in cases.items():
        assert {n: len(case.ballots_of(n) or ()) for n in case.made} == {
            n: len(rest[id].ballots_of(n) or ()) for n in rest[id].made
        }


@pytest.mark.parametrize(("need", "least"), [(60, 30), (48, 20)])
def test_most_cases_of_a_suite_that_passes_are_asked_at_once(need: int, least: int) -> None:
    panel = Panel([True], [3], {})
    asyncio.run(looks_of(panel, case_records(60), need))
    assert panel.most >= least


def test_where_all_pass_a_further_case_saves_a_second_look_at_each() -> None:
    """Cases that are enough, with one look each, leave each of them to decide it alone."""
    panel = Panel([True], [3], {})
    asyncio.run(looks_of(panel, case_records(120), 100))
    assert len(panel.paid) == len({id for id, _, _ in panel.paid}) == 101


def test_every_case_has_its_first_look_at_once_where_each_gets_one() -> None:
    panel = Panel([True, False], [3], {})
    asyncio.run(looks_of(panel, case_records(60), 30, asks_all=True))
    assert panel.most == 60


@given(
    looks=st.lists(st.sampled_from(["", "+", "-", "+-"]), min_size=1, max_size=12),
    missing=st.integers(0, 3),
    target=st.sampled_from([0.8, 0.95]),
)
def test_no_answer_decides_before_the_last_of_them_where_all_say_the_same(
    looks: list[str], missing: int, target: float
) -> None:
    cases = {str(n): case_record(str(n)) for n in range(len(looks))}

    def belief_of(marks: Sequence[str]) -> SuiteBelief:
        found = []
        for id, signs in zip(cases, marks, strict=True):
            text = TextBelief(RUBRIC)
            for sign in signs:
                text.see("ann", {KEY: Mark(sign == "+")})
            found.append(CaseBelief(id, text))
        return SuiteBelief(found, max(len(looks) - missing, 1))

    def is_enough(belief: SuiteBelief) -> bool:
        return is_over(belief, target, 1.0 - target)

    belief = belief_of(looks)
    ahead = Ahead(cases=cases, under_way=lambda id: {}, belief=belief)
    unseen = [place for place, one in enumerate(looks) if not one]
    count = ahead.count((NextText([(str(place), 1)], "ann") for place in unseen), is_enough)
    assert count <= len(unseen)
    if is_enough(belief):
        return
    for seen in range(1, count):
        first = unseen[:seen]
        assert not is_enough(belief_of(["+" if n in first else one for n, one in enumerate(looks)]))


@given(count=st.integers(0, 12), mean=st.floats(0.0, 20.0))
@example(count=2, mean=5e-324)
def test_so_many_rare_ones(count: int, mean: float) -> None:
    fewer = sum(exp(-mean) * mean**n / factorial(n) for n in range(count))
    assert at_least(count, mean) == pytest.approx(1.0 - fewer, abs=1e-9)


def test_all_good_and_all_bad_marks_are_those_of_the_contract() -> None:
    items = {"a": {}, "b": {"weight": -1}, "c": {"negate": True}}
    criteria = tuple(
        Criterion(
            id=id,
            requirement="x",
            items=(Item(id=id, requirement="x", whole=True),),
            **{name: exact(value) if name == "weight" else value for name, value in row.items()},
        )
        for id, row in items.items()
    )
    rubric = Rubric(criteria=criteria, threshold=exact("0.5"))
    for is_good in (True, False):
        text = TextBelief(rubric)
        for _ in range(3):
            text.see("ann", all_marks(rubric, is_good=is_good))
        chance = text.probability
        assert chance is not None and (chance > 0.5) is is_good
