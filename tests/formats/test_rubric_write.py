"""Writing rubrics: what is written is read back as the same rubric."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rubrics import fractions, rubrics
from msgspec.structs import replace

from honestone.core.errors import RubricError
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric, Rule
from honestone.formats.rubric.rubric_file import parse_rubric
from honestone.formats.rubric.rubric_write import dump_rubric
from property_examples import examples

WRITTEN = r"""rubric: 1
title: A bug report
threshold: 72.5
floor: 55
criteria:
  - id: reproducible
    requirement: A stranger can reproduce the bug
    weight: 50
    floor: 70
    required: true
    items:
      - States the exact version
      - id: numbered-steps
        requirement: Gives numbered steps
        check: {regex: '(?m)^\s*1[.)]'}
        fix: ./number_steps.sh
  - id: tone
    requirement: Neutral tone
    weight: 0.25
    anchors: {0: hostile, 50: mixed, 100: factual}
  - id: code
    requirement: "The code: all of it"
    criteria:
      - id: tests
        requirement: |-
          Tests cover what matters
            and nothing else
        check:
          command: sh -c 'python -m pytest -q tests && python -m mypy && echo everything is fine here'
          timeout: 30
      - id: lies
        requirement: Makes things up
        weight: -2
"""


def test_the_written_form() -> None:
    """Written rubrics look as a person would write them, and writing is stable."""
    assert dump_rubric(parse_rubric(WRITTEN, "r").rubric) == WRITTEN


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None)
@given(rubrics(), st.none() | st.sampled_from(Rule))
def test_what_is_written_is_read_back(drawn: Rubric, combine: Rule | None) -> None:
    """Every rubric that the format can say survives being written and read."""
    rubric = replace(drawn, combine=combine)
    assert parse_rubric(dump_rubric(rubric), "r").rubric == rubric


def yes_no(id: str, **more: object) -> Criterion:
    return replace(
        Criterion(id=id, requirement=id, items=(Item(id=id, requirement=id, whole=True),)), **more
    )


@given(
    fractions,
    fractions.map(lambda share: min(share, 1 / share)),
    st.lists(fractions, min_size=2, max_size=4, unique=True),
)
def test_what_no_decimal_can_say_is_a_fraction(
    weight: Fraction, bar: Fraction, levels: list[Fraction]
) -> None:
    """Weights, bars and levels of any share are written so that exactly the same is read."""
    marked = yes_no("a", weight=weight, floor=bar)
    anchors = Anchors(levels=tuple((level, "so") for level in sorted(levels)))
    scaled = yes_no("b", items=(Item(id="b", requirement="b", anchors=anchors, whole=True),))
    rubric = Rubric(criteria=(marked, scaled), threshold=max(bar, Fraction(1, 100)), floor=bar)
    assert parse_rubric(dump_rubric(rubric), "r").rubric == rubric


@pytest.mark.parametrize("weight", ["1/0", "2/3/4", "1.5/2", "a/b", "/3", "2/", "1/" + "9" * 99])
def test_what_is_not_a_fraction_is_refused(weight: str) -> None:
    """A division by zero, or by anything that is not a whole number, has its place."""
    with pytest.raises(RubricError, match="must be a number") as told:
        parse_rubric(f"criteria: [{{id: a, requirement: b, weight: {weight}}}]\n", "r.yaml")
    assert (told.value.place or "").startswith("r.yaml:1:")


def test_a_way_of_marking_that_no_file_can_say_is_refused() -> None:
    """Items that a file would put in another order are refused, not moved."""
    whole, item = Item(id="a", requirement="a", whole=True), Item(id="x", requirement="x")
    with pytest.raises(RubricError, match="cannot say"):
        dump_rubric(Rubric(criteria=(yes_no("a", items=(whole, item)),)))
