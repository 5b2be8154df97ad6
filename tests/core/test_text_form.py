"""Checks compare texts in one normal form, and a note says where only the form differs."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.check_problems import read_check
from honestone.core.checking.checks import compile_text_check
from honestone.core.checking.field_accuracy import fields_answer
from honestone.core.checking.text_form import normal, normal_value

WORD = "한국어 café"
DECOMPOSED = unicodedata.normalize("NFD", WORD)


def told(written: dict[str, Any], text: str) -> tuple[bool | None, str | None]:
    return compile_text_check(read_check(written))(text)


SAME: list[tuple[dict[str, Any], str]] = [
    ({"contains": WORD}, f"a {DECOMPOSED} b"),
    ({"contains": [WORD, "한국"]}, f"a {DECOMPOSED} b"),
    ({"contains-any": ["x", WORD]}, DECOMPOSED),
    ({"contains-all": [WORD, "a"]}, f"a {DECOMPOSED}"),
    ({"icontains": WORD.upper()}, DECOMPOSED),
    ({"icontains-any": ["x", WORD.upper()]}, DECOMPOSED),
    ({"icontains-all": [WORD.upper()]}, DECOMPOSED),
    ({"equals": WORD}, DECOMPOSED + "\r\n"),
    ({"equals": "a\nb"}, "a\r\nb"),
    ({"equals": "a\r\nb"}, "a\nb"),
    ({"starts-with": "한국"}, DECOMPOSED),
    ({"starts-with": "a\nb"}, "a\r\nb c"),
    ({"ends-with": "café"}, DECOMPOSED),
    ({"ends-with": "a\nb"}, "x a\r\nb\r\n"),
    ({"regex": "^한.어"}, DECOMPOSED),
    ({"regex": {"pattern": "^a$", "flags": "m"}}, "a\r\nb"),
    ({"regex": "caf.$"}, DECOMPOSED),
    ({"contains": "a\nb"}, "x a\r\nb y"),
]


@pytest.mark.parametrize(("written", "text"), SAME)
def test_equal_texts_match_in_whatever_form(written: dict[str, Any], text: str) -> None:
    """What looks the same is the same: a check is met, its opposite is not and says that only the
    form differs.
    """
    ((kind, value),) = written.items()
    assert told(written, text) == (True, None)
    met, note = told({f"not-{kind}": value}, text)
    assert met is False and "form" in (note or "")


@pytest.mark.parametrize(("written", "text"), SAME)
def test_who_needs_bytes_gets_bytes(written: dict[str, Any], text: str) -> None:
    """With `exact: bytes` another form does not match, and the miss says that it is the form alone."""
    ((kind, value),) = written.items()
    met, note = told({**written, "exact": "bytes"}, text)
    assert met is False and "the same but for its form" in (note or "")
    assert told({f"not-{kind}": value, "exact": "bytes"}, text) == (True, None)


@pytest.mark.parametrize(
    ("written", "text", "met"),
    [
        ({"not-contains": "\r\n"}, "a\nb", True),
        ({"not-contains": "\r\n"}, "a\r\nb", False),
        ({"contains": "\r"}, "a\r\nb", True),
        ({"not-regex": r"\r"}, "a\r\nb", False),
        ({"not-regex": r"\r\n?"}, "a\nb", True),
        ({"not-contains": "\u0301"}, "cafe\u0301", False),
    ],
)
def test_who_looks_for_a_form_finds_it(written: dict[str, Any], text: str, met: bool) -> None:
    """A check that asks for line breaks of Windows, or for a combining accent, is about the bytes."""
    assert told(written, text)[0] is met


@given(st.text(max_size=8), st.text("ab\r\n é한\u0301e", max_size=12))
def test_a_text_contains_its_own_parts_in_every_form(word: str, around: str) -> None:
    """What matches as it is written matches in every form of the text, and a `not-` never holds
    where the plain check does.
    """
    for text in (word + around, unicodedata.normalize("NFC", word + around)):
        if word:
            assert told({"contains": word}, text)[0] is (
                word in text or normal(word) in normal(text)
            )
        assert told({"equals": text}, unicodedata.normalize("NFD", text))[0] is True
        for kind in ("contains", "equals", "starts-with", "ends-with"):
            if around:
                assert told({kind: around}, text)[0] is not told({f"not-{kind}": around}, text)[0]


def test_lengths_are_of_what_is_read() -> None:
    """A character counts once however it is written, and so does a line break."""
    for written in ({"max-chars": 5}, {"min-chars": 5}):
        assert (
            told(written, unicodedata.normalize("NFD", "café\n").replace("\n", "\r\n"))[0] is True
        )
    assert told({"max-chars": 5, "exact": "bytes"}, "caf\u0065\u0301\r\n")[0] is False


def test_fields_of_json_are_compared_in_normal_form() -> None:
    """Texts and names of fields alike; with `exact: bytes` neither."""
    written: dict[str, Any] = {"field-accuracy": {"fields": [{"path": "name.é", "expected": WORD}]}}
    document = {"name": {"e\u0301": DECOMPOSED}}
    assert fields_answer(read_check(written), document)[0] is True
    assert fields_answer(read_check({**written, "exact": "bytes"}), document)[0] is False


def test_values_keep_their_kinds() -> None:
    """Only texts change."""
    value = {"e\u0301": [1, 2.5, True, None, "e\u0301\r\n"]}
    assert normal_value(value) == {"é": [1, 2.5, True, None, "é\n"]}
