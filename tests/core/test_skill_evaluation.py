"""Does a skill help: the verdict over every way that open tasks could have ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.skill.evaluation import (
    SkillVerdict,
    TaskResult,
    broken_suite,
    judge_skill,
    rate,
    rate_interval,
)
from property_examples import examples

Passed = bool | None
Sides = tuple[list[Passed], list[Passed]]


def side(passed: Sequence[Passed]) -> list[TaskResult]:
    return [
        TaskResult(
            task_id=f"t{number}",
            passed=one,
            score=None if one is None else float(one),
            error="overloaded" if one is None else "",
        )
        for number, one in enumerate(passed)
    ]


def completions(passed: Sequence[Passed]) -> Iterator[tuple[bool, ...]]:
    return product(*([True, False] if one is None else [one] for one in passed))


@st.composite
def two_sides(draw: st.DrawFn, most_open: int = 6) -> Sides:
    count = draw(st.integers(1, 7))
    found = draw(
        st.lists(st.sampled_from([True, True, False, None]), min_size=2 * count, max_size=2 * count)
    )
    if found.count(None) > most_open:
        found = [bool(one) for one in found]
    return found[:count], found[count:]


def plain_verdict(
    after: Sequence[bool], before: Sequence[bool], *, is_without: bool
) -> SkillVerdict:
    """The rule for two sides without an open task, in as few words as it has."""
    now, then = Fraction(sum(after), len(after)), Fraction(sum(before), len(before))
    fifth = Fraction(1, 5)
    if then < fifth and (now < fifth or not is_without):
        return SkillVerdict.ERROR
    return SkillVerdict.PASS if now >= then else SkillVerdict.FAIL


@given(two_sides(), st.booleans())
def test_a_verdict_is_what_every_completion_gives(sides: Sides, is_without: bool) -> None:
    """Pass or fail only where no crash could have made it anything else; else error, and never a
    number for a crash.
    """
    after, before = sides
    ways = {
        plain_verdict(now, then, is_without=is_without)
        for now in completions(after)
        for then in completions(before)
    }
    found = judge_skill(side(after), side(before), is_without=is_without)
    assert found.verdict == (ways.pop() if len(ways) == 1 else SkillVerdict.ERROR)
    assert (found.execution_pass_rate is None) == (None in after)
    assert (found.baseline_pass_rate is None) == (None in before)
    assert (found.delta is None) == (found.interval is None) == (None in after + before)
    assert (found.reason == "") == (found.verdict == SkillVerdict.PASS)


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(two_sides(most_open=3), st.booleans())
def test_an_improvement_is_asked_of_every_completion_too(sides: Sides, is_without: bool) -> None:
    """With --require-improvement the interval's lower end has to be above 0 however the open tasks
    had ended.
    """
    after, before = sides
    ways = {
        judge_skill(side(now), side(then), is_without=is_without, require_improvement=True).verdict
        for now in completions(after)
        for then in completions(before)
    }
    found = judge_skill(side(after), side(before), is_without=is_without, require_improvement=True)
    assert found.verdict == (ways.pop() if len(ways) == 1 else SkillVerdict.ERROR)


@given(two_sides())
def test_asking_for_more_never_passes_more(sides: Sides) -> None:
    """What passes with --require-improvement passes without it, and its delta is above 0."""
    strict = judge_skill(side(sides[0]), side(sides[1]), is_without=False, require_improvement=True)
    if strict.verdict is SkillVerdict.PASS:
        assert (
            judge_skill(side(sides[0]), side(sides[1]), is_without=False).verdict
            is SkillVerdict.PASS
        )
        assert strict.delta is None or strict.delta > 0


@given(st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=12))
def test_a_rate_lies_between_the_worst_and_the_best_end(passed: list[Passed]) -> None:
    """It is a number only when nothing is open, and then both ends are it."""
    low, high = rate_interval(side(passed))
    shares = {Fraction(sum(way), len(way)) for way in completions(passed)}
    assert (low, high) == (min(shares), max(shares))
    assert rate(side(passed)) == (None if None in passed else low)


def test_nothing_run_has_no_rate() -> None:
    """No tasks: no rate, not 0 and not 1, and no verdict but error."""
    assert rate([]) is None
    assert judge_skill([], [], is_without=False).verdict is SkillVerdict.ERROR


@pytest.mark.parametrize(
    ("passing", "tasks", "is_broken"), [(1, 5, False), (1, 6, True), (0, 3, True)]
)
def test_a_fifth_exactly_is_enough(passing: int, tasks: int, is_broken: bool) -> None:
    """A baseline under 20% means a broken suite; 20% does not."""
    results = side([number < passing for number in range(tasks)])
    reason = broken_suite(results)
    assert (reason is not None) == is_broken
    assert reason is None or ("< 0.2" in reason and "fix the suite" in reason)


def test_a_baseline_that_may_be_enough_is_not_called_broken() -> None:
    """A crash could have been a pass: the candidate is worth running."""
    assert broken_suite(side([None, False, False, False, False])) is None
    assert broken_suite(side([None, *[False] * 9])) is not None


def test_a_candidate_cannot_fall_below_a_suite_that_may_be_broken() -> None:
    """Baseline 1 of 10 and one crash, candidate 0: a crash that failed would have meant a broken
    suite.
    """
    found = judge_skill(side([False] * 10), side([True, None, *[False] * 8]), is_without=False)
    assert found.verdict is SkillVerdict.ERROR
    assert "t1" in found.reason
    assert "overloaded" in found.reason


def test_other_tasks_are_no_comparison() -> None:
    """Rates of different tasks say nothing about each other."""
    other = [TaskResult(task_id="elsewhere", passed=True, score=1.0)]
    found = judge_skill(other, side([True]), is_without=False)
    assert found.verdict is SkillVerdict.ERROR
    assert "same tasks" in found.reason


def test_zero_on_both_sides_is_never_a_pass() -> None:
    """Without the skill 0 is a fine baseline, but then the skill has to pass something."""
    none, all_ = side([False] * 4), side([True] * 4)
    assert judge_skill(none, none, is_without=True).verdict is SkillVerdict.ERROR
    assert judge_skill(all_, none, is_without=True).verdict is SkillVerdict.PASS
    assert judge_skill(all_, none, is_without=False).verdict is SkillVerdict.ERROR
