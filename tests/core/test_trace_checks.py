"""Checks of a run: what was called and spent, and that what is not told is unknown."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.check_problems import read_check
from honestone.core.checking.trace_checks import matched, same, trace_answer, within
from honestone.core.errors import RubricError
from honestone.core.suite.trace import ToolCall, Trace


def called(*names: str, **arguments: Any) -> Trace:
    return Trace(tool_calls=tuple(ToolCall(name=name, arguments=arguments) for name in names))


def met(written: dict[str, Any], trace: Trace) -> bool | None:
    return trace_answer(read_check(written), trace)[0]


@pytest.mark.parametrize(
    ("mode", "wanted", "made", "is_met"),
    [
        ("any_order", ["b", "a"], "axb", True),
        ("any_order", ["a", "a"], "ab", False),
        ("any_order", [{"tool": "a", "count": 2}], "aab", True),
        ("any_order", [{"tool": "a", "count": 10**9}], "aab", False),
        ("in_order", ["a", "b"], "xaxbx", True),
        ("in_order", ["a", "b"], "ba", False),
        ("in_order", [{"tool": "a", "count": 10**9}], "aaa", False),
        ("exact", ["a", "b"], "ab", True),
        ("exact", ["a", "b"], "abb", False),
        ("exact", ["a", "b"], "a", False),
        ("exact", [{"tool": "a", "count": 2}, "b"], "aab", True),
        ("subset", ["a", "b"], "aaa", True),
        ("subset", ["a", "b"], "", True),
        ("subset", ["a", "b"], "abc", False),
        ("subset", [{"tool": "a", "count": 1}, "b"], "abb", True),
        ("subset", [{"tool": "a", "count": 1}, "b"], "aab", False),
        ("subset", [{"tool": "a", "count": 1}, {"tool": "*", "count": 1}], "aa", True),
    ],
)
def test_the_four_ways_to_compare_calls(
    mode: str, wanted: list[Any], made: str, is_met: bool
) -> None:
    """Each in any order, in this order, exactly these, nothing but these."""
    assert met({"tool-calls": wanted, "mode": mode}, called(*made)) is is_met


def test_any_order_is_the_default_and_a_star_stands_for_anything() -> None:
    """Names may be patterns, and only by their star."""
    assert met({"tool-calls": ["mcp_*_read", "b"]}, called("b", "mcp_x_read")) is True
    assert met({"tool-calls": ["a.c"]}, called("abc")) is False


@pytest.mark.parametrize(
    ("args", "wanted", "given", "is_met"),
    [
        ("exact", {"id": 7}, {"id": 7.0}, True),
        ("exact", {"id": 1}, {"id": True}, False),
        ("exact", {"id": 7}, {"id": 7, "more": 1}, False),
        ("subset", {"at": {"x": 1}}, {"at": {"x": 1, "y": 2}, "more": 1}, True),
        ("subset", {"at": [1]}, {"at": [1, 2]}, False),
        ("ignore", {"id": 7}, {}, True),
    ],
)
def test_arguments_are_compared_as_json(args: str, wanted: Any, given: Any, is_met: bool) -> None:
    """Exactly, in part, or not at all."""
    check = {"tool-calls": [{"tool": "open", "arguments": wanted}], "args": args}
    assert met(check, called("open", **given)) is is_met


def test_a_call_that_fits_two_is_given_to_the_one_that_needs_it() -> None:
    """The general one does not take away the only call of the special one."""
    trace = Trace(tool_calls=(ToolCall(name="open", arguments={"id": 7}), ToolCall(name="open")))
    assert met({"tool-calls": ["open", {"tool": "open", "arguments": {"id": 7}}]}, trace) is True
    assert (
        met({"tool-calls": [{"tool": "open", "arguments": {"id": 7}, "count": 2}]}, trace) is False
    )


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), max_size=5))
def test_places_are_given_whenever_there_is_a_way(options: list[list[int]]) -> None:
    """As trying every order would find."""
    possible = any(
        all(place in choice for place, choice in zip(order, options, strict=False))
        for order in permutations(range(5), len(options))
    )
    assert (matched(options) is None) is possible


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(_JSON, st.dictionaries(st.text(), _JSON))
def test_comparing_json(value: Any, more: dict[str, Any]) -> None:
    """Everything is itself and within itself; an object with more in it holds it, and is not it."""
    assert same(value, value)
    assert within(value, value)
    if isinstance(value, dict) and more.keys() - value.keys():
        assert within(value, {**more, **value})
        assert not same(value, {**more, **value})


def test_counts_of_calls() -> None:
    """Least and most for each name; `*` is all of them."""
    trace = called(*"aab")
    assert met({"tool-count": {"a": {"min": 2, "max": 2}, "c": {"max": 0}}}, trace) is True
    assert met({"tool-count": {"a": {"max": 1}}}, trace) is False
    assert met({"tool-count": {"c": {"min": 1}}}, trace) is False
    assert met({"tool-count": {"*": {"max": 2}}}, trace) is False


@pytest.mark.parametrize(
    ("written", "trace", "is_met"),
    [
        ({"latency": 100}, Trace(duration_ms=100), True),
        ({"latency": 99.5}, Trace(duration_ms=100), False),
        ({"cost": 0.3}, Trace(usd=0.1 + 0.2), False),
        ({"cost": 0.3}, Trace(usd=0.3), True),
        ({"model-calls": 2}, Trace(model_calls=2), True),
        ({"model-calls": 2}, Trace(model_calls=3), False),
        ({"model-calls": 2}, Trace(tool_calls=()), None),
        ({"tokens": 30}, Trace(input_tokens=10, output_tokens=20), True),
        ({"tokens": 29}, Trace(input_tokens=10, output_tokens=20), False),
        ({"tokens": 29}, Trace(input_tokens=30), False),
        ({"tokens": 31}, Trace(input_tokens=30), None),
        ({"tokens": {"input": 5, "output": 5}}, Trace(input_tokens=6), False),
        ({"tokens": {"input": 6, "output": 5}}, Trace(input_tokens=6), None),
        ({"skill-loaded": True}, Trace(skill_loaded=True), True),
        ({"skill-loaded": True}, Trace(skill_loaded=False), False),
    ],
)
def test_limits_and_flags(written: dict[str, Any], trace: Trace, is_met: bool | None) -> None:
    """Exact, both ends included; what is already too much is too much, whatever is not told."""
    assert met(written, trace) is is_met


@pytest.mark.parametrize(
    "written",
    [
        {"tool-calls": ["a"]},
        {"tool-count": {"a": {"max": 1}}},
        {"latency": 1},
        {"cost": 1},
        {"tokens": 1},
        {"skill-loaded": True},
    ],
)
def test_what_is_not_told_is_unknown(written: dict[str, Any]) -> None:
    """Never a no, and with a note that says so."""
    is_met, note = trace_answer(read_check(written), Trace())
    assert is_met is None
    assert "does not report" in str(note)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ({"tool-calls": []}, "takes a list of names"),
        ({"tool-calls": [{"name": "a"}]}, "takes a list of names"),
        ({"tool-calls": ["a"], "mode": "some"}, "`mode` takes"),
        ({"tool-count": {"a": {}}}, "takes"),
        ({"tool-count": {"a": {"min": 2, "max": 1}}}, "more than its `max`"),
        ({"latency": -1}, "a number from 0"),
        ({"tokens": {"all": 1}}, "takes"),
        ({"tokens": {}}, "takes"),
    ],
)
def test_a_check_that_cannot_be_meant_is_refused(written: dict[str, Any], says: str) -> None:
    """When it is read, with what it takes."""
    with pytest.raises(RubricError, match=says):
        read_check(written)


def test_notes_name_the_calls_and_are_harmless() -> None:
    """What was called instead, with nothing from outside that could touch a terminal."""
    _, note = trace_answer(read_check({"tool-calls": ["a"]}), called("b\x1b[2J"))
    assert "not called: a" in str(note)
    assert "b\\x1b" in str(note)
