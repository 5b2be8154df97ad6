"""Comparing two runs: what is a regression, what is only unknown, and figures that agree with the
literature.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import (
    BASELINE_GATES,
    COMPARE_GATES,
    CaseSide,
    bootstrap,
    compare,
    judge_comparison,
    mean,
    sign_test,
)

ORACLES = Path(__file__).parent.parent / "oracles"
"""What scipy said (`tools/oracles.py`)."""

P, F = (
    CaseSide(status=Status.PASSED, score=Fraction(1)),
    CaseSide(status=Status.FAILED, score=Fraction(0)),
)
E, S = CaseSide(status=Status.TARGET_ERROR), CaseSide(status=Status.SKIPPED)
FLIPS = CaseSide(status=Status.FAILED, score=Fraction(1, 2), is_unstable=True)


def test_items_with_the_same_words_are_told_apart() -> None:
    """Two criteria may ask the same: what is met in the one and not in the other did not turn."""
    side = CaseSide(status=Status.FAILED, items=(("has a price", True), ("has a price", False)))
    pair = compare({"case": side}, {"case": side}).pairs[0]
    assert pair.fixed == pair.broken == ()


@given(*[st.dictionaries(st.sampled_from("abcdef"), st.booleans()) for _ in range(2)])
def test_items_that_turned_are_named(before: dict[str, bool], after: dict[str, bool]) -> None:
    """Those judged on both sides alone; what was not judged on a side did not turn."""
    sides = [
        {"case": CaseSide(status=Status.FAILED, items=tuple(marks.items()))}
        for marks in (before, after)
    ]
    pair = compare(*sides).pairs[0]
    both = before.keys() & after.keys()
    assert set(pair.fixed) == {name for name in both if after[name] and not before[name]}
    assert set(pair.broken) == {name for name in both if before[name] and not after[name]}


def test_swapped_and_vanished_are_all_named() -> None:
    """The mean is the same, and still two cases and the lost one are told."""
    found = compare(
        {"down": P, "up": F, "gone": P, "same": P}, {"down": F, "up": P, "same": P, "fresh": P}
    )
    assert (found.regressions, found.improvements, found.missing, found.new) == (
        ("down",),
        ("up",),
        ("gone",),
        ("fresh",),
    )
    assert (found.delta, found.wins, found.losses, found.ties) == (0, 1, 1, 1)
    assert judge_comparison(found, COMPARE_GATES).outcome == "fail"
    assert judge_comparison(found, BASELINE_GATES).outcome == "fail"
    assert judge_comparison(found, ("delta<0",)).outcome == "pass"


@pytest.mark.parametrize("side", [(E, P), (P, E)])
def test_undecided_is_no_regression(side: tuple[CaseSide, CaseSide]) -> None:
    """Neither a loss nor a win; the figures are open and so is the verdict."""
    found = compare({"a": side[0], "b": P}, {"a": side[1], "b": P})
    assert (found.undecided, found.regressions, found.losses, found.delta, found.interval) == (
        ("a",),
        (),
        0,
        None,
        None,
    )
    assert judge_comparison(found, COMPARE_GATES).outcome == "inconclusive"


def test_a_regression_fails_whatever_is_undecided() -> None:
    """An error elsewhere hides nothing."""
    found = compare({"a": P, "b": P}, {"a": E, "b": F})
    assert judge_comparison(found, COMPARE_GATES).outcome == "fail"


def test_skipping_a_case_does_not_hide_it() -> None:
    """Judged there and skipped here is missing; skipped on both sides is left out; judged anew is
    new.
    """
    found = compare({"a": P, "b": S, "c": S}, {"a": S, "b": S, "c": P})
    assert (found.missing, found.new, found.pairs) == (("a",), ("c",), ())
    verdict = judge_comparison(compare({"a": P, "b": P}, {"a": S, "b": P}), COMPARE_GATES)
    assert verdict.reasons == ("judged in the baseline, not in the candidate: a",)


def test_a_flipping_case_is_unstable_not_a_regression() -> None:
    """On either side."""
    found = compare({"a": P, "b": FLIPS}, {"a": FLIPS, "b": P})
    assert (found.regressions, found.improvements, found.unstable) == ((), (), ("a", "b"))


def test_runs_without_a_common_case_show_nothing() -> None:
    """They are not a pass."""
    found = compare({}, {"a": P})
    assert judge_comparison(found, BASELINE_GATES).outcome == "inconclusive"


def test_the_sign_test_is_scipys() -> None:
    """Exact and two-sided, for every pair of up to 60 wins and losses; 1 where there are none."""
    theirs = json.loads((ORACLES / "binomial.json").read_text())["sign"]
    for wins in range(61):
        for losses in range(61):
            known = theirs[max(wins, losses)][min(wins, losses)]
            assert sign_test(wins, losses) == pytest.approx(known, rel=1e-9), (wins, losses)


def test_the_bootstrap_agrees_with_scipys() -> None:
    """Percentile intervals of the mean of paired differences, within the noise of 2,000 samples."""
    for theirs in json.loads((ORACLES / "bootstrap.json").read_text()):
        low, high = bootstrap([Fraction(x, 100) for x in theirs["hundredths"]])
        width = theirs["high"] - theirs["low"]
        assert abs(float(low) - theirs["low"]) < 0.08 * width
        assert abs(float(high) - theirs["high"]) < 0.08 * width


@given(st.lists(st.fractions(-1, 1, max_denominator=100), min_size=1, max_size=40))
def test_an_interval_holds_between_the_extremes(numbers: list[Fraction]) -> None:
    """It never leaves the data, repeats itself exactly, and is a point where nothing varies."""
    low, high = bootstrap(numbers)
    assert min(numbers) <= low <= high <= max(numbers)
    assert bootstrap(numbers) == (low, high)
    if len(set(numbers)) == 1:
        assert low == high == mean(numbers)


def test_draws_are_even() -> None:
    """Every case is drawn about as often as the others: the mean of many means is the mean."""
    numbers = [Fraction(x) for x in range(10)]
    low, high = bootstrap(numbers)
    assert low < Fraction(9, 2) < high
    assert abs((low + high) / 2 - Fraction(9, 2)) < Fraction(1, 4)
