"""JSON Schemas by the Ajv of the real promptfoo and by ours: the same answer for every value, or a
schema that we refuse.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from test_real_promptfoo import FOLDER, promptfoo_folder

from honestone.adapters.checks.check_input import Setting
from honestone.adapters.checks.data import _validator
from honestone.core.checking.javascript.formats import OF_NUMBERS, OF_TEXTS
from honestone.core.checking.javascript.schemas import schema_problem
from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Check

FORMATS = [*OF_TEXTS, *OF_NUMBERS]
TEXTS = [
    *"2024-02-29 2023-02-29 12:30:00Z 23:59:60Z 12:60:00Z 12:00:00 2024-02-29T12:00:00+01:00".split(),
    *"P1D P PT P1DT PT1H P2W http://a.b/c?d#e a:b //x /x x@y.z x@y a.b@c.de -a.b a-b.c".split(),
    *"1.2.3.4 01.2.3.4 256.1.1.1 ::1 1:: :: 1:2:3:4:5:6:7:: ::ffff:1.2.3.4 fe80::1%eth0".split(),
    *"12345678-1234-1234-1234-123456789abc /a~0b /a~2 0# 1/a 01 YWJj YWI= YW é ٣ abc 😀".split(),
    *'aB1 http:x mailto:a@b x:"y" %zz %41 # ? http://u:p@h:8/ http://[::1]:80/'.split(),
    *("", "a b", "a\nb", "http://a b", "2024-02-29 12:00:00Z", "a" * 64 + ".b"),
]
# The last is beyond what JavaScript holds.
NUMBERS = [0, 1, 2.5, -3, 10, 1.0, 2**31, 0.3, 10**400]
PATTERNS = ["^a", r"\d+", r"^\w+$", ".", "^.$", "[a-c]{2}", "é", r"\.", "a|b", r"^\S*$"]
NAMES = ["a", "b", "c", "ab1"]


def drawn_value(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.random()
    if kind < 0.5 or depth > 2:
        return draw.choice(TEXTS)
    if kind < 0.7:
        return draw.choice([*NUMBERS, True, False, None])
    if kind < 0.85:
        return [drawn_value(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    return {draw.choice(NAMES): drawn_value(draw, depth + 1) for _ in range(draw.randint(0, 3))}


def drawn_schema(draw: random.Random, depth: int = 0) -> Any:
    if draw.random() < 0.08:
        return draw.choice([True, False])
    found: dict[str, Any] = {}
    for _ in range(draw.randint(1, 3)):
        found |= drawn_rule(draw, depth)
    return found


def drawn_rule(draw: random.Random, depth: int) -> dict[str, Any]:
    def inner() -> Any:
        return drawn_schema(draw, depth + 1)

    types = ["string", "number", "integer", "object", "array", "boolean", "null"]
    plain = [
        {"type": draw.choice([*types, ["string", "null"]])},
        {"enum": [drawn_value(draw, 2), drawn_value(draw, 2)]},
        {"const": drawn_value(draw, 2)},
        {"format": draw.choice(FORMATS), "type": "string"},
        {"format": draw.choice(FORMATS)},
        {"pattern": draw.choice(PATTERNS)},
        {draw.choice(["minLength", "maxLength", "minItems", "minProperties"]): draw.randint(0, 4)},
        {draw.choice(["minimum", "exclusiveMaximum"]): draw.choice([0, 1, 2.5, 10])},
        {"multipleOf": draw.choice([2, 0.1, 3, 0.5])},
        {"uniqueItems": True},
        {"required": [draw.choice(NAMES)]},
    ]
    if depth > 2:
        return draw.choice(plain)
    # Only the one that is chosen is drawn: each has schemas inside.
    nested: list[Callable[[], dict[str, Any]]] = [
        lambda: {draw.choice(["items", "contains", "not", "propertyNames"]): inner()},
        lambda: {"items": [inner(), inner()], "additionalItems": inner()},
        lambda: {"properties": {draw.choice(NAMES): inner() for _ in range(2)}},
        lambda: {
            "patternProperties": {draw.choice(PATTERNS): inner()},
            "additionalProperties": inner(),
        },
        lambda: {"additionalProperties": inner()},
        lambda: {draw.choice(["anyOf", "oneOf", "allOf"]): [inner(), inner()]},
        lambda: {"if": inner(), "then": inner(), "else": inner()},
        lambda: {
            "dependencies": {draw.choice(NAMES): draw.choice([[draw.choice(NAMES)], inner()])}
        },
    ]
    chosen = draw.choice([*plain, *nested])
    return chosen() if callable(chosen) else chosen


_AJV = """
const Ajv = require('ajv').default, formats = require('ajv-formats').default;
const ajv = new Ajv({ strictSchema: true, logger: false });
formats(ajv);
const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(cases.map(([schema, values]) => {
  let fits;
  try { fits = ajv.compile(schema) } catch { return null }
  return values.map((value) => fits(value));
})));
"""


def by_ajv(cases: list[tuple[Any, list[Any]]]) -> list[list[bool] | None]:
    """For each schema what it says of the values; None where Ajv refuses the schema."""
    asked = json.dumps(cases).encode()
    done = subprocess.run(
        ["node", "-e", _AJV], cwd=FOLDER, input=asked, capture_output=True, check=True
    )
    return list(json.loads(done.stdout))


def by_ours(schema: Any, values: list[Any]) -> list[bool] | None:
    check = Check(kind="json-schema", value=schema, options={"exact": "javascript"})
    if schema_problem(schema) is not None:
        return None
    try:
        problem_of = _validator(check, Setting(base=Path()), None)
    except UsageError:
        return None
    return [problem_of(json.dumps(value))[0] is None for value in values]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_a_schema_says_what_ajv_says_or_is_refused(seed: int) -> None:
    """Generated schemas and values, and every format with every text."""
    promptfoo_folder()
    draw = random.Random(seed)
    cases: list[tuple[Any, list[Any]]] = []
    for _ in range(300):
        cases.append((drawn_schema(draw), [drawn_value(draw) for _ in range(8)]))
    cases += [({"type": "string", "format": name}, TEXTS) for name in FORMATS]
    compared = 0
    for (schema, values), theirs in zip(cases, by_ajv(cases), strict=True):
        ours = by_ours(schema, values)
        if ours is not None:
            compared += 1
            assert ours == theirs, (schema, values)
    assert compared > 250
