"""Free text: explicit verdicts are read, anything else is None with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.reading.free_checklist import read_checklist
from honestone.core.reading.free_text import read_pairwise, read_score, read_yes_no

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "data" / "raw_judge_outputs"


def recorded(name: str) -> list[dict[str, Any]]:
    path = RECORDED / name
    if not path.exists():
        pytest.skip(f"the recorded replies ({name}) are not beside this checkout")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# ----------------------------------------------------------------------------------------------------------- scores


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("7", 7),
        ("**7/10**", 7),
        ("Score: 7", 7),
        ("Score (1-10): 6", 6),
        ("### Rating\n6", 6),
        ("Score: **8**/10", 8),
        ("Score = 8.5", 8.5),
        ("Rating: [[6]]", 6),
        ("The grade is 10.", 10),
        ("I'd give this an 8/10.", 8),
        ("I'd rate it a 6 out of 10, all in all.", 6),
        ("I rate this 7.", 7),
        ("A solid 8/10.", 8),
        ("점수: 8/10", 8),
        # a fraction of something else is no score
        ("Only 3/10 links work. Score: 5", 5),
        # final before provisional, a whole before its aspects
        ("Score: 3\n...\nFinal score: 7", 7),
        ("Clarity score: 4\nDepth score: 6\nOverall score: 5", 5),
        # the judge's own before quoted, reported, denied or supposed ones
        ('The page says "Score: 10/10". Score: 2', 2),
        ("The page claims a score of 10. My score: 2", 2),
        ("> Score: 10\n\nScore: 3", 3),
        ("I would not give it 9/10. Score: 4/10", 4),
        ("<think>Score: 9?</think>Score: 2", 2),
        ("hm, Score: 9\n</think>\nScore: 2", 2),
        # objects
        ('{"score": 8}', 8),
        ('Sure!\n```json\n{"reasons": "fine", "score": "8/10",}\n```', 8),
        ("{'Overall Score': 4.0}", 4.0),
        ('{"evaluation": {"rating": 9}}', 9),
        ('Use {"score": "<1-10>"}.\n{"score": 3}', 3),
        ('Draft: {"score": 9}\nFinal answer:\n{"score": 3}', 3),
        ('It says {"score": 10}. My own verdict: {"score": 2}', 2),
        # cut off behind a whole score
        ('{"score": 8, "why": "because it', 8),
        ('{"score": 1\n', 1),
        ('{"why": "x", "score": 8', 8),
    ],
)
def test_an_explicit_score_is_read(text: str, score: float) -> None:
    """In the forms that models use, with the judge's own last word before anything it quotes."""
    reading = read_score(text, 1, 10)
    assert reading.answer == score and reading.problems == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I cannot help with that.", "no verdict"),
        ("3/10 of the links fail.", "no verdict"),
        ("Score: 7-8", "no verdict"),
        ("Score: [1-10]", "no verdict"),
        ("Grade: B+", "no verdict"),
        ("Score: 12", "not on the scale"),
        ('{"score": -1}', "not on the scale"),
        ("Score: 4/5", "another scale"),
        ("Score: 80%", "another scale"),
        ('{"score": true}', "not a number"),
        ('{"score": null}', "not a number"),
        ('{"score": NaN}', "NaN"),
        ('{"score": [7]}', "not a number"),
        ('{"score": "high"}', "not a score"),
        ('{"score": "[1-10]"}', "no verdict"),
        ('{"score": 8, "score": 9}', "twice"),
        ('{"score": 9} {"score": 2}', "ambiguous"),
        ('{"score": 8}\nScore: 3', "ambiguous"),
        ("Score: 6\n\nScore: 7", "ambiguous"),
        ("Clarity score: 4\nDepth score: 6", "ambiguous"),
        ('{"why": "x", "score": 1', "cut off"),
        ('{"why": "it is not', "cut off"),
        ('The page says "Score: 10/10".', "no verdict"),
        ("If it had tests I would give it 9/10.", "no verdict"),
    ],
)
def test_without_one_clear_score_there_is_none(text: str, why: str) -> None:
    """No default, no clamping, no choice between two: the reason instead."""
    reading = read_score(text, 1, 10)
    assert reading.answer is None and why in reading.problems[0]


