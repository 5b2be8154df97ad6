"""Exact numbers: what was written is what is compared, and what is shown never flatters."""

from __future__ import annotations

from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.numbers import NORMAL, exact, show_bar, show_points, to_points

shares = st.fractions(0, 1, max_denominator=10**9)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (0.1, Fraction(1, 10)),
        ("69.9999999", Fraction(699999999, 10**7)),
        (91.65, Fraction(9165, 100)),
        (7, Fraction(7)),
        ("-2.5", Fraction(-5, 2)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_a_number_is_the_decimal_that_was_written(
    written: float | str | Fraction, value: Fraction
) -> None:
    """0.1 is one tenth, not the nearest binary float."""
    assert exact(written) == value


@pytest.mark.parametrize(
    "written", [True, False, float("nan"), float("inf"), "nan", "inf", "1/3", "", "ten"]
)
def test_what_is_no_number_is_refused(written: object) -> None:
    """Booleans, NaN, infinities, fractions and words are no scores."""
    with pytest.raises(ValueError):
        exact(written)  # type: ignore[arg-type]


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-1000, max_value=1000)
)
def test_text_and_its_value_agree(number: object) -> None:
    """Reading a decimal loses no digit."""
    assert exact(str(number)) == Fraction(str(number))


@pytest.mark.parametrize(
    ("score", "shown"),
    [
        ("0.699999999", "69.9"),
        ("0.7", "70.0"),
        ("0.9165", "91.6"),
        ("1", "100.0"),
        ("0.0009", "0.0"),
        ("-0.5", "-50.0"),
    ],
)
def test_a_score_is_cut_for_people(score: str, shown: str) -> None:
    """69.99999 is never shown as 70.0."""
    assert show_points(Fraction(score)) == shown


@given(shares)
def test_what_is_shown_is_never_more_than_what_is(score: Fraction) -> None:
    """And it is less than a tenth of a point below."""
    shown = Fraction(show_points(score))
    assert shown <= score * 100 < shown + Fraction(1, 10)


@pytest.mark.parametrize("written", ["70", "72.5", "91.65", "69.9999999", "0.5", "33.333333"])
def test_a_bar_is_shown_as_it_was_written(written: str) -> None:
    """A threshold of 69.9999999 does not read as 70."""
    assert show_bar(exact(written) / 100) == written


@given(shares)
def test_json_numbers_are_not_rounded(score: Fraction) -> None:
    """The nearest float, within 1e-9 of the score."""
    assert abs(Fraction(to_points(score)) - score * 100) < Fraction(1, 10**9)


def test_the_width_of_95_percent_is_that_of_the_normal_distribution() -> None:
    assert NormalDist().inv_cdf(0.975) == NORMAL
