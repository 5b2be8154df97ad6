"""Agreement and its distributions against other people's libraries (`tools/oracles.py`), published
tables, and properties.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.statistics.agreement import Level, Value, agreement, alphas, kendall_tau_b
from honestone.core.statistics.distributions import beta_cdf, beta_quantile, f_quantile

ORACLES = Path(__file__).parent.parent / "oracles"
PAIR = ("cohen_kappa", "cohen_linear", "cohen_quadratic", "pearson", "spearman", "kendall_tau_b")


def oracle(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((ORACLES / f"{name}.json").read_text())
    return found


def same(ours: float | None, theirs: float | None) -> bool:
    """Both undefined, or equal but for the last digits."""
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("number", range(40))
def test_a_table_has_the_figures_of_other_libraries(number: int) -> None:
    """krippendorff, scikit-learn, statsmodels and scipy, on tables with ties and gaps."""
    theirs = oracle("agreement")[number]
    ours = agreement({str(at): column for at, column in enumerate(theirs["columns"])})
    assert same(ours.fleiss_kappa, theirs["fleiss_kappa"]) and same(
        ours.randolph_kappa, theirs["randolph_kappa"]
    )
    for level in Level:
        assert same(ours.alpha[level], theirs["alpha"][level]), level
    for pair, other in zip(ours.pairs, theirs["pairs"], strict=True):
        assert pair.n == other["n"]
        for name in PAIR:
            if not (name.endswith(("linear", "quadratic")) and other[name] is None):
                assert same(getattr(pair, name), other[name]), (pair.a, pair.b, name)
        for level in Level:
            assert same(pair.alpha[level], other["alpha"][level]), (pair.a, pair.b, level)


def test_distributions_are_those_of_scipy() -> None:
    for one in oracle("distributions"):
        a, b = one["a"], one["b"]
        assert math.isclose(
            beta_cdf(one["x"], a, b), one["beta_cdf"], rel_tol=1e-10, abs_tol=1e-12
        ), one
        assert math.isclose(beta_quantile(one["p"], a, b), one["beta_quantile"], rel_tol=1e-9), one
        assert math.isclose(f_quantile(one["p"], a, b), one["f_quantile"], rel_tol=1e-8), one


KRIPPENDORFF = [
    [1, 1, None, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, None, 3, None],
]
SHROUT_AND_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]


def columns(rows: Sequence[Sequence[Value | None]]) -> dict[str, Sequence[Value | None]]:
    return {"abcd"[at]: column for at, column in enumerate(zip(*rows, strict=True))}


def test_krippendorffs_own_table() -> None:
    """Computing Krippendorff's Alpha-Reliability (2011), section C."""
    found = agreement(columns(KRIPPENDORFF))
    assert [round(found.alpha[level] or 0, 3) for level in Level] == [0.743, 0.815, 0.849, 0.797]
    assert (found.units, found.complete_units) == (12, 8)


def test_shrout_and_fleiss_table() -> None:
    """The six coefficients of the paper (1979, table 4), with the intervals that R's psych prints
    for it.
    """
    found = agreement(columns(SHROUT_AND_FLEISS)).icc
    published = {
        "1,1": (0.17, -0.13, 0.72),
        "2,1": (0.29, 0.02, 0.76),
        "3,1": (0.71, 0.34, 0.95),
        "1,k": (0.44, -0.88, 0.91),
        "2,k": (0.62, 0.07, 0.93),
        "3,k": (0.91, 0.68, 0.99),
    }
    for name, (value, low, high) in published.items():
        icc = found[name]
        assert icc is not None and icc.interval is not None
        assert [round(one, 2) for one in (icc.value, *icc.interval)] == [value, low, high], name


@pytest.mark.parametrize("rows", [[[1, 1]] * 5, [["yes", "yes"]] * 3])
def test_where_nothing_varies_agreement_is_whole_and_nothing_above_chance_is_defined(
    rows: list[list[Value]],
) -> None:
    found = agreement(columns(rows))
    (pair,) = found.pairs
    assert found.raw_agreement == pair.exact == 1 and found.unanimous == len(rows)
    assert (
        pair.cohen_kappa
        is pair.scott_pi
        is found.fleiss_kappa
        is pair.pearson
        is pair.kendall_tau_b
        is None
    )
    assert set(found.alpha.values()) == {None} and set(found.icc.values()) == {None}


def test_no_unit_that_both_rated() -> None:
    (pair,) = agreement({"a": [1.0, None], "b": [None, 2.0]}).pairs
    assert (
        pair.n == 0
        and pair.exact is pair.cohen_kappa is pair.mae is None
        and set(pair.alpha.values()) == {None}
    )


def test_the_truth_is_compared_with_and_left_out_of_the_rest() -> None:
    found = agreement({"t": [5.0, 5.0, 1.0], "a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]}, truth="t")
    assert [(pair.a, pair.b) for pair in found.pairs] == [("t", "a"), ("t", "b")] and found.alpha[
        Level.NOMINAL
    ] == 1
    assert found.pairs[0].mean_difference == pytest.approx(-5 / 3)


ROWS = st.lists(
    st.lists(st.integers(0, 4).map(float) | st.none(), min_size=3, max_size=3),
    min_size=1,
    max_size=12,
)


@given(ROWS, st.permutations([0, 1, 2]))
def test_the_order_of_raters_and_units_means_nothing(
    rows: list[list[float | None]], order: list[int]
) -> None:
    found = agreement(columns(rows))
    other = agreement(columns([[row[at] for at in order] for row in reversed(rows)]))
    assert all(same(found.alpha[level], other.alpha[level]) for level in Level)
    assert same(found.fleiss_kappa, other.fleiss_kappa) and found.unanimous == other.unanimous


@given(ROWS, st.floats(0.1, 1000), st.floats(-1e6, 1e6))
def test_interval_alpha_does_not_depend_on_unit_and_zero(
    rows: list[list[float | None]], times: float, plus: float
) -> None:
    """Nor does the ordinal one, on any increasing scale."""
    known = [[value for value in row if value is not None] for row in rows]
    found, other = alphas(known), alphas([[value * times + plus for value in row] for row in known])
    for level in (Level.ORDINAL, Level.INTERVAL):
        assert (found[level] is None) == (other[level] is None)
        assert found[level] is None or found[level] == pytest.approx(other[level], abs=1e-6)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 5).map(float), st.integers(0, 5).map(float)), st.integers(1, 4)
    )
)
def test_kendalls_tau_is_counted_pair_by_pair(cells: dict[tuple[Value, Value], int]) -> None:
    pairs = [(float(x), float(y)) for (x, y), count in cells.items() for _ in range(count)]
    more = tied_x = tied_y = 0
    for at, (x, y) in enumerate(pairs):
        for u, v in pairs[:at]:
            more += ((x > u) - (x < u)) * ((y > v) - (y < v))
            tied_x += x == u
            tied_y += y == v
    n = len(pairs) * (len(pairs) - 1) // 2
    expected = more / math.sqrt((n - tied_x) * (n - tied_y)) if n > tied_x and n > tied_y else None
    assert same(kendall_tau_b(cells), expected)


@given(st.floats(0, 1), st.floats(0.5, 50), st.floats(0.5, 50))
def test_a_beta_quantile_is_the_inverse(p: float, a: float, b: float) -> None:
    x = beta_quantile(p, a, b)
    assert (
        0 <= x <= 1
        and beta_cdf(max(0, x - 1e-9), a, b) <= p + 1e-6
        and beta_cdf(min(1, x + 1e-9), a, b) >= p - 1e-6
    )
