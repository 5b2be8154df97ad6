"""JSON Schemas as Ajv reads them, the library that promptfoo uses: draft 7, in its strict mode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from honestone.core.checking.javascript.formats import OF_NUMBERS, OF_TEXTS
from honestone.core.checking.javascript.patterns import NotTranslated, compile_javascript
from honestone.core.json_value import Json, JsonObject, plain_value

_WORDS_ONLY: Final = frozenset(
    "$comment title description default deprecated readOnly writeOnly examples contentMediaType "
    "contentEncoding".split()
)
_RULES: Final = frozenset(
    "type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength "
    "minLength pattern maxItems minItems uniqueItems maxProperties minProperties required "
    "format".split()
)
_ONE_SCHEMA: Final = frozenset(
    "additionalItems contains additionalProperties propertyNames not if then else".split()
)
_LIST_OF_SCHEMAS: Final = frozenset("allOf anyOf oneOf".split())
_SCHEMAS_BY_NAME: Final = frozenset(
    "properties patternProperties definitions $defs dependencies".split()
)
_KNOWN: Final = (
    _WORDS_ONLY | _RULES | _ONE_SCHEMA | _LIST_OF_SCHEMAS | _SCHEMAS_BY_NAME
) | frozenset(("$schema", "$ref", "items"))
_DRAFT: Final = "http://json-schema.org/draft-07/schema"
# What every object of JavaScript has, also where the JSON does not say it.
_OF_EVERY_OBJECT: Final = frozenset(
    "constructor toString toLocaleString valueOf hasOwnProperty isPrototypeOf propertyIsEnumerable "
    "__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__".split()
)


def schema_problem(schema: Json) -> str | None:
    """Why a schema is not read as Ajv reads it: Ajv refuses it, or means something else than draft
    7 says. None where both agree.
    """
    return next(_problems(plain_value(schema), is_top=True), None)


def _problems(schema: Json, *, is_top: bool = False) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    for key in schema:
        if key not in _KNOWN:
            yield f"`{key}` is not a keyword of draft 7 that is read"
    yield from _of_references(schema, is_top=is_top)
    yield from _of_rules(schema)
    yield from _of_names(schema)
    for inner in _inside(schema):
        yield from _problems(inner)


def _of_references(schema: JsonObject, *, is_top: bool) -> Iterator[str]:
    draft = schema.get("$schema")
    if draft is not None and (not is_top or str(draft).removesuffix("#") != _DRAFT):
        yield f"`$schema` is {draft}, and draft 7 alone is read"
    meant = schema.get("$ref")
    if meant is None:
        return
    if not str(meant).startswith("#"):
        yield f"`$ref` leads to another document: {meant}"
    if not schema.keys() <= _WORDS_ONLY | {"$ref", "$schema", "definitions", "$defs"}:
        yield "rules next to `$ref` count for Ajv, and not in draft 7"


def _of_rules(schema: JsonObject) -> Iterator[str]:
    format = schema.get("format")
    is_read = isinstance(format, str) and (format in OF_TEXTS or format in OF_NUMBERS)
    if format is not None and not is_read:
        yield f"the format `{format}` is not one that is read"
    values = schema.get("enum")
    if isinstance(values, list) and len({_canonical(one) for one in values}) != len(values or [0]):
        yield "`enum` is empty, or has a value twice"
    if "additionalItems" in schema and not isinstance(schema.get("items"), list):
        yield "`additionalItems` needs a list of `items`"
    if "contains" in schema and isinstance(schema.get("items"), list):
        yield "Ajv passes over `contains` next to a list of `items`"
    if ("if" in schema) != bool({"then", "else"} & schema.keys()):
        yield "`if` and `then` or `else` belong together"
    patterns = schema.get("patternProperties")
    of_names = list(patterns) if isinstance(patterns, Mapping) else []
    for pattern in [schema.get("pattern"), *of_names]:
        if isinstance(pattern, str):
            yield from _of_pattern(pattern)


def _canonical(value: Json) -> str:
    """The same text for values that are equal in JavaScript, where 1 is 1.0."""
    return json.dumps(json.loads(json.dumps(value, default=str), parse_int=float), sort_keys=True)


def _of_pattern(pattern: str) -> Iterator[str]:
    try:
        compile_javascript(pattern, is_unicode=True)
    except NotTranslated as why:
        yield f"the pattern `{pattern[:60]}` is not one that is read: {why}"


def _of_names(schema: JsonObject) -> Iterator[str]:
    properties, patterns = schema.get("properties"), schema.get("patternProperties")
    required = schema.get("required")
    names = list(properties) if isinstance(properties, Mapping) else []
    asked = [str(one) for one in required] if isinstance(required, list) else []
    for name in sorted(_OF_EVERY_OBJECT & {*names, *asked}):
        yield f"every object of JavaScript has `{name}`"
    for pattern in patterns if isinstance(patterns, Mapping) else ():
        if next(_of_pattern(pattern), None) is None:
            found = compile_javascript(pattern, is_unicode=True)
            for name in filter(found.search, names):
                yield f"`{name}` is one of the `properties` and fits a pattern too"


def _inside(schema: JsonObject) -> Iterator[Json]:
    for key, value in schema.items():
        if key in _ONE_SCHEMA or (key == "items" and not isinstance(value, list)):
            yield value
        elif key in _LIST_OF_SCHEMAS or key == "items":
            yield from value if isinstance(value, list) else ()
        elif key in _SCHEMAS_BY_NAME and isinstance(value, Mapping):
            yield from value.values()
