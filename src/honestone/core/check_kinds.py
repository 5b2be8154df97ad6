"""Which checks there are and what each takes: the one description of every kind, read from `check_kinds.toml`.

The rubric reader, the JSON Schema and the reference page are made from `KINDS`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, TypedDict

from honestone.core.json_value import Json
from honestone.core.tables import table_text

Family: TypeAlias = Literal["text", "data", "files", "code", "trace"]


class Schema(TypedDict, total=False):
    """The part of JSON Schema that says what checks take."""

    type: str
    enum: list[Json]
    anyOf: list[Schema]
    items: Schema
    minItems: int
    minLength: int
    pattern: str
    minimum: float
    maximum: float
    exclusiveMinimum: float
    properties: dict[str, Schema]
    required: list[str]
    minProperties: int
    additionalProperties: Schema | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A key next to the check's own: what it does, the JSON Schema of its value, and `takes`, the same in words."""

    doc: str
    takes: str
    schema: Schema
    default: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of check. `takes` says in words what `schema` says of its argument."""

    doc: str
    takes: str
    schema: Schema
    example: str
    family: Family = "text"
    options: Mapping[str, Option] = field(default_factory=dict)


_WORD: Final[Schema] = {"type": "string", "minLength": 1}
_SHAPES: Final[Mapping[str, Schema]] = {
    "word": _WORD,
    "words": {"anyOf": [_WORD, {"type": "array", "items": _WORD, "minItems": 1}]},
    "count": {"type": "integer", "minimum": 0},
    "amount": {"type": "number", "minimum": 0},
    "yes": {"enum": [True, None]},
    "flag": {"enum": [True, False]},
}


def _read_kinds() -> dict[str, Kind]:
    text = json.dumps(tomllib.loads(table_text("check_kinds")))
    rows = json.loads(re.sub(r'"@(\w+)"', lambda name: json.dumps(_SHAPES[name[1]]), text))
    options = {of: {key: Option(**one) for key, one in row.pop("options", {}).items()} for of, row in rows.items()}
    shared = options["shared"]
    return {
        name: Kind(options=options[name] | {key: shared[key] for key in row.pop("shared", ())}, **row)
        for name, row in rows.items()
        if name != "shared"
    }


KINDS: Final[Mapping[str, Kind]] = _read_kinds()


def check_schema() -> dict[str, list[object]]:
    """The JSON Schema of one check as people write it: one kind, negated or not, and its options."""
    shapes: list[object] = []
    for name, kind in KINDS.items():
        options = {key: {**option.schema, "description": option.doc} for key, option in kind.options.items()}
        for written in (name, f"not-{name}"):
            own = {written: {**kind.schema, "description": kind.doc}}
            shapes.append(
                {"type": "object", "properties": own | options, "required": [written], "additionalProperties": False}
            )
    return {"anyOf": shapes}
