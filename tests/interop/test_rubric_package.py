"""Rubrics of the `rubric` package: weights and requirements, flat or in sections."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.scorer import Scorer
from honestone.formats.source import ForeignRubric, SourceErrors
from honestone.formats.syntax.document import Document
from honestone.interop.recognise import recognise
from honestone.interop.rubric_package.read import READERS
from property_examples import examples


def read(value: Any) -> ForeignRubric:
    text = value if isinstance(value, str) else json.dumps(value)
    document = Document(path=Path("r.json"), text=text)
    assert recognise(document) is READERS[0]
    source = READERS[0].read(document)
    assert isinstance(source, ForeignRubric)
    return source


def tool_score(weights: list[Fraction], met: list[bool]) -> Fraction:
    """The package's documented formula."""
    won = sum((w for w, m in zip(weights, met, strict=True) if m), Fraction(0))
    positive = sum((w for w in weights if w > 0), Fraction(0))
    if positive:
        return min(max(won / positive, Fraction(0)), Fraction(1))
    return 1 + won / sum((-w for w in weights), Fraction(0))


WEIGHTS = st.integers(-5000, 5000).filter(bool).map(lambda n: Fraction(n, 100))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(WEIGHTS, st.booleans()), min_size=1, max_size=8))
def test_gradings_equal_the_documented_formula(graded: list[tuple[Fraction, bool]]) -> None:
    """Positive, mixed and all-negative rubrics."""
    weights, met = [w for w, _ in graded], [m for _, m in graded]
    rubric = read(
        [{"weight": float(w), "requirement": f"Q {n}"} for n, w in enumerate(weights)]
    ).rubric
    marks = {(c.id, c.id): Mark(m) for c, m in zip(rubric.criteria, met, strict=True)}
    assert Scorer(rubric).card([Ballot(judge="j", marks=marks)]).score == tool_score(weights, met)


def test_equal_requirements_are_two_criteria() -> None:
    """The format has no names; the same text twice is asked twice, with ids of their own."""
    rubric = read(
        [{"weight": 1, "requirement": "Same"}, {"weight": 2, "requirement": "Same"}]
    ).rubric
    assert [(c.id, c.weight) for c in rubric.criteria] == [("same", 1), ("same-2", 2)]


def test_sections_are_one_list() -> None:
    """A section's own weight changes nothing in the tool, so it is noted and changes nothing here."""
    source = read(
        {
            "rubric": {
                "sections": [
                    {"name": "s", "weight": 100, "criteria": [{"weight": 1, "requirement": "A"}]},
                    {"name": "t", "criteria": [{"weight": 3, "requirement": "B"}]},
                ]
            }
        }
    )
    assert [(c.id, c.weight) for c in source.rubric.criteria] == [("a", 1), ("b", 3)]
    assert any("section's weight" in note for note in source.notes)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('[{"weight": 1, "requirement": ""}]', "r.json:1:31", "empty"),
        (
            '[{"weight": 1, "requirement": "A"}, {"requirement": "B", "wieght": 2}]',
            "r.json:1:37",
            "`weight` is missing",
        ),
        ('[{"weight": "1", "requirement": "A"}]', "r.json:1:13", "must be a number"),
        (
            '{"sections": [{"criteria": [{"weight": 1, "requirement": "A"}]}], "sektions": 1}',
            "r.json:1:67",
            "unknown key",
        ),
    ],
)
def test_mistakes_have_a_place(text: str, place: str, words: str) -> None:
    """Line and column of what is wrong."""
    with pytest.raises(SourceErrors) as caught:
        read(text)
    assert caught.value.place == place and words in caught.value.message


def test_the_example_is_recognised() -> None:
    """What the reference page shows is read."""
    assert [c.weight for c in read(READERS[0].example).rubric.criteria] == [3, -2]
