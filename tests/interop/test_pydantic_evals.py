"""pydantic-evals datasets: evaluators become checks and questions; what is code is told."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import checks, lost, never_crashes, put, suite_of, wrong

from honestone.core.suite.case import Case
from honestone.formats.syntax.document import Document
from honestone.interop.pydantic_evals.read import READERS
from honestone.interop.recognise import recognise
from property_examples import examples


def one(tmp_path: Path, evaluators: str, *, more: str = "") -> Case:
    text = f"cases:\n  - inputs: hi\n    {more}\n    evaluators: {evaluators}\n"
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    return case


@pytest.mark.parametrize(
    ("written", "check"),
    [
        ("{Equals: yes}", ("equals", "yes")),
        ("{Equals: {value: {a: 1}}}", ("json-schema", {"const": {"a": 1}})),
        ("EqualsExpected", ("equals", "HI")),
        ("{Contains: HI}", ("contains", "HI")),
        ("{Contains: {value: hi, case_sensitive: false}}", ("icontains", "hi")),
        ("{Contains: {value: 7, as_strings: true}}", ("contains", "7")),
        ("{IsInstance: dict}", ("json-schema", {"type": "object"})),
        ("{MaxDuration: 2.5}", ("latency", 2500)),
        ("{MaxToolCalls: 3}", ("tool-count", {"*": {"max": 3}})),
        (
            "{ToolCorrectness: [a, b, a]}",
            ("tool-count", {"a": {"min": 2, "max": 2}, "b": {"min": 1, "max": 1}, "*": {"max": 3}}),
        ),
        ("{ToolCorrectness: []}", ("tool-count", {"*": {"max": 0}})),
        (
            "{ToolCorrectness: {expected_tools: [a], allow_extra: true}}",
            ("tool-count", {"a": {"min": 1}}),
        ),
        ("{name: Contains, arguments: {value: x}}", ("contains", "x")),
        ("{name: Contains, arguments: [x]}", ("contains", "x")),
    ],
)
def test_assertions_are_checks_with_floor_100(
    tmp_path: Path, written: str, check: tuple[str, Any]
) -> None:
    """Each has to hold: that is how a case passes there."""
    case = one(tmp_path, f"[{written}]", more="expected_output: HI")
    (criterion,) = case.rubric.criteria
    assert checks(criterion)[0][:2] == check
    assert criterion.floor == 1 and case.rubric.threshold == 1


def test_a_judge_and_a_score(tmp_path: Path) -> None:
    """LLMJudge gates with yes or no; with `assertion: false` and GEval there are only scores, and
    our 70 holds.
    """
    (judge,) = one(tmp_path, "[{LLMJudge: {rubric: Is kind, model: 'openai:x'}}]").rubric.criteria
    assert (
        judge.requirement == "Is kind"
        and judge.floor is not None
        and judge.items[0].anchors is None
    )
    case = one(
        tmp_path,
        "[{LLMJudge: {rubric: Is kind, assertion: false, score: {}}}, {GEval: {criteria: Flow, evaluation_steps: [Read], score_range: [0, 10]}}]",
    )
    score, scale = case.rubric.criteria
    assert score.items[0].anchors is not None and score.floor is None
    assert scale.items[0].anchors is not None and scale.items[0].anchors.highest == 10
    assert case.rubric.threshold == Fraction(7, 10)


def test_the_expected_output_is_shown_only_where_it_is_asked_for(tmp_path: Path) -> None:
    """A judge sees the reference with include_expected_output, else not."""
    hidden = one(tmp_path, "[{LLMJudge: Is kind}]", more="expected_output: HI")
    shown = one(
        tmp_path,
        "[{LLMJudge: {rubric: Is kind, include_expected_output: true}}]",
        more="expected_output: HI",
    )
    assert (hidden.reference, shown.reference) == (None, "HI")


def test_without_evaluators_a_judge_is_asked_about_the_expected_output(tmp_path: Path) -> None:
    """And a case with neither is skipped, never passed."""
    text = "name: n\ncases:\n  - {name: a, inputs: {q: 1}, expected_output: [x]}\n  - {name: b, inputs: hi}\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    asked, skipped = source.suite.cases
    assert (
        asked.rubric.criteria[0].requirement == 'Gives the expected answer: ["x"]'
        and asked.input == '{"q": 1}'
    )
    assert skipped.skip is not None
    assert any("asks a judge" in note for note in source.notes)


def test_shared_evaluators_come_first(tmp_path: Path) -> None:
    """Those of the dataset hold for every case."""
    text = "cases: [{inputs: a, evaluators: [{Contains: own}]}]\nevaluators: [{Contains: shared}]\n"
    (case,) = suite_of(READERS[0], put(tmp_path, text)).suite.cases
    assert [checks(c)[0][1] for c in case.rubric.criteria] == ["shared", "own"]


def test_code_and_traces_are_lost(tmp_path: Path) -> None:
    """Evaluators of your own and span queries are told with their place; a slip gets the near
    match.
    """
    text = "cases: [{inputs: a}]\nevaluators:\n  - HasMatchingSpan: {query: {name_equals: x}}\n  - Mine: {limit: 3}\n  - LLMJudg: x\n  - {Contains: a}\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    assert [message.split()[0] for message in lost(source)] == ["3:5", "4:5", "5:5"]
    assert source.losses[2].hint == "did you mean `LLMJudge`?"
    assert "--allow-code" in (source.losses[1].hint or "")


def test_mistakes_have_places(tmp_path: Path) -> None:
    """Unknown keys and arguments, doubled names and missing inputs."""
    text = "cases:\n  - {name: a, inputs: x, expected: 1}\n  - {name: a, inputs: y}\n  - {name: c, evaluators: [{Contains: {valeu: x}}]}\n"
    found = wrong(READERS[0], put(tmp_path, text))
    assert "2:26 unknown key `expected` in a case" in found
    assert any(
        message.startswith("3:12 two cases have the name `a`: the first is at ")
        for message in found
    )
    assert "4:5 `inputs` is missing" in found
    assert any("unknown key `valeu`" in message for message in found)


def test_it_is_told_from_our_own_suites(tmp_path: Path) -> None:
    """`inputs` is theirs, `input` is ours; also without evaluators at the top."""
    assert recognise(put(tmp_path, "name: x\ncases: [{inputs: a}]\n")) is READERS[0]
    assert recognise(put(tmp_path, "cases: [{id: a, input: a}]\n")) == "suite"
    assert READERS[0].signs(put(tmp_path, "suite: 1\ncases: [{inputs: a}]\n")) == 0


def test_the_example_of_the_docs_is_read_whole(tmp_path: Path) -> None:
    """The example in the reference pages loses nothing."""
    source = suite_of(READERS[0], put(tmp_path, READERS[0].example))
    assert not source.losses and len(source.suite.case("peru").rubric.criteria) == 3


values = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-1, 2, allow_nan=False)
    | st.text(max_size=8)
)
nested = st.recursive(
    values,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
named = st.sampled_from(
    [
        "Equals",
        "EqualsExpected",
        "Contains",
        "IsInstance",
        "MaxDuration",
        "LLMJudge",
        "GEval",
        "HasMatchingSpan",
    ]
)
arguments = (
    st.dictionaries(
        st.sampled_from(
            [
                "value",
                "rubric",
                "criteria",
                "seconds",
                "score_range",
                "evaluation_steps",
                "assertion",
                "evaluation_name",
            ]
        ),
        nested,
        max_size=3,
    )
    | nested
)
evaluators = (
    st.lists(named | st.dictionaries(named, arguments, min_size=1, max_size=1) | nested, max_size=3)
    | nested
)
cases = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "name": values,
            "inputs": nested,
            "expected_output": nested,
            "metadata": nested,
            "evaluators": evaluators,
        },
    )
    | nested,
    max_size=3,
)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.fixed_dictionaries(
        {"cases": cases | nested}, optional={"name": values, "evaluators": evaluators}
    )
)
def test_no_dataset_crashes_the_reader(dataset: dict[str, Any]) -> None:
    """Whatever stands in a dataset, it is read or refused in words."""
    never_crashes(READERS[0], Document(path=Path("d.yaml"), text=json.dumps(dataset)))


def test_calls_that_failed_are_named(tmp_path: Path) -> None:
    """They count here: a limit without them is lost, and a list of tools says so."""
    text = "cases: [{inputs: a}]\nevaluators:\n  - MaxToolCalls: {max_calls: 2, include_failed: false}\n  - ToolCorrectness: [x]\n"
    source = suite_of(READERS[0], put(tmp_path, text))
    (loss,) = lost(source)
    assert "`MaxToolCalls` leaves calls that failed out" in loss
    assert any("calls that failed" in note for note in source.notes)
    for bad in (
        "MaxToolCalls: few",
        "MaxToolCalls: -1",
        "MaxToolCalls: true",
        "ToolCorrectness: x",
        "ToolCorrectness: [1]",
    ):
        assert wrong(
            READERS[0],
            put(tmp_path, f"cases: [{{inputs: a}}]\nevaluators: [{{{bad}}}]\n", name="b.yaml"),
        )
