"""Text on a page code point for code point."""

from __future__ import annotations

import unicodedata
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.report.pages.judged_texts.exact_text import exact_markup, exact_text

ANY = st.text(st.characters(codec=None, exclude_categories=()))


@given(ANY)
def test_as_many_code_points_as_before_and_each_can_be_seen(text: str) -> None:
    """Offsets count in the page as they do in the record; nothing turns the text around or hides in
    it.
    """
    shown = exact_text(text)
    assert len(shown) == len(text)
    assert not [
        one for one in shown if unicodedata.category(one) in ("Cc", "Cs") and one not in "\t\n"
    ]
    assert not set(shown) & set(
        "\u061c\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2028\u2029\u2066\u2069\ufeff"
    )
    assert exact_text(shown) == shown


class _Words(HTMLParser):
    """What is left of a page as text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.tags = "", 0

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags += 1


@given(ANY)
def test_what_is_escaped_for_a_page_reads_as_the_text(text: str) -> None:
    words = _Words()
    words.feed(str(exact_markup(text)))
    words.close()
    assert (words.text, words.tags) == (exact_text(text), 0)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb", "a\u240d\nb"),
        ("\x1b[1m", "\u241b[1m"),
        ("\x7f", "\u2421"),
        ("x\u202ey", "x\u2426y"),
        ("\ud800", "\ufffd"),
    ],
)
def test_signs_for_what_cannot_be_seen(text: str, shown: str) -> None:
    assert exact_text(text) == shown
