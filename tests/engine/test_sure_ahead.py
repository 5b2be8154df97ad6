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
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.artifact import Artifact, Version
from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Ballot, Mark, Question
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.numbers import exact
from honestone.core.record.record import CaseRecord
from honestone.core.suite.case import Case
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
# A look: the case, the judge and which of its looks that is.
Look = tuple[str, str, int]


class Stopped(Exception):
    """The process ended."""


class Panel:
    """Judges whose answers are known beforehand. `order`: who is done first, of calls at once; after
    `calls` calls the process ends, and what flies is lost.
    """

    ask, fresh, oldest_reply = "rubric", False, True

    def __init__(
        self,
        answers: Sequence[bool],
        order: Sequence[int],
        record: dict[Look, Ballot],
        calls: int | None = None,
    ) -> None:
        judge: Any = SimpleNamespace(is_paid=True)
        self.seats = [Seat(id=id, judge=judge, draw=10 * n) for n, id in enumerate(("ann", "bob"))]
        self._answers, self._order, self._calls = answers, order, calls
        self.record, self.paid = record, list[Look]()
        self.in_the_air, self.most = 0, 0

    def _look(self, seat: Seat, question: Question) -> Look:
        return question.case or "", seat.draw_of or seat.id, seat.draw % 10

    async def on_record(self, seat: Seat, question: Question) -> Question | None:
        return question if self._look(seat, question) in self.record else None

    async def consult(self, question: Question, seats: Sequence[Seat]) -> list[Consulted]:
        return [await self._one(seat, question) for seat in seats]

    async def _one(self, seat: Seat, question: Question) -> Consulted:
        look = self._look(seat, question)
        if look not in self.record:
            self.paid.append(look)
            place = hash(look[2]) + 7 * int(look[0]) + 3 * len(look[1])
            self.in_the_air += 1
            self.most = max(self.most, self.in_the_air)
            for _ in range(self._order[len(self.paid) % len(self._order)]):
                await asyncio.sleep(0)
            self.in_the_air -= 1
            if self._calls == 0:
                raise Stopped
            self._calls = None if self._calls is None else self._calls - 1
            met = self._answers[place % len(self._answers)]
            self.record[look] = Ballot(
                judge=seat.id, marks={KEY: Mark(met)}, draw_of=seat.draw_of, kind="llm"
            )
        return Consulted(ballot=self.record[look], spend=Spend())


def case_record(id: str) -> CaseRecord:
    case = Case(id=id, rubric=RUBRIC)
    return CaseRecord(case=case, scorer=Scorer(RUBRIC), rubric="r", contract="c", is_asked_on=True)


async def looks_of(panel: Any, size: int, need: int, *, asks_all: bool) -> None:
    """A run of a suite to its end."""
    record: Any = SimpleNamespace(
        cases={str(n): case_record(str(n)) for n in range(size)},
        text_of=lambda id, output, _: f"{id} {output}",
    )
    asking = SuiteAsking(
        panel=panel, record=record, need=need, target=0.9, most=6 * size, asks_all=asks_all
    )

    async def attempt(id: str) -> None:
        artifact = Artifact("a.md", Version.of_text("a"))
        async with asking.slot(id, 1):
            if asking.over is not None:
                return
            try:
                question = Question(artifact=artifact, criteria=(), case=id, output=id)
                await asking.consult(RUBRIC, question, ())
            except NotAsked:
                pass

    waits = [asyncio.create_task(attempt(id)) for id in record.cases]
    try:
        await asking.drive()
    finally:
        await asyncio.gather(*waits)


ORDERS = st.lists(st.integers(0, 4), min_size=1, max_size=6)
ANSWERS = st.lists(st.booleans(), min_size=1, max_size=30) | st.just([True])


@pytest.mark.slow
@settings(deadline=None)
@given(
    answers=ANSWERS,
    orders=st.tuples(ORDERS, ORDERS),
    size=st.integers(2, 14),
    missing=st.integers(0, 3),
    asks_all=st.booleans(),
    calls=st.integers(0, 60),
)
def test_what_is_bought_depends_on_the_record_alone(
    answers: list[bool],
    orders: tuple[list[int], list[int]],
    size: int,
    missing: int,
    asks_all: bool,
    calls: int,
) -> None:
    """Not on which call ends first, nor on where the process was killed: it pays at most for what flew
    once more.
    """
    need = max(size - missing, 1)

    def bought(panel: Panel) -> Panel:
        asyncio.run(looks_of(panel, size, need, asks_all=asks_all))
        return panel

    whole = bought(Panel(answers, orders[0], {}))
    assert set(whole.paid) == set(whole.record) and len(set(whole.paid)) == len(whole.paid)
    other = bought(Panel(answers, orders[1], {}))
    assert Counter(other.paid) == Counter(whole.paid)
    assert bought(Panel(answers, orders[1], dict(whole.record))).paid == []
    killed = Panel(answers, orders[1], {}, calls)
    if calls >= len(whole.paid):
        bought(killed)
        return
    with pytest.raises(Stopped):
        bought(killed)
    left = set(whole.record) - set(killed.record)
    resumed = bought(Panel(answers, orders[0], killed.record))
    assert set(resumed.paid) == left and len(resumed.paid) == len(left)


@pytest.mark.parametrize(("need", "least"), [(60, 30), (48, 20)])
def test_most_cases_of_a_suite_that_passes_are_asked_at_once(need: int, least: int) -> None:
    panel = Panel([True], [3], {})
    asyncio.run(looks_of(panel, 60, need, asks_all=False))
    assert panel.most >= least


def test_where_all_pass_a_further_case_saves_a_second_look_at_each() -> None:
    """Cases that are enough, with one look each, leave each of them to decide it alone."""
    panel = Panel([True], [3], {})
    asyncio.run(looks_of(panel, 120, 100, asks_all=False))
    assert len(panel.paid) == len({id for id, _, _ in panel.paid}) == 101


def test_every_case_has_its_first_look_at_once_where_each_gets_one() -> None:
    panel = Panel([True, False], [3], {})
    asyncio.run(looks_of(panel, 60, 30, asks_all=True))
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
