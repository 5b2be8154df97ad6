"""Replies of judges that are programs: read strictly, item by item, and never guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import (
    Ballot,
    JudgeState,
    Mark,
    Question,
    Reading,
    answer_problem,
    asked_criteria,
    ballot_from_plain,
    ballot_to_plain,
)
from honestone.core.judging.rubric import Item, Key, Rubric
from honestone.core.reading.answers import read_answers, read_program

from .strategies import ballots, checklist, percent, rubric, rubrics, scale, yes_no

ARTIFACT = Artifact("a.md", Version.of_text("text"))
OF = rubric(
    checklist(
        "list",
        ["x", "y", Item(id="rated", requirement="r", anchors=scale(0, 10), may_not_apply=True)],
    ),
    percent("tone"),
    yes_no("holds"),
)
GOOD: dict[str, Any] = {
    "list": {"items": {"x": {"met": True}, "y": {"met": False}, "rated": {"score": 7.5}}},
    "tone": {"score": 80},
    "holds": {"met": True},
}


def question(of: Rubric = OF) -> Question:
    return Question(artifact=ARTIFACT, criteria=asked_criteria(of))


def read(reply: object, of: Rubric = OF) -> Reading:
    return read_program(reply if isinstance(reply, str) else json.dumps(reply), question(of))


def changed(**criteria: Any) -> dict[str, Any]:
    return {"criteria": {**GOOD, **criteria}}


def answers(reading: Reading) -> dict[Key, Any]:
    return {key: mark.answer for key, mark in reading.marks.items()}


def test_a_good_reply() -> None:
    """Every answer is taken as it is."""
    reading = read({"criteria": GOOD})
    assert reading.is_clean
    assert answers(reading) == {
        ("list", "x"): True,
        ("list", "y"): False,
        ("list", "rated"): 7.5,
        ("tone", "tone"): 80,
        ("holds", "holds"): True,
    }


def test_evidence_and_suggestions_are_kept() -> None:
    """One quote or several; empty ones and other types are dropped."""
    reading = read(
        changed(
            holds={"met": False, "evidence": "a quote", "suggestion": "do this"},
            tone={"score": 1, "evidence": ["one", 2, " ", "two"], "suggestion": " "},
        )
    )
    assert reading.marks["holds", "holds"] == Mark(False, ("a quote",), "do this")
    assert reading.marks["tone", "tone"] == Mark(1, ("one", "two"), None)


@pytest.mark.parametrize(
    ("short", "answer"),
    [
        ({"holds": False}, False),
        ({"holds": {"score": 1}}, True),
        ({"holds": {"score": 0.0}}, False),
    ],
)
def test_short_forms_of_yes_and_no(short: dict[str, Any], answer: bool) -> None:
    """A bare boolean, and a score that is 0 or 1."""
    assert read(changed(**short)).marks["holds", "holds"].answer is answer


def test_not_applicable_where_it_is_allowed() -> None:
    """A mark of its own, not a missing one."""
    items = {**GOOD["list"]["items"], "rated": {"score": "n/a"}}
    assert read(changed(list={"items": items})).marks["list", "rated"] == Mark("n/a")


@pytest.mark.parametrize(
    ("criterion", "given_", "says"),
    [
        ("holds", None, "no answer"),
        ("holds", {}, "no `met`"),
        ("holds", {"met": None}, "null"),
        ("holds", {"met": "yes"}, "expected true or false"),
        ("holds", {"met": 1}, "expected true or false"),
        ("holds", {"met": "n/a"}, "not allowed here"),
        ("holds", {"score": 0.5}, "0 or 1"),
        ("holds", {"score": 9}, "0 or 1"),
        ("holds", {"score": "1"}, "0 or 1"),
        ("holds", {"score": True}, "0 or 1"),
        ("holds", [True], "expected true or false"),
        ("tone", {"score": 101}, "not on the scale 0-100"),
        ("tone", {"score": -1}, "not on the scale"),
        ("tone", {"score": "9"}, "expected a number"),
        ("tone", {"score": True}, "expected a number"),
        ("tone", {"score": None}, "null"),
        ("tone", {"met": True}, "a number on its scale is needed"),
        ("tone", {"level": 5}, "no `score`"),
    ],
)
def test_a_bad_answer_is_an_error_of_its_item_alone(criterion: str, given_: Any, says: str) -> None:
    """Never a number, never clamped; the other answers stand."""
    reading = read(changed(**{criterion: given_}))
    assert list(reading.errors) == [(criterion, criterion)]
    assert says in reading.errors[criterion, criterion]
    assert len(reading.marks) == 4 and not reading.is_clean


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(number: str) -> None:
    """NaN and infinities are errors, not scores."""
    text = json.dumps({"criteria": GOOD}).replace('"score": 80', f'"score": {number}')
    assert list(read(text).errors) == [("tone", "tone")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"tone": {"score": 80}', '"tone": {"score": 80}, "tone": {"score": 80}'),
        ('"tone": {"score": 80}', '"tone": {"score": 80, "score": 20}'),
    ],
)
def test_two_answers_are_none(old: str, new: str) -> None:
    """Even when they agree: which one was meant is not ours to choose."""
    text = json.dumps({"criteria": GOOD})
    assert old in text
    reading = read(text.replace(old, new))
    assert list(reading.errors) == [("tone", "tone")]


def test_an_omitted_id_is_an_error_of_its_item() -> None:
    """The other answers of the reply count."""
    reading = read({"criteria": {"list": {"items": {"x": {"met": True}}}}})
    assert answers(reading) == {("list", "x"): True}
    assert set(reading.errors) == {
        ("list", "y"),
        ("list", "rated"),
        ("tone", "tone"),
        ("holds", "holds"),
    }


@pytest.mark.parametrize(
    "more",
    [
        {"total": {"score": 9}},
        {"list": {"items": {**GOOD["list"]["items"], "who": {"met": True}}}},
        {"tone": {"score": 80, "items": {"tone": True}}},
    ],
)
def test_an_id_that_was_not_asked_voids_the_reply(more: dict[str, Any]) -> None:
    """Its name is in the one reason that every item gets."""
    reading = read(changed(**more))
    assert not reading.marks and len(reading.problems) == 1
    assert set(reading.errors.values()) == set(reading.problems) and len(reading.errors) == 5


def test_ids_of_other_calls_may_be_named() -> None:
    """A program that always answers the whole rubric can be asked for each criterion by itself."""
    whole = question()
    part = replace(
        whole, criteria=whole.criteria[:1], also_asked=frozenset(key for key, _ in whole.items())
    )
    assert set(read_program(json.dumps({"criteria": GOOD}), part).marks) == {
        key for key, _ in part.items()
    }
    assert not read_program(json.dumps(changed(total={"score": 9})), part).marks


def test_a_judges_own_sums_are_not_read() -> None:
    """A score beside the criteria changes nothing."""
    assert (
        read({"score": 1.0, "overall": 100, "criteria": GOOD}).marks
        == read({"criteria": GOOD}).marks
    )


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n",
        "I think it is good.",
        "[]",
        "7",
        '"yes"',
        "null",
        "{",
        "[" * 100_000,
        '{"score": 1}',
        '{"criteria": []}',
        "{}",
    ],
)
def test_a_reply_without_answers_is_an_error_for_every_item(reply: str) -> None:
    """And never a crash."""
    reading = read(reply)
    assert not reading.marks and reading.problems
    assert set(reading.errors) == {key for key, _ in question().items()}


# ------------------------------------------------------------------------------------ rubrics of a
# single criterion


@pytest.mark.parametrize(
    ("score", "answer"), [(0, 0), (1, 10), (0.75, 7.5), (0.655, 6.55), (1.0, 10)]
)
def test_a_single_score_is_put_on_the_scale(score: float, answer: float) -> None:
    """From 0-1 to the criterion's own scale, exactly."""
    item = Item(id="a", requirement="a", anchors=scale(0, 5, 10), whole=True)
    of = rubric(percent("a"))
    of = rubric(type(of.criteria[0])(id="a", requirement="a", items=(item,)))
    assert read({"score": score}, of).marks["a", "a"].answer == answer


