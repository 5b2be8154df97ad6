"""The gate of another tool's case in the words of our suites: it passes the same scores."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.judging.rubric import Check, Criterion, Rubric
from honestone.core.numbers import ONE, ZERO
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.reader import FileReading
from honestone.interop.criteria import (
    FROM_0_TO_1,
    MAJORITY,
    check_criterion,
    gated,
    scaled,
    unique_ids,
    usual_gate,
    yes_no,
)
from property_examples import examples

WEIGHTS = st.sampled_from([ZERO, Fraction(1, 2), ONE, Fraction(3)])
MARKS = st.fractions(0, 1, max_denominator=20)


@st.composite
def criteria(draw: st.DrawFn) -> Criterion:
    """A check, a judge's question, or a score, that has to be met by itself where it counts."""
    weight = draw(WEIGHTS)
    kind = draw(st.sampled_from(["check", "question", "score"]))
    if kind == "check":
        floor = ONE if weight else None
        return check_criterion(Check(kind="contains", value="x"), weight=weight, floor=floor)
    if kind == "question":
        floor = MAJORITY if weight else None
        return yes_no("q", "Is it so?", weight=weight, floor=floor)
    bar = draw(MARKS)
    return scaled("s", "How much?", FROM_0_TO_1, weight=weight, floor=bar if weight else None)


def is_check(criterion: Criterion) -> bool:
    return criterion.items[0].check is not None


def passes(rubric: Rubric, scores: list[Fraction]) -> bool:
    total = sum(one.weight for one in rubric.criteria)
    mean = (
        sum(one.weight * score for one, score in zip(rubric.criteria, scores, strict=True)) / total
    )
    floors = [rubric.floor if one.floor is None else one.floor for one in rubric.criteria]
    return mean >= rubric.threshold and all(
        score >= floor for score, floor in zip(scores, floors, strict=True)
    )


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(criteria(), min_size=1, max_size=4), st.data())
def test_the_usual_gate_passes_the_same_scores(found: list[Criterion], data: st.DataObject) -> None:
    """Whatever the floors, weights and scores are. The score of a plain check is 1 or 0."""
    reading = FileReading(parse_marked("{}", str(Path("x.yaml"))))
    rubric = gated(reading, (), unique_ids(found))
    if rubric is None:
        return
    scores = [
        data.draw(st.sampled_from([ZERO, ONE]) if is_check(one) else MARKS)
        for one in rubric.criteria
    ]
    usual = usual_gate(rubric)
    assert passes(usual, scores) == passes(rubric, scores)
    if all(is_check(one) and one.weight for one in rubric.criteria):
        assert (usual.threshold, usual.floor) == (
            Rubric(criteria=rubric.criteria).threshold,
            Rubric(criteria=rubric.criteria).floor,
        )


def test_a_threshold_of_its_own_stays() -> None:
    """Where the mean decides, and no floor, nothing is changed."""
    reading = FileReading(parse_marked("{}", "x.yaml"))
    one = check_criterion(Check(kind="contains", value="x"))
    rubric = gated(reading, (), [one], Fraction(3, 5))
    assert rubric is not None
    assert usual_gate(rubric) is rubric