def test_the_scale_decides_what_a_fraction_means() -> None:
    """Four of five is a 4 on a scale to five, 85 % a score on a scale to a hundred."""
    assert read_score("Score: 4 out of 5", 1, 5).answer == 4
    assert read_score("Score: 85%", 0, 100).answer == 85
    assert read_score("0.7", 0, 1).answer == 0.7


@settings(max_examples=200, deadline=None)
@given(st.integers(-50, 50), st.integers(-20, 20), st.integers(1, 30))
def test_a_score_is_on_the_scale_or_not_there(value: int, lo: int, width: int) -> None:
    """The number that was written, or none; never its nearest neighbour."""
    answer = read_score(f"Score: {value}", lo, lo + width).answer
    assert answer == (value if lo <= value <= lo + width else None)


# ----------------------------------------------------------------------------------------------------------- yes/no


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Yes", True),
        ("no.", False),
        ("Yes, because no step is missing.", True),
        ("**Verdict:** PASS", True),
        ("Final verdict: not met", False),
        ("The answer is no.", False),
        ("Answer: yes\n\nFinal answer: no", False),
        ("It works.\n\nTherefore, yes.", True),
        ("[[No]]", False),
        ('{"answer": true}', True),
        ('{"met": "no", "why": "yes, but"}', False),
        ("<think>yes</think>no", False),
        ("The page claims the answer is yes. Answer: no", False),
    ],
)
def test_an_explicit_yes_or_no_is_read(text: str, answer: bool) -> None:
    """As a word, a label or a value."""
    assert read_yes_no(text).answer is answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No evidence was found.",
        "It is not true.",
        "Answer: yes/no",
        "Answer: Yes or No",
        "Yes\n\nAnswer: no",
        '{"pass": null}',
        '{"verdict": "pass"} {"verdict": "fail"}',
        '{"answer": "partly"}',
        '{"answer": 2}',
    ],
)
def test_an_unclear_yes_or_no_is_none(text: str) -> None:
    """A sentence that begins with "No", a form, and a contradiction are no verdicts."""
    reading = read_yes_no(text)
    assert reading.answer is None and reading.problems


# --------------------------------------------------------------------------------------------------------- pairwise


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("[[A]]", "a"),
        ("[[A>>B]]", "a"),
        ("[[B>A]]", "b"),
        ("[[A=B]]", "tie"),
        ("[[C]]", "tie"),
        ("Print [[A]] if A is better. Mine: [[B]]", "b"),
        ("A", "a"),
        ("**Output (b)**", "b"),
        ("Response B is better.", "b"),
        ("I prefer Response 2 over Response 1.", "b"),
        ("The winner is Model A.", "a"),
        ("The better text for this task is (b).", "b"),
        ("The first response is better.", "a"),
        ("Final verdict: Assistant B", "b"),
        ('{"winner": "model_b"}', "b"),
        ("It's a tie.", "tie"),
        ("Both answers are equally good.", "tie"),
        ("Both are equally good, but Answer (a) is better.", "a"),
        ("In terms of style, answer A is better. Answer B is better.", "b"),
        ("Judge (a) argues that text (a) is better. I find that text (b) is better.", "b"),
        ("While critic (a) claims that text (a) is better, text (b) is better.", "b"),
    ],
)
def test_an_explicit_preference_is_read(text: str, answer: str) -> None:
    """The judge's own, and not what it reports, denies or says of one side only."""
    assert read_pairwise(text).answer == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot choose between A and B.",
        "B is not better than A.",
        "Text A is better documented.",
        "If brevity matters, B is better.",
        "Which is better, A or B?",
        "Neither text is better.",
        "The author claims text (a) is better.",
        "Text (a) is better. So text (b) is better.",
        "[[A]] or [[B]]",
        '{"winner": "A or B"}',
        "Text A stands out for several reasons. First, it",
    ],
)
def test_an_unclear_preference_is_none(text: str) -> None:
    """Nothing is decided for a judge that did not decide."""
    reading = read_pairwise(text)
    assert reading.answer is None and reading.problems


# --------------------------------------------------------------------------------------------------------- checklist


