"""Columns of one suite: the test of each pair, how it is made stricter, and which column is the
cheapest.
"""

from __future__ import annotations

import json
from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.judging.scorecard import Outcome
from honestone.core.record.table import (
    Cost,
    cheapest,
    compare_columns,
    holm,
    paired_interval,
    worst,
)
from honestone.core.statistics.rates import wilson
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import CaseSide

BINOMIAL = json.loads((Path(__file__).parent.parent / "oracles" / "binomial.json").read_text())
"""What scipy said (`tools/oracles.py`)."""

P, F = CaseSide(status=Status.PASSED), CaseSide(status=Status.FAILED)
E, S = CaseSide(status=Status.TARGET_ERROR), CaseSide(status=Status.SKIPPED)
SIDES = st.sampled_from([P, F, E, S])
COUNTS = st.tuples(*[st.integers(0, 40)] * 4).filter(any)


def column(text: str) -> dict[str, CaseSide]:
    """`PF-E`: a case for each letter."""
    known = {"P": P, "F": F, "E": E, "-": S}
    return {f"c{n}": known[letter] for n, letter in enumerate(text)}


def test_three_columns_are_three_pairs() -> None:
    """Exact McNemar of 6, 7 and 1 discordant cases, adjusted by Holm over the three."""
    pairs = compare_columns(
        {"a": column("PPPPPPPP"), "b": column("PPFFFFFF"), "c": column("PFFFFFFF")}
    )
    assert [(pair.a, pair.b, pair.wins, pair.losses) for pair in pairs] == [
        ("a", "b", 6, 0),
        ("a", "c", 7, 0),
        ("b", "c", 1, 0),
    ]
    assert [pair.p for pair in pairs] == [0.03125, 0.015625, 1]
    assert [pair.p_adjusted for pair in pairs] == [0.0625, 0.046875, 1]
    assert [pair.delta for pair in pairs] == [Fraction(6, 8), Fraction(7, 8), Fraction(1, 8)]


def test_an_undecided_case_leaves_the_difference_open() -> None:
    """It is counted, and there is no number for it; a case that is skipped in both is not there at
    all.
    """
    (pair,) = compare_columns({"a": column("PPE-"), "b": column("PFP-")})
    assert (pair.wins, pair.losses, pair.undecided, pair.delta, pair.interval) == (
        1,
        0,
        1,
        None,
        None,
    )
    (pair,) = compare_columns({"a": column("PP-"), "b": column("PF-")})
    assert (pair.undecided, pair.delta) == (0, Fraction(1, 2))
    (pair,) = compare_columns({"a": column("PP-"), "b": column("PFP")})
    assert (pair.undecided, pair.delta) == (1, None)
    (pair,) = compare_columns({"a": column("--"), "b": column("--")})
    assert (pair.undecided, pair.delta, pair.p) == (0, None, 1)


@given(st.integers(0, 60), st.integers(0, 60))
def test_p_is_scipys_binomial(wins: int, losses: int) -> None:
    """Two-sided and exact; equal columns give 1."""
    (pair,) = compare_columns(
        {"a": column("P" * wins + "F" * losses), "b": column("F" * wins + "P" * losses)}
    )
    known = BINOMIAL["sign"][max(wins, losses)][min(wins, losses)]
    assert pair.p == pytest.approx(known, rel=1e-9)
    assert pair.p_adjusted == pair.p


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_the_closed_test(ps: list[float]) -> None:
    """By the definition: the largest of the step-down products up to one's own rank, never above 1."""
    order = sorted(range(len(ps)), key=ps.__getitem__)
    expected = {
        index: min(
            1.0, max((len(ps) - rank) * ps[other] for rank, other in enumerate(order[: place + 1]))
        )
        for place, index in enumerate(order)
    }
    adjusted = holm(ps)
    assert adjusted == [pytest.approx(expected[index]) for index in range(len(ps))]
    assert all(one >= p for one, p in zip(adjusted, ps, strict=True))


