"""The JSON Schema and the reference page: they say what the reader does."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft202012Validator
from made_rubrics import rubrics
from made_suites import suites
from reference import rubric_reference

from honestone.core.checking.checks import KINDS
from honestone.core.errors import RubricError
from honestone.core.judging.rubric import Rubric
from honestone.core.suite.case import Suite
from honestone.formats.fields import SHAPES
from honestone.formats.rubric.rubric_file import parse_rubric
from honestone.formats.rubric.rubric_write import dump_rubric
from honestone.formats.schema import rubric_schema, suite_schema
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.marked import parse_marked
from property_examples import examples

RUBRIC_SHAPES = [SHAPES[name] for name in ("rubric", "criterion", "item", "level")]


@cache
def validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(rubric_schema())
    return Draft202012Validator(rubric_schema())


def as_json(value: Any) -> Any:
    """With text keys, as an editor hands a YAML file to a schema."""
    if isinstance(value, dict):
        return {str(key): as_json(entry) for key, entry in value.items()}
    return [as_json(entry) for entry in value] if isinstance(value, list) else value


def fits(text: str) -> bool:
    return bool(validator().is_valid(as_json(parse_marked(text, "r").value)))


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(rubrics())
def test_the_schema_accepts_what_the_reader_accepts(rubric: Rubric) -> None:
    """An editor does not complain about a sound rubric."""
    assert fits(dump_rubric(rubric))


@pytest.mark.parametrize(
    "criteria",
    [
        "[Is short]",
        "[{requirement: Is short}]",
        "[{check: is-json}]",
        "[{check: {not-is-json: true}}]",
        "[{id: g, criteria: [x, y]}]",
        "[{id: off, requirement: A, anchors: [{value: 0, text: n}, {score: 10, text: y}]}]",
        "[{id: 1.0, requirement: A, items: [{check: {contains: [a, b], path: '*.md'}}]}]",
    ],
)
def test_short_forms_fit_both(criteria: str) -> None:
    """What may be left out for the reader may be left out for the schema."""
    text = f"rubric: 1\ncriteria: {criteria}\n"
    assert parse_rubric(text, "r").rubric.criteria
    assert fits(text)


@pytest.mark.parametrize(
    "criteria",
    [
        "[]",
        "x",
        "['']",
        "[{id: a}]",
        "[{id: a, requirement: A, wieght: 3}]",
        "[{id: a, requirement: A, weight: high}]",
        "[{id: a, requirement: A, floor: 101}]",
        "[{id: a, requirement: A, required: yes}]",
        "[{id: a, requirement: A, items: []}]",
        "[{id: a, requirement: A, items: [{id: x}]}]",
        "[{id: a, requirement: A, anchors: {5: only}}]",
        "[{id: a, requirement: A, anchors: {low: x, 5: y}}]",
        "[{id: a, requirement: A, check: contains}]",
        "[{id: a, requirement: A, check: {contians: x}}]",
        "[{id: a, requirement: A, check: {contains: x, pth: y}}]",
        "[{id: a, requirement: A, check: {contains: x, regex: y}}]",
        "[{id: g, criteria: [x], items: [y]}]",
    ],
)
def test_mistakes_fit_neither(criteria: str) -> None:
    """What the reader refuses for its form, an editor underlines."""
    text = f"rubric: 1\ncriteria: {criteria}\n"
    with pytest.raises(RubricError):
        parse_rubric(text, "r")
    assert not fits(text)


def test_the_reference_names_everything() -> None:
    """Every key, every kind of check and every option stands on the reference page."""
    page = rubric_reference()
    for shape in RUBRIC_SHAPES:
        assert all(f"| `{field.key}` |" in page for field in shape.fields)
    for name, kind in KINDS.items():
        assert f"| `{name}` |" in page
        assert all(f"| `{option}` |" in page for option in kind.options)


def test_the_example_of_the_reference_is_a_rubric() -> None:
    """What the page shows can be copied."""
    (example,) = re.findall(r"```yaml\n(.*?)```", rubric_reference(), re.DOTALL)
    assert len(parse_rubric(example, "r").rubric.criteria) == 3


@pytest.mark.parametrize(
    "example", [field.example for field in SHAPES["criterion"].fields if field.key != "requirement"]
)
def test_every_example_of_a_criterion_is_sound(example: str) -> None:
    """Each key's example works in a criterion."""
    rest = "" if example.startswith("id:") else "    id: x\n"
    text = f"rubric: 1\ncriteria:\n  - requirement: Good\n{rest}    {example}\n"
    assert parse_rubric(text, "r").rubric.criteria[0].requirement == "Good"


