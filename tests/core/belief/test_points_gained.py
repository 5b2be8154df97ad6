"""The points that items gain together: in halves, on a grid and by each state of the items."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import reduce
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.belief.item_chain import PointsGained, one_more
from honestone.core.belief.normal import below

# The points that items are worth, and P(up) and P(down) of each of them.
Items = Mapping[float, Sequence[tuple[float, float]]]
MOVES = st.tuples(st.floats(0.0, 0.5), st.floats(0.0, 0.4))


def gained(items: Items) -> PointsGained:
    return PointsGained.of(
        {
            points: reduce(lambda shares, one: one_more(shares, *one), moves, [1.0])
            for points, moves in items.items()
        }
    )


def every_state(items: Items) -> dict[float, float]:
    sums = {0.0: 1.0}
    for points, moves in items.items():
        for up, down in moves:
            then: dict[float, float] = {}
            for at, p in sums.items():
                for by, q in ((points, up), (-points, down), (0.0, 1.0 - up - down)):
                    then[round(at + by, 9)] = then.get(round(at + by, 9), 0.0) + p * q
            sums = then
    return sums


def above_zero(sums: Mapping[float, float], mean: float, var: float) -> float:
    if var <= 0.0:
        return sum(p for at, p in sums.items() if at + mean > 1e-9)
    return sum(p * below((at + mean) / sqrt(var)) for at, p in sums.items())


@given(
    st.dictionaries(
        st.integers(1, 40).map(lambda n: n / 4), st.lists(MOVES, max_size=2), max_size=7
    ),
    st.sampled_from((0.0, -1.5, 0.25)),
    st.sampled_from((0.0, 4.0)),
)
def test_few_items_are_exact(items: Items, mean: float, var: float) -> None:
    found, sums = gained(items), every_state(items)
    assert found.mean == pytest.approx(sum(at * p for at, p in sums.items()), abs=1e-9)
    assert found.above_zero(mean, var) == pytest.approx(above_zero(sums, mean, var), abs=1e-9)


def unequal(count: int, seed: int) -> Items:
    """Of no common grid, as three criteria in a thousand weights."""
    drawn = random.Random(seed)
    weights = [drawn.uniform(0.2, 3.0) for _ in range(count)]
    return {
        100.0 * one / sum(weights): [(drawn.uniform(0.0, 0.3), drawn.uniform(0.0, 0.2))]
        for one in weights
    }


@pytest.mark.slow
@settings(max_examples=10)
@given(st.integers(0, 1_000))
def test_many_items_are_nearly_exact(seed: int) -> None:
    items = unequal(9, seed)
    sums = every_state(items)
    with pytest.MonkeyPatch.context() as patched:
        for limit in ("_FEW", "_MOST_OF_HALF"):
            patched.setattr(f"honestone.core.belief.item_chain.{limit}", 1)
        rounded = gained(items)
    assert len(rounded.one) < 2_000
    assert rounded.above_zero(0.0, 0.0) == pytest.approx(above_zero(sums, 0.0, 0.0), abs=0.002)
    assert rounded.one[0.0] == pytest.approx(sums[0.0], abs=1e-12)
    for mean, var in ((-2.0, 9.0), (1.0, 1.0)):
        close = pytest.approx(above_zero(sums, mean, var), abs=0.002)
        assert rounded.above_zero(mean, var) == close


def test_of_three_hundred_unequal_items_few_sums_are_worked_out() -> None:
    """Of each state there are 3 to the 300th."""
    items = unequal(300, 1)
    found = gained(items)
    assert len(found.one) * len(found.other) < 2_000
    assert sum(found.one.values()) == pytest.approx(1.0, abs=1e-6)
    means = [points * (up - down) for points, ((up, down),) in items.items()]
    assert found.mean == pytest.approx(sum(means), rel=0.02)


@pytest.mark.parametrize("unlikely", [0.0, 1e-20, 1e-11, 1e-6])
def test_of_many_items_that_are_nearly_certain_few_sums_are_worked_out(unlikely: float) -> None:
    items = {points: [(unlikely, unlikely / 2)] for points in unequal(40, 2)}
    found = gained(items)
    assert len(found.one) * len(found.other) < 200_000
    assert found.above_zero(0.0, 0.0) == pytest.approx(40 * unlikely, rel=1e-3, abs=1e-9)
