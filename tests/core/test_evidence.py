"""Quotes are looked up: found exactly, found with other spacing and signs, or not found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.reading.evidence import (
    Found,
    find_quote,
    is_quote,
    mentions_any,
    mentions_word,
)
from property_examples import examples

TEXT = "The server isn’t restarted — it reloads\n   its “settings” file.\nThen the Port opens, and logs follow: v2.1 is up."


def quoted(quote: str) -> str | None:
    found = find_quote(quote, TEXT)
    return TEXT[found.start : found.end] if found else None


def test_an_exact_quote_has_its_place() -> None:
    """The offsets lead to the very words."""
    assert find_quote("server isn’t", TEXT) == Found(4, 16, "exact")


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("reloads its", "reloads\n   its"),
        ("isn't restarted - it", "isn’t restarted — it"),
        ('"settings" file', "“settings” file"),
        ('"the Port opens"', "the Port opens"),
        ("“Then the Port opens”", "Then the Port opens"),
        ("then THE port", "Then the Port"),
        ("  The   server ", "The server"),
        ("The server ... the Port", TEXT[: TEXT.index(" opens")]),
        ("reloads […] logs follow", TEXT[TEXT.index("reloads") : TEXT.index(": v2")]),
        ("...the Port opens…", "the Port opens"),
    ],
)
def test_spacing_signs_and_left_out_words_do_not_hide_a_quote(quote: str, stands: str) -> None:
    """A judge types plain quotes, joins lines and leaves out words; the quote is still there."""
    assert quoted(quote) == stands
    assert find_quote(quote, TEXT).how == "normalised"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "quote",
    [
        "the server is restarted",
        "logs follow ... the server",
        "Port closes",
        "The server ... never",
        "opensand",
    ],
)
def test_words_that_do_not_stand_there_are_not_found(quote: str) -> None:
    """Changed words, another order or a made-up part are no evidence."""
    assert find_quote(quote, TEXT) is None


@pytest.mark.parametrize("quote", ["", "  \n", "...", "it", '"-"', "a.b"])
def test_a_tiny_quote_is_no_quote(quote: str) -> None:
    """It would be found nearly anywhere, so it counts neither as found nor as invented."""
    assert not is_quote(quote) and find_quote(quote, TEXT) is None


def test_exact_case_is_preferred() -> None:
    """Letter case is only folded when nothing else is found."""
    text = "PORT  OPEN, then port  open"
    found = find_quote("port open", text)
    assert found and text[found.start : found.end] == "port  open"


def test_korean_and_growing_letters_keep_their_places() -> None:
    """Offsets count characters of the text, in any script."""
    text = "İstanbul  'a giden\n버그 신고서는   버전을 적는다"
    found = find_quote("신고서는 버전을", text)
    assert found and text[found.start : found.end] == "신고서는   버전을"


def test_a_long_text_and_many_parts_are_no_trouble() -> None:
    """200 kB and a quote of hundreds of parts are looked up in one pass each."""
    text = "word and more " * 15_000 + "the end"
    assert find_quote("more ... " * 300 + "the end", text)
    assert find_quote("word " * 5_000, text) is None


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=120), st.data())
def test_any_part_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    """Whatever is cut out of a text is found, and a match never reaches outside."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    quote = text[start:end]
    found = find_quote(quote, text)
    assert (found is not None) == is_quote(quote)
    if found:
        assert 0 <= found.start < found.end <= len(text) and text[found.start : found.end] == quote
    spaced = find_quote("  ".join(quote.split()), text)
    assert spaced is not None or not is_quote(quote)


PIECES = st.sampled_from(
    ["north", "cott", "nor", "thcott", "NORTHCOTT", "n o r t h c o t t", "\\u006e", "\\u00", "6e",
     "&#110;", "&am", "p;", "1,2", "34", "1 234", "\u0301", "\u200b", "e", "-", "*", " ", "\n", "\ud800"]
)  # fmt: skip


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(st.lists(PIECES, max_size=4).map("".join), max_size=5),
    st.lists(st.sampled_from(["northcott", "north", "1234", "n"]), max_size=2),
)
def test_texts_together_mention_what_one_of_them_mentions(
    texts: list[str], words: list[str]
) -> None:
    """A word whose halves are in two texts is in neither, however the halves are written."""
    each = any(mentions_word(text, word) for text in texts for word in words)
    assert mentions_any(texts, words) == each