@pytest.mark.parametrize(
    "example", [field.example for field in SHAPES["item"].fields if field.key != "requirement"]
)
def test_every_example_of_an_item_is_sound(example: str) -> None:
    """Each key's example works in an item."""
    text = f"rubric: 1\ncriteria:\n  - id: a\n    requirement: A\n    items:\n      - requirement: Good\n        {example}\n"
    assert parse_rubric(text, "r").rubric.criteria[0].items[0].requirement == "Good"


@pytest.mark.parametrize("kind", KINDS)
def test_every_example_of_a_check_is_sound(kind: str) -> None:
    """Each kind's example is accepted by the reader and by the schema, alone."""
    text = f"rubric: 1\ncriteria:\n  - check: {KINDS[kind].example}\n"
    assert parse_rubric(text, "r").rubric.criteria[0].items[0].check is not None
    assert fits(text)


@pytest.mark.starts_processes
def test_the_speed_of_help_is_not_paid_for_here() -> None:
    """Importing the reader does not import the YAML library: only reading a file does."""
    import subprocess
    import sys

    code = "import sys, honestone.formats.rubric.rubric_file; print([m for m in sys.modules if 'ruamel' in m or 'difflib' in m])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert "ruamel" not in loaded


# -------------------------------------------------------------------------------------------------------------
# suites


@cache
def suite_validator() -> Draft202012Validator:
    Draft202012Validator.check_schema(suite_schema())
    return Draft202012Validator(suite_schema())


def is_suite(text: str) -> bool:
    return bool(suite_validator().is_valid(as_json(parse_marked(text, "s").value)))


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(suites())
def test_the_suite_schema_accepts_what_is_written(suite: Suite) -> None:
    """Whatever the program writes, an editor does not complain about."""
    assert is_suite(dump_suite(suite))


@pytest.mark.parametrize(
    "text",
    [
        "cases: c.csv",
        "cases: [c.csv, {id: a, input: {files: [a, b]}, checks: [is-json], vars: {n: 1}}]",
        "defaults: {checks: [{contains: x}], rubric: {file: r.yaml}, tags: x}\ncases: '*.txt'",
        "target: {use: x, skill: true}\nrubric: {criteria: [a], threshold: 90}\ncases: [{id: 1.0}]",
    ],
)
def test_short_forms_of_suites_fit(text: str) -> None:
    assert is_suite(text)


@pytest.mark.parametrize(
    "text",
    [
        "suite: 1",
        "cases: []",
        "suite: 2\ncases: c.csv",
        "cases: [{input: x}]",
        "cases: [{id: a, inptu: x}]",
        "cases: [{id: a, checks: [{contians: x}]}]",
        "cases: [{id: a, vars: {n: [1]}}]",
        "cases: [{id: a, expect: {score: 4}}]",
        "defaults: {id: x}\ncases: c.csv",
        "threshold: 0.8\ncases: c.csv",
        "target: {usee: x}\ncases: c.csv",
        "attempts: 0\ncases: c.csv",
    ],
)
def test_the_suite_schema_refuses_what_the_reader_refuses(text: str) -> None:
    assert not is_suite(text)


def test_the_suite_schema_knows_every_key_and_reaches_no_name_that_is_not_there() -> None:
    """Every key of every shape with its description; every reference leads to a definition."""
    schema: Any = suite_schema()
    for name in ("case", "defaults", "target", "workspace", "git", "message"):
        known = schema["$defs"][name]["properties"]
        assert set(known) == {field.key for field in SHAPES[name].fields}
        assert all(one["description"] for one in known.values())
    assert set(re.findall(r"#/\$defs/([\w-]+)", str(schema))) == set(schema["$defs"])


def test_every_kind_of_value_has_a_reader() -> None:
    """What a key of `fields.toml` takes is read by a function of a table in Python, and no reader
    is without a key.
    """
    from honestone.formats.fields import SHAPES
    from honestone.formats.suite.value_reading import VALUES

    taken = {field.takes for shape in SHAPES.values() for field in shape.fields}
    assert taken == set(VALUES)
