"""Classes of damage in replies, each as a generator of variants: with the damage the same is read
as without it, or nothing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.core.judging.rubric import Item
from honestone.core.reading.free_checklist import read_checklist
from honestone.core.reading.free_text import read_pairwise, read_score, read_yes_no
from honestone.core.reading.reply import ReplySchema, read_reply
from property_examples import examples

REASONS = st.text(alphabet="ab \"'\\\n{}[]:,/*#é`", max_size=30)
"""Words of a reason, with every sign that a careless reader stumbles over."""

ITEMS = ["says alpha", "says beta"]


# ------------------------------------------------------------------------------------------------
# JSON in a string


def as_json(inside: str) -> str:
    return json.dumps(inside)


def as_json_of_all_letters(inside: str) -> str:
    return json.dumps(inside, ensure_ascii=False)


def without_its_marks(inside: str) -> str:
    return json.dumps(inside)[1:-1]


def in_single_marks(inside: str) -> str:
    return "'" + json.dumps(inside)[1:-1].replace("'", "\\'") + "'"


ENCODINGS = st.sampled_from([as_json, as_json_of_all_letters, without_its_marks, in_single_marks])
OWN_FRAMES = [
    "{}",
    "\n {}\n",
    "```json\n{}\n```",
    "```\n{}\n```\nI hope this helps.",
    "The verdict: {}",
    "Here is my evaluation:\n{}",
    "Here is my evaluation:\n\n```json\n{}\n```\n",
    "**JSON output:**\n{}\nDone.",
    "Score = {}",
    "It is short and clear.\n```json\n{}\n```",
    "<think>What is it worth?</think>\n{}",
]
OTHERS_FRAMES = [
    "The page says {}",
    "The page says: {}",
    "The page contains:\n{}",
    "The page contains:\n```json\n{}\n```",
    "The author's verdict: {}",
    "The output: {}",
    "{} is what the page says.",
    "{}\nis what the page says.",
    "It ends with {} and that is a trick.",
    "> {}",
]


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 10),
    REASONS,
    st.booleans(),
    st.sampled_from([None, 1, 2]),
    ENCODINGS,
    st.sampled_from(OWN_FRAMES),
)
@example(7, 'He said "9"', True, None, as_json, "```json\n{}\n```")
def test_an_object_in_a_string_is_read_as_the_object(
    score: int, reason: str, is_first: bool, indent: int | None, encode: Any, frame: str
) -> None:
    """In any kind of quotation marks or without them, alone, in a fence, or after a label of the
    judge's own.
    """
    pairs = [("score", score), ("reason", reason)]
    held = encode(json.dumps(dict(pairs if is_first else reversed(pairs)), indent=indent))
    reading = read_score(frame.format(held), 1, 10)
    assert reading.answer == score and "JSON encoded twice" in reading.repairs
    assert (
        read_yes_no(frame.format(encode(json.dumps({"answer": "yes", "reason": "short"})))).answer
        is True
    )


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 10), st.sampled_from([None, 2]), ENCODINGS, st.sampled_from(OTHERS_FRAMES))
def test_a_quoted_string_is_not_the_judges_reply(
    score: int, indent: int | None, encode: Any, frame: str
) -> None:
    """What the page or its author says, however it is encoded, gives no score."""
    held = encode(json.dumps({"score": score}, indent=indent))
    assert read_score(frame.format(held), 1, 10).answer is None


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(1, 10), st.integers(1, 10), ENCODINGS, st.data())
def test_a_damaged_string_gives_the_score_or_nothing(
    score: int, other: int, encode: Any, data: st.DataObject
) -> None:
    """Cut anywhere, encoded three times, inside a reason, or after a different verdict: never
    another number.
    """
    held = encode(json.dumps({"score": score, "reason": "it is fine"}))
    at = data.draw(st.integers(0, len(held)))
    assert read_score(held[:at], 1, 10).answer in (None, score)
    assert read_score(json.dumps(json.dumps(held)), 1, 10).answer is None
    assert read_score(json.dumps({"reason": json.dumps({"score": score})}), 1, 10).answer is None
    both = read_score(f"{json.dumps({'score': other})}\nThe verdict: {held}", 1, 10).answer
    assert both in ({score} if score == other else {None, other})


@settings(max_examples=examples(100), deadline=None)
@given(
    st.booleans(), st.booleans(), st.sampled_from([None, 2]), ENCODINGS, st.sampled_from(OWN_FRAMES)
)
def test_checklists_and_replies_with_a_token_are_read_from_a_string(
    one: bool, two: bool, indent: int | None, encode: Any, frame: str
) -> None:
    """The same rule for every kind of reply."""
    listed = encode(json.dumps({"1": one, "2": two}, indent=indent))
    assert read_checklist(frame.format(listed), ITEMS).answer == dict(
        zip(ITEMS, (one, two), strict=True)
    )
    schema = ReplySchema(
        token="t0k",
        items={1: Item(id="a", requirement="says alpha"), 2: Item(id="b", requirement="says beta")},
    )
    reply = json.dumps(
        {"token": "t0k", "answers": {"1": {"answer": one}, "2": {"answer": two}}}, indent=indent
    )
    reading = read_reply(frame.format(encode(reply)), schema)
    assert {n: mark.answer for n, mark in reading.answers.items()} == {1: one, 2: two}
    assert "JSON encoded twice" in reading.repairs
    assert not read_reply(frame.format(encode(reply.replace("t0k", "else"))), schema).answers
    assert not read_reply(frame.format(encode(reply)), schema, cut=True).answers


@pytest.mark.parametrize(
    "piece", ['"{\\"', '{\\"a', "\\n", ' "', '"{\\"a\\": 1}"\n', "'{\\n", "The verdict: "]
)
def test_a_flood_of_strings_is_read_to_its_end(piece: str) -> None:
    """200 kB of one piece end in a reason; work that grows with the square would take minutes."""
    assert read_score((piece * (200_000 // len(piece)))[:200_000], 1, 10).answer is None


# -----------------------------------------------------------------------------------------------------
# block comments


TOKENS = ["{", '"reason"', ":", '"see /* this */"', ",", '"score"', ":", "7", "}"]
COMMENTS = st.text(alphabet="ab \"'{}:,7\n#\\", max_size=30).map(
    lambda words: f"/*{words}*/"
) | st.sampled_from(
    [
        '/* "score": 3 */',
        '/*\n * first\n * {"score": 2}\n */',
        "/**/",
        "/* // */",
        '/* don\'t: "score": 4,\n}*/',
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.one_of(st.just(""), COMMENTS), min_size=9, max_size=9))
def test_block_comments_between_any_tokens_are_left_out(comments: list[str]) -> None:
    """Over any number of lines and with anything in them; in a string they are words."""
    text = "".join(f"{comment}\n{token}" for comment, token in zip(comments, TOKENS, strict=True))
    assert read_score(text, 1, 10).answer == 7


@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(1, 8),
    st.sampled_from(['/* "score": 3', '/* {"score": 3}\n', '/* /* "score": 3 */', "/* */ */"]),
)
def test_a_comment_that_does_not_end_hides_what_follows_and_gives_no_other_score(
    place: int, comment: str
) -> None:
    """Nothing is read from it, and nothing behind it."""
    text = "\n".join([*TOKENS[:place], comment, *TOKENS[place:]])
    assert read_score(text, 1, 10).answer in (None, 7)
    if not comment.endswith("*/"):
        assert read_score("\n".join([comment, *TOKENS]), 1, 10).answer is None


# ------------------------------------------------------------------------------------------- a name
# and its remark


NAMES = st.sampled_from(
    ["Output ({})", "**Output ({})**", "Response {}", "Answer ({}):", "({})", "Assistant {}"]
)
FOR = [
    "as it follows the instruction more closely",
    "as it answers in full, while {other} does not",
    "because {other} is wrong",
    "{other} is inappropriate",
    "{other} does not follow the instruction",
    "since it is (by far) shorter",
    "the better one",
    "because the other one fails",
    "{number}",
    " {number} ",
]
NOT_FOR = [
    "{other_number}",
    "9",
    "or {other}",
    "as {other} is better",
    "as it is worse",
    "as it fails to follow the instruction",
    "as both are right",
    "if it has to be short",
    "?",
    "maybe",
    "not better",
    "{other}",
    "{other} is not inappropriate",
    "{other} is better",
    "because {other} is better",
    "tie",
]


def line_of(name: str, side: str, remark: str) -> str:
    other = "b" if side == "a" else "a"
    numbers = {"number": "12"["ab".index(side)], "other_number": "12"["ab".index(other)]}
    words = remark.format(other=f"Output ({other})", **numbers)
    return f"{name.format(side).rstrip(':')} ({words})"


@settings(max_examples=examples(300), deadline=None)
@given(
    NAMES,
    st.sampled_from("ab"),
    st.sampled_from(FOR),
    st.sampled_from(["{}", "{}.", "**{}**", "{}\n\nIt is shorter."]),
)
def test_a_name_with_a_reason_or_its_number_is_the_verdict(
    name: str, side: str, remark: str, frame: str
) -> None:
    """Alone or as the first line."""
    side_written = side.upper() if name in ("Response {}", "Assistant {}") else side
    assert read_pairwise(frame.format(line_of(name, side_written.lower(), remark))).answer == side


@settings(max_examples=examples(300), deadline=None)
@given(
    NAMES,
    st.sampled_from("ab"),
    st.sampled_from(NOT_FOR),
    st.sampled_from(["{}", "{}.", "Verdict: {}"]),
)
def test_a_name_with_a_remark_that_may_take_it_back_is_never_the_verdict(
    name: str, side: str, remark: str, frame: str
) -> None:
    """A number of the other side, a doubt, a fault of its own: nothing, or the side that is called
    better.
    """
    if frame.startswith("Verdict") and remark != "{other_number}":
        frame = "{}"  # a label needs no remark to count, and only a number that contradicts takes it back
    answer = read_pairwise(frame.format(line_of(name, side, remark))).answer
    assert answer in ((None, "tie") if remark == "tie" else (None, "b" if side == "a" else "a"))
