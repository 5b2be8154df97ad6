"""Kinds of JSON values."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.json_value import is_integer, is_number

_JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
    max_leaves=4,
)


@given(_JSON_VALUES)
def test_a_number_is_what_json_writes_with_digits(value: object) -> None:
    """Python's `True` is an `int`, but JSON writes `true`."""
    written = json.dumps(value)
    has_digits = written.lstrip("-")[0].isdigit() or written in ("Infinity", "-Infinity")
    assert is_number(value) == has_digits


@given(_JSON_VALUES)
def test_an_integer_is_a_number_that_python_reads_as_an_int(value: object) -> None:
    assert is_integer(value) == (is_number(value) and not isinstance(value, float))
