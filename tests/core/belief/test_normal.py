from __future__ import annotations

from math import inf, isclose, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.belief.normal import NODES, Atom, below, cut, density, log_below, merged

numbers = st.floats(-50, 150)
sds = st.floats(0.5, 30)


def test_the_nodes_integrate_polynomials_exactly() -> None:
    """The even moments of a standard normal are 1, 1, 3, 15, 105, 945, 10395."""
    for power, moment in zip(range(0, 14, 2), (1, 1, 3, 15, 105, 945, 10395), strict=True):
        assert sum(w * z**power for z, w in NODES) == pytest.approx(moment, rel=1e-12)
        assert sum(w * z ** (power + 1) for z, w in NODES) == pytest.approx(0, abs=1e-9 * moment)


@given(st.floats(-29, 9))
def test_the_logarithm_is_that_of_the_probability(z: float) -> None:
    assert log_below(z) == pytest.approx(log(below(z)), rel=1e-12, abs=1e-300)


@given(st.floats(-1e3, -25), st.floats(0.01, 10))
def test_the_logarithm_rises_far_out_too(z: float, step: float) -> None:
    assert log_below(z) < log_below(z + step) < 0


@given(numbers, sds, numbers, st.floats(0.5, 60))
def test_a_cut_is_what_integration_says(mean: float, sd: float, low: float, width: float) -> None:
    found = cut(Atom(1.0, mean, sd * sd), low, low + width)
    # Twelve deviations hold everything; a grid over more of a wide interval would be too coarse for
    # a narrow tail.
    start = max(low, mean - 12 * sd)
    end = min(low + width, max(start, mean) + 12 * sd)
    count, long = 4000, max(end - start, 0.0)
    grid = [start + long * (i + 0.5) / count for i in range(count)]
    masses = [density((x - mean) / sd) / sd * long / count for x in grid]
    total = sum(masses)
    assert found.mass == pytest.approx(total, rel=1e-4, abs=1e-9)
    if total > 1e-6:
        centre = sum(m * x for m, x in zip(masses, grid, strict=True)) / total
        assert found.mean == pytest.approx(centre, abs=1e-3 * width + 1e-3)
        spread = sum(m * (x - centre) ** 2 for m, x in zip(masses, grid, strict=True)) / total
        assert sqrt(found.var) == pytest.approx(sqrt(spread), abs=2e-2 * min(width, sd))


@given(numbers, sds, numbers)
def test_the_two_sides_of_a_cut_are_the_whole(mean: float, sd: float, at: float) -> None:
    whole = Atom(1.0, mean, sd * sd)
    sides = [cut(whole, -inf, at), cut(whole, at, inf)]
    again = merged([side for side in sides if side.mass > 0])
    assert isclose(again.mass, 1.0, abs_tol=1e-9)
    assert isclose(again.mean, mean, abs_tol=1e-6 * sd + 1e-6)
    assert isclose(again.var, sd * sd, rel_tol=1e-5)
