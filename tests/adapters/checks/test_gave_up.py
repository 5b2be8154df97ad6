"""A bound that is met is "could not be judged": no check of any kind makes a yes of it, negated or
not.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.checks.checker import CheckRunner
from honestone.core.artifact import Version
from honestone.core.checking.check_problems import read_check
from honestone.ports import Finding

# Each test works until a bound of time or size is met.
pytestmark = pytest.mark.slow

DEEP = "[" * 100_000
DEEP_JSON = "[" * 100_000 + "]" * 100_000
MANY = "[" * 10_001 + ' {"secret": 1}\n'
NESTED_XML = "<a>" * 10_000 + "</a>" * 10_000
ENTITIES = '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'
LONG_NUMBER = '{"a": "1' + "0" * 80 + '"}'
TOLERANT = {"fields": [{"path": "a", "expected": 1, "match": "numeric_tolerance"}]}

# Of 360 characters, and a hundred million values once its aliases are written out.
ALIASES = "{a0: &a0 [x, x, x, x, x, x, x, x]" + "".join(
    f", a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 9)
)

BOUNDS: list[tuple[dict[str, Any], str]] = [
    ({"is-json": True}, DEEP),
    ({"is-json": True}, DEEP_JSON),
    ({"contains-json": True}, MANY),
    ({"contains-json": True}, "[" * 9_000),
    ({"contains-json": {"type": "string"}}, "[1] " * 1_001),
    ({"contains-json": {"type": "object"}}, DEEP_JSON),
    ({"contains-json": True, "exact": "javascript"}, ALIASES),
    ({"contains-json": True, "exact": "javascript"}, "{a: &x {b: *x}}"),
    ({"contains-json": True, "exact": "javascript"}, "{" * 320 + "x"),
    ({"contains-json": True, "exact": "javascript"}, "{[" * 30 + "]} " * 30),
    ({"json-schema": {"type": "array"}}, DEEP_JSON),
    ({"function-calls": {"f": {}}}, DEEP_JSON),
    ({"field-accuracy": TOLERANT}, DEEP_JSON),
    ({"field-accuracy": TOLERANT}, LONG_NUMBER),
    ({"contains-xml": "a.b"}, NESTED_XML),
    ({"is-xml": True}, ENTITIES),
    ({"contains-xml": True}, ENTITIES.replace("<a>&b;</a>", "<a>&b;")),
    ({"levenshtein": "a" * 40_000, "max": 40_000}, "b" * 40_000),
    ({"regex": "(a|aa)+c"}, "a" * 200 + "b"),
    ({"regex": "a?" * 40 + "c"}, "a" * 40 + "b"),
    ({"json-schema": {"type": "string", "pattern": "(a|aa)+c"}}, '"' + "a" * 200 + 'b"'),
]


def find(written: dict[str, Any], text: str, tmp_path: Path) -> Finding:
    runner = CheckRunner(tmp_path, "none")
    return asyncio.run(runner.run([read_check(written)], Version.of_text(text)))[0]


@pytest.mark.parametrize(("written", "text"), BOUNDS)
def test_a_bound_is_no_answer_negated_or_not(
    written: dict[str, Any], text: str, tmp_path: Path
) -> None:
    """Each bounded piece of work, in each kind of check, gives up: neither met nor unmet, with a
    reason.
    """
    kind = next(iter(written))
    negated = {f"not-{kind}" if key == kind else key: value for key, value in written.items()}
    for one in (written, negated):
        found = find(one, text, tmp_path)
        assert found.met is None and found.note, (one, found)
