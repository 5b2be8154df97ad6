"""Texts, patterns and schemas as JavaScript reads them, beside Node itself."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.checking.check_problems import check_problem, read_check
from honestone.core.checking.checks import compile_text_check
from honestone.core.checking.gave_up import GaveUp
from honestone.core.checking.javascript.formats import OF_NUMBERS, is_javascript_number, meets
from honestone.core.checking.javascript.looks import objects_in
from honestone.core.checking.javascript.patterns import NotTranslated, compile_javascript, units
from honestone.core.checking.javascript.schemas import schema_problem
from honestone.core.judging.rubric import Check
from property_examples import examples

NODE = shutil.which("node")

ATOMS = [
    *"abé٣ñ😀 _-3\u2028\r\n{},]",
    *(r"\d \w \s \D \W \S . \b \B ^ $ \. \p \x41 \u00e9 \0 \- \/ \n \A \Z \z \1 \cA \k".split()),
    *(r"[abc] [^a] [\w-] [^\d\s] [é-ñ] [😀a] [\b] [a-] [] [^] [\]] [b-a]".split()),
    *("(?:ab|c) (a) (?=a) (?!b) (?<=a) (?<!b) (?<n>a) (?i) (?P<n>a) (?:a|) (?<=a|bc)".split()),
]
REPEATS = ["", "", "", "", "*", "+", "?", "*?", "{2}", "{1,2}", "{,2}", "{2,}", "{0}", "++"]
LETTERS = "aaabbcé٣ñ😀 _-3\u2028\r\n{},]p AZ\u00a0\x1c\ufeff\x85"


def drawn_pattern(draw: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(draw.randint(1, 4)):
        atom = draw.choice(ATOMS)
        if depth < 2 and draw.random() < 0.15:
            atom = f"({draw.choice(['', '?:'])}{drawn_pattern(draw, depth + 1)})"
        parts.append(atom + draw.choice(REPEATS))
    if depth < 2 and draw.random() < 0.15:
        parts.append("|" + drawn_pattern(draw, depth + 1))
    return "".join(parts)


def by_node(cases: list[tuple[str, str, str]]) -> list[bool | None]:
    """For each pattern, text and flags whether it is found; None for a pattern that Node refuses."""
    code = """
        const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));
        console.log(JSON.stringify(cases.map(([pattern, text, flags]) => {
          try { return new RegExp(pattern, flags).test(text) } catch { return null }
        })));
    """
    assert NODE is not None
    asked = json.dumps(cases).encode()
    done = subprocess.run([NODE, "-e", code], input=asked, capture_output=True, check=True)
    return list(json.loads(done.stdout))


@pytest.mark.slow
@pytest.mark.starts_processes
@pytest.mark.skipif(NODE is None, reason="Node.js is not here")
@settings(max_examples=examples(8), deadline=None)
@given(st.integers(0, 2**32))
def test_a_translated_pattern_is_found_where_javascript_finds_it(seed: int) -> None:
    """Generated patterns and texts, with and without `u`. What is not translated is refused."""
    draw, cases = random.Random(seed), []
    for _ in range(400):
        pattern, flags = drawn_pattern(draw), draw.choice(["", "", "u"])
        text = "".join(draw.choice(LETTERS) for _ in range(draw.randint(0, 6)))
        cases.append((pattern, text, flags))
    translated = 0
    for (pattern, text, flags), found in zip(cases, by_node(cases), strict=True):
        try:
            compiled = compile_javascript(pattern, is_unicode=flags == "u")
        except NotTranslated:
            continue
        translated += 1
        searched = text if flags else units(text)
        assert (compiled.search(searched) is not None) is found, (pattern, text, flags)
    assert translated > 40


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"^\d$", "٣", False),
        (r"^\w+$", "naïve", False),
        (r"caf\b", "café au", True),
        (r"\bé", "é", False),
        (r"\Aabc\Z", "abc", False),
        (r"^a{,2}$", "a{,2}", True),
        ("x.y", "x\ry", False),
        ("^..$", "😀", True),
        ("^.$", "😀", False),
        (r"^\p{L}$", "p{L}", True),
        ("fox$", "fox\n", False),
        (r"^\s$", "\ufeff", True),
        ("[^]", "\n", True),
    ],
)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str, text: str, found: bool) -> None:
    """As a check, and its opposite."""
    assert told({"regex": pattern, "exact": "javascript"}, text) is found
    assert told({"not-regex": pattern, "exact": "javascript"}, text) is not found


def told(written: dict[str, Any], text: str) -> bool | None:
    return compile_text_check(read_check(written))(text)[0]


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", "(?i)a", "(?P<a>b)", "a**", "(", ")", "[b-a]", "a{2,1}", r"\cA", "(?:a*)*"],
)
def test_a_pattern_without_an_equal_in_python_is_refused_with_another_way(pattern: str) -> None:
    """The hint is a check that Node runs."""
    check = Check(kind="regex", value=pattern, options={"exact": "javascript"})
    problem = check_problem(check)
    assert problem is not None and "JavaScript" in problem[0] and "RegExp" in str(problem[1])


@pytest.mark.parametrize(
    ("written", "text", "met"),
    [
        ({"icontains": "STRASSE"}, "Straße", False),
        ({"icontains": "GRÜSSE"}, "grüsse", True),
        ({"icontains-any": ["x", "STRASSE"]}, "Straße", False),
        ({"icontains-all": ["S", "ß"]}, "Straße", True),
        ({"not-icontains": "STRASSE"}, "Straße", True),
        ({"contains": "é"}, "e\u0301", False),
        ({"equals": "a"}, "a\n", False),
        ({"equals": "a\n"}, "a\n", True),
        ({"not-equals": "a"}, "a\n", True),
        ({"starts-with": "a\nb"}, "a\r\nb", False),
    ],
)
def test_texts_are_compared_as_javascript_compares_them(
    written: dict[str, Any], text: str, met: bool
) -> None:
    """Lower case, no normal form, and line breaks at the end count."""
    assert told({**written, "exact": "javascript"}, text) is met


def test_objects_are_found_where_braces_are_closed() -> None:
    """Braces of texts count, what is missing at the end is put there, and a list is no object."""

    def found(text: str) -> list[Any]:
        return list(objects_in(text, json.loads))

    assert found("[1, 2]") == []
    assert found('so {"a": {"b": 1}} and {"c": 2}') == [{"a": {"b": 1}}, {"c": 2}]
    assert found('{"a": "}"}') == []
    assert found('end {"a": {"b": 1') == [{"a": {"b": 1}}]
    assert found('{no} {"yes": 1}') == [{"yes": 1}]


@pytest.mark.parametrize("text", ["{" * 320 + "x", "{# " * 30_000, '{"a":' * 20_000, "{x" * 5_000])
def test_beginnings_of_objects_are_tried_within_a_bound(text: str) -> None:
    """Counted in the characters that are handed over to be read; at the bound the look is given up."""
    tried: list[int] = []

    def read(part: str) -> Any:
        tried.append(len(part))
        raise ValueError

    with pytest.raises(GaveUp, match="too many places"):
        list(objects_in(text + "{x}" * 1000, read))
    assert sum(tried) <= 100_000 + max(tried) and len(tried) <= 1001


def test_an_object_that_is_nested_too_deeply_is_given_up_at_the_end() -> None:
    """What comes after it is found."""

    def read(part: str) -> Any:
        if part.startswith('{"deep'):
            raise RecursionError
        return json.loads(part)

    found = objects_in('{"deep": 1} {"a": 1}', read)
    assert next(found) == {"a": 1}
    with pytest.raises(GaveUp, match="too deeply"):
        next(found)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {"a": {"minContains": 1}}}, "minContains"),
        ({"$ref": "#/definitions/a", "type": "object", "definitions": {"a": True}}, "$ref"),
        ({"$ref": "https://example.com/a"}, "another document"),
        ({"items": True, "additionalItems": False}, "additionalItems"),
        ({"then": {}}, "if"),
        ({"enum": [1, 1.0]}, "twice"),
        ({"required": ["toString"]}, "toString"),
        ({"properties": {"ab": True}, "patternProperties": {"^a": True}}, "fits a pattern"),
        ({"anyOf": [{"format": "regex"}]}, "regex"),
        ({"format": ["date"]}, "date"),
        ({"properties": {1: True}, "patternProperties": {"1": True}}, "fits a pattern"),
        ({"properties": {True: True}, "patternProperties": {"^true$": True}}, "fits a pattern"),
        ({"properties": {"a": True}, "patternProperties": {1: True, "^a": True}}, "fits a pattern"),
        ({"enum": [date(2024, 1, 1), "2024-01-01"]}, "twice"),
        ({7: 1}, "`7`"),
    ],
)
def test_a_schema_that_ajv_refuses_or_reads_in_its_own_way_is_named(
    schema: dict[str, Any], said: str
) -> None:
    """Wherever it stands in the schema."""
    assert said in str(schema_problem(schema))
    assert said in str(schema_problem({"type": "array", "items": [schema]}))


SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "format properties patternProperties required enum items if then $ref $schema "
                "pattern dependencies anyOf not additionalItems contains a".split()
            )
            | st.integers()
            | st.booleans()
            | st.none(),
            inner,
            max_size=4,
        )
    ),
)


@settings(max_examples=examples(200), deadline=None)
@given(SHAPES)
def test_a_schema_of_any_shape_is_read_or_has_a_problem(schema: Any) -> None:
    """As YAML may have it: keys that are no texts, and values of any kind in any place."""
    assert schema_problem(schema) is None or schema_problem(schema)


def test_a_schema_that_both_read_the_same_has_no_problem() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {"mail": {"type": "string", "format": "email", "pattern": r"^\S+$"}},
        "properties": {"to": {"$ref": "#/definitions/mail"}, "n": {"enum": [1, True, "1"]}},
    }
    assert schema_problem(schema) is None


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "23:59:60Z", "12:60:00Z"),
        ("date-time", "2024-02-29 12:00:00+01:00", "2024-02-29T12:00:00"),
        ("duration", "P1DT2H", "P1DT"),
        ("uri", "http://[::1]:80/?q#f", "//x"),
        ("uri-reference", "//x", "a b"),
        ("email", "a.b@c.de", "a@b"),
        ("ipv6", "1:2:3:4:5:6:7::", "fe80::1%eth0"),
        ("ipv4", "1.2.3.4", "01.2.3.4"),
        ("hostname", "a-b.c.", "-a.b"),
        ("json-pointer", "/a~0b", "/a~2"),
    ],
)
def test_a_format_is_decided_as_its_library_decides_it(name: str, good: str, bad: str) -> None:
    assert meets(good, name) and not meets(bad, name) and meets(1.5, name)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 10**400])
def test_what_javascript_does_not_hold_is_no_number(value: float) -> None:
    """So no format says anything of it."""
    assert not is_javascript_number(value)
    assert all(meets(value, name) for name in OF_NUMBERS)
    assert meets(2**31 - 1, "int32") and not meets(2**31, "int32") and not meets(0.5, "int64")
