"""What marks on a scale come to in one step, beside Kalman's updates, one for each mark."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.strategies import percent, rubric

from honestone.core.belief.normal import Atom
from honestone.core.belief.scales.marks import (
    NO_MARK,
    NO_MARKS,
    SDS,
    SHARED,
    STARTS,
    ItemMarks,
    MarksOfOne,
    log_density,
    truth_by,
)
from honestone.core.belief.scales.scores import Component, ScoreModel, belief_of
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Mark


class Vote(NamedTuple):
    judge: int
    points: float


VOTES = st.lists(
    st.builds(Vote, st.integers(0, 4), st.one_of(st.integers(0, 100), st.floats(0, 100))),
    min_size=1,
    max_size=14,
)


def marks_of(votes: Sequence[Vote]) -> ItemMarks:
    by_judge: dict[int, MarksOfOne] = {}
    for judge, points in votes:
        by_judge[judge] = by_judge.get(judge, NO_MARK).and_one(float(points))
    return ItemMarks.of(by_judge.values())


def one_by_one(sd: float, votes: Sequence[Vote]) -> tuple[tuple[Atom, ...], float]:
    """The same by the model that edits need, with the log of the density of all votes."""
    model = ScoreModel(sd, SHARED, 5, 0)
    (first,) = model.start().parts
    belief = belief_of(
        [
            Component(mass, [mean, *first.mean[1:]], [var, *first.cov[1:]])
            for mass, mean, var in STARTS
        ]
    )
    total = 0.0
    for judge, points in votes:
        belief, log = model.seen(belief, judge, points)
        total += log
    return belief.atoms, total


@given(VOTES, st.sampled_from(SDS))
def test_marks_in_one_step_are_as_one_by_one(votes: list[Vote], sd: float) -> None:
    """Where marks of judges that hardly err are far apart, each update loses digits of its own."""
    atoms, log = one_by_one(sd, votes)
    marks, close = marks_of(votes), 1e-9 if sd > 1 else 1e-7
    assert log_density(sd, marks) == pytest.approx(log, abs=close, rel=1e-9)
    found = truth_by(sd, marks)
    assert len(found) == len(atoms)
    for one, other in zip(found, atoms, strict=True):
        assert one == pytest.approx(other, abs=close)


def test_nothing_is_believed_of_an_item_without_a_mark() -> None:
    assert ItemMarks.of([]) == NO_MARKS
    assert log_density(6.0, NO_MARKS) == 0.0
    assert truth_by(6.0, NO_MARKS) == STARTS


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.lists(st.floats(0, 100), min_size=3, max_size=3)),
        min_size=1,
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_looks_changes_no_digit(
    looks: list[tuple[str, list[float]]], drawn: random.Random
) -> None:
    """So that looks on record, by judge, say what they said one after the other."""
    of = rubric(percent("one"), percent("two"), percent("three"), threshold=60, floor=20)
    chances = set()
    for _ in range(2):
        text = TextBelief(of)
        for judge, points in looks:
            names = [key for key, _ in of.questions()]
            text.see(judge, {key: Mark(one) for key, one in zip(names, points, strict=True)})
        chances.add(text.probability)
        drawn.shuffle(looks)
    assert len(chances) == 1
