"""The reference page of suites says what the reader does."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from reference import SUITE_EXAMPLE, suite_reference

from honestone.core.errors import UsageError
from honestone.core.suite.case import AttemptRule, Split
from honestone.formats.fields import SHAPES, TAKES
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.syntax.document import Document

SUITE_SHAPES = [
    shape for name, shape in SHAPES.items() if name not in ("rubric", "criterion", "item", "level")
]


def is_read(text: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fixture").mkdir()
        (Path(folder) / "a.md").write_text("A")
        try:
            read_suite(Document(path=Path(folder) / "suite.yaml", text=text))
        except UsageError:
            return False
    return True


CASE = "{id: a, input: x, rubric: [Is short]}"


@pytest.mark.parametrize(
    "text",
    [
        f"cases: [{CASE}]",
        f"suite: 1\ntarget: cat\nworkspace: {{copy: fixture}}\nsetup: [a, b]\ncases: [{CASE}]",
        "rubric: [Is short]\ncases: [{id: 1.0, input: [{role: user, content: {file: a.md}}]}]",
        "cases: [{id: off, input: {files: [a.md]}, checks: [is-json, {not-contains: x}], tags: [1, a], skip: later}]",
    ],
)
def test_what_the_page_allows_is_read(text: str) -> None:
    """Every way to say a thing that the tables name."""
    assert is_read(text)


@pytest.mark.parametrize(
    "text",
    [
        "cases: [{id: a, rubric: {file: a.md}, input: {file: a.md}}]",
        f"suite: 2\ncases: [{CASE}]",
        "cases: []",
        "suite: 1",
        "cases: [{id: a, input: x}]",
        "cases: [{input: x, rubric: [y]}]",
        "cases: [{id: a, rubric: [y], attempts: 0}]",
        "cases: [{id: a, rubric: [y], attempt_rule: most}]",
        "cases: [{id: a, rubric: [y], timeout: soon}]",
        "cases: [{id: a, rubric: [y], inptu: x}]",
        "cases: [{id: a, checks: [{contians: x}]}]",
        "cases: [{id: a, rubric: [y], workspace: {copy: fixture, git: r}}]",
        "cases: [{id: a, rubric: [y], expect: {score: 4}}]",
        "cases: [{id: a, rubric: [y], expect: {verdict: maybe}}]",
        "target: {usee: cat}\ncases: [{id: a, rubric: [y]}]",
    ],
)
def test_what_the_page_does_not_allow_is_refused(text: str) -> None:
    """A value of another kind, an unknown key, nothing to judge by."""
    assert not is_read(text)


def test_the_page_shows_every_key_and_an_example_that_can_be_read() -> None:
    """The reference lists each key of each shape, and its example is a sound suite."""
    page = suite_reference()
    assert is_read(SUITE_EXAMPLE) and SUITE_EXAMPLE in page
    assert all(f"| `{field.key}` |" in page for shape in SUITE_SHAPES for field in shape.fields)


def test_every_key_has_a_meaning_and_an_example_that_says_it() -> None:
    """No key without words, none that takes something unknown."""
    for shape in SUITE_SHAPES:
        for field in shape.fields:
            assert field.takes in TAKES and field.doc.endswith(".") and field.key in field.example


def test_the_words_for_a_choice_name_every_choice() -> None:
    """What a message says a key may be is what it may be."""
    assert all(f"`{rule}`" in TAKES["rule"].words for rule in AttemptRule)
    assert all(f"`{split}`" in TAKES["split"].words for split in Split)
