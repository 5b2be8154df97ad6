"""Replies as small models write them: answers as text, stray brackets, thinking without its opening
tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.judging.rubric import Anchors, Item
from honestone.core.reading.reply import ReplyReading, ReplySchema, read_reply
from honestone.core.tables import table_json

TOKEN = "4f1e0c22d9ab"


def scale(*levels: int) -> Anchors:
    return Anchors(levels=tuple((Fraction(level), str(level)) for level in levels))


ITEMS = {
    1: Item(id="dated", requirement="r"),
    2: Item(id="signed", requirement="r"),
    3: Item(id="tone", requirement="r", anchors=scale(0, 5, 10)),
    4: Item(id="depth", requirement="r", anchors=scale(1, 2, 3, 4, 5)),
}


def read(text: str) -> ReplyReading:
    return read_reply(text, ReplySchema(token=TOKEN, items=ITEMS))


def reply(**changed: object) -> str:
    answers = {
        "1": True,
        "2": False,
        "3": 7,
        "4": 2,
        **{key.removeprefix("n"): value for key, value in changed.items()},
    }
    entries = {
        key: {"evidence": "", "answer": value, "suggestion": ""} for key, value in answers.items()
    }
    return json.dumps({"token": TOKEN, "answers": entries}, ensure_ascii=False)


def values(reading: ReplyReading) -> dict[int, object]:
    return {number: mark.answer for number, mark in reading.answers.items()}


YES = [
    "true",
    "True",
    "TRUE",
    "yes",
    "Yes",
    " yes. ",
    "YES!",
    "met",
    "Met",
    "**yes**",
    "예",
    "네",
    "はい",
    "是",
    "ja",
    "oui",
    "sí",
    "да",
]
NO = [
    "false",
    "False",
    "no",
    "No",
    "NO.",
    "not met",
    "unmet",
    "Not Met",
    "아니오",
    "아니요",
    "いいえ",
    "nein",
    "non",
    "нет",
]
NEITHER = [
    "yes and no",
    "maybe",
    "partly met",
    "<true or false>",
    "<?>",
    "true or false",
    "not sure",
    "",
    " ",
    "yes, but it is not met",
    "no, it is met",
    "is not true",
    "not false",
    "yes/no",
    "true|false",
    "nope",
    "not no",
    "1",
    "0",
    "null",
    "none",
    "n/a",
    "no idea",
    "yes?",
    "mostly yes",
    "no answer",
    "not yes",
    "unknown",
    "si",
    "true false",
    "yes no",
]


@pytest.mark.parametrize(("words", "answer"), [(YES, True), (NO, False)])
def test_a_word_that_means_yes_or_no_is_that_answer(words: list[str], answer: bool) -> None:
    """In an answer with its keys and alone; the reply is clean, and says that it was a text."""
    for word in words:
        reading = read(reply(n1=word))
        assert values(reading)[1] is answer, word
        assert not reading.errors and not reading.problems and reading.repairs
        bare = read(json.dumps({"token": TOKEN, "answers": {"1": word, "2": True, "3": 1, "4": 1}}))
        assert values(bare)[1] is answer


@pytest.mark.parametrize("word", NEITHER)
def test_any_other_text_leaves_its_item_open(word: str) -> None:
    """Nothing is guessed from a part of a text, and the other items are read."""
    reading = read(reply(n1=word))
    assert set(reading.errors) == {1} and values(reading) == {2: False, 3: 7, 4: 2}


@given(st.text(st.sampled_from("yestruno falm./<>|"), max_size=12))
def test_a_text_is_an_answer_as_a_whole_or_not_at_all(word: str) -> None:
    """What counts is a word of the lists, whatever is around it must be white space, marks or an
    end of a sentence.
    """
    answer = values(read(reply(n1=word))).get(1)
    plain = " ".join(word.strip(" .!*_`\"'").split()).casefold()
    known = {
        **dict.fromkeys(map(str.casefold, YES), True),
        **dict.fromkeys(map(str.casefold, NO), False),
        "y": True,
        "n": False,
    }
    assert answer is known.get(plain) or answer is None


@pytest.mark.parametrize(
    ("number", "text", "value"),
    [
        (3, "8/10", 8),
        (3, "8 / 10", 8),
        (3, "10/10", 10),
        (3, " 0/10 ", 0),
        (3, "7.5/10", 7.5),
        (3, "7,5/10", 7.5),
        (3, "8 out of 10", 8),
        (4, "4/5", 4),
    ],
)
def test_a_fraction_of_the_scale_is_its_number(number: int, text: str, value: float) -> None:
    """8/10 where the scale ends with 10."""
    reading = read(reply(**{f"n{number}": text}))
    assert values(reading)[number] == value and not reading.errors


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (4, "8/10"),
        (3, "4/5"),
        (3, "12/10"),
        (4, "0/5"),
        (3, "-1/10"),
        (3, "true"),
        (3, "8-10"),
        (3, "yes"),
        (3, "8/10/2"),
        (3, "about 8/10"),
        (3, "8"),
        (3, "80%"),
        (3, "<0 to 10>"),
        (3, "8/0"),
    ],
)
def test_other_texts_for_a_scale_are_refused_by_name(number: int, text: str) -> None:
    """The reason names what was written."""
    reading = read(reply(**{f"n{number}": text}))
    assert set(reading.errors) == {number} and text.strip() in reading.errors[number]


# ----------------------------------------------------------------------------------------------------------
# brackets


def part(number: int, value: object) -> str:
    return f'"{number}": ' + json.dumps({"evidence": "", "answer": value, "suggestion": ""})


MEANT = {1: True, 2: False, 3: 7, 4: 2}


@given(st.permutations(sorted(MEANT)), st.integers(1, 4), st.integers(1, 4))
def test_a_stray_bracket_between_answers_loses_none(
    order: list[int], first: int, second: int
) -> None:
    """Wherever one or two of them are, in whatever order the answers come: each is read as it was
    meant, or not at all.
    """
    pieces = [part(number, MEANT[number]) for number in order]
    pieces[first - 1] += "}"
    reading = read(f'{{"token": "{TOKEN}", "answers": {{{", ".join(pieces)}}}}}')
    assert values(reading) == MEANT
    if second != first:
        pieces[second - 1] += "}"
        found = values(read(f'{{"token": "{TOKEN}", "answers": {{{", ".join(pieces)}}}}}'))
        assert all(MEANT[number] == value for number, value in found.items())


@pytest.mark.parametrize("after", [1, 2, 3])
def test_a_stray_bracket_in_a_list_of_answers_loses_none(after: int) -> None:
    """The list form."""
    rows = [
        json.dumps({"n": number, "evidence": "", "answer": value})
        for number, value in MEANT.items()
    ]
    rows[after - 1] += "}"
    assert values(read(f'{{"token": "{TOKEN}", "answers": [{", ".join(rows)}]}}')) == MEANT


@pytest.mark.parametrize("broken", [1, 2, 3, 4])
def test_a_bracket_inside_an_answer_loses_that_answer(broken: int) -> None:
    """Not those before or after it."""
    pieces = [part(number, value) for number, value in MEANT.items()]
    pieces[broken - 1] = pieces[broken - 1].replace('"evidence": "",', '"evidence": ""},')
    found = values(read(f'{{"token": "{TOKEN}", "answers": {{{", ".join(pieces)}}}}}'))
    assert found == {number: value for number, value in MEANT.items() if number != broken}


def test_an_answer_inside_and_outside_is_answered_twice() -> None:
    """Which of the two was meant is not known."""
    text = f'{{"token": "{TOKEN}", "answers": {{{part(1, True)}, {part(2, False)}, {part(3, 1)}}}, {part(1, False)}, {part(4, 1)}}}'
    reading = read(text)
    assert reading.errors == {1: "answered twice"} and set(reading.answers) == {2, 3, 4}


def test_numbers_outside_that_were_not_asked_void_the_reply() -> None:
    """A stray bracket hides no shifted number."""
    pieces = [part(number - 1, value) for number, value in MEANT.items()]
    text = (
        f'{{"token": "{TOKEN}", "answers": {{{pieces[1]}, {pieces[2]}}}, {pieces[3]}, {pieces[0]}}}'
    )
    assert not read(text).answers


# ----------------------------------------------------------------------------------------------------------
# thinking


@pytest.mark.parametrize("tag", ["</think>\n", "</think>\n\n", "</thinking>\n", "[/THINK]\n"])
def test_a_draft_in_thinking_without_an_opening_tag_is_not_the_reply(tag: str) -> None:
    """Chat templates of reasoning models write the opening tag themselves."""
    draft = reply(n1=False)
    reading = read(f"Perhaps:\n{draft}\nNo.{tag}{reply()}")
    assert values(reading) == MEANT and "a thinking block" in reading.repairs


def test_a_quoted_closing_tag_ends_nothing() -> None:
    """In evidence it is a part of the text."""
    text = reply().replace('"evidence": ""', '"evidence": "it says </think>\\n and more"', 1)
    assert values(read(text)) == MEANT


# ------------------------------------------------------------------------------------------------------
# any damage of a kind


def whole(order: list[int], *, as_list: bool = False) -> str:
    if as_list:
        rows = [{"n": number, "evidence": "{[", "answer": MEANT[number]} for number in order]
        return json.dumps({"token": TOKEN, "answers": rows})
    return f'{{"token": "{TOKEN}", "answers": {{{", ".join(part(n, MEANT[n]) for n in order)}}}}}'


def is_outside_strings(text: str, at: int) -> bool:
    return len(re.findall(r'"', text[:at])) % 2 == 0


@given(st.permutations(sorted(MEANT)), st.booleans(), st.sampled_from("{["), st.data())
def test_a_stray_opening_bracket_loses_at_most_the_answer_that_it_is_in(
    order: list[int], as_list: bool, bracket: str, data: st.DataObject
) -> None:
    """Wherever it is between two words, in both forms of a reply. No answer is read otherwise."""
    text = whole(order, as_list=as_list)
    places = [
        at
        for at in range(len(text) + 1)
        if is_outside_strings(text, at) and not re.search(r"\w$", text[:at])
    ]
    at = data.draw(st.sampled_from(places))
    found = values(read(text[:at] + bracket + text[at:]))
    assert all(MEANT[number] == value for number, value in found.items())
    assert len(found) >= len(MEANT) - 1


@given(st.permutations(sorted(MEANT)), st.sampled_from("{["), st.data())
def test_a_reply_that_ends_early_is_not_completed(
    order: list[int], bracket: str, data: st.DataObject
) -> None:
    """Not even where a bracket too many could be dropped to balance it."""
    text = whole(order)
    end = data.draw(st.integers(1, len(text) - 1))
    assert not read(text[:end]).answers
    at = data.draw(st.integers(0, end))
    if is_outside_strings(text, at):
        found = values(read(text[:at] + bracket + text[at:end]))
        assert all(MEANT[number] == value for number, value in found.items())


def test_two_stray_opening_brackets_lose_the_reply() -> None:
    """Which of several ways to read it was meant is not known."""
    text = whole([1, 2, 3, 4]).replace('"2": {', '"2": {{').replace('"4": {', '"4": {{')
    assert not read(text).answers


@given(st.permutations(sorted(MEANT)), st.integers(-4, 120), st.booleans(), st.booleans())
def test_answers_numbered_otherwise_than_asked_are_not_taken(
    order: list[int], by: int, as_list: bool, is_damaged: bool
) -> None:
    """Shifted by any number, as keys and as a list, with a bracket too many or without."""
    if by == 0:
        return
    text = whole(order, as_list=as_list)
    shifted = re.sub(
        r'(?<="n": )(\d)(?=,)|(?<=")(\d)(?=": \{)', lambda n: str(int(n[0]) + by), text
    )
    assert shifted != text
    if is_damaged:
        shifted = shifted.replace('{"evidence"', '{{"evidence"', 1)
    assert not read(shifted).answers


WORDS = json.loads(table_json("reading/yes_no"))


@given(
    st.sampled_from([(word, kind == "yes") for kind in ("yes", "no") for word in WORDS[kind]]),
    st.sampled_from([str, str.upper, str.capitalize]),
    st.sampled_from(["{}", " {} ", "{}.", "**{}**", "{}!"]),
)
def test_every_word_for_yes_or_no_is_read_however_it_is_written(
    word: tuple[str, bool], case: Callable[[str], str], around: str
) -> None:
    """In each language that the table has."""
    text, meant = word
    assert values(read(reply(n1=around.format(case(text))))) == MEANT | {1: meant}


@given(st.permutations(sorted(MEANT)), st.sampled_from("}]"), st.data())
def test_a_stray_closing_bracket_changes_no_answer(
    order: list[int], bracket: str, data: st.DataObject
) -> None:
    """Wherever it is between two words."""
    text = whole(order)
    places = [at for at in range(len(text) + 1) if is_outside_strings(text, at)]
    at = data.draw(st.sampled_from(places))
    found = values(read(text[:at] + bracket + text[at:]))
    assert all(MEANT[number] == value for number, value in found.items())


@given(st.integers(-2, 30), st.integers(0, 30), st.sampled_from([3, 4]), st.booleans())
def test_a_fraction_is_its_number_or_refused_by_name(
    part_of: int, of: int, number: int, is_spoken: bool
) -> None:
    """Of its own scale it is the number, of any other it is none."""
    text = f"{part_of} out of {of}" if is_spoken else f"{part_of}/{of}"
    reading = read(reply(**{f"n{number}": text}))
    low, high = ((0, 10), (1, 5))[number - 3]
    if of == high and low <= part_of <= high:
        assert values(reading)[number] == part_of and not reading.errors
    else:
        assert set(reading.errors) == {number} and text in reading.errors[number]
