"""Numbers and ids that were not asked: a reply that counts otherwise than the question gives no
mark at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import Question, asked_criteria
from honestone.core.judging.rubric import Item
from honestone.core.reading.answers import read_program
from honestone.core.reading.free_checklist import read_checklist
from honestone.core.reading.pairwise import read_pair_reply
from honestone.core.reading.reply import ReplySchema, read_reply

from .strategies import checklist, rubric, yes_no

TOKEN = "4f1e0c22d9ab"

# A change of numbers from 1 on into others: shifted, doubled, reversed from 0, from 100 on.
CHANGES: dict[str, Any] = {
    "shifted": lambda number, by, count: number + by,
    "times": lambda number, by, count: number * (abs(by) + 1),
    "reversed from 0": lambda number, by, count: count - number,
    "from another end": lambda number, by, count: by - number,
}


def numbers(count: int, by: int, change: str) -> list[int]:
    return [CHANGES[change](number, by, count) for number in range(1, count + 1)]


shifted = st.tuples(st.integers(2, 9), st.integers(-120, 120), st.sampled_from(sorted(CHANGES)))


def is_otherwise(found: list[int]) -> bool:
    return set(found) != set(range(1, len(found) + 1))


@given(shifted, st.booleans(), st.sampled_from([True, False, "first"]))
@example((4, -1, "shifted"), True, True)
@example((7, 1, "shifted"), False, False)
@example((7, 99, "shifted"), False, "first")
def test_shifted_numbers_never_give_a_mark(
    plan: tuple[int, int, str], is_list: bool, value: object
) -> None:
    """Of a model's judgement and of its comparison, as keys and as a list; the reason names what
    was not asked.
    """
    found = numbers(*plan)
    assume(is_otherwise(found))
    asked = range(1, len(found) + 1)
    answers: object = {str(number): {"answer": value} for number in found}
    if is_list:
        answers = [{"n": number, "answer": value} for number in found]
    text = json.dumps({"token": TOKEN, "answers": answers})
    schema = ReplySchema(
        token=TOKEN, items={number: Item(id=f"q{number}", requirement="r") for number in asked}
    )
    for reading in (read_reply(text, schema), read_pair_reply(text, TOKEN, asked)):
        assert not reading.answers
        assert set(reading.errors) == set(asked)
        assert "not asked" in reading.problems[0] and set(reading.errors.values()) == set(
            reading.problems
        )


@pytest.mark.parametrize("listed", [[1, 1, 2, 3], [1, 2, 3, 3], [2, 2, 2, 2]])
def test_a_number_twice_where_another_is_missing_voids_the_reply(listed: list[int]) -> None:
    """Who counts 1, 1, 2, 3 may mean 1, 2, 3, 4."""
    schema = ReplySchema(
        token=TOKEN,
        items={number: Item(id=f"q{number}", requirement="r") for number in range(1, 5)},
    )
    members = ", ".join(f'"{number}": {{"answer": true}}' for number in listed)
    rows = json.dumps([{"n": number, "answer": True} for number in listed])
    for answers in (f"{{{members}}}", rows):
        reading = read_reply(f'{{"token": "{TOKEN}", "answers": {answers}}}', schema)
        assert not reading.answers and "twice" in reading.problems[0]


def program_question(count: int, is_whole: bool) -> Question:
    items = [f"q{number}" for number in range(1, count + 1)]
    of = rubric(*map(yes_no, items)) if is_whole else rubric(checklist("c", items))
    return Question(artifact=Artifact("a.md", Version.of_text("text")), criteria=asked_criteria(of))


def program_reply(ids: list[str], is_whole: bool) -> dict[str, object]:
    met: Mapping[str, object] = {id: {"met": True} for id in ids}
    return {"criteria": met if is_whole else {"c": {"items": met}}}


@given(shifted, st.booleans())
@example((4, -1, "shifted"), True)
def test_shifted_ids_of_programs_never_give_a_mark(
    plan: tuple[int, int, str], is_whole: bool
) -> None:
    """Ids of criteria and of items; also where the judge is asked for each part in a call of its
    own.
    """
    found = numbers(*plan)
    assume(is_otherwise(found))
    question = program_question(len(found), is_whole)
    text = json.dumps(program_reply([f"q{number}" for number in found], is_whole))
    assert not read_program(text, question).marks
    every = frozenset(key for key, _ in question.items())
    for criterion in question.criteria:
        part = replace(
            question, criteria=(replace(criterion, items=criterion.items[:1]),), also_asked=every
        )
        assert not read_program(text, part).marks


@given(shifted, st.sampled_from(["{}. yes", "{}: no", "- [x] {}", "item {}: yes", "**{}.** yes"]))
@example((3, -1, "shifted"), "{}. yes")
def test_a_shifted_checklist_has_no_answer(plan: tuple[int, int, str], line: str) -> None:
    """Lines and objects in free text that name items by number."""
    found = numbers(*plan)
    assume(is_otherwise(found) and all(0 <= number < 10_000 for number in found))
    items = [f"the {letter} thing" for letter in "abcdefghi"[: len(found)]]
    for text in (
        "\n".join(line.format(n) for n in found),
        json.dumps({str(n): True for n in found}),
    ):
        answer = read_checklist(text, items).answer
        assert answer is None or not any(value is not None for value in answer.values()), text


@given(st.integers(2, 7), st.lists(st.integers(-3, 12), min_size=1, max_size=9), st.booleans())
@example(4, [1, 2, 4, 5], True)
@example(3, [1, 1, 2], False)
@example(3, [1, 3, 3], True)
def test_numbers_with_gaps_or_doubles_give_no_mark_to_what_may_be_another(
    count: int, found: list[int], is_list: bool
) -> None:
    """Where a number was not asked, or one is there twice and another is missing, no number counts.
    Where one is only missing or only there twice, that item alone is open.
    """
    asked = range(1, count + 1)
    schema = ReplySchema(
        token=TOKEN, items={number: Item(id=f"q{number}", requirement="r") for number in asked}
    )
    members = ", ".join(f'"{number}": {{"answer": true}}' for number in found)
    rows = json.dumps([{"n": number, "answer": True} for number in found])
    answers = rows if is_list else f"{{{members}}}"
    reading = read_reply(f'{{"token": "{TOKEN}", "answers": {answers}}}', schema)
    missing = set(asked) - set(found)
    twice = {number for number in found if found.count(number) > 1}
    if not set(found) <= set(asked) or (missing and twice):
        assert not reading.answers and set(reading.errors) == set(asked)
    else:
        assert set(reading.answers) == set(asked) - missing - twice
