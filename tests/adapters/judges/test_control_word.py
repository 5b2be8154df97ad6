"""The control item's word as evidence of another item: whoever "quotes" it from the text, where it
is not, is thrown out, however the quote is written.
"""

from __future__ import annotations

import html
import json
import unicodedata
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.adapters.judges.prompted import PromptedJudge
from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import AskedCriterion, Question, Reading
from honestone.core.judging.rubric import Anchors, Item
from honestone.core.reading.evidence import mentions_word
from honestone.ports import Reply, Request
from honestone.testing import ScriptedModel
from property_examples import examples

ITEMS = tuple(
    Item(
        id=f"i{number}",
        requirement=f"It has part {number}",
        anchors=None if number < 3 else Anchors(levels=((Fraction(1), "no"), (Fraction(5), "yes"))),
    )
    for number in range(4)
)
QUESTION = Question(
    artifact=Artifact("a.md", Version.of_text("Some text about figs.\n", "a.md")),
    criteria=(AskedCriterion(id="parts", requirement="Has its parts", items=ITEMS),),
)
JUDGE = PromptedJudge("one", ScriptedModel(lambda _: ""))
REQUEST: Request = JUDGE.render(QUESTION)
WORD = REQUEST.control_word or ""
WIDE = str.maketrans({chr(ord("a") + n): chr(ord("ａ") + n) for n in range(26)})

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "capitals": str.upper,
    "title": str.title,
    "wide": lambda word: word.translate(WIDE),
    "accents": lambda word: unicodedata.normalize("NFC", word.replace("a", "a\u0301")),
    "spaced": " ".join,
    "hyphens": "-".join,
    "soft hyphens": "\u00ad".join,
    "invisible": "\u200b".join,
    "broken line": lambda word: f"{word[:4]}-\n  {word[4:]}",
    "marked": lambda word: f"**{word[:2]}**{word[2:]}",
    "entities": lambda word: "".join(f"&#{ord(letter)};" for letter in word),
    "escaped": lambda word: "".join(f"\\u{ord(letter):04x}" for letter in word),
    "bytes": lambda word: "".join(f"\\x{ord(letter):02x}" for letter in word),
}
QUOTES = st.sampled_from(["{}", '"{}"', "'{}'", "“{}”", "«{}»", "`{}`", "it says {} here", "({})."])
PLACES: dict[str, Callable[[str], object]] = {
    "a text": str,
    "a list": lambda quote: ["Some text", quote],
    "with what is no text": lambda quote: [quote, 7],
    "an object": lambda quote: {"quote": quote, "line": 1},
    "objects": lambda quote: [[{"text": quote}]],
}
# The answers that an item may have; some are none, and their evidence tells as much.
ANSWERS = st.sampled_from([True, False, "yes", "maybe", None, 5, 9, [], "<true or false>"])


def reply(evidence: dict[int, object], answers: dict[int, object]) -> str:
    entries: dict[str, Any] = {
        str(number): {"evidence": evidence.get(number, ""), "answer": answers.get(number, True)}
        for number in REQUEST.numbers
    }
    entries[str(REQUEST.canary)] = {
        "evidence": evidence.get(REQUEST.canary or 0, ""),
        "answer": False,
    }
    return json.dumps({"token": REQUEST.token, "answers": entries})


def read(text: str) -> Reading:
    return JUDGE.read(QUESTION, REQUEST, Reply(text=text))


@settings(max_examples=examples(300))
@given(
    st.sampled_from(sorted(REQUEST.numbers)),
    st.sampled_from(sorted(SPELLINGS)),
    QUOTES,
    st.sampled_from(sorted(PLACES)),
    ANSWERS,
    st.booleans(),
)
def test_the_word_as_evidence_of_an_item_voids_the_ballot(
    number: int, spelling: str, quoted: str, place: str, answer: object, is_encoded: bool
) -> None:
    """However it is spelled and quoted, wherever the evidence has it, whatever the item's answer."""
    evidence = PLACES[place](quoted.format(SPELLINGS[spelling](WORD)))
    text = reply({number: evidence}, {number: answer})
    reading = read(json.dumps(text) if is_encoded else text)
    assert reading.tampered and not reading.marks


@settings(max_examples=examples(100))
@given(st.sampled_from(sorted(SPELLINGS)), QUOTES, st.sampled_from(sorted(PLACES)))
def test_the_word_in_the_controls_own_evidence_is_honest(
    spelling: str, quoted: str, place: str
) -> None:
    """There, answered no, it repeats the question."""
    evidence = PLACES[place](quoted.format(SPELLINGS[spelling](WORD)))
    assert REQUEST.canary is not None
    reading = read(reply({REQUEST.canary: evidence}, dict.fromkeys(REQUEST.numbers, True)))
    assert not reading.tampered


@settings(max_examples=examples(200))
@given(st.text(max_size=80), st.integers(0, 8))
def test_a_quote_without_the_word_voids_nothing(quote: str, at: int) -> None:
    """Not even with all its letters but one."""
    words = f"{quote} {WORD[:at]}?{WORD[at + 1 :]}"
    decomposed = unicodedata.normalize("NFKD", html.unescape(words)).casefold()
    if WORD not in "".join(c for c in decomposed if "a" <= c <= "z"):
        assert not mentions_word(words, WORD)
        assert not read(reply({min(REQUEST.numbers): words}, {})).tampered


@pytest.mark.parametrize(
    ("text", "word", "is_mentioned"),
    [
        ("The north cottage", "northcott", False),
        ("Mr. NORTHCOTT said", "northcott", True),
        ("N. o. r. t. h. c. o. t. t", "northcott", True),
        ("a total of 4,711 pounds", "4711", True),
        ("a total of ４７１１ pounds", "4711", True),
        ("4, 7, 1, 1", "4711", False),
        ("4 and 711", "4711", False),
        ("page 47", "4711", False),
    ],
)
def test_names_and_numbers_of_the_second_control_item_are_found_alike(
    text: str, word: str, is_mentioned: bool
) -> None:
    """But not in words and numbers that are only next to each other."""
    assert mentions_word(text, word) is is_mentioned


@pytest.mark.parametrize("bracket", ["{", "["])
def test_the_word_in_an_answer_that_a_stray_bracket_costs_voids_too(bracket: str) -> None:
    """The answer is lost; what it quoted is not."""
    number = min(REQUEST.numbers)
    text = reply({number: WORD}, {}).replace(
        '{"evidence": "' + WORD, bracket + '{"evidence": "' + WORD
    )
    reading = read(text)
    assert reading.tampered or not reading.marks
    assert not reading.marks