@pytest.mark.parametrize(
    "score", [9, -0.1, 1.0000001, "0.5", "1", True, None, [], {}, "1e999999999", "nan"]
)
def test_a_single_score_off_0_to_1_is_an_error(score: object) -> None:
    """A 9 is no 0.9, text is no number, and no text makes the reader busy for hours."""
    reading = read({"score": score}, rubric(percent("a")))
    assert not reading.marks and "from 0 to 1" in reading.errors["a", "a"]


def test_a_single_yes_or_no() -> None:
    """Scores 0 and 1 only, with the assertions' evidence."""
    reply = {"score": 1, "assertions": [{"text": "t", "passed": True, "evidence": "seen"}]}
    assert read(reply, rubric(yes_no("a"))).marks["a", "a"] == Mark(True, ("seen",))
    assert read({"score": 0.8}, rubric(yes_no("a"))).errors


def test_assertions_answer_a_single_checklist() -> None:
    """By the item's text or id; one that is answered twice or not at all is an error, an unknown
    one voids the reply.
    """
    of = rubric(checklist("a", ["x", "y", "z"]))
    reply = {
        "score": 1,
        "assertions": [
            {"text": "has x", "passed": True},
            {"text": "y", "passed": False, "evidence": "e"},
            {"text": "y", "passed": False},
        ],
    }
    reading = read(reply, of)
    assert answers(reading) == {("a", "x"): True}
    assert set(reading.errors) == {("a", "y"), ("a", "z")}
    for unknown in ({"text": "else", "passed": True}, "noise"):
        assert not read({**reply, "assertions": [*reply["assertions"], unknown]}, of).marks


