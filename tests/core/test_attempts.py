"""Attempts at a case: what each rule makes of passes, failures and what could not be judged."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.judging.scorer import Scorer
from honestone.core.suite.attempts import (
    Attempt,
    CaseResult,
    Status,
    judge_attempt,
    mean_card,
    meets,
    result_of,
    target_failed,
)
from honestone.core.suite.case import AttemptRule, Case, Expect

SCALE = Anchors(levels=((Fraction(0), "none"), (Fraction(100), "all")))
RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="q",
            requirement="Q",
            items=(Item(id="q", requirement="Q", anchors=SCALE, whole=True),),
        ),
    ),
    threshold=Fraction(60, 100),
    floor=Fraction(0),
)
SCORER = Scorer(RUBRIC)


def case(
    rule: AttemptRule = AttemptRule.MEAN, attempts: int = 3, expect: Expect | None = None
) -> Case:
    return Case(id="c", rubric=RUBRIC, attempts=attempts, attempt_rule=rule, expect=expect)


def scored(number: int, points: int | None, expect: Expect | None = None) -> Attempt:
    """An attempt that a judge gave so many points, or none."""
    marks = {} if points is None else {("q", "q"): Mark(points)}
    return judge_attempt(number, SCORER.card([Ballot(judge="j", marks=marks)]), case(expect=expect))


def made(letters: str) -> list[Attempt]:
    """P passes with 100, F fails with 0, E is a target that failed, I was not judged."""
    return [
        target_failed(number, "it exited with 1")
        if letter == "E"
        else scored(number, {"P": 100, "F": 0, "I": None}[letter])
        for number, letter in enumerate(letters, 1)
    ]


RULES = [
    ("pass@k", "PFF", "passed"),
    ("pass@k", "FFF", "failed"),
    ("pass@k", "FEF", "target-error"),
    ("pass@k", "FIF", "inconclusive"),
    ("pass@k", "EEP", "passed"),
    ("pass^k", "PPP", "passed"),
    ("pass^k", "PPF", "failed"),
    ("pass^k", "PEP", "target-error"),
    ("pass^k", "EIF", "failed"),
    ("mean", "PPF", "passed"),
    ("mean", "PFF", "failed"),
    ("mean", "PPE", "passed"),
    ("mean", "FFE", "failed"),
    ("mean", "PEF", "target-error"),
    ("mean", "PIF", "inconclusive"),
    ("mean", "EEE", "target-error"),
    ("best", "FPF", "passed"),
    ("best", "FFF", "failed"),
    ("best", "FEF", "failed"),
]


@pytest.mark.parametrize(("rule", "letters", "status"), RULES)
def test_each_rule_is_three_valued(rule: str, letters: str, status: str) -> None:
    """What could not be judged neither passes nor fails, unless it could not change anything."""
    assert result_of(made(letters), case(AttemptRule(rule))).status == status


@pytest.mark.parametrize("rule", list(AttemptRule))
def test_an_open_attempt_is_decided_only_where_every_ending_agrees(rule: AttemptRule) -> None:
    """For pass@k, pass^k and mean the result with unknowns is the one that all ways of filling them
    in give.
    """
    if rule is AttemptRule.BEST:
        pytest.skip("best looks at the attempts that have a score, by definition")
    for letters in product("PFE", repeat=3):
        found = result_of(made("".join(letters)), case(rule)).status
        endings = {
            result_of(made("".join(filled)), case(rule)).status
            for filled in product(*("PF" if letter == "E" else letter for letter in letters))
        }
        assert (found in endings) == (len(endings) == 1), letters
        assert found in (endings if len(endings) == 1 else {Status.TARGET_ERROR})


def test_the_mean_of_scores_with_a_missing_one_is_an_interval() -> None:
    """A target that failed may have scored anything from 0 to 100."""
    result = result_of(made("PPE"), case())
    assert (result.score, result.low, result.high) == (None, Fraction(2, 3), Fraction(1))


def test_attempts_that_disagree_are_unstable() -> None:
    """Passed once and failed once; a failed target is no disagreement."""
    assert [result_of(made(x), case()).is_unstable for x in ("PPF", "FFF", "PPE", "PFE")] == [
        True,
        False,
        False,
        True,
    ]


def test_one_attempt_is_taken_as_it_is() -> None:
    """No rule changes it."""
    only = scored(1, 65)
    for rule in AttemptRule:
        result = result_of([only], case(rule, attempts=1))
        assert (result.status, result.low, result.shown) == (Status.PASSED, Fraction(65, 100), only)


def test_the_best_attempt_has_the_highest_score() -> None:
    """Of equal ones the earlier; one without a score is below all others."""
    attempts = [scored(1, 70), scored(2, 90), scored(3, 90), target_failed(4, "x")]
    found = result_of(attempts, case(AttemptRule.BEST, attempts=4))
    assert found.shown is attempts[1]


@given(st.lists(st.integers(0, 100) | st.none(), min_size=2, max_size=5))
def test_a_mean_lies_within_its_attempts(points: list[int | None]) -> None:
    """The mean's interval is the mean of the intervals."""
    attempts = [scored(number, one) for number, one in enumerate(points, 1)]
    result = result_of(attempts, case(attempts=len(points)))
    low = Fraction(sum(one or 0 for one in points), 100 * len(points))
    high = Fraction(sum(100 if one is None else one for one in points), 100 * len(points))
    assert (result.low, result.high) == (low, high)


