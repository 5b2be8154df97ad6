"""What is believed of judges that answer by few values of a scale."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.belief.test_levels import chance, scales

from honestone.core.belief.scales.marks import (
    NO_MARK,
    STARTS,
    DescribedLevels,
    MarksOfOne,
    ScoredItems,
)
from honestone.core.belief.scales.rounding import with_rounding
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Key

FIVE = DescribedLevels((0.0, 25.0, 50.0, 75.0, 100.0), 5.0)
THREE = DescribedLevels((0.0, 50.0, 100.0), 5.0)


def believed(
    rows: Sequence[Sequence[float]],
    *,
    judges: int = 3,
    looks: int = 1,
    threshold: int,
    floor: int = 0,
) -> float:
    """How sure it is where each judge gives each criterion these marks in every look."""
    text = TextBelief(scales(len(rows[0]), threshold, floor))
    keys = [key for key, _ in text._questions.items()]
    for _ in range(looks):
        for judge, row in zip(range(judges), rows, strict=True):
            text.see(f"j{judge}", dict(zip(keys, map(Mark, row), strict=True)))
    assert text.probability is not None
    return text.probability


MIXED = [100, 50, 100, 50, 100, 100]


@pytest.mark.parametrize("looks", [1, 3, 6])
def test_few_values_leave_open_what_is_between_them(looks: int) -> None:
    """The marks' mean is 83. Further looks round alike, and do not make it surer."""
    assert 0.3 < believed([MIXED] * 3, looks=looks, threshold=80) < 0.9


def test_values_between_show_that_judges_do_not_round() -> None:
    finer = [99, 51, 98, 52, 97, 99]
    assert believed([finer] * 3, threshold=80) > 0.99


def test_what_few_values_cannot_hide_is_believed() -> None:
    """A bar that is far below the marks is reached, whatever the judges round."""
    assert believed([MIXED] * 3, threshold=60) > 0.99
    assert believed([MIXED] * 3, threshold=97) < 0.01


@pytest.mark.parametrize("bar", [60, 70, 80, 90, 100])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_full_marks_of_all_judges_stay_a_pass(count: int, bar: int) -> None:
    """That they have no other value to give is less likely than that the text is as good."""
    assert chance(scales(count, bar, 0), 100, judges=3) >= 0.95


@pytest.mark.parametrize("mark", [0, 20, 25, 40, 50, 60, 75, 80, 100])
def test_one_mark_of_one_judge_may_be_of_any_step(mark: int) -> None:
    """Where many assumptions are alike, none of them is much of the whole."""
    for bar in (60, 75, 100):
        assert 0.0 < chance(scales(1, bar, 0), mark, judges=1) < 1.0


MARKS = st.lists(
    st.sampled_from((0.0, 20.0, 40.0, 50.0, 60.0, 75.0, 100.0)), min_size=0, max_size=5
)


def of_one(marks: Sequence[float]) -> MarksOfOne:
    found = NO_MARK
    for mark in marks:
        found = found.and_one(mark)
    return found


@given(
    st.lists(st.lists(MARKS, min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from((FIVE, THREE)),
    st.sampled_from((0.0, 60.0, 75.0, 100.0)),
)
def test_the_shares_of_all_that_may_be_so_are_one(
    given_: list[list[list[float]]], levels: DescribedLevels, bar: float
) -> None:
    keys: list[Key] = [(f"c{n}", f"c{n}") for n in range(len(given_))]
    marks = {
        key: [of_one(own) for own in rows if own] for key, rows in zip(keys, given_, strict=True)
    }
    plain: list[tuple[float, ScoredItems]] = [(1.0, dict.fromkeys(keys, STARTS))]
    found = with_rounding(plain, marks, dict.fromkeys(keys, levels), frozenset([0.0, bar]), bar)
    assert sum(weight for weight, _ in found) == pytest.approx(1.0, abs=0.01)
    for _, items in found:
        for atoms in items.values():
            assert sum(atom.mass for atom in atoms) == pytest.approx(1.0, abs=1e-6)
            assert all(0.0 <= atom.mean <= 100.0 and atom.var >= 0.0 for atom in atoms)


@given(
    st.lists(st.sampled_from((0.0, 50.0, 100.0)), min_size=2, max_size=6),
    st.integers(2, 3),
    st.sampled_from((60, 80)),
)
def test_a_further_value_of_every_judge_makes_a_pass_hardly_less_probable(
    marks: list[float], judges: int, threshold: int
) -> None:
    better = [min(mark + 50.0, 100.0) for mark in marks]
    now = believed([marks] * judges, judges=judges, threshold=threshold)
    assert believed([better] * judges, judges=judges, threshold=threshold) > now - 0.01
