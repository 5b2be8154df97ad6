"""White space that has no meaning in YAML and that the library's parser refuses."""

from __future__ import annotations

from typing import Any

import pytest

from honestone.core.errors import FileError
from honestone.formats.syntax.marked import parse_marked


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a:\n\t\n  b: x\n", {"a": {"b": "x"}}),
        ("a: x\n\t# words\nb: y\n", {"a": "x", "b": "y"}),
        ("a:\tx\nb: y\n", {"a": "x", "b": "y"}),
        ("a:\n  -\tx\n", {"a": ["x"]}),
        ("- >\n  \n    one\n\n    two\n    \n    three\n", ["\none\ntwo\nthree\n"]),
    ],
)
def test_it_is_read(text: str, value: Any) -> None:
    assert parse_marked(text, "f.yaml").value == value


def test_a_place_is_that_of_the_file() -> None:
    assert parse_marked("a: x\n\t\nb:\n  - y\n", "f.yaml").at(("b", 0)) == "f.yaml:4:5"


@pytest.mark.parametrize(
    ("text", "place"), [("a:\n\tb: x\n", "f.yaml:2:1"), ("a:\n\t\n  b: x: y\n", "f.yaml:2:1")]
)
def test_what_is_wrong_all_the_same_is_said_of_the_text_as_it_is(text: str, place: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_marked(text, "f.yaml")
    assert caught.value.place == place
