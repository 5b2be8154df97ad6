from __future__ import annotations

from collections.abc import Sequence
from math import exp, log, pi

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.belief.scales.scores import (
    OWN,
    START_MEAN,
    START_SD,
    WITNESS_LOAD,
    ScoreBelief,
    ScoreModel,
    places_of,
)

Votes = list[tuple[int, float]]
PANEL, HELD_OUT = 2, 1
models = st.builds(
    ScoreModel, st.floats(2, 20), st.floats(0, 0.9), st.just(PANEL), st.just(HELD_OUT)
)
votes = st.lists(
    st.tuples(st.integers(0, PANEL + HELD_OUT - 1), st.floats(0, 100)), min_size=1, max_size=5
)
edits = st.lists(st.booleans(), max_size=3)


def believed(model: ScoreModel, cast: Votes) -> tuple[ScoreBelief, float]:
    belief, total = model.start(), 0.0
    for judge, vote in cast:
        belief, seen = model.seen(belief, judge, vote)
        total += seen
    return belief, total


def solved(matrix: list[list[float]], right: Sequence[float]) -> tuple[list[float], float]:
    """The solution of a positive definite system, and the logarithm of its determinant."""
    rows, size, determinant = (
        [[*row, r] for row, r in zip(matrix, right, strict=True)],
        len(matrix),
        0.0,
    )
    for i in range(size):
        determinant += log(rows[i][i])
        for j in range(i + 1, size):
            part = rows[j][i] / rows[i][i]
            rows[j] = [a - part * b for a, b in zip(rows[j], rows[i], strict=True)]
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (rows[i][size] - sum(rows[i][j] * found[j] for j in range(i + 1, size))) / rows[
            i
        ][i]
    return found, determinant


@given(models, votes)
def test_the_belief_is_that_of_all_votes_at_once(model: ScoreModel, cast: Votes) -> None:
    """Mean, variance and likelihood are those of the joint normal distribution of truth and votes."""
    square, truth = model.sd**2, START_SD**2

    def load(judge: int) -> float:
        return 1.0 if judge < PANEL else WITNESS_LOAD

    def common(i: int, j: int) -> float:
        (one, _), (other, _) = cast[i], cast[j]
        rest = (1 - load(one) ** 2 * model.rho) * square
        own = OWN * rest if one == other else 0.0
        return (
            truth
            + load(one) * load(other) * model.rho * square
            + own
            + ((1 - OWN) * rest if i == j else 0.0)
        )

    size = range(len(cast))
    matrix = [[common(i, j) for j in size] for i in size]
    misses = [vote - START_MEAN for _, vote in cast]
    weights, determinant = solved(matrix, misses)
    pulls, _ = solved(matrix, [truth] * len(cast))
    found, total = believed(model, cast)
    assert found.mean == pytest.approx(START_MEAN + truth * sum(weights), abs=1e-6)
    assert found.var == pytest.approx(truth - truth * sum(pulls), abs=1e-6)
    energy = sum(w * m for w, m in zip(weights, misses, strict=True))
    assert total == pytest.approx(-0.5 * (energy + determinant + len(cast) * log(2 * pi)), abs=1e-6)


@given(models, votes)
def test_the_order_of_votes_does_not_matter(model: ScoreModel, cast: Votes) -> None:
    """Where no part of a mixture is given up for being all but impossible."""
    found, also = believed(model, cast), believed(model, sorted(cast))
    assert (found[0].mean, found[0].var, found[1]) == pytest.approx(
        (also[0].mean, also[0].var, also[1]), abs=1e-6
    )


@given(models, votes, edits, votes)
def test_weights_sum_to_one_and_variances_are_positive(
    model: ScoreModel, before: Votes, aims: list[bool], after: Votes
) -> None:
    belief, _ = believed(model, before)
    for aimed in aims:
        belief = model.edited(belief, aimed=aimed)
        assert sum(part.weight for part in belief.parts) == pytest.approx(1)
        for judge, vote in after:
            belief, _ = model.seen(belief, judge, vote)
        assert sum(part.weight for part in belief.parts) == pytest.approx(1)
        assert belief.var > 0 and all(
            part.cov[i] > -1e-9 for part in belief.parts for i in places_of(len(part.mean)).diagonal
        )


@given(models, st.lists(st.floats(0, 100), max_size=2), st.floats(0, 99), st.floats(0.5, 1))
def test_a_higher_vote_is_believed_higher(
    model: ScoreModel, earlier: list[float], vote: float, more: float
) -> None:
    """Of a judge that has not voted yet."""
    belief, _ = believed(model, list(enumerate(earlier)))
    judge = len(earlier)
    assert model.seen(belief, judge, vote)[0].mean < model.seen(belief, judge, vote + more)[0].mean


def test_what_an_edit_may_do_is_what_was_measured() -> None:
    """Of 40 points an aimed edit brings .6 x 15 - .3 x 2 - .1; an edit of something else costs .15
    x 8 - .05 x 4.
    """
    model = ScoreModel(10, 0.2, 3, 2)
    belief, _ = model.seen(model.start(), 0, 30)
    assert model.edited(belief, aimed=True).mean - belief.mean == pytest.approx(8.3)
    assert model.edited(belief, aimed=False).mean - belief.mean == pytest.approx(-1.0)


def test_a_held_out_judge_sees_less_of_a_cosmetic_edit() -> None:
    """After an edit, the panel's rise is believed less than the same rise seen by a held-out judge."""
    model = ScoreModel(5, 0.5, 1, 1)
    belief, _ = model.seen(model.start(), 0, 60)
    edited = model.edited(belief, aimed=True)
    assert model.seen(edited, 0, 80)[0].mean < model.seen(edited, 1, 80)[0].mean


def test_the_likelihood_is_a_density() -> None:
    model = ScoreModel(10, 0.3, 1, 1)
    edited = model.edited(model.seen(model.start(), 0, 55)[0], aimed=True)
    step = 0.25
    total = sum(exp(model.seen(edited, 1, -150 + step * i)[1]) * step for i in range(1600))
    assert total == pytest.approx(1, abs=1e-3)
