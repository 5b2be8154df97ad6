"""JSON Schemas as they are written here: the keywords that a schema of ours may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

Dollars = TypedDict(
    "Dollars",
    {"$schema": str, "$ref": str, "$defs": "Mapping[str, JsonSchema]"},
    total=False,
)
"""The keywords that are not identifiers."""


class JsonSchema(Dollars, total=False):
    """A JSON Schema 2020-12. Every keyword may be absent; `properties` may forbid a key with false."""

    type: str | Sequence[str]
    title: str
    description: str
    default: object
    enum: Sequence[object]
    properties: Mapping[str, JsonSchema | bool]
    patternProperties: Mapping[str, JsonSchema]
    required: Sequence[str]
    additionalProperties: bool | JsonSchema
    dependentSchemas: Mapping[str, JsonSchema]
    minProperties: int
    items: JsonSchema
    minItems: int
    maxItems: int
    minimum: float
    maximum: float
    maxLength: int
    anyOf: Sequence[JsonSchema]
    oneOf: Sequence[JsonSchema]
    allOf: Sequence[JsonSchema]


Schemas: TypeAlias = Mapping[str, JsonSchema]
"""Schemas by the names of what they describe."""


def closed_object(properties: Schemas) -> JsonSchema:
    """The JSON Schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