def test_holm_of_a_published_example() -> None:
    """Holm (1979) on 0.01, 0.04, 0.03, 0.005, as R's p.adjust gives it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == [pytest.approx(p) for p in (0.03, 0.06, 0.06, 0.02)]


def test_wilson_is_scipys() -> None:
    """The score interval without correction, for up to 50 that passed and up to 50 that did not."""
    for passed, row in enumerate(BINOMIAL["wilson"]):
        for more, (low, high) in enumerate(row, start=1):
            assert wilson(passed, passed + more) == (
                pytest.approx(low, abs=1e-9),
                pytest.approx(high, abs=1e-9),
            )


def test_the_paired_interval_is_newcombes() -> None:
    """The example of Newcombe (1998), table II, method 10."""
    assert paired_interval(36, 12, 2, 0) == (
        pytest.approx(0.0569, abs=5e-5),
        pytest.approx(0.3404, abs=5e-5),
    )


@given(COUNTS)
def test_the_paired_interval_holds_the_difference(counts: tuple[int, int, int, int]) -> None:
    """It is within -1 to 1, has some width, and turns round when the columns change places."""
    both, wins, losses, neither = counts
    low, high = paired_interval(*counts)
    delta = (wins - losses) / sum(counts)
    assert -1 - 1e-9 <= low <= delta <= high <= 1 + 1e-9
    assert low < high
    assert paired_interval(both, losses, wins, neither) == (
        pytest.approx(-high),
        pytest.approx(-low),
    )


def test_the_paired_interval_covers() -> None:
    """About 95 of 100 intervals from samples of a known difference hold it."""
    import random

    made, hits = random.Random(7), 0
    for _ in range(2000):
        drawn = made.choices(range(4), weights=(40, 25, 10, 25), k=40)
        low, high = paired_interval(*(drawn.count(kind) for kind in range(4)))
        hits += low <= 0.15 <= high
    assert abs(hits / 2000 - 0.95) < 3 * sqrt(0.95 * 0.05 / 2000) + 0.015


@given(st.lists(st.tuples(SIDES, SIDES), max_size=30))
def test_a_pair_turned_round_says_the_same(cases: list[tuple[CaseSide, CaseSide]]) -> None:
    """Wins become losses, the difference its opposite, p stays."""
    a = {str(n): pair[0] for n, pair in enumerate(cases)}
    b = {str(n): pair[1] for n, pair in enumerate(cases)}
    (one,), (other,) = compare_columns({"a": a, "b": b}), compare_columns({"b": b, "a": a})
    assert (one.wins, one.losses, one.undecided, one.p) == (
        other.losses,
        other.wins,
        other.undecided,
        other.p,
    )
    assert one.delta == (None if other.delta is None else -other.delta)
    assert (one.interval is None) == (one.delta is None)


def test_the_cheapest_is_by_money_where_it_is_known_for_all() -> None:
    """Else by calls; of equal ones the first; of none nobody."""
    assert cheapest({"a": Cost(usd=0.5, calls=1), "b": Cost(usd=0.2, calls=9)}) == "b"
    assert cheapest({"a": Cost(usd=None, calls=2), "b": Cost(usd=0.2, calls=9)}) == "a"
    assert cheapest({"a": Cost(usd=0.0, calls=2), "b": Cost(usd=0.0, calls=1)}) == "a"
    assert cheapest({}) is None


@pytest.mark.parametrize(
    ("verdicts", "found"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "inconclusive"], "inconclusive"),
        (["inconclusive", "fail"], "fail"),
        (["error", "pass"], "inconclusive"),
        (["skipped", "pass"], "inconclusive"),
    ],
)
def test_the_worst_column_decides(verdicts: list[str], found: str) -> None:
    """A failure, then what could not be judged."""
    assert worst(verdicts) is Outcome(found)
