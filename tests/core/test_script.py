"""Code of a check: how it is written, and what its reply says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.check_problems import read_check
from honestone.core.checking.script import Language, OddReply, Script, grade, scripts_of, with_files
from honestone.core.errors import RubricError
from honestone.core.json_value import Json

NUMBERS = st.floats(-2, 2, allow_nan=False)
LANGUAGES = st.sampled_from(["javascript", "python"])


@given(st.booleans(), LANGUAGES, st.booleans())
def test_a_boolean(said: bool, language: Language, negated: bool) -> None:
    """Negated it is turned round, with its score."""
    found = grade(said, language, None, negated=negated)
    assert found.met is (said is not negated)
    assert found.score == (1 if found.met else 0)


@given(NUMBERS, LANGUAGES, st.none() | st.floats(-1, 1), st.booleans())
def test_a_number(said: float, language: Language, bar: float | None, negated: bool) -> None:
    """It is met from its threshold on, without one above 0. The score stays as it is, within 0 to
    1.
    """
    found = grade(said, language, None if bar is None else Fraction(repr(bar)), negated=negated)
    reached = said > 0 if bar is None else said >= bar
    assert found.met is (reached is not negated)
    assert found.score == min(max(Fraction(repr(said)), Fraction(0)), Fraction(1))
    assert ("counts as" in found.note) is not (0 <= said <= 1)


@given(st.booleans(), NUMBERS, st.text(min_size=1, max_size=9), LANGUAGES, st.booleans())
def test_a_grading_result(
    passed: bool, score: float, reason: str, language: Language, negated: bool
) -> None:
    """It says itself whether it passes; its reason is the note."""
    found = grade(
        {"pass": passed, "score": score, "reason": reason}, language, None, negated=negated
    )
    assert found.met is (passed is not negated)
    assert found.note.startswith(reason)


def test_the_threshold_of_a_grading_result() -> None:
    """Python's result has to reach the threshold too; JavaScript's says by itself whether it
    passes.
    """
    said: Json = {"pass_": True, "score": 0.4, "reason": "fine"}
    found = grade(said, "python", Fraction(1, 2))
    assert not found.met
    assert found.note == "score 0.4, threshold 0.5: fine"
    said = {"pass": True, "score": 0.4, "reason": "fine"}
    assert grade(said, "javascript", Fraction(1, 2)).met


@pytest.mark.parametrize(
    ("said", "met"), [("True", True), ("false", False), ("0.5 of 1", True), ("0", False)]
)
def test_texts_of_python(said: str, met: bool) -> None:
    """Booleans and numbers that are spelled out; of JavaScript they are another kind of reply."""
    assert grade(said, "python", None).met is met
    with pytest.raises(OddReply, match="a str"):
        grade(said, "javascript", None)


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        "maybe",
        {},
        {"pass": True},
        {"pass": 1, "score": 1, "reason": ""},
        {"pass": True, "score": True, "reason": ""},
    ],
)
def test_other_replies(said: Json) -> None:
    """Whatever is neither a boolean, a number nor a whole grading result says what it is."""
    for language in ("javascript", "python"):
        with pytest.raises(OddReply, match="must return"):
            grade(said, language, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"language": "javascript"}, "either `code` or `file`"),
        ({"language": "javascript", "code": "1", "file": "a.js"}, "either `code` or `file`"),
        ({"language": "javascript", "code": "1", "function": "f"}, "is for a `file`"),
        ({"language": "python", "file": "a.py"}, "needs the `function`"),
        ({"language": "python", "code": "1", "evaluator": "C"}, "is for a `file`"),
        (
            {"language": "javascript", "file": "a.js", "evaluator": "C"},
            "is a class of a Python file",
        ),
        (
            {"language": "python", "file": "a.py", "function": "f", "evaluator": "C"},
            "is a class of a Python file",
        ),
        ({"language": "ruby", "code": "1"}, "takes"),
        ("output", "takes"),
    ],
)
def test_a_script_as_it_may_not_be_written(value: Any, wrong: str) -> None:
    """What its schema cannot say is said too, as an argument and as a transform."""
    with pytest.raises(RubricError, match=wrong):
        read_check({"script": value})
    with pytest.raises(RubricError, match=wrong):
        read_check({"contains": "x", "transform": value})


def test_a_transform_reads_the_output() -> None:
    """With `path` or `in: diff` something else is looked at."""
    with pytest.raises(RubricError, match="changes the output"):
        read_check(
            {"contains": "x", "path": "a.md", "transform": {"language": "javascript", "code": "1"}}
        )


def test_files_are_moved_with_their_check() -> None:
    """Those of its transforms too; code as text stays."""
    inline, filed = (
        {"language": "javascript", "code": "1"},
        {"language": "python", "file": "a.py", "function": "f"},
    )
    check = read_check({"script": filed, "transform": [inline, filed], "threshold": 0.5})
    moved = with_files(check, lambda name: f"../{name}")
    there = Script(language="python", file="../a.py", function="f")
    assert scripts_of(moved) == (Script(language="javascript", code="1"), there, there)
    assert moved.options["threshold"] == 0.5
    assert with_files(moved, lambda name: name.removeprefix("../")) == check
