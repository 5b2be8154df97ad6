"""The gate: exact at its bars, never hidden by a mean, and open where something is missing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import EXIT_CODES, Outcome, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer

from .strategies import (
    ballot,
    checked,
    checklist,
    completions,
    group,
    judged,
    percent,
    rubric,
    yes_no,
)

PASS, FAIL, OPEN = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE


def verdict(of: Rubric, *given: Ballot) -> Verdict:
    return judge_gate(Scorer(of).card(given), of)


def said(**answers: Any) -> Ballot:
    return ballot("ann", answers)


# ----------------------------------------------------------------------------------------------------------
# bars


@pytest.mark.parametrize(
    ("score", "threshold", "outcome"),
    [
        (91.65, 90, PASS),
        (90, 90, PASS),
        (89.9999999, 90, FAIL),
        (69.9999999, 70, FAIL),
        (70, 69.9999999, PASS),
        (55, 55, PASS),
        (54.999, 55, FAIL),
        (0, 0, PASS),
        (100, 100, PASS),
    ],
)
def test_the_threshold_is_compared_exactly(
    score: float, threshold: float, outcome: Outcome
) -> None:
    """To the last decimal that was written."""
    assert verdict(rubric(percent("a"), threshold=threshold), said(a=score)).outcome is outcome


def test_weights_that_floats_would_blur() -> None:
    """55 and 57 on equal weights are 56, not 55.99999; 0.07 of 100 tenths is 7."""
    assert verdict(rubric(percent("a"), percent("b"), threshold=56), said(a=55, b=57)).passed
    many = [percent(f"c{n}", weight="0.1") for n in range(10)]
    of = rubric(*many, threshold=7)
    assert verdict(of, said(**{f"c{n}": 70 if n == 0 else 0 for n in range(10)})).passed
    assert not verdict(of, said(**{f"c{n}": 69.99999 if n == 0 else 0 for n in range(10)})).passed


def test_a_floor_is_not_hidden_by_the_mean() -> None:
    """The mean passes, one criterion does not, and the reason names it."""
    of = rubric(percent("a"), percent("b"), percent("c"), threshold=80, floor=70)
    told = verdict(of, said(a=100, b=100, c=67))
    assert told.outcome is FAIL
    assert told.reasons == ("criterion 'c' is 67.0, below its floor 70",)


def test_required_is_not_hidden_by_the_mean() -> None:
    """A required criterion at 0 fails, whatever the rest is."""
    of = rubric(percent("a", weight=99), yes_no("must", weight=1, required=True), threshold=50)
    told = verdict(of, said(a=100, must=False))
    assert told.outcome is FAIL
    assert told.reasons == ("required criterion 'must' is not met: it scored 0",)


def test_required_means_above_0() -> None:
    """One of ten is enough for `required`; a floor is there for more."""
    of = rubric(checklist("must", [f"i{n}" for n in range(10)], required=True), threshold=0)
    assert verdict(of, said(must={f"i{n}": n == 0 for n in range(10)})).passed


def test_required_anywhere_in_a_tree() -> None:
    """Three levels down, with floors off, it still fails the whole."""
    of = rubric(
        group(
            "top",
            group("mid", yes_no("deep", weight=1, required=True), percent("other", weight=99)),
        ),
        threshold=10,
    )
    told = verdict(of, said(deep=False, other=100))
    assert told.outcome is FAIL and "'deep'" in told.reasons[0]


def test_floors_at_the_top_and_of_ones_own() -> None:
    """The rubric's floor holds for top-level criteria, not for children; a child's own floor holds
    for the child.
    """
    tree = group("top", percent("low", weight=1), percent("high", weight=9))
    assert verdict(rubric(tree, floor=60), said(low=0, high=100)).passed
    strict = group("top", percent("low", weight=1, floor=10), percent("high", weight=9))
    told = verdict(rubric(strict, floor=60), said(low=9, high=100))
    assert told.reasons == ("criterion 'low' is 9.0, below its floor 10",)
    own = rubric(percent("a", floor=20), percent("b"), threshold=40, floor=60)
    assert verdict(own, said(a=25, b=70)).passed


def test_every_missed_bar_is_a_reason() -> None:
    """Required, floors and the threshold together."""
    of = rubric(yes_no("must", required=True), percent("a", floor=50), threshold=70)
    told = verdict(of, said(must=False, a=10))
    assert [
        word in reason
        for word, reason in zip(("required", "floor 50", "threshold 70"), told.reasons, strict=True)
    ] == [True] * 3


def test_a_penalty_has_no_floor() -> None:
    """0 is good there."""
    of = rubric(yes_no("a"), yes_no("bad", weight=-1), threshold=100, floor=60)
    assert verdict(of, said(a=True, bad=False)).passed


# ---------------------------------------------------------------------------------------------------------
# missing


@pytest.mark.parametrize(
    ("threshold", "outcome"), [(50, PASS), (75, PASS), (76, OPEN), (100, OPEN)]
)
def test_missing_marks_leave_a_verdict_open(threshold: int, outcome: Outcome) -> None:
    """Three known of four: what the fourth could change is open, the rest is not."""
    of = rubric(checklist("a", ["x", "y", "z", "w"]), threshold=threshold)
    assert verdict(of, said(a={"x": True, "y": True, "z": True})).outcome is outcome


def test_a_missing_mark_cannot_save_what_is_lost() -> None:
    """Where even full marks would not reach the bar, it is a fail and no longer open."""
    of = rubric(checklist("a", ["x", "y"]), threshold=60)
    told = verdict(of, said(a={"x": False}))
    assert told.outcome is FAIL
    assert told.reasons == ("the overall score is at most 50.0, below the threshold 60",)


def test_a_missing_required_criterion_is_never_a_pass() -> None:
    """However light it is and however good the rest."""
    of = rubric(percent("a", weight=999), yes_no("must", weight=1, required=True), threshold=50)
    told = verdict(of, said(a=100))
    assert told.outcome is OPEN
    assert told.reasons[0] == "1 item has no answer" and "'must'" in told.reasons[1]


def test_an_open_verdict_says_what_is_open() -> None:
    """How much is missing and which bars hang on it."""
    of = rubric(checklist("a", ["x", "y", "z"], floor=50), threshold=60)
    told = verdict(of, said(a={"x": True}))
    assert told.reasons[0] == "2 items have no answer"
    assert any("its floor is 50" in r for r in told.reasons) and any(
        "the threshold is 60" in r for r in told.reasons
    )


def test_no_mark_at_all_is_never_a_pass() -> None:
    """Not even when every bar is 0."""
    assert verdict(rubric(yes_no("a"), threshold=0)).outcome is OPEN
    assert verdict(rubric(checked("a"), threshold=0), Ballot(judge=CHECK, marks={})).outcome is OPEN


def test_where_nothing_applies_there_is_no_pass() -> None:
    """Every judge said "n/a" to everything."""
    told = verdict(rubric(yes_no("a", may_not_apply=True), threshold=0), said(a="n/a"))
    assert told.outcome is OPEN and "nothing in the rubric applies" in told.reasons[0]


def test_what_does_not_apply_has_no_bars() -> None:
    """Its floor and `required` go with it."""
    of = rubric(yes_no("a", may_not_apply=True, required=True, floor=90), percent("b"))
    assert verdict(of, said(a="n/a", b=80)).passed


@given(st.data(), judged())
def test_a_verdict_holds_whatever_the_missing_marks_are(
    data: st.DataObject, case: tuple[Rubric, tuple[Ballot, ...]]
) -> None:
    """Pass means that every completion passes, fail that every completion fails."""
    of, given_ = case
    before = verdict(of, *given_).outcome
    after = verdict(of, *data.draw(completions(of, given_))).outcome
    if before is not OPEN:
        assert after is before


@given(judged(complete=True))
def test_with_every_mark_there_is_a_verdict(case: tuple[Rubric, tuple[Ballot, ...]]) -> None:
    """Open only where nothing applies."""
    of, given_ = case
    card = Scorer(of).card(given_)
    assert (judge_gate(card, of).outcome is OPEN) <= (not card.applies)


@given(judged())
def test_only_a_pass_has_no_reasons(case: tuple[Rubric, tuple[Ballot, ...]]) -> None:
    """Whoever fails is told why."""
    told = verdict(case[0], *case[1])
    assert told.passed == (told.reasons == ())
    assert all(reason.strip() for reason in told.reasons)


def test_exit_codes() -> None:
    """0 passed, 1 did not, 3 could not be judged; never 0 for anything but a pass."""
    assert {str(outcome): code for outcome, code in EXIT_CODES.items()} == {
        "pass": 0,
        "fail": 1,
        "inconclusive": 3,
        "skipped": 3,
    }
