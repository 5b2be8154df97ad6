"""promptfoo's templates: what Nunjucks renders is rendered alike, and nothing in one can harm or
take long.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.interop.environment import named_variables
from honestone.interop.promptfoo.templates import MAX_FILLED, fill
from property_examples import examples

SAME: list[tuple[str, dict[str, Any], str]] = [
    (
        "{{q}} {{p}}{% for x in xs %} {{x|upper}}{% endfor %}",
        {"q": "a", "p": "b", "xs": ["c", "d"]},
        "a b C D",
    ),
    ("{% if a == 'b' %}x{% elseif a === 'c' %}y{% else %}z{% endif %}", {"a": "c"}, "y"),
    ("{% if a !== 'b' %}x{% endif %}{% if not gone %}!{% endif %}", {"a": "c"}, "x!"),
    ("{{ xs | length }} {{ xs.length }} {{ xs | join(', ') }}", {"xs": [1, 2]}, "2 2 1, 2"),
    ("{{ o | dump }}", {"o": {"a": [1, {"b": None}]}}, '{"a":[1,{"b":null}]}'),
    ("{{ o | dump(2) }}", {"o": {"a": 1}}, '{\n  "a": 1\n}'),
    (
        "{% for k, v in o %}{{loop.index}}{{k}}={{v}};{% endfor %}",
        {"o": {"a": 1, "b": 2}},
        "1a=1;2b=2;",
    ),
    ("{{ 1 + 2 }} {{ 'a' + 1 }} {{ 7 / 2 }} {{ 7 // 2 }}", {}, "3 a1 3.5 3"),
    ("{{ a or 'x' }} {{ n | default('d') }} {{ 'y' if a else 'n' }}", {"a": ""}, "x d n"),
    ("a {%- set q = 3 %} {{ q }}{# note #} {{ true }}{{ none }}", {}, "a 3 true"),
    ("{% raw %}{{a}}{% endraw %}", {"a": 1}, "{{a}}"),
    ("{{ a.items }} {{ a['items'] }} {{ xs[1] }}", {"a": {"items": "I"}, "xs": [1, 2]}, "I I 2"),
    ("{{ 2000000000000000 / 2 }} {{ t - 1 }}", {"t": True}, "1000000000000000 0"),
    ("{% if gone > 3 or gone <= 3 %}x{% else %}y{% endif %}", {"a": 1}, "y"),
    ("{% for x in gone %}{{ x }}{% endfor %}.", {}, "."),
    ("{{ text | replace('a', 'b') | trim | capitalize }}", {"text": " aha "}, "Bhb"),
    ("one\n{{ a }}\n", {"a": "two"}, "one\ntwo\n"),
    ("{{ 2.5 | round }} {{ -1 | abs }} {{ '3' | int }} {{ xs | sum }}", {"xs": [1, 2]}, "3 1 3 3"),
    ("{{ xs | first }}{{ xs | last }}{{ xs | reverse | join }}", {"xs": ["a", "b"]}, "abba"),
]


@pytest.mark.parametrize(("template", "variables", "rendered"), SAME)
def test_what_nunjucks_renders_is_rendered_alike(
    template: str, variables: dict[str, Any], rendered: str
) -> None:
    """Conditions, loops, filters and arithmetic."""
    filled = fill(template, variables)
    assert (filled.text, filled.lost) == (rendered, ())


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ a.split(',') }}", "the call of `split` is JavaScript"),
        ("{{ cycler('a') }}", "the call of `cycler`"),
        ("{% macro f() %}{% endmacro %}", "`macro`"),
        ("{% include '/etc/passwd' %}", "`include`"),
        ("{% import 'os' as os %}", "`import`"),
        ("{% extends 'x' %}", "`extends`"),
        ("{{ a | nosuch }}", "the filter `nosuch` is not one"),
        ("{{ xs | random }}", "the filter `random` is not one"),
        ("{{ 'a' * 1000000000 }}", "not a number"),
        ("{{ '%1000000000d' % 1 }}", "not a number"),
        ("{{ prompts.first-one }}", "a name with a hyphen is a subtraction"),
        ("{{ 10 ** 10 ** 10 }}", "`pow`"),
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "more than 100000 rounds",
        ),
        ("{{ range(10000000000) | join }}", "more than 100000 rounds"),
        ("{% set a = 'x' %}" + "{% set a = a ~ a %}" * 60 + "{{ a }}", "characters"),
        ("{% set a = 'x' %}" + "{% set a = a + a %}" * 60 + "{{ a }}", "characters"),
        ("{% set a = 1 %}" + "{% set a = [a, a] %}" * 60 + "{{ a }}", "plain values"),
        (
            "{% set a = 'x' %}" + "{% set a = a | replace('x', 'xxxxxxxxxx') %}" * 60 + "{{ a }}",
            "characters",
        ),
        ("{{ xs | join(long) }}", "characters"),
        ("{% if %}", "cannot be read"),
        ("{% for one in _conversation %}{{ one.input }}{% endfor %}", "later tests"),
        ("{% for x in xs %}", "cannot be read"),
        ("{{ xs.a.b | upper", "more than a name"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% for x in 5 %}{{ x }}{% endfor %}", "not iterable"),
        ("{{ a }}{% if a %}" + "x" * 100_001 + "{% endif %}", "more than 100000 characters"),
    ],
)
def test_what_cannot_be_rendered_is_left_as_it_is_and_lost(template: str, why: str) -> None:
    """JavaScript, code of other files, and whatever would take too long or too much memory."""
    filled = fill(template, {"a": "x,y", "xs": ["a"] * 1000, "long": "y" * 1_000_000})
    assert filled.text == template
    assert why in " ".join(filled.lost)


@pytest.mark.parametrize(
    "attribute", ["__class__", "__init__.__globals__", "upper", "format", "mro"]
)
def test_no_attribute_of_an_object_can_be_reached(attribute: str) -> None:
    """A template sees data alone."""
    filled = fill("<{{ ''." + attribute + " }}{{ a." + attribute + " | string }}>", {"a": {"b": 1}})
    assert filled.text == "<>"


def test_variables_of_the_environment_and_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """`env.NAME` is read where a person names it, and a name that looks like a key's is not even
    then.
    """
    monkeypatch.setenv("HS_WORD", "tulip")
    monkeypatch.setenv("HS_API_KEY", "s3cret")
    with named_variables(["HS_WORD", "HS_API_KEY", "HS_UNSET"]):
        assert fill("{{env.HS_WORD}} {{ env.HS_WORD | upper }}", {}).text == "tulip TULIP"
        assert fill("{{env.HS_UNSET}}", {}).empty == ("env.HS_UNSET",)
        for template in (
            "{{env.HS_API_KEY}}",
            "{{ env.HS_API_KEY | upper }}",
            "{{ env | dump }}",
            "{{ env['HS_API_KEY'] }}",
        ):
            assert "s3cret" not in fill(template, {}).text
        assert "looks like a key" in fill("{{env.HS_API_KEY}}", {}).lost[0]


@pytest.mark.parametrize(
    "template",
    [
        "{{env.HS_URL}}",
        "{{ env.HS_URL | upper }}",
        "{{ env['HS_' ~ 'URL'] }}",
        "{% if env.HS_URL %}{{ env.HS_URL }}{% endif %}",
    ],
)
def test_a_variable_that_no_person_named_is_a_loss(
    monkeypatch: pytest.MonkeyPatch, template: str
) -> None:
    """Whatever its name, and whether it is set or not; a config may set it itself, and that value
    is used.
    """
    for is_set in (True, False):
        monkeypatch.setenv("HS_URL", "postgres://u:pw@h/d") if is_set else monkeypatch.delenv(
            "HS_URL"
        )
        filled = fill(template, {})
        assert "pw" not in filled.text.lower() and "named with --pass-env" in filled.lost[0]
    own = fill(template, {}, {"HS_URL": "http://x"})
    assert own.text.lower() == "http://x" and not own.lost


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
pieces = st.sampled_from(
    "{{ }} {% %} if else endif for in endfor set a b.c ['x'] | upper dump join ( ) 1 'x' + ~ == === range(3) loop.index - not".split(
        " "
    )
)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(pieces, max_size=25).map(" ".join),
    st.dictionaries(st.sampled_from("abx"), nested, max_size=3),
)
def test_no_template_crashes(template: str, variables: dict[str, Any]) -> None:
    """Any words of the language in any order are rendered or lost."""
    filled = fill(template, variables)
    assert len(filled.text) <= MAX_FILLED
    assert filled.text == template or "{" in template


@settings(deadline=None)
@given(nested)
def test_dump_writes_json_that_reads_back(value: Any) -> None:
    """Whatever a variable holds."""
    assert json.loads(fill("{{ a | dump }}", {"a": value}).text) == value


def test_what_is_looked_up_in_a_name_that_is_missing_is_empty() -> None:
    """As in Nunjucks, also in conditions."""
    text = "[{{ a.b.c }}{% if a.b.c %}yes{% endif %}{{ a.b['c'] | upper }}]"
    assert fill(text, {"q": 1}).text == "[]" and not fill(text, {"q": 1}).lost
