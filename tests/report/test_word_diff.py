"""Two outputs side by side: the words that changed, within a bound, and harmless in every format."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rendered import comparison_html, comparison_markdown, comparison_text, suite_html, suite_text
from suite_samples import HOSTILE, with_baseline

from honestone.report.word_diff import LONGEST, DiffPiece, first_difference, word_diff
from honestone.system.drawing import Style, width


def texts(before: str, after: str) -> tuple[str, str]:
    old, new = word_diff(before, after)
    return "".join(piece.text for piece in old), "".join(piece.text for piece in new)


@given(st.text(max_size=300), st.text(max_size=300))
@example("", "…")
def test_short_texts_are_whole_and_what_is_the_same_is_the_same(before: str, after: str) -> None:
    """Nothing of a short text is lost, and both sides without their changes are one text."""
    old, new = word_diff(before, after)
    if first_difference(before, after) <= 160:
        assert texts(before, after) == (before, after)
    assert [piece.text for piece in old if not piece.is_changed] == [
        piece.text for piece in new if not piece.is_changed
    ]
    assert (before == after) == (not any(piece.is_changed for piece in [*old, *new]))


@given(st.text(max_size=50), st.text(max_size=50))
def test_the_first_difference_is_where_it_is(before: str, after: str) -> None:
    at = first_difference(before, after)
    assert before[:at] == after[:at] and (
        before[at : at + 1] != after[at : at + 1] or before == after
    )


def test_the_words_that_changed_are_marked_and_nothing_else() -> None:
    old, new = word_diff("the shirt is crimson today", "the shirt is azure today")
    assert [piece for piece in old if piece.is_changed] == [DiffPiece("crimson", True)]
    assert [piece for piece in new if piece.is_changed] == [DiffPiece("azure", True)]
    old, new = word_diff("a big dog ran home", "a small cat ran home")
    assert [piece.text for piece in old if piece.is_changed] == ["big dog"], (
        "neighbours are one change"
    )
    old, new = word_diff("alpha beta gamma", "one two three four")
    assert [old[0].is_changed, new[0].is_changed, len(old), len(new)] == [True, True, 1, 1], (
        "two texts, not one changed"
    )


def test_long_texts_are_shown_from_where_they_differ_and_cost_little() -> None:
    """A change in the middle of ten million characters; two texts made to keep a comparison busy."""
    same = "word " * 2_000_000
    old, new = texts(same + "one" + same, same + "two" + same)
    assert old.startswith("…") and "one" in old and old.endswith("…") and len(old) <= LONGEST + 2
    assert "two" in new
    started = time.process_time()
    for before, after in (
        ("a " * 3000, "b a " * 2000),
        ("!." * 3000, ".?!" * 3000),
        ("ab " * 3000, "ba ab " * 3000),
    ):
        word_diff(before, after)
    assert time.process_time() - started < 5


def compared(before: str, after: str, input: str = "What colour?") -> dict[str, Any]:
    """One case that went from passed to failed."""
    sides = {
        "baseline": {"status": "passed", "score": 100.0, "output": before},
        "candidate": {"status": "failed", "score": 0.0, "output": after},
    }
    case = {"id": "turned", "input": input, "delta": -100.0, **sides}
    return {
        "schema": "honestone.comparison/1",
        "verdict": "fail",
        "regressions": ["turned"],
        "cases": [case],
    }


COLOURS = compared("the shirt is crimson today", "the shirt is azure today")


@pytest.mark.parametrize(
    ("columns", "is_beside"), [(160, True), (120, True), (119, False), (60, False)]
)
def test_a_wide_page_has_two_columns(columns: int, is_beside: bool) -> None:
    """From 120 columns on both sides are on one line, otherwise one under the other, and the input
    above them.
    """
    text = comparison_text(COLOURS, Style(width=columns))
    assert "What colour?" in text
    assert (
        any("[-crimson-]" in row and "{+azure+}" in row for row in text.splitlines()) is is_beside
    )
    assert all(width(row) <= columns for row in text.splitlines())


def test_a_change_over_several_lines_is_marked_line_by_line() -> None:
    text = comparison_text(
        compared("same\none\ntwo\nsame words here", "same\nthree\nfour\nsame words here"),
        Style(width=80),
    )
    assert "[-one-]" in text and "[-two-]" in text and "{+four+}" in text


def test_markdown_and_html_mark_the_same_words() -> None:
    markdown, page = comparison_markdown(COLOURS), comparison_html(COLOURS)
    assert "| the shirt is ~~crimson~~ today | the shirt is **azure** today |" in markdown
    assert "<del>crimson</del>" in page and "<ins>azure</ins>" in page and "What colour?" in page
    assert "<script" not in page and "script-src 'none'" in page


@pytest.mark.parametrize("side", [0, 1])
def test_hostile_outputs_stay_words(side: int) -> None:
    """Added or removed, in input and output, on every page."""
    plain = "the shirt is crimson today"
    doc = compared(*(plain + HOSTILE if n == side else plain for n in range(2)), input=HOSTILE)
    text, markdown, page = comparison_text(doc), comparison_markdown(doc), comparison_html(doc)
    for one in (text, markdown, page):
        assert "\x1b" not in one and "\x00" not in one and "\u202e" not in one
    assert not re.search(r"(?<!\\)<(script|img|/script)", re.sub(r"`[^`\n]*`", "", markdown))
    assert (
        len(
            {
                len(re.findall(r"(?<!\\)\|", row))
                for row in markdown.splitlines()
                if row.startswith("| the")
            }
        )
        == 1
    )
    assert "<script>" not in page and "<img" not in page


def test_a_report_with_a_baseline_shows_both_sides() -> None:
    """In the terminal below the comparison, on the page with its case."""
    doc = with_baseline()
    for one in doc["comparison"]["cases"]:
        one["baseline"]["output"], one["candidate"]["output"] = "it is red", "it is blue"
    assert "[-red-]" in suite_text(doc) and "{+blue+}" in suite_text(doc)
    assert "<del>red</del>" in suite_html(doc)
