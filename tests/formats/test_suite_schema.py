"""The JSON Schema and the reference page of suites: they say what the reader does."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from made_suites import suites

from honestone.core.errors import UsageError
from honestone.core.suite.case import Suite
from honestone.formats.document import Document
from honestone.formats.marked import parse_marked
from honestone.formats.suite_fields import SHAPES, TAKES
from honestone.formats.suite_file import read_suite
from honestone.formats.suite_reference import EXAMPLE, suite_reference
from honestone.formats.suite_schema import suite_schema
from honestone.formats.suite_write import dump_suite


@cache
def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(suite_schema())
    return Draft202012Validator(suite_schema())


def as_json(value: Any) -> Any:
    """With text keys, as an editor hands a YAML file to a schema."""
    if isinstance(value, dict):
        return {str(key): as_json(entry) for key, entry in value.items()}
    return [as_json(entry) for entry in value] if isinstance(value, list) else value


def fits(text: str) -> bool:
    return bool(validator().is_valid(as_json(parse_marked(text, "s").value)))


def is_read(text: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fixture").mkdir()
        (Path(folder) / "a.md").write_text("A")
        try:
            read_suite(Document(path=Path(folder) / "suite.yaml", text=text))
        except UsageError:
            return False
    return True


@settings(max_examples=50, deadline=None)
@given(suites())
def test_the_schema_accepts_what_the_reader_accepts(suite: Suite) -> None:
    """An editor does not complain about a sound suite."""
    assert fits(dump_suite(suite))


CASE = "{id: a, input: x, rubric: [Is short]}"


@pytest.mark.parametrize(
    "text",
    [
        f"cases: [{CASE}]",
        f"suite: 1\ntarget: cat\nworkspace: {{copy: fixture}}\nsetup: [a, b]\ncases: [{CASE}]",
        "rubric: [Is short]\ncases: [{id: 1.0, input: [{role: user, content: {file: a.md}}]}]",
        "cases: [{id: off, input: {files: [a.md]}, checks: [is-json, {not-contains: x}], tags: [1, a], skip: later}]",
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
def test_schema_and_reader_agree(text: str) -> None:
    """What one refuses, the other refuses too (a rubric file that holds no rubric is beyond a schema)."""
    assert fits(text) == (is_read(text) or "rubric: {file: a.md}" in text)


def test_the_page_shows_every_key_and_an_example_that_can_be_read() -> None:
    """The reference lists each key of each shape, and its example is a sound suite."""
    page = suite_reference()
    assert is_read(EXAMPLE) and fits(EXAMPLE) and EXAMPLE in page
    assert all(f"| `{field.key}` |" in page for shape in SHAPES for field in shape.fields)


def test_every_key_has_a_meaning_and_an_example_that_says_it() -> None:
    """No key without words, none that takes something nobody knows."""
    for shape in SHAPES:
        for field in shape.fields:
            assert field.takes in TAKES and field.doc.endswith(".") and field.key in field.example
