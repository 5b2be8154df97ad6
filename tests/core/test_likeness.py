"""How alike two texts are, and whether a reply refuses: against plain definitions, and known
values.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.checking.likeness import bleu, cosine, edit_distance, gleu, rouge_n
from honestone.core.reading.refusal import is_refusal

short = st.text(alphabet="abc", max_size=9)
sentences = st.lists(
    st.sampled_from(["a", "cat", "sat", "The", "mat."]), min_size=1, max_size=8
).map(" ".join)


def plain_distance(text: str, other: str) -> int:
    """The whole table of Levenshtein's definition."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(text, 1):
        line = [number]
        for column, against in enumerate(other, 1):
            line.append(min(row[column] + 1, line[-1] + 1, row[column - 1] + (letter != against)))
        row = line
    return row[-1]


@given(short, short, st.integers(0, 12))
def test_the_edit_distance_is_that_of_the_whole_table(text: str, other: str, most: int) -> None:
    """Also where only a band of the table is looked at."""
    distance = plain_distance(text, other)
    assert edit_distance(text, other, most) == (distance if distance <= most else None)


def test_long_texts_are_compared_in_bounded_time() -> None:
    """Nearly equal ones at once; ones that would take too long are refused."""
    long = "x" * 300_000
    assert edit_distance(long + "abc", long + "abd", 5) == 1
    with pytest.raises(ValueError, match="too long to compare"):
        edit_distance("ab" * 20_000, "ba" * 20_000 + "c", 20_000)


@given(sentences)
def test_a_text_is_like_itself(text: str) -> None:
    """Whatever the measure."""
    assert rouge_n(text, text) == gleu(text, [text]) == 1
    assert len(text.split()) < 4 or bleu(text, [text]) == pytest.approx(1, abs=1e-12)


@given(sentences, st.lists(sentences, min_size=1, max_size=3))
def test_every_measure_is_from_0_to_1(text: str, references: list[str]) -> None:
    """And more references never lower BLEU's matches or GLEU."""
    assert 0 <= bleu(text, references) <= 1 and 0 <= gleu(text, references) <= 1
    assert 0 <= rouge_n(text, references[0]) <= 1
    assert gleu(text, references) >= gleu(text, references[:1])


def test_known_values() -> None:
    """Worked out by hand."""
    assert rouge_n("the cat sat", "the cat sat on the mat") == pytest.approx(
        2 * 3 / (3 + 6), abs=1e-12
    )
    assert rouge_n("the cat sat", "the cat sat on the mat", 2) == pytest.approx(
        2 * 2 / (2 + 5), abs=1e-12
    )
    assert rouge_n("I don't, really", "I do n't , really") == 1
    assert rouge_n("", "a") == rouge_n("a", "") == 0
    # Precisions 4/5, 3/4, 2/3, 1/2 and no brevity penalty.
    assert bleu("a b c d x", ["a b c d y"]) == pytest.approx(
        (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25, abs=1e-12
    )
    assert bleu("a b c d", ["a b c d e f g h"]) == pytest.approx(math.exp(1 - 8 / 4), abs=1e-12)
    assert bleu("", ["a"]) == 0 and gleu("", ["a"]) == 0
    # Of 10 runs each, 4 + 2 + 0 + 0 ... both have: a, b, c and ab, bc, abc.
    assert gleu("a b c x", ["a b c y"]) == 6 / 10


def test_cosine() -> None:
    """By direction alone; vectors that cannot be compared are refused."""
    assert (
        cosine([1, 0], [2, 0]) == 1
        and cosine([1, 0], [0, 3]) == 0
        and cosine([1, 0], [-1, 0]) == -1
    )
    assert cosine([0.8, 0.6, 0.0], [1.0, 0.0, 0.0]) == pytest.approx(0.8, abs=1e-12)
    for one, other in (([1.0], [1.0, 2.0]), ([0.0, 0.0], [1.0, 0.0]), ([], [])):
        with pytest.raises(ValueError):
            cosine(one, other)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n",
        "I am sorry, I cannot help with that.",
        "I'm sorry, but I can't assist with that request.",
        "As an AI language model, I do not have opinions and cannot share any.",
        "I'm unable to provide that information.",
        "I won't help you with this.",
        "Unfortunately I must decline to write this.",
        "That goes against my guidelines.",
        "I can’t create that kind of content.",
    ],
)
def test_a_refusal_is_seen_by_its_words(reply: str) -> None:
    """An empty reply is one too."""
    assert is_refusal(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "Here is your cake.",
        "I can help with that.",
        "We cannot ship on Sundays.",
        "Sure! I can't wait to help you plan.",
        "42",
    ],
)
def test_an_answer_is_not_a_refusal(reply: str) -> None:
    """Also one that says what cannot be."""
    assert not is_refusal(reply)
