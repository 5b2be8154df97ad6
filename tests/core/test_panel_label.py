"""Labels and recommendations of a panel's scores."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.skill.risk import Label, Recommendation, label_of, mean_of, recommendation_of

SCORES = st.lists(st.fractions(0, 10, max_denominator=6), min_size=1, max_size=6)


def fractions(*numbers: float) -> list[Fraction]:
    return [Fraction(str(number)) for number in numbers]


@pytest.mark.parametrize(
    ("scores", "label"),
    [
        ((6, 7), Label.CONSENSUS),
        ((10,), Label.CONSENSUS),
        ((5.9, 5), Label.CONSENSUS),
        ((6, 8), Label.VERIFIED),
        ((1, 3), Label.VERIFIED),
        ((10, 0), Label.SPLIT),
        ((6, 5.9), Label.SPLIT),
        ((8, 8, 1), Label.DISPUTED),
        ((8, 1, 1), Label.DISPUTED),
    ],
)
def test_labels(scores: tuple[float, ...], label: Label) -> None:
    """One side of 6 or both, near together or not."""
    assert label_of(fractions(*scores)) is label


def test_no_score_has_no_label_and_is_rejected() -> None:
    """A dead panel makes up nothing."""
    assert label_of([]) is None and mean_of([]) is None
    assert recommendation_of(None, None) is Recommendation.REJECT


def test_without_judges_a_score_is_accepted() -> None:
    """Nobody said anything against it."""
    assert recommendation_of(Fraction(7), None) is Recommendation.ACCEPT


@given(SCORES)
def test_a_divided_panel_never_accepts(scores: list[Fraction]) -> None:
    """Accepting takes all judges on the side of the candidate."""
    label, score = label_of(scores), mean_of(scores)
    assert score is not None and min(scores) <= score <= max(scores)
    accepted = recommendation_of(score, label) is Recommendation.ACCEPT
    assert accepted == all(one >= 6 for one in scores)


@given(SCORES)
def test_the_order_of_judges_does_not_matter(scores: list[Fraction]) -> None:
    """Neither for the label nor for the score."""
    assert label_of(scores) is label_of(scores[::-1]) and mean_of(scores) == mean_of(scores[::-1])