TWO = Rubric(
    criteria=(
        Criterion(
            id="a",
            requirement="A",
            weight=Fraction(3),
            floor=Fraction(1, 2),
            items=(Item(id="q", requirement="Q"),),
        ),
        Criterion(
            id="b",
            requirement="B",
            required=True,
            items=(Item(id="q", requirement="Q", may_not_apply=True, whole=True),),
        ),
    ),
    threshold=Fraction(70, 100),
    floor=Fraction(0),
)
FREE = replace(
    TWO, criteria=tuple(replace(one, required=False, floor=None) for one in TWO.criteria)
)
NA = "n/a"
ANSWERS = st.one_of(
    st.just("error"),
    st.tuples(st.sampled_from([True, False, None]), st.sampled_from([True, False, None, NA])),
)
EXPECTS = st.sampled_from(
    [None, Expect(verdict="pass"), Expect(score=(Fraction(1, 2), Fraction(1)))]
)


def attempts_of(
    drawn: list[Any], expect: Expect | None = None, rubric: Rubric = TWO
) -> list[Attempt]:
    """An attempt for each answer of two criteria; "error" is a target that failed."""
    made = []
    for number, one in enumerate(drawn, 1):
        if one == "error":
            made.append(target_failed(number, "it exited with 1"))
            continue
        marks = {
            (name, "q"): Mark(met) for name, met in zip("ab", one, strict=True) if met is not None
        }
        card = Scorer(rubric).card([Ballot(judge="j", marks=marks)])
        made.append(judge_attempt(number, card, Case(id="c", rubric=rubric, expect=expect)))
    return made


@given(st.sampled_from(AttemptRule), st.lists(ANSWERS, min_size=1, max_size=5), EXPECTS)
@example(AttemptRule.MEAN, [(True, True), (True, None), (False, True)], None)
@example(AttemptRule.MEAN, [(True, True), "error", (False, True)], None)
def test_every_combination_of_attempts_has_a_result(
    rule: AttemptRule, drawn: list[Any], expect: Expect | None
) -> None:
    """No crash, a status that the attempts can explain, and a reason for everything that did not
    pass.
    """
    attempts = attempts_of(drawn, expect)
    result = result_of(
        attempts, Case(id="c", rubric=TWO, attempts=len(drawn), attempt_rule=rule, expect=expect)
    )
    assert result.low <= result.high and result.shown in attempts
    if result.status is Status.TARGET_ERROR:
        assert "error" in drawn
    if result.status is Status.INCONCLUSIVE and "error" not in drawn:
        assert any(NA in one or None in one for one in drawn)
    if result.status is Status.PASSED:
        assert (
            any(attempt.status is Status.PASSED for attempt in attempts) or rule is AttemptRule.MEAN
        )
    else:
        assert result.reasons and not any("0 items" in reason for reason in result.reasons)


