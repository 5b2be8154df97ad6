"""HealthBench: every line a case, points as weights; written suites read back the same."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rubrics import decimals, rubrics, texts

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.suite.case import Case, Message, Split, Suite
from honestone.formats.source import SourceErrors, SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.criteria import unique_ids, yes_no
from honestone.interop.healthbench.read import READERS
from honestone.interop.healthbench.write import dump_healthbench
from honestone.interop.recognise import recognise
from property_examples import examples

ROW: dict[str, Any] = {
    "prompt_id": "p1",
    "prompt": [
        {"role": "user", "content": "I cut my hand."},
        {"role": "assistant", "content": "How deep?"},
    ],
    "rubrics": [
        {
            "criterion": "Says to press on it",
            "points": 7,
            "tags": ["level:example", "axis:accuracy"],
        },
        {"criterion": "Tells a joke", "points": -3, "tags": []},
        {"criterion": "Asks about tetanus", "points": 3},
    ],
    "example_tags": ["theme:cuts"],
    "ideal_completions_data": {
        "ideal_completion": "Press on it.",
        "ideal_completions_group": "Group 1",
        "ideal_completions_ref_completions": ["Wait."],
    },
    "canary": "do not train",
}


def read(*rows: dict[str, Any] | str) -> SuiteSource:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    document = Document(path=Path("h.jsonl"), text="\n".join(lines) + "\n")
    assert recognise(document) is READERS[0]
    source = READERS[0].read(document)
    assert isinstance(source, SuiteSource)
    return source


def test_a_line_is_a_case() -> None:
    """Conversation, points, tags and the ideal completion each have their place; nothing is
    dropped.
    """
    source = read(ROW, {**ROW, "prompt_id": "p2", "ideal_completions_data": None, "canary": None})
    case, second = source.suite.cases
    assert case.messages == (Message("user", "I cut my hand."), Message("assistant", "How deep?"))
    assert [(c.id, c.weight) for c in case.rubric.criteria] == [
        ("says-to-press-on-it", 7),
        ("tells-a-joke", -3),
        ("asks-about-tetanus", 3),
    ]
    assert (case.reference, case.tags, case.rubric.floor) == ("Press on it.", ("theme:cuts",), 0)
    assert case.metadata == {
        "ideal_completions_group": "Group 1",
        "ideal_completions_ref_completions": ["Wait."],
        "criterion_tags": {"says-to-press-on-it": ["level:example", "axis:accuracy"]},
        "canary": "do not train",
    }
    assert (second.reference, source.losses) == (None, ())
    assert source.places == {"p1": "h.jsonl:1:1", "p2": "h.jsonl:2:1"}
    assert any("reference" in note for note in source.notes) and any(
        "cut to 0..1" in note for note in source.notes
    )


def test_one_object_and_a_list_are_read_too() -> None:
    """The same rows as JSON with line breaks."""
    for text, ids in (
        (json.dumps(ROW, indent=1), ["p1"]),
        (json.dumps([ROW, {**ROW, "prompt_id": "p2"}], indent=1), ["p1", "p2"]),
    ):
        document = Document(path=Path("h.json"), text=text)
        assert recognise(document) is READERS[0]
        source = READERS[0].read(document)
        assert isinstance(source, SuiteSource) and [case.id for case in source.suite.cases] == ids


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.tuples(st.integers(-10, 10), st.booleans()), min_size=1, max_size=10))
def test_points_won_over_points_to_win(graded: list[tuple[int, bool]]) -> None:
    """The documented score of an example, cut to 0..1; without positive points there is none."""
    row = {
        **ROW,
        "rubrics": [
            {"criterion": f"C {n}", "points": p, "tags": []} for n, (p, _) in enumerate(graded)
        ],
    }
    possible = sum(p for p, _ in graded if p > 0)
    if not possible:
        with pytest.raises(SourceErrors, match="no criterion of this line gives points"):
            read(row)
        return
    rubric = read(row).suite.cases[0].rubric
    marks = {(c.id, c.id): Mark(met) for c, (_, met) in zip(rubric.criteria, graded, strict=True)}
    won = Fraction(sum(p for p, met in graded if met), possible)
    assert Scorer(rubric).card([Ballot(judge="j", marks=marks)]).score == min(
        max(won, Fraction(0)), Fraction(1)
    )


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        (
            {"rubrics": [{"criterion": "A", "points": -1, "tags": []}]},
            "h.jsonl:2:",
            "no criterion of this line",
        ),
        (
            {"rubrics": [{"criterion": "A", "point": 1}, {"criterion": "B", "points": 1}]},
            "h.jsonl:2:",
            "`points` is missing",
        ),
        ({"rubrics": []}, "h.jsonl:2:", "no criteria"),
        ({"prompt": []}, "h.jsonl:2:", "`prompt` is empty"),
        ({"prompt": None}, "h.jsonl:2:", "`prompt` is missing"),
        ({"prompt": [{"role": "user", "content": ["x"]}]}, "h.jsonl:2:", "`content` must be text"),
        ({"exampletags": []}, "h.jsonl:2:", "unknown key `exampletags`"),
        ({"prompt_id": "p1"}, "h.jsonl:2:1", "two lines have the prompt_id `p1`"),
        ({"ideal_completions_data": "text"}, "h.jsonl:2:", "must be a mapping"),
    ],
)
def test_mistakes_have_their_line(change: dict[str, Any], place: str, words: str) -> None:
    """The line of the file, and what is wrong in it."""
    with pytest.raises(SourceErrors) as caught:
        read(ROW, {**ROW, "prompt_id": "p2", **change})
    assert str(caught.value.place).startswith(place) and words in caught.value.message


def test_a_damaged_line_is_an_error_at_its_place() -> None:
    """Half a line of JSON is never half a suite."""
    with pytest.raises(FileError) as caught:
        read(ROW, {**ROW, "prompt_id": "p2"}, '{"prompt_id": "p3", "prompt": [')
    assert str(caught.value.place).startswith("h.jsonl:3:")


# ------------------------------------------------------------------------------------------------------
# writing


@st.composite
def sayable_case(draw: st.DrawFn, id: str) -> Case:
    asked = draw(st.lists(st.tuples(texts, decimals, st.booleans()), min_size=1, max_size=4))
    named = draw(st.none() | st.lists(texts, min_size=len(asked), max_size=len(asked), unique=True))
    criteria = unique_ids(
        [
            yes_no(
                named[n] if named else f"c{n}", text, weight=-points if n and is_penalty else points
            )
            for n, (text, points, is_penalty) in enumerate(asked)
        ]
    )
    metadata: dict[str, Any] = {}
    if draw(st.booleans()):
        metadata["criterion_tags"] = {criteria[0].id: ["axis:x", "level:y"]}
    return Case(
        id=id,
        rubric=Rubric(criteria=criteria, floor=Fraction(0)),
        messages=tuple(
            Message("user", draw(texts | st.just(""))) for _ in range(draw(st.integers(1, 3)))
        ),
        reference=draw(st.none() | texts),
        tags=tuple(draw(st.lists(texts, max_size=2))),
        metadata=metadata,
    )


@st.composite
def sayable_suites(draw: st.DrawFn) -> Suite:
    ids = draw(st.lists(texts, min_size=1, max_size=3, unique=True))
    return Suite(cases=tuple(draw(sayable_case(id)) for id in ids))


@settings(max_examples=examples(150), deadline=None)
@given(sayable_suites())
def test_what_it_can_say_reads_back_identical(suite: Suite) -> None:
    """Ids, points, tags, references: without a loss, because ids are kept as tags."""
    text, losses = dump_healthbench(suite)
    assert losses == []
    assert read(*text.rstrip("\n").split("\n")).suite == suite


@settings(max_examples=examples(100), deadline=None)
@given(rubrics())
def test_any_rubric_is_identical_or_its_losses_are_said(rubric: Rubric) -> None:
    """Groups, scales, checks, floors: what does not come back was named."""
    suite = Suite(cases=(Case(id="c", rubric=rubric, messages=(Message("user", "hi"),)),))
    try:
        text, losses = dump_healthbench(suite)
    except UsageError:
        return
    back = read(*text.rstrip("\n").split("\n")).suite
    assert losses or back == suite


def test_losses_of_a_case_are_named() -> None:
    """Everything that a line has no place for, by its name."""
    rubric = Rubric(
        criteria=(yes_no("a", "A"),), threshold=Fraction(9, 10), floor=Fraction(1, 2), title="T"
    )
    case = Case(
        id="c",
        rubric=rubric,
        messages=(Message("user", "hi"),),
        split=Split.TEST,
        attempts=3,
        setup=("make",),
        metadata={"mine": 1},
    )
    _, losses = dump_healthbench(Suite(cases=(case,), title="S"))
    said = " ".join(loss.message for loss in losses)
    for name in (
        "`title`",
        "`split`",
        "`attempts`",
        "`setup`",
        "`metadata.mine`",
        "threshold 90",
        "floor 50",
        "the title",
    ):
        assert name in said


def test_the_example_is_recognised() -> None:
    """What the reference page shows is read."""
    assert read(READERS[0].example.strip()).suite.cases[0].id == "burn-1"
