"""The JSON Schemas of rubrics and suites, for editors. Made from `fields` and the kinds of check;
they decide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from honestone.core.checking.checks import KINDS, check_schema
from honestone.core.reading.json_schema import JsonSchema
from honestone.formats.fields import SHAPES, TAKES, Field, Shape

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER_KEY = r"^([-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|-?\d+/[1-9]\d*)$"


def rubric_schema() -> JsonSchema:
    """JSON Schema 2020-12 of a rubric file, with the descriptions that editors show."""
    return {
        "$schema": DIALECT,
        "title": "honestone rubric",
        **_mapping_schema(SHAPES["rubric"]),
        "$defs": _criteria(),
    }


def suite_schema() -> JsonSchema:
    """JSON Schema 2020-12 of a suite file."""
    shapes = (
        "case",
        "defaults",
        "target",
        "prompt",
        "workspace",
        "git",
        "message",
        "in-file",
        "in-files",
    )
    return {
        "$schema": DIALECT,
        "title": "honestone suite",
        **_mapping_schema(SHAPES["suite"]),
        "$defs": {
            **{name: _mapping_schema(SHAPES[name]) for name in shapes},
            "rubric": _mapping_schema(SHAPES["rubric"]),
            **_criteria(),
        },
    }


def _criteria() -> Mapping[str, JsonSchema]:
    return {
        "criterion": _short_or(_criterion()),
        "item": _short_or(
            {
                **_mapping_schema(SHAPES["item"]),
                "anyOf": [{"required": ["requirement"]}, {"required": ["check"]}],
            }
        ),
        "anchors": _anchors(),
        "check": _check(),
    }


def _mapping_schema(shape: Shape) -> JsonSchema:
    schema: JsonSchema = {
        "type": "object",
        "description": shape.doc,
        "properties": {field.key: _property(field) for field in shape.fields},
        "additionalProperties": False,
    }
    if shape.required:
        schema["required"] = list(shape.required)
    return schema


def _property(field: Field) -> JsonSchema:
    schema: JsonSchema = {**_taken(field.takes), "description": field.doc}
    if field.takes in ("points", "threshold") and field.default.isdigit():
        schema["default"] = int(field.default)
    elif field.takes == "flag" and field.default == "false":
        schema["default"] = False
    elif field.takes == "weight":
        schema["default"] = 1
    return schema


def _taken(name: str) -> JsonSchema:
    """The schema of a kind of value."""
    return cast(JsonSchema, TAKES[name].schema)


def _short_or(mapping: JsonSchema) -> JsonSchema:
    return {"description": mapping["description"], "anyOf": [_taken("text"), mapping]}


def _criterion() -> JsonSchema:
    """A group has children and is not marked itself; every other criterion says what is asked."""
    alone: JsonSchema = {"properties": {"items": False, "anchors": False, "check": False}}
    return {
        **_mapping_schema(SHAPES["criterion"]),
        "anyOf": [
            {"required": ["requirement"]},
            {"required": ["check"]},
            {"required": ["id", "criteria"]},
        ],
        "dependentSchemas": {"criteria": alone},
    }


def _anchors() -> JsonSchema:
    text = _taken("text")
    return {
        "description": "Levels by number: {0: none, 10: full}; or a list of {value, text}.",
        "anyOf": [
            {
                "type": "object",
                "minProperties": 2,
                "patternProperties": {_NUMBER_KEY: text},
                "additionalProperties": False,
            },
            {
                "type": "array",
                "minItems": 2,
                "items": {
                    **_mapping_schema(SHAPES["level"]),
                    "oneOf": [{"required": ["value"]}, {"required": ["score"]}],
                },
            },
        ],
    }


def _check() -> JsonSchema:
    bare = [
        written
        for name, kind in KINDS.items()
        if None in kind.schema.get("enum", ())
        for written in (name, f"not-{name}")
    ]
    return {
        "description": "One kind of check with its argument and options; the bare name where it needs no argument.",
        "anyOf": [{"enum": bare}, *cast(list[JsonSchema], check_schema()["anyOf"])],
    }
