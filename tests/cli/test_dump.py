"""JSON as every command prints it: the same bytes as Python's own printer, whatever is in the
document.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from honestone.cli.terminal import dump

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES)
@example({"p": 1.5e-05, "more": [0.00002, -1e-07, 1e22, 1e16, 123456789012345680.0, -0.0]})
@example(
    {
        "half a pair": "\ud800",
        "large": 2**70,
        "contract": "sha256:5e12",
        "text": '[1e5,1e-9,":0.0000',
    }
)
@example(['\x00\x1b\x7f\u2028\u2029\ufeff</script>\\"', [], {}, [[]], {"a": {}}])
def test_a_document_is_printed_as_python_prints_it(document: Any) -> None:
    """The quick printer and Python's agree byte for byte; where they cannot, Python's is taken."""
    assert dump(document) == json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


class Part(msgspec.Struct):
    share: float
    words: str


def test_documents_are_printed_by_their_fields() -> None:
    assert dump({"parts": [Part(0.5, "é"), Part(0.00001, "\ud800")]}) == (
        '{\n "parts": [\n  {\n   "share": 0.5,\n   "words": "é"\n  },\n'
        '  {\n   "share": 1e-05,\n   "words": "\ud800"\n  }\n ]\n}'
    )
