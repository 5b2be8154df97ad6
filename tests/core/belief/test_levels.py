"""What is believed of marks on a scale where a bar is at the very level that judges name."""

from __future__ import annotations

from itertools import pairwise
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.belief.counting import sum_of_parts
from honestone.core.belief.normal import Atom, merged
from honestone.core.belief.scales.marks import DescribedLevels, at_levels, near_levels
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Rubric
from honestone.formats.rubric.rubric_file import parse_rubric

SCALE = "anchors: {0: absent, 25: little, 50: half, 75: good, 100: full}"


def scales(
    count: int, threshold: int, floor: int, *, more: str = "", within: bool = False
) -> Rubric:
    """So many criteria on a scale, or one of so many items."""
    words = [f"requirement: Property {n} holds, {SCALE}{more}" for n in range(count)]
    criteria = (
        f"  - {{id: one, requirement: All, items: [{', '.join(f'{{{one}}}' for one in words)}]}}\n"
        if within
        else "".join(f"  - {{id: p{n}, {one}}}\n" for n, one in enumerate(words))
    )
    text = f"rubric: 1\nthreshold: {threshold}\nfloor: {floor}\ncriteria:\n{criteria}"
    return parse_rubric(text, "rubric").rubric


def chance(of: Rubric, points: float, *, judges: int = 2, looks: int = 1) -> float:
    text = TextBelief(of)
    for _ in range(looks):
        for judge in range(judges):
            text.see(f"j{judge}", {key: Mark(points) for key, _ in of.questions()})
    assert text.probability is not None
    return text.probability


@settings(max_examples=40)
@given(
    st.integers(1, 9), st.sampled_from((25, 50, 75, 100)), st.booleans(), st.sampled_from((0, 1))
)
def test_a_bar_at_the_level_that_all_judges_name_is_reached(
    count: int, level: int, within: bool, of_each: int
) -> None:
    """Full marks too, and whether the whole has to reach it or each criterion; just above it is
    not reached.
    """
    threshold, floor = (0, level) if of_each else (level, 0)
    found = scales(count, threshold, floor, within=within)
    assert chance(found, level, judges=3) >= 0.95
    assert chance(found, level, judges=3, looks=2) >= 0.99
    if level < 100:
        assert chance(scales(count, 100, 0, within=within), level, judges=3) <= 0.05


@pytest.mark.parametrize(("points", "more"), [(0, ""), (100, ", negate: true")])
def test_a_required_scale_at_its_lowest_end_is_not_met(points: int, more: str) -> None:
    """As an item that all deny, whatever the others are; anything above it is met."""
    of = scales(1, 0, 0, more=f", required: true{more}")
    assert chance(of, points, judges=3) <= 0.05
    assert chance(of, 50, judges=3) >= 0.95


@pytest.mark.parametrize("bar", [20, 30, 50, 70])
def test_one_judge_s_zero_is_hardly_a_pass(bar: int) -> None:
    """A text of which nothing is known may be anywhere on the scale."""
    assert chance(scales(1, bar, 0), 0, judges=1) < 0.2


def test_answers_beside_the_described_levels_are_as_they_are() -> None:
    """Of 72 where 70 is wanted it is open which side it is on."""
    assert 0.5 < chance(scales(1, 70, 0), 72, judges=1) < 0.8


@pytest.mark.parametrize("judges", [1, 2, 3])
def test_better_marks_of_all_judges_make_a_bar_at_a_level_hardly_less_probable(judges: int) -> None:
    """Of 76 where 75 is wanted it was 51 % sure after one look, and of 75 68 %."""
    of = scales(1, 75, 0)
    found = [chance(of, points, judges=judges) for points in range(60, 101)]
    best = 0.0
    for one in found:
        assert one > best - 0.025
        best = max(best, one)


@given(
    st.sampled_from((5.0, 2.0)),
    st.frozensets(st.integers(0, 100).map(float), min_size=1, max_size=4),
)
def test_no_two_levels_have_the_same_part_of_a_scale(
    within: float, marks: frozenset[float]
) -> None:
    levels = tuple(2.0 * within * n for n in range(int(50 / within) + 1))
    near = near_levels(DescribedLevels(levels, within), marks)
    assert {one for one in marks if one in levels} <= {one.level for one in near}
    assert all(low <= level <= high for level, low, high in near)
    assert all(before.high <= after.low for before, after in pairwise(near))


ATOMS = st.lists(
    st.builds(Atom, st.floats(0.05, 1), st.floats(0, 100), st.sampled_from((0.0, 0.3, 9.0, 200.0))),
    min_size=1,
    max_size=3,
)


LEVELS = (0.0, 25.0, 50.0, 75.0, 100.0)


@given(ATOMS, st.lists(st.sampled_from(LEVELS), max_size=3, unique=True))
def test_what_is_near_a_level_keeps_its_mass(atoms: list[Atom], levels: list[float]) -> None:
    found = at_levels(atoms, near_levels(DescribedLevels(LEVELS, 5.0), frozenset(levels)))
    assert sum(one.mass for one in found) == pytest.approx(sum(one.mass for one in atoms), rel=1e-6)
    inside = [level for level in levels if 0 < level < 100]
    if len(inside) == len(levels):
        whole, before = merged(list(found)), merged(atoms)
        assert whole.mean == pytest.approx(before.mean, abs=5.0)


@given(st.lists(ATOMS, min_size=1, max_size=4), st.sampled_from((1, 100)))
def test_a_sum_of_parts_has_their_mass_mean_and_variance(
    parts: list[list[Atom]], most: int
) -> None:
    found, each = merged(sum_of_parts(parts, most)), [merged(part) for part in parts]
    assert found.mass == pytest.approx(prod(one.mass for one in each), rel=1e-6)
    assert found.mean == pytest.approx(sum(one.mean for one in each), abs=1e-4)
    assert found.var == pytest.approx(sum(one.var for one in each), abs=1e-3, rel=1e-3)
