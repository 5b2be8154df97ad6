"""What the systems before this one got wrong about scores and gates, one test a row of the list (by
its number).
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from honestone.core.artifact import Artifact, Version
from honestone.core.editing.proposal import ProposalOutcome, classify
from honestone.core.editing.result import exit_code as loop_exit_code
from honestone.core.errors import RubricError
from honestone.core.events import BallotCast, EditProposed
from honestone.core.judging.ballot import Ballot, Question, Reading, asked_criteria
from honestone.core.judging.contract import make_contract
from honestone.core.judging.rubric import Item, Rubric
from honestone.core.judging.scorecard import EXIT_CODES, Outcome, Scorecard, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.named import policy_named
from honestone.core.loop.state import LoopLimits, LoopState, Result, RollBack, decide
from honestone.core.reading.answers import read_program
from honestone.core.reading.reply import ReplySchema, read_reply
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import COMPARE_GATES, CaseSide, compare, judge_comparison

from .strategies import checked, checklist, group, percent, rubric, scale, yes_no


def read(of: Rubric, reply: object) -> Reading:
    text = reply if isinstance(reply, str) else json.dumps(reply)
    asked = Question(artifact=Artifact("a", Version.of_text("a")), criteria=asked_criteria(of))
    return read_program(text, asked)


def judge(of: Rubric, *replies: object) -> tuple[Scorecard, Verdict]:
    """What comes of the replies of as many judges."""
    given = []
    for number, reply in enumerate(replies):
        reading = read(of, reply)
        given.append(Ballot(judge=f"j{number}", marks=reading.marks, abstained=reading.errors))
    card = Scorer(of).card(given)
    return card, judge_gate(card, of)


def anchored(name: str, *, weight: int = 1, floor: int | None = None) -> Any:
    item = Item(id=name, requirement=name, anchors=scale(0, 5, 10))
    return checklist(name, [item], weight=weight, floor=floor)


def test_row_1_a_required_criterion_that_the_judge_omits() -> None:
    """Weight 10, required, not answered: never 1.0 and a pass, but open, with an error to ask again
    about.
    """
    of = rubric(yes_no("must", weight=10, required=True), yes_no("nice", weight=1))
    reply = {"criteria": {"nice": {"met": True}}}
    card, verdict = judge(of, reply)
    assert not read(of, reply).is_clean
    assert (card.score, verdict.outcome) == (None, Outcome.INCONCLUSIVE)
    assert card.high == 1 and card.low * 11 == 1


def test_row_2_the_same_on_a_scale_with_a_floor() -> None:
    """A gated criterion that is left out is not met."""
    of = rubric(anchored("gated", floor=80), anchored("other"))
    card, verdict = judge(of, {"criteria": {"other": {"items": {"other": {"score": 10}}}}})
    assert (card.score, verdict.outcome) == (None, Outcome.INCONCLUSIVE)


def test_row_3_a_required_criterion_fails_and_the_mean_passes() -> None:
    """Nine of eleven points, and the case fails all the same, by name, also out of a nested group."""
    rest = [yes_no(f"ok{n}", weight=weight) for n, weight in enumerate((3, 2, 2, 2))]
    of = rubric(
        group("rubrics", yes_no("must", weight=2, required=True)),
        group("more", *rest, weight="4.5"),
    )
    reply = {"criteria": {"must": {"met": False}, **{f"ok{n}": {"met": True} for n in range(4)}}}
    card, verdict = judge(of, reply)
    assert card.score is not None and card.score > rubric(yes_no("x")).threshold
    assert verdict.outcome is Outcome.FAIL and "'must'" in verdict.reasons[0]


@pytest.mark.parametrize(
    "reply",
    [
        '{"criteria": {"a": {"met": true}, "a": {"met": true}, "b": {"met": false}}}',
        '{"criteria": {"a": {"met": true}, "c": {"met": true}, "b": {"met": false}}}',
    ],
)
def test_row_4_duplicate_and_unknown_ids(reply: str) -> None:
    """An error to ask again about; no weight is counted twice and no stranger is counted at all. A
    reply with an id that was not asked gives no mark.
    """
    of = rubric(yes_no("a", weight=10), yes_no("b", weight=11))
    reading = read(of, reply)
    assert not reading.is_clean
    assert set(reading.marks) <= {("a", "a"), ("b", "b")}
    card, _ = judge(of, reply)
    assert card.low == 0
    assert card.high * 21 == (21 if '"c"' in reply else 10)


def test_row_5_a_run_that_fails_does_not_exit_0() -> None:
    """Three different codes for passed, failed and could not be judged, in eval and in the loop."""
    assert (
        EXIT_CODES[Outcome.PASS],
        EXIT_CODES[Outcome.FAIL],
        EXIT_CODES[Outcome.INCONCLUSIVE],
    ) == (0, 1, 3)
    assert RubricError("x").exit_code == 2
    assert [r for r in Result if loop_exit_code(r) == 0] == [Result.PASSED]


@pytest.mark.parametrize(
    "reply", ["", "All good!", "[]", "null", '{"verdict": "pass"}', '{"pass": true}']
)
def test_row_6_an_unreadable_judge_is_not_a_bad_artifact(reply: str) -> None:
    """One behaviour for all of them: no mark, no number, open."""
    card, verdict = judge(rubric(yes_no("a"), percent("b")), reply)
    assert (card.score, card.low, card.high, verdict.outcome) == (None, 0, 1, Outcome.INCONCLUSIVE)


def test_row_6_a_failed_judge_beside_a_good_one() -> None:
    """The score is the mean of those who answered, not half of it; the verdict waits for the
    missing vote.
    """
    card, verdict = judge(rubric(percent("a")), {"criteria": {"a": {"score": 90}}}, "crashed")
    assert (card.score, verdict.outcome, card.low_confidence) == (
        Fraction(9, 10),
        Outcome.INCONCLUSIVE,
        True,
    )


@pytest.mark.parametrize(
    "before",
    [
        "{as asked} ",
        "In {C, like, code}: ",
        '{"criteria": {}} is my form.\n',
        "```json\n{ }\n```\n",
    ],
)
def test_row_7_braces_in_prose_before_the_answer(before: str) -> None:
    """The last object that answers is read; nothing before it is taken for the reply, and nothing
    is lost.
    """
    items = {1: yes_no("a").items[0], 2: yes_no("b").items[0]}
    reply = {"token": "t0", "answers": {"1": {"answer": True}, "2": {"answer": False}}}
    reading = read_reply(before + json.dumps(reply), ReplySchema(token="t0", items=items))
    assert {number: mark.answer for number, mark in reading.answers.items()} == {1: True, 2: False}
    assert reading.problems == ()


def test_row_8_a_half_mark_on_a_scale_of_10() -> None:
    """7.5 is 0.75; an off-scale neighbour is asked again alone."""
    of = rubric(anchored("a"), anchored("b"))
    good = {"criteria": {n: {"items": {n: {"score": 7.5}}} for n in "ab"}}
    assert (judge(of, good)[0].low * 4, judge(of, good)[0].high * 4) == (3, 3)
    reading = read(
        of,
        {"criteria": {"a": {"items": {"a": {"score": 7.5}}}, "b": {"items": {"b": {"score": 75}}}}},
    )
    assert set(reading.marks) == {("a", "a")} and set(reading.errors) == {("b", "b")}


def test_row_9_two_cases_swap_and_one_vanishes() -> None:
    """The mean is what it was, and the comparison fails all the same, with both named."""
    good, bad = (
        CaseSide(status=status, score=Fraction(score))
        for status, score in ((Status.PASSED, 1), (Status.FAILED, 0))
    )
    found = compare({"down": good, "up": bad, "gone": good}, {"down": bad, "up": good})
    verdict = judge_comparison(found, COMPARE_GATES)
    assert (found.delta, found.regressions, found.missing) == (0, ("down",), ("gone",))
    assert (
        verdict.outcome == "fail"
        and "down" in str(verdict.reasons)
        and "gone" in str(verdict.reasons)
    )


def test_row_10_a_criterion_without_text() -> None:
    """It is an error with a path, not dropped."""
    with pytest.raises(RubricError) as told:
        rubric(yes_no("a"), checklist("b", ["x", Item(id="y", requirement="")]))
    assert told.value.path == ("criteria", 1, "items", 1)


def test_row_12_fractions_floors_and_a_threshold_of_0() -> None:
    """91.65 meets 90; the same mean with one criterion below its floor does not; a threshold of 0
    is met by 0.
    """
    marks = {"a": 100, "b": 100, "c": 66.6, "d": 100, "e": 100}
    weights = {"a": 20, "b": 20, "c": 25, "d": 15, "e": 20}
    parts = [percent(name, weight=weight) for name, weight in weights.items()]
    reply = {"criteria": {name: {"score": mark} for name, mark in marks.items()}}
    card, verdict = judge(rubric(*parts, threshold=90), reply)
    assert (card.low * 10_000, verdict.outcome) == (9165, Outcome.PASS)
    assert judge(rubric(*parts, threshold="91.65"), reply)[1].passed
    assert judge(rubric(*parts, threshold="91.6500001"), reply)[1].outcome is Outcome.FAIL
    floored = judge(rubric(*parts, threshold=90, floor=70), reply)[1]
    assert floored.outcome is Outcome.FAIL and floored.reasons == (
        "criterion 'c' is 66.6, below its floor 70",
    )
    assert judge(rubric(percent("a"), threshold=0), {"criteria": {"a": {"score": 0}}})[1].passed


def state_after(of: Rubric, *marks: float) -> LoopState:
    """A loop in which version n was given marks[n], and the last one waits for its decision."""
    state = LoopState(
        scorer=Scorer(of),
        panel=("j",),
        holdouts=(),
        limits=LoopLimits(calls=9, minutes=9),
        original="v0",
    )
    for number, mark in enumerate(marks):
        if number:
            changed = ProposalOutcome.CHANGED
            state.apply(
                EditProposed(round=number, focus=("a",), outcome=changed, version=f"v{number}")
            )
        reading = read(of, {"criteria": {"a": {"score": mark}}})
        ballot = Ballot(judge="j", marks=reading.marks)
        state.apply(BallotCast(version=f"v{number}", role="panel", ballot=ballot))
    return state


def test_row_13_a_round_that_makes_it_worse() -> None:
    """Rolled back, and it says from what to what."""
    action = decide(
        state_after(rubric(percent("a"), threshold=90), 80, 55), policy_named("keep-best")
    )
    assert action == RollBack(reason="the score fell: 80.0 to 55.0")


def test_row_15_a_candidate_with_the_same_bytes() -> None:
    """Nothing to evaluate, whatever the worker says it planned."""
    version = Version.of_text("same")
    assert (
        classify(version, Version.of_text("same"), ended="exited")[0] is ProposalOutcome.UNCHANGED
    )


def test_row_16_what_affects_the_result_is_in_the_contract() -> None:
    """The suite's criteria, the model, the number of looks, and whether it was a mock."""

    def id_of(of: Rubric = rubric(yes_no("a")), **judge_: Any) -> str:
        who = {"model": "m1", "draws": 1, "mock": False, **judge_}
        return make_contract(of, judges=[who], checks=[], rule="mean", options={}).id

    ids = [
        id_of(),
        id_of(rubric(checked("a"))),
        id_of(model="m2"),
        id_of(draws=2),
        id_of(mock=True),
    ]
    assert len(set(ids)) == len(ids) and id_of() == ids[0]


@pytest.mark.parametrize(
    "score", ["9", "null", "NaN", "Infinity", "-1", '"0.9"', "true", "[1]", "1.01"]
)
def test_row_17_scores_that_are_none(score: str) -> None:
    """9, null, NaN, text, a list: an error of the item; no crash, no pass, no number."""
    of = rubric(percent("a"), threshold=0)
    card, verdict = judge(of, f'{{"score": {score}}}')
    assert (card.score, verdict.outcome) == (None, Outcome.INCONCLUSIVE)
    assert read(of, f'{{"score": {score}}}').errors
