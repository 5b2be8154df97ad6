"""Drawing: outside text made harmless, widths, wrapping, numbers and bars."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from honestone.core.numbers import bar_number, change, points
from honestone.system.drawing import (
    Style,
    bar,
    clean,
    clusters,
    cut,
    cut_middle,
    line,
    pad,
    width,
    wrap,
)

# Letters, marks, joiners, selectors, fillers, unassigned and private characters: what changes the
# reading of its neighbours.
_TRICKY = (
    "aA1 \n\u3000\u0301\u0308\u20e3\u0903\ufe0e\ufe0f\U000e0100\U000e01ef\u200c\u200d\u3164\u034f\u180b\u2800\u115f"
    "한⚠👨\U0001f3fb🇰\U0001274a\u0378\ue000\ud800\udc00\ufffd\x1b\r\t\u202e"
)
any_text = st.one_of(  # surrogates included
    st.text(st.characters(), max_size=60), st.text(st.sampled_from(_TRICKY), max_size=14)
)
shown = any_text.map(line)
scores = st.floats(0, 100).map(lambda number: round(number, 9))


@given(any_text)
def test_clean_text_holds_nothing_that_a_terminal_acts_on(text: str) -> None:
    """No control, override, line separator or lone surrogate survives; line breaks do."""
    for char in clean(text).replace("\n", "").replace("\u200c", "").replace("\u200d", ""):
        assert unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp")


@given(any_text)
@example("\U0001274a\U000e0100")
@example("한\u200d\u3164")
@example("👨\u200d\ufe0f")
@example("한" + 6 * "\u0301" + "\u200d한")
def test_cleaning_twice_changes_nothing(text: str) -> None:
    """What is clean stays as it is, so text may pass through several renderers."""
    assert clean(clean(text)) == clean(text)


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("a\u200bb\u00adc\ufeffd", "a\\u200bb\\xadc\\ufeffd"),
        ("pass\u200dword", "pass\\u200dword"),
        ("\u3164hidden", "\\u3164hidden"),
        ("back\b\b\b\bgone\rover", "back\\x08\\x08\\x08\\x08gone\\x0dover"),
        ("x\ufe01\ufe02", "x\\ufe01\\ufe02"),
        ("\u0301a \u0903", "\\u0301a \\u0903"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("lone \ud800", "lone \ufffd"),
        ("a\r\nb\tc", "a\nb    c"),
        ("next\x85line\u2028sep", "next\\x85line\\u2028sep"),
    ],
)
def test_tricks_become_visible(given: str, seen: str) -> None:
    """Escape sequences, overrides, invisible letters and smuggled data are shown as what they are."""
    assert clean(given) == seen


@pytest.mark.parametrize(
    "text",
    [
        "한국어",
        "e\u0301te\u0301",
        "👨\u200d👩\u200d👧",
        "⚠\ufe0f",
        "می\u200cخواهم",
        "क्\u200dष",
        "🇰🇷",
        "naïve – “ok”",
    ],
)
def test_ordinary_text_of_any_script_is_left_alone(text: str) -> None:
    """Accents, joined emoji, flags and joiners that a script needs are not tricks."""
    assert clean(text) == text


def test_piles_of_accents_are_cut_down() -> None:
    """Text cannot draw over the lines above it."""
    piled = clean("a" + "\u0301" * 50)
    assert sum(unicodedata.category(char) == "Mn" for char in piled) == 4
    assert len(piled) < 20


def test_a_line_is_one_line() -> None:
    """Line breaks and runs of space become one space; a limit is kept and marked."""
    assert line("  a\n\n b\t c ") == "a b c"
    assert line("x" * 50, 10) == "xxxxxxx..."


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("한국어", 6),
        ("e\u0301", 1),
        ("👨\u200d👩\u200d👧", 2),
        ("🇰🇷", 2),
        ("⚠\ufe0f", 2),
        ("각", 2),
        ("█▏░┃✓", 5),
        ("한a", 3),
    ],
)
def test_width_is_what_a_terminal_takes(text: str, columns: int) -> None:
    """Wide letters take two columns, accents none, a joined emoji two."""
    assert width(text) == columns


@given(shown)
def test_clusters_lose_nothing(text: str) -> None:
    """A text is the sum of what the eye sees as its characters."""
    assert "".join(clusters(text)) == text


@given(shown, st.integers(0, 40))
def test_padded_text_takes_exactly_its_columns(text: str, columns: int) -> None:
    """Columns stand under each other whatever is in them."""
    assert width(pad(text, columns)) == columns == width(pad(text, columns, right=True))
    assert width(cut(text, columns)) <= columns
    assert width(cut_middle(text, columns)) <= columns


def test_cutting_marks_what_is_missing_and_never_splits_a_letter() -> None:
    """A wide letter that does not fit is left out whole; both ends of a path stay."""
    assert cut("한국어문장", 6) == "한국…"
    assert cut_middle("script:python judges/strict.py", 16) == "scrip…/strict.py"


@given(shown, st.integers(12, 60))
@example(line("\u0903\x1f\x1f"), 12)
def test_wrapped_lines_fit_and_lose_no_word(text: str, columns: int) -> None:
    """Every line fits behind its bullet and the letters are all there in order."""
    lines = wrap(text, columns, first="  - ")
    assert all(width(one) <= columns for one in lines)
    assert "".join(one[4:] for one in lines).replace(" ", "") == text.replace(" ", "")


def test_text_without_spaces_fills_its_lines() -> None:
    """Chinese goes on where the line has room, instead of starting a new one."""
    assert wrap("abc 这是一个没有空格的句子", 12) == ["abc 这是一个", "没有空格的句", "子"]


def test_very_long_text_is_cut_at_a_number_of_lines() -> None:
    """The last line that is shown says that there is more."""
    assert wrap("a b c d e f g h i j", 8, most=2) == ["a b c d", "e f g h…"]


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (69.99, "69.9"),
        (69.999999999, "69.9"),
        (70.0, "70.0"),
        (4.35, "4.3"),
        (0.3, "0.3"),
        (100, "100.0"),
        (0, "0.0"),
        (-0.04, "0.0"),
        (1.1, "1.1"),
        (28.7, "28.7"),
        (None, "n/a"),
    ],
)
def test_scores_are_cut_and_never_rounded_up(score: float | None, text: str) -> None:
    """69.99 must not look like a pass at 70, and a binary float must not lose a tenth it has."""
    assert points(score) == text


@given(st.integers(0, 1000))
def test_a_score_of_one_decimal_is_shown_as_it_is(tenths: int) -> None:
    """0.1 steps survive binary floats."""
    assert points(tenths / 10) == f"{tenths // 10}.{tenths % 10}"


@given(scores, scores)
def test_a_change_is_the_difference_of_the_numbers_shown(before: float, after: float) -> None:
    """A reader who subtracts gets the same."""
    shown = change(before, after, minus="-")
    assert Fraction(shown) == Fraction(points(after)) - Fraction(points(before))
    assert change(None, after) == ""


def test_bars_and_weights_are_shown_as_written() -> None:
    """70 stays 70, 72.5 stays 72.5, a penalty keeps its sign."""
    assert [bar_number(one) for one in (70, 70.0, 72.5, -10, 0.1)] == [
        "70",
        "70",
        "72.5",
        "-10",
        "0.1",
    ]


@given(scores, st.integers(4, 40), st.booleans(), st.integers(1, 100))
def test_a_bar_has_its_length_and_never_reaches_a_mark_it_missed(
    score: float, cells: int, blocks: bool, mark: int
) -> None:
    """Below the mark nothing is filled behind it; at or above it all before it is."""
    drawn = bar(Style(unicode=blocks), cells, score, mark=mark)
    assert len(drawn) == cells
    before, stroke, behind = drawn.partition("┃" if blocks else "|")
    assert stroke
    if score < mark:
        assert not re.search("[█▏▎▍▌▋▊▉#]", behind)
    else:
        assert set(before) <= set("█#")


def test_a_bar_shows_what_is_not_known() -> None:
    """Filled up to what is certain, shaded up to what is possible."""
    assert bar(Style(), 10, 50, 80) == "█████▒▒▒░░"
    assert bar(Style(unicode=False), 10, 50, 80, mark=90) == "#####???.|"
    assert bar(Style(), 8, 43.75) == "███▌░░░░"


def test_colour_appears_only_when_asked() -> None:
    """A plain style never writes an escape sequence."""
    assert "\x1b" not in bar(Style(), 10, 50) + Style().paint("x", "red")
    assert Style(color=True).paint("x", "red", "bold") == "\x1b[31;1mx\x1b[0m"


def test_what_the_stream_cannot_hold_is_written_as_escapes() -> None:
    """A latin-1 terminal gets `\\uXXXX`, not a crash."""
    assert Style(encoding="latin-1").finish(["é 한"]) == "é \\ud55c\n"