def test_a_mean_may_be_open_where_each_attempt_is_decided() -> None:
    """100, 75 to 100 and 25 pass, pass and fail; the mean is 66 2/3 to 75, so the missing answer
    decides.
    """
    attempts = attempts_of([(True, True), (True, None), (False, True)], rubric=FREE)
    found = result_of(attempts, Case(id="c", rubric=FREE, attempts=3))
    assert [one.status for one in attempts] == [Status.PASSED, Status.PASSED, Status.FAILED]
    assert (found.status, found.low, found.high) == (
        Status.INCONCLUSIVE,
        Fraction(2, 3),
        Fraction(3, 4),
    )
    assert found.reasons[0] == "1 item has no answer" and "66.6 to 75.0" in found.reasons[1]


@given(st.permutations([(True, True), (True, None), (False, True), (None, None), "error"]))
def test_a_mean_does_not_depend_on_the_order_of_the_attempts(drawn: list[Any]) -> None:
    """The status and the interval are the same whichever attempt came first, even with every bar at
    0.
    """
    for rubric in (TWO, FREE, replace(FREE, threshold=Fraction(0))):
        attempts = attempts_of(drawn, rubric=rubric)
        one_case = Case(id="c", rubric=rubric, attempts=5)
        found = result_of(attempts, one_case)
        wanted = result_of(sorted(attempts, key=lambda one: (one.low, one.high)), one_case)
        assert (found.status, found.low, found.high) == (wanted.status, wanted.low, wanted.high)


def test_floors_hold_for_the_mean_of_each_criterion() -> None:
    """A gate is not an average of verdicts: the mean of one criterion may be below its floor."""
    rubric = Rubric(
        criteria=(
            Criterion(
                id="a",
                requirement="A",
                floor=Fraction(9, 10),
                items=(Item(id="a", requirement="A", whole=True),),
            ),
            Criterion(id="b", requirement="B", items=(Item(id="b", requirement="B", whole=True),)),
        ),
        threshold=Fraction(1, 2),
        floor=Fraction(0),
    )
    scorer, floored = Scorer(rubric), Case(id="c", rubric=rubric, attempts=2)
    cards = [
        scorer.card([Ballot(judge="j", marks={("a", "a"): Mark(a), ("b", "b"): Mark(True)})])
        for a in (True, False)
    ]
    result = result_of(
        [judge_attempt(n, card, floored) for n, card in enumerate(cards, 1)], floored
    )
    assert result.status is Status.FAILED
    assert "criterion 'a' is 50.0, below its floor 90" in result.reasons[0]
    assert mean_card(cards).line("a").low == Fraction(1, 2)


SPAN = (Fraction(10, 100), Fraction(30, 100))


@pytest.mark.parametrize(
    ("points", "expect", "outcome"),
    [
        (20, Expect(score=SPAN), "pass"),
        (10, Expect(score=SPAN), "pass"),
        (30, Expect(score=SPAN), "pass"),
        (31, Expect(score=SPAN), "fail"),
        (None, Expect(score=SPAN), "inconclusive"),
        (20, Expect(criteria={"q": SPAN}), "pass"),
        (90, Expect(criteria={"q": SPAN}), "fail"),
        (90, Expect(verdict="pass"), "pass"),
        (90, Expect(verdict="fail"), "fail"),
        (None, Expect(verdict="inconclusive"), "pass"),
        (None, Expect(verdict="pass"), "inconclusive"),
    ],
)
def test_a_judge_is_held_to_its_expected_range(
    points: int | None, expect: Expect, outcome: str
) -> None:
    """The case passes while the judge stays inside, both ends included; without a mark nothing is
    known.
    """
    card = SCORER.card(
        [Ballot(judge="j", marks={} if points is None else {("q", "q"): Mark(points)})]
    )
    from honestone.core.judging.scorecard import judge_gate

    assert meets(expect, card, judge_gate(card, RUBRIC)).outcome == outcome


def test_a_case_that_is_no_score_shows_none() -> None:
    """Skipped: no score at all, whatever the interval."""
    skipped = CaseResult(status=Status.SKIPPED, low=Fraction(0), high=Fraction(0))
    assert (skipped.score, skipped.verdict) == (None, Outcome.SKIPPED)
    assert Verdict(Outcome.SKIPPED).passed is False
