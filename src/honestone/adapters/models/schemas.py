"""One JSON Schema for a reply, said so that each provider accepts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, TypeVar, cast

from honestone.core.reading.json_schema import JsonSchema
from honestone.prompts.filling import ExactSchema

T = TypeVar("T")

_REMEMBERED: Final = 16

# What the strict modes refuse: a schema with one of these is sent as a wish, not as a rule.
_STRICT_CANNOT: Final = frozenset(
    "oneOf allOf not if then else dependentRequired dependentSchemas patternProperties propertyNames "
    "unevaluatedProperties minProperties maxProperties prefixItems contains".split()
)

# Bounds that Anthropic refuses to compile. The reply is checked against the rubric anyway, so they
# may go.
_ANTHROPIC_CANNOT: Final = frozenset(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems".split()
)


def remembered(make: Callable[[JsonSchema], T]) -> Callable[[JsonSchema], T]:
    """Case after case sends the same schema object: what was made of the last few is made once."""
    known: dict[
        int, tuple[JsonSchema, T]
    ] = {}  # holds the schema, so that its id cannot become another's

    def made(schema: JsonSchema) -> T:
        found = known.get(id(schema))
        if found is None:
            if len(known) >= _REMEMBERED:
                known.clear()
            found = known[id(schema)] = (schema, make(schema))
        return found[1]

    return made


def for_openai(schema: JsonSchema) -> tuple[JsonSchema, bool]:
    """The schema and whether strict mode can hold the model to it."""
    is_exact = isinstance(cast(object, schema), ExactSchema)
    return (schema, True) if is_exact else _for_openai(schema)


@remembered
def _for_openai(schema: JsonSchema) -> tuple[JsonSchema, bool]:
    if not _can_be_strict(schema) or schema.get("type") != "object":
        return schema.copy(), False
    strict: JsonSchema = _each(schema, _closed_and_complete)
    return strict, True


@remembered
def for_anthropic(schema: JsonSchema) -> JsonSchema:
    bare: JsonSchema = _each(schema, lambda node: _closed(_without(node, _ANTHROPIC_CANNOT)))
    return bare


def for_google(schema: JsonSchema) -> JsonSchema:
    """Google reads plain JSON Schema; only the name of the dialect disturbs it."""
    return _without(schema, {"$schema"})


def _without(node: JsonSchema, keywords: AbstractSet[str]) -> JsonSchema:
    left = {name: value for name, value in node.items() if name not in keywords}
    return cast(JsonSchema, left)


def _closed(node: JsonSchema) -> JsonSchema:
    return (
        {**node, "additionalProperties": False}
        if "properties" in node or node.get("type") == "object"
        else node
    )


def _closed_and_complete(node: JsonSchema) -> JsonSchema:
    """Strict mode wants every property required; one that may be left out may be null instead."""
    properties = node.get("properties")
    if not isinstance(properties, dict):
        return _closed(node)
    required = node.get("required", [])
    widened = {
        name: part if name in required else _or_null(part) for name, part in properties.items()
    }
    return {
        **node,
        "properties": widened,
        "required": list(properties),
        "additionalProperties": False,
    }


def _or_null(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    kind = part.get("type")
    if isinstance(kind, str) and "enum" not in part and "const" not in part:
        return part if kind == "null" else {**part, "type": [kind, "null"]}
    if isinstance(kind, list) and "null" in kind:
        return part
    return {"anyOf": [part, {"type": "null"}]}


def _can_be_strict(node: Any) -> bool:
    if isinstance(node, list):
        return all(map(_can_be_strict, node))
    if not isinstance(node, Mapping):
        return True
    if _STRICT_CANNOT & node.keys() or node.get("additionalProperties") not in (None, False):
        return False
    return all(_can_be_strict(part) for part in _parts(node))


def _parts(node: Mapping[Any, Any]) -> list[Any]:
    named = [
        part
        for table in ("properties", "$defs", "definitions")
        for part in dict(node.get(table) or {}).values()
    ]
    return [*named, *(node[k] for k in ("items", "anyOf") if k in node)]


def _each(node: Any, change: Callable[[JsonSchema], JsonSchema]) -> Any:
    """Every schema inside a schema changed, the outer ones after the inner. Names of properties are
    not schemas.
    """
    if isinstance(node, list):
        return [_each(part, change) for part in node]
    if not isinstance(node, Mapping):
        return node
    out = dict(node)
    for name in ("properties", "$defs", "definitions"):
        if isinstance(out.get(name), Mapping):
            out[name] = {key: _each(part, change) for key, part in out[name].items()}
    for name in ("items", "anyOf", "oneOf", "allOf"):
        if name in out:
            out[name] = _each(out[name], change)
    return change(cast(JsonSchema, out))
