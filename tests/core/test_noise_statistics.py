"""How far two looks at the same bytes are apart: against the standard library, and by counting
pairs.
"""

from __future__ import annotations

import statistics
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.statistics.noise import flip_rate, spread_of, tolerance_of


@given(st.lists(st.floats(0, 100), min_size=2, max_size=20))
def test_the_spread_is_that_of_a_sample(numbers: list[float]) -> None:
    found = spread_of(numbers)
    assert found.mean == pytest.approx(statistics.fmean(numbers)) and found.sd == pytest.approx(
        statistics.stdev(numbers), abs=1e-9
    )


def test_fewer_than_two_have_no_spread() -> None:
    assert (spread_of([]).mean, spread_of([]).sd) == (None, None)
    assert (spread_of([70]).mean, spread_of([70]).sd) == (70, None)


@given(st.lists(st.booleans(), min_size=2, max_size=12))
def test_the_flip_rate_counts_pairs_that_differ(looks: list[bool]) -> None:
    pairs = list(combinations(looks, 2))
    assert flip_rate(sum(looks), len(looks)) == pytest.approx(
        sum(a != b for a, b in pairs) / len(pairs)
    )
    assert flip_rate(1, 1) is None


def test_nineteen_of_twenty_pairs_of_looks_are_within_the_tolerance() -> None:
    normal = statistics.NormalDist(70, 4)
    one, other = normal.samples(20_000, seed=1), normal.samples(20_000, seed=2)
    within = sum(abs(a - b) <= tolerance_of(4) for a, b in zip(one, other, strict=True))
    assert within / 20_000 == pytest.approx(0.95, abs=0.01)