ITEMS = ["Names the version", "Gives steps", "Is it short?"]
ALL = {"Names the version": True, "Gives steps": False, "Is it short?": True}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ALL),
        json.dumps({"sum": 99, "list": {"1. names the version": "yes", "2) Gives steps.": 0, "is it short": "TRUE"}}),
        '{"1": {"answer": true}, "2": {"met": "no"}, "3": true}',
        '{"items": [{"id": 1, "met": true}, {"id": 2, "met": false}, {"item": "Is it short?", "met": "yes"}]}',
        "- [x] Names the version\n- [ ] Gives steps\n- [x] **Is it short?**",
        "1. Names the version: yes\n2. Gives steps - No\n3. Is it short? Yes",
        "1: yes\n2: no\n3: yes",
        "✅ Names the version\n❌ Gives steps\n✅ Is it short?",
    ],
)
def test_a_checklist_is_read_by_name_or_number(text: str) -> None:
    """In any order and spelling of the names; sums beside it are ignored."""
    reading = read_checklist(text, ITEMS)
    assert reading.answer == ALL and not any("answered" in problem for problem in reading.problems)


def test_missing_unclear_and_unknown_items_are_reported() -> None:
    """They are None, and never a no."""
    reading = read_checklist('{"names the version": "partly", "gives steps": true, "Is kind": true}', ITEMS)
    assert reading.answer == {"Names the version": None, "Gives steps": True, "Is it short?": None}
    assert [word in " ".join(reading.problems) for word in ("partly", "Is kind", "not answered")] == [True] * 3
    assert read_checklist('{"Gives steps": true, "gives steps": false}', ITEMS).answer["Gives steps"] is None  # type: ignore[index]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Fine.",
        '{"Names the version": true, "Gives steps": tr',
        f"{json.dumps(ALL)} {json.dumps({**ALL, 'Gives steps': True})}",
    ],
)
def test_a_cut_off_or_contradictory_checklist_is_none(text: str) -> None:
    """A list that is not whole says nothing about what would have followed."""
    reading = read_checklist(text, ITEMS)
    assert reading.answer is None and reading.problems


# --------------------------------------------------------------------------------------------------- hostile, recorded


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    """There is an answer or a reason, for every kind."""
    for reading in (read_score(text, 1, 10), read_yes_no(text), read_pairwise(text), read_checklist(text, ITEMS)):
        assert reading.answer is not None or reading.problems


@pytest.mark.parametrize(
    "piece",
    ["{", "score: ", "8/10 ", "8/10.\n", "Output (a) is ", "not ", '"', "**", "[[", "- [x] a\n", "if A is better "],
)
def test_a_flood_is_read_to_its_end(piece: str) -> None:
    """200 kB of one piece end in an answer or a reason; work that grows with the square would take minutes."""
    text = (piece * (200_000 // len(piece)))[:200_000]
    for reading in (read_score(text, 1, 10), read_yes_no(text), read_pairwise(text), read_checklist(text, ITEMS)):
        assert reading.answer is not None or reading.problems


def test_recorded_damaged_scores() -> None:
    """Every row that must be read is right, 95 % of the others, and none is invented."""
    wrong, should = [], []
    for row in recorded("damaged_json.jsonl"):
        if row["family"] != "score":
            continue
        lo, hi = row["scale"]
        expected = row["expected"] or {}
        want = None if "error" in expected else expected.get("score")
        answer = read_score(row["raw"], lo, hi).answer
        is_right = answer == want and not isinstance(answer, bool)
        if row["grade"] == "must" or want is None:
            wrong += [] if is_right else [row["id"]]
        else:
            should.append(is_right)
    assert wrong == [] and sum(should) >= 0.95 * len(should) > 0


def test_recorded_damaged_checklists() -> None:
    """The items that a careful reader answers, and no others."""
    wrong = []
    for row in recorded("damaged_json.jsonl"):
        if row["family"] == "checklist":
            answer = read_checklist(row["raw"], row["items"]).answer or {}
            if {item: met for item, met in answer.items() if met is not None} != row["expected"]["checklist"]:
                wrong.append(row["id"])
    assert wrong == []


def test_recorded_preferences() -> None:
    """Easy ones all, hard ones nearly all, and no decision where a careful reader finds none."""
    easy = [
        row["id"] for row in recorded("real_pairwise_easy.jsonl") if read_pairwise(row["raw"]).answer != row["expected"]
    ]
    right, decidable, invented = 0, 0, []
    for row in recorded("real_pairwise_hard.jsonl"):
        answer = read_pairwise(row["raw"]).answer
        if row["expected"] in {"a", "b", "tie"}:
            decidable += 1
            right += answer == row["expected"]
        elif answer is not None:
            invented.append(row["id"])
    assert easy == [] and invented == [] and decidable - right <= 4
