"""The JSON Schema of the rubric format, for editors. Made from `fields` and the kinds of check; it decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from honestone.core.checks import KINDS, check_schema
from honestone.formats.fields import CRITERION, ITEM, LEVEL, RUBRIC, TAKES, Field, Shape, Taken, Takes

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NUMBER_KEY = r"^[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?$"


def rubric_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a rubric file, with the descriptions that editors show."""
    return {
        "$schema": DIALECT,
        "title": "honestone rubric",
        **mapping_schema(RUBRIC, required=["criteria"]),
        "$defs": {
            "criterion": _short_or(_criterion()),
            "item": _short_or(
                {**mapping_schema(ITEM), "anyOf": [{"required": ["requirement"]}, {"required": ["check"]}]}
            ),
            "anchors": _anchors(),
            "check": _check(),
        },
    }


def mapping_schema(
    shape: Shape, *, required: list[str] | None = None, takes: Mapping[Takes, Taken] = TAKES
) -> dict[str, Any]:
    """A shape as JSON Schema; `takes` says what each kind of value is."""
    schema: dict[str, Any] = {
        "type": "object",
        "description": shape.doc,
        "properties": {field.key: _property(field, takes) for field in shape.fields},
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    return schema


def _property(field: Field, takes: Mapping[Takes, Taken]) -> dict[str, Any]:
    schema = {**takes[field.takes].schema, "description": field.doc}
    if field.takes == "points" and field.default.isdigit():
        schema["default"] = int(field.default)
    elif field.takes == "flag" and field.default == "false":
        schema["default"] = False
    elif field.takes == "weight":
        schema["default"] = 1
    return schema


def _short_or(mapping: dict[str, Any]) -> dict[str, Any]:
    return {"description": mapping["description"], "anyOf": [TAKES["text"].schema, mapping]}


def _criterion() -> dict[str, Any]:
    """A group has children and is not marked itself; every other criterion says what is asked."""
    alone = {"properties": dict.fromkeys(("items", "anchors", "check"), False)}
    return {
        **mapping_schema(CRITERION),
        "anyOf": [{"required": ["requirement"]}, {"required": ["check"]}, {"required": ["id", "criteria"]}],
        "dependentSchemas": {"criteria": alone},
    }


def _anchors() -> dict[str, Any]:
    text = TAKES["text"].schema
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
                    **mapping_schema(LEVEL, required=["text"]),
                    "oneOf": [{"required": ["value"]}, {"required": ["score"]}],
                },
            },
        ],
    }


def _check() -> dict[str, Any]:
    bare = [
        written
        for name, kind in KINDS.items()
        if None in kind.schema.get("enum", ())
        for written in (name, f"not-{name}")
    ]
    return {
        "description": "One kind of check with its argument and options; the bare name where it needs no argument.",
        "anyOf": [{"enum": bare}, *check_schema()["anyOf"]],
    }