def test_a_score_does_not_say_which_items_are_met() -> None:
    """So it answers none of them."""
    reading = read({"score": 0.5}, rubric(checklist("a", ["x", "y"])))
    assert set(reading.errors) == {("a", "x"), ("a", "y")}


# ------------------------------------------------------------------------------------------------------
# properties

_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["n/a", "x", "9", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["met", "score", "items", "x", "y", "tone", "i0", "c0", "evidence"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def _is_whole(reading: Reading, asked: Question) -> bool:
    keys = {key for key, _ in asked.items()}
    return (
        not set(reading.marks) & set(reading.errors)
        and set(reading.marks) | set(reading.errors) == keys
    )


@given(rubrics(), _json, st.booleans())
def test_whatever_comes_back_each_item_has_a_valid_mark_or_an_error(
    of: Rubric, value: Any, wrapped: bool
) -> None:
    """Never both, never neither, never an answer that the item does not allow."""
    asked = question(of)
    reply = {"criteria": value} if wrapped else value
    reading = (
        read_answers(reply, asked)
        if isinstance(reply, dict)
        else read_program(json.dumps(reply), asked)
    )
    assert _is_whole(reading, asked)
    items = dict(asked.items())
    assert all(
        answer_problem(items[key], mark.answer) is None for key, mark in reading.marks.items()
    )


@given(st.text(max_size=60))
def test_no_text_crashes_the_reader(text: str) -> None:
    """Whatever a program prints."""
    assert _is_whole(read(text), question())


@given(st.data(), rubrics())
def test_a_complete_reply_is_read_back_as_it_was_meant(data: st.DataObject, of: Rubric) -> None:
    """Written in the documented shape, every answer arrives unchanged."""
    given_ = [b for b in data.draw(ballots(of, complete=True)) if b.judge == "ann"]
    marks = dict(given_[0].marks) if given_ else {}
    asked = question(of)
    reply: dict[str, Any] = {}
    for criterion in asked.criteria:
        for item in criterion.items:
            answer = marks[criterion.id, item.id].answer
            entry = {"score" if item.anchors else "met": answer}
            if item.whole:
                reply[criterion.id] = entry
            else:
                reply.setdefault(criterion.id, {"items": {}})["items"][item.id] = entry
    reading = read({"criteria": reply}, of)
    assert reading.is_clean and dict(reading.marks) == marks


@given(st.data(), rubrics())
def test_a_ballot_written_down_reads_back_the_same(data: st.DataObject, of: Rubric) -> None:
    """Through JSON text, as an event keeps it."""
    for one in data.draw(ballots(of)):
        assert ballot_from_plain(json.loads(json.dumps(ballot_to_plain(one)))) == one


def test_a_ballots_reasons_are_written_down_too() -> None:
    """Evidence, suggestion, abstentions, state, problems and repairs."""
    one = Ballot(
        judge="ann",
        marks={("a", "x"): Mark(True, ("q", "r"), "s"), ("a", "y"): Mark("n/a", (), "t")},
        abstained={("b", "b"): "no answer"},
        state=JudgeState.DEGRADED,
        reason="timed out",
        problems=("p",),
        repairs=("fence",),
    )
    assert ballot_from_plain(json.loads(json.dumps(ballot_to_plain(one)))) == one
