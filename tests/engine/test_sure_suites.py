"""Looks at a suite that are asked by need: which of them count against the limit."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Artifact, Version
from honestone.core.belief.cases.bar import SuiteBar
from honestone.core.belief.cases.suite import CaseBelief, Elsewhere, SuiteBelief, SuiteChance
from honestone.core.belief.next_look import AskedLook, Looking
from honestone.core.belief.stated import sure_sentence
from honestone.core.belief.verdict import TextBelief
from honestone.core.events import AttemptJudged, CasePassedBy
from honestone.core.judging.ballot import Ballot, Mark, Question
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.record.case_belief import Unasked, bar_of, beliefs_of
from honestone.core.record.record import CaseRecord
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import AttemptRule, Case
from honestone.engine.sure_opened import OpenedAttempts
from honestone.engine.sure_suites import SuiteAsking
from honestone.engine.sure_texts import WaitingText

KEY = ("p", "p")
RUBRIC = Rubric(
    criteria=(
        Criterion(id="p", requirement="x", items=(Item(id="p", requirement="x", whole=True),)),
    )
)


def case_record(id: str = "a", **options: Any) -> CaseRecord:
    case = Case(id=id, rubric=RUBRIC, **options)
    scorer = Scorer(RUBRIC)
    return CaseRecord(case=case, scorer=scorer, rubric="r", contract="c", is_asked_on=True)


def finished_case(*answers: bool) -> CaseRecord:
    """A case that an earlier process finished, with these looks of one judge."""
    ballots = [Ballot(judge=f"ann#{n}", marks={KEY: Mark(met)}) for n, met in enumerate(answers)]
    found = case_record()
    found.add(AttemptJudged(case="a", attempt=1, ballots=tuple(ballots), spend=Spend()))
    return found


def looks(signs: str) -> list[Ballot]:
    return [
        Ballot(judge=f"ann#{n}", marks={KEY: Mark(sign == "+")}, draw_of="ann")
        for n, sign in enumerate(signs)
    ]


def test_a_text_of_another_version_counts_once() -> None:
    """An output that an edit left as it was is known from the other version: what was said of it
    counts for the case, and not for the judges a second time.
    """
    here, other = looks("+-+"), TextBelief(RUBRIC).see_all(looks("-+-+"))
    same = TextBelief(RUBRIC).see_all(here)
    record: Any = SimpleNamespace(cases={"a": case_record()}, text_of=lambda *_: "same")
    panel: Any = SimpleNamespace(seats=[])
    asking = SuiteAsking(
        panel=panel,
        record=record,
        need=1,
        target=0.99,
        most=3,
        on_record={"same": here},
        apart={"same": same, "other": other},
    )

    async def entered() -> SuiteBelief:
        artifact = Artifact("a.md", Version.of_text("a"))
        question = Question(artifact=artifact, criteria=(), case="a", output="x")
        waits = asyncio.create_task(asking.consult(RUBRIC, question, ()))
        while not asking.belief().by_case():
            await asyncio.sleep(0)
        waits.cancel()
        return asking.belief()

    expected = SuiteBelief([CaseBelief("a", same)], 1, Elsewhere.of((), [other]))
    assert asyncio.run(entered()).assumed == pytest.approx(expected.assumed)


@pytest.mark.parametrize("rule", [AttemptRule.MEAN, AttemptRule.BEST])
@given(ends=st.permutations([(id, number) for id in "ab" for number in (1, 2, 3)]))
def test_the_order_of_looks_does_not_depend_on_which_target_ends_first(
    rule: AttemptRule, ends: list[tuple[str, int]]
) -> None:
    """Of each case the first and the last attempt gave one text: it waits as the first."""
    cases = {id: case_record(id, attempts=3, attempt_rule=rule) for id in "ab"}
    record: Any = SimpleNamespace(cases=cases, text_of=lambda id, output, _: f"{id} {output}")
    judge = SimpleNamespace(id="ann", kind="llm", draw_of=None, judge=None)
    panel: Any = SimpleNamespace(seats=[judge])
    asking = SuiteAsking(panel=panel, record=record, need=2, target=0.99, most=9)

    async def entered() -> list[tuple[str, int]]:
        artifact = Artifact("a.md", Version.of_text("a"))
        waits = []
        for id, number in ends:
            question = Question(
                artifact=artifact, criteria=(), case=id, attempt=number, output=str(number % 2)
            )
            waits.append(asyncio.create_task(asking.consult(RUBRIC, question, ())))
            await asyncio.sleep(0)
        for one in waits:
            one.cancel()
        return list(asking._asked())

    assert asyncio.run(entered()) == [("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert all(one.asking.question.attempt == key[1] for key, one in asking._waiting.items())
    assert set(asking._shared) == {("a", 3), ("b", 3)}


def test_cases_of_one_text_that_come_at_once_wait_as_one() -> None:
    """All of them while what waits is locked, so that none sees the others there at first."""
    cases = {id: case_record(id) for id in "abc"}
    for one in cases.values():
        one.has_twin = True
    record: Any = SimpleNamespace(cases=cases, text_of=lambda id, output, _: f"{id} {output}")
    panel: Any = SimpleNamespace(seats=[])
    asking = SuiteAsking(panel=panel, record=record, need=2, target=0.99, most=9)

    async def entered() -> None:
        artifact = Artifact("a.md", Version.of_text("a"))
        questions = [
            Question(artifact=artifact, criteria=(), case=id, output="x") for id in ("b", "a", "c")
        ]
        async with asking._changed:
            waits = [asyncio.create_task(asking.consult(RUBRIC, one, ())) for one in questions]
            await asyncio.sleep(0)
        while len(asking._texts) < len(cases):
            await asyncio.sleep(0)
        for one in waits:
            one.cancel()

    asyncio.run(entered())
    assert list(asking._waiting) == [("a", 1)]
    assert set(asking._shared) == {("b", 1), ("c", 1)}


def test_whether_a_judge_is_left_is_known_without_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """What each look would tell for its price is computed where one is chosen, and not before."""

    def unwanted(*_: object) -> float:
        raise AssertionError("a look was priced")

    monkeypatch.setattr(TextBelief, "tells", unwanted)
    judges = [AskedLook(id="a", usd=0.1), AskedLook(id="b", usd=0.9)]
    looking = Looking(rubric=RUBRIC, judges=judges, looks={"a": looks("+-"), "b": looks("+")})
    asking: Any = SimpleNamespace(looking=looking)
    done: Any = None
    one = WaitingText(Case(id="a", rubric=RUBRIC), asking, TextBelief(RUBRIC), done, "t", "o")
    assert one.is_askable
    with pytest.raises(AssertionError, match="priced"):
        looking.least_asked()


@pytest.mark.parametrize("seen", [0, 1, 2])
@pytest.mark.parametrize(("low", "passing"), [(0.04, 0.9), (0.04, 0.1), (0.96, 0.9)])
def test_only_what_speaks_for_the_outcome_by_one_look_is_alone(
    seen: int, low: float, passing: float
) -> None:
    """Where no case does, as where each rather passes and all of them together hardly do, none is."""
    cases = {id: case_record(id) for id in "ab"}
    record: Any = SimpleNamespace(cases=cases)
    panel: Any = None
    asking = SuiteAsking(panel=panel, record=record, need=2, target=0.95, most=9)
    done: Any = None
    for id in "ab":
        question = Question(
            artifact=Artifact("a.md", Version.of_text("a")), criteria=(), case=id, output=id
        )
        asks: Any = SimpleNamespace(question=question)
        one = WaitingText(cases[id].case, asks, TextBelief(RUBRIC), done, id, id, id, seen=seen)
        asking._waiting[id, 1] = one
    belief: Any = SimpleNamespace(
        chance=SuiteChance(low, low, low), by_case=lambda: dict.fromkeys("ab", passing), size=2
    )
    speaks = (low > 0.5) is (passing > 0.5)
    # Both have to pass: a failure needs one of them, and two that fail leave none that turns it.
    expected = {("a", 1), ("b", 1)} if seen == 1 and speaks and low > 0.5 else set()
    assert set(asking._lone(belief, asking._waiting)) == expected


@pytest.mark.parametrize(
    ("paid", "why"),
    [
        (None, "not asked: --max-looks 3 are used up"),
        (3, "not asked: the 3 looks at this split are used up"),
        (2, "not asked: no judge is worth another look"),
    ],
)
def test_looks_of_an_earlier_process_count(paid: int | None, why: str) -> None:
    """All of them, or in a loop those that it paid: the others it found on record."""
    record: Any = SimpleNamespace(cases={"a": finished_case(True, False, True)})
    panel: Any = None
    asking = SuiteAsking(
        panel=panel, record=record, need=1, target=0.99, most=3, paid_before=paid, asks_all=True
    )
    asyncio.run(asking.drive())
    assert asking.over == why


@pytest.mark.parametrize("rule", AttemptRule)
@pytest.mark.parametrize("is_passed_by", [True, False])
def test_a_suite_counts_as_not_asked_what_its_rows_show_as_skipped(
    rule: AttemptRule, is_passed_by: bool
) -> None:
    """Of several attempts, too: a case whose first attempt alone had a look is skipped where that
    decides nothing. What a run under way has not come to is not yet asked.
    """
    case = Case(id="a", rubric=RUBRIC, attempts=3, attempt_rule=rule)
    begun = [
        CaseRecord(case=case, scorer=Scorer(RUBRIC), rubric="r", contract="c", is_asked_on=True)
        for _ in range(2)
    ]
    begun[0].add(AttemptJudged(case="a", attempt=1, ballots=tuple(looks("+")), spend=Spend()))
    if is_passed_by:
        for one in begun:
            one.add(CasePassedBy(case="a", reason="not asked: the suite was decided without it"))
    rows = [*begun, finished_case(True, True)]
    unasked = Unasked()
    bar = SuiteBar(least=Fraction(1, 3), sure=Fraction(9, 10))
    stated = bar_of(beliefs_of(unasked.counted(rows)), bar, lambda: rows, unasked)
    assert stated is not None
    skipped = sum(one.result.status is Status.SKIPPED for one in rows)
    assert skipped >= 1
    counts = (stated.not_asked, stated.not_yet_asked)
    assert counts == ((skipped, 0) if is_passed_by else (0, skipped))
    noun = "case" if skipped == 1 else "cases"
    words = "not asked" if is_passed_by else "not yet asked"
    assert sure_sentence(stated).endswith(f"; {skipped} {noun} {words}")


@pytest.mark.parametrize("was_over", [False, True])
def test_a_case_that_is_on_record_as_skipped_is_waited_for_no_more(was_over: bool) -> None:
    """A run that is resumed, or was ordered for runners, never takes it up."""
    skipped, open_ = case_record("skipped", skip="not now"), case_record("open")
    record: Any = SimpleNamespace(cases={"skipped": skipped, "open": open_})

    def opened() -> set[tuple[str, int]]:
        found = OpenedAttempts(record=record, was_over=was_over)
        found.begin(1)
        return found.keys

    assert opened() == {("skipped", 1), ("open", 1)}
    skipped.add(CasePassedBy(case="skipped", reason="not now"))
    assert opened() == {("open", 1)}
