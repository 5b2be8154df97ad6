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
from property_examples import examples

RECORDED = Path(__file__).resolve().parents[3] / "shared" / "data" / "raw_judge_outputs"


def recorded(name: str) -> list[dict[str, Any]]:
    path = RECORDED / name
    if not path.exists():
        pytest.skip(f"the recorded replies ({name}) are not beside this checkout")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# -----------------------------------------------------------------------------------------------------------
# scores


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


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(-50, 50), st.integers(-20, 20), st.integers(1, 30))
def test_a_score_is_on_the_scale_or_not_there(value: int, lo: int, width: int) -> None:
    """The number that was written, or none; never its nearest neighbour."""
    answer = read_score(f"Score: {value}", lo, lo + width).answer
    assert answer == (value if lo <= value <= lo + width else None)


# ------------------------------------------------------------------------------- numbers that are
# not the verdict


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Overall: 7/10, Clarity: 8/10, Accuracy: 6/10", 7),
        ("Overall: 8/10. I almost gave it 9/10.", 8),
        ("Note : 8,5/10", 8.5),
        ("8,5/10", 8.5),
        ("8,5", 8.5),
        ("Score: 8,5", 8.5),
        ("Score: 8,5/10", 8.5),
        ("Bewertung: 7,25 / 10", 7.25),
        ("I rate it 8,5 out of 10.", 8.5),
        ("Overall, 5/10. For style alone it would be 8/10.", 5),
        ("For style alone it would be 8/10. Overall, 5/10.", 5),
        ("Clarity: 8/10\nAccuracy: 6/10\nOverall: 7/10", 7),
        ("Overall 7/10 (clarity 8/10, accuracy 6/10)", 7),
        ("Accuracy: 6/10, Clarity: 8/10, Overall: 7/10", 7),
        ("| Clarity | 8/10 |\n| Overall | 7/10 |", 7),
        ("It could have been 9/10. Score: 6/10", 6),
        ("Score: 8 on a scale of 1 to 10", 8),
        ("On a scale from 1 to 10, I'd rate it 8.", 8),
        ("Score: 8 (out of 10)", 8),
        ("Score: 8 of 10", 8),
        ("Score: 7. Final score: 6", 6),
        ("Score: 8. Revised score: 7", 7),
        ("Initial score: 8. Score: 7", 7),
        ("Actually 6/10? No. Final score: 7/10", 7),
        ("Passing score: 7. Score: 3", 3),
        ("On 2026/04/19 the score is 8.", 8),
        ("8/10 tests pass. Score: 7", 7),
        ("Perhaps a 3? Score: 3. Hmm.</think>\n\nScore: 8", 8),
        ("Score 3.</think>Score: 8", 8),
        ("Score: 3</thinking>\nScore: 8", 8),
        ("maybe 3/10[/THINK]\n8/10", 8),
        ("First </think> then Score: 3\n</think>\nScore: 8", 8),
        ("Score: 3. The text says </think> Score: 10", 3),
        ('{"score": 3}\n</think>\n{"score": 8}', 8),
        ('{"score": 8, "out_of": 10}', 8),
        ('{"score": "8,5/10"}', 8.5),
        ("My rating would be 8/10.", 8),
        ("I'd say 8/10.", 8),
        ("Score: 8.\nConfidence: 9/10", 8),
        ("Confidence: 9/10\nOverall: 4/10", 4),
        ("Readability score: 9. Score: 4", 4),
        ("Score: 8/10 (down from 9/10)", 8),
        ("Score: 1.000", 1.0),
        ("Score: 10,0/10", 10.0),
        ("Grade: 7/10\nGrade: 7.0/10", 7),
        ("7/10/2024. 8/10", 8),
        ("Rating: 8/10 ⭐", 8),
        ("**Overall Score:** 7/10\n- Clarity: 9/10", 7),
        ("Overall (weighted): 6.5", 6.5),
        ("Final: 7", 7),
        ("Final verdict: 7/10", 7),
        ("Version 2.0 gets 8/10", 8),
        ("8 out of 10 reviewers agree. Score: 5", 5),
        ("Overall, clarity is 8/10.", 8),
        ("Score: ~8", 8),
        ("Score: 8 points", 8),
        ("Score: 8\n\nScore breakdown:\nClarity: 3/10\nStyle: 2/10", 8),
        ("Deducting 2 points: 8/10", 8),
        ("My score: 6/10 (would be 9/10 with tests)", 6),
        ("Score: 8/10 with minor issues.", 8),
        ("I'd score it 8/10.", 8),
        ("Score: 8 - good", 8),
        ("Score: 8 (good)", 8),
        ("Score: 8, because 2 of 3 hold.", 8),
        ("Score: 8/10\n1. Clear\n2. Short", 8),
        ("Score: 8\n- 3 typos", 8),
        ("Score: 8\n\n2 typos", 8),
        ("Score: 8/10 and I am sure.", 8),
        ("점수: 8/10", 8),
        ("총점: 8,5/10", 8.5),
        ("Punkte: 8/10", 8),
        ("Score: 8/10 or so", 8),
        ("Final Score: 8/10\n\nActually, the 3 typos matter little.", 8),
        ("I actually found 3 typos. Score: 6", 6),
        ("Wait, let me count: 4 errors.\nFinal score: 6/10", 6),
        ("Score: 3\n...\nFinal score: 7", 7),
        ("Wait, 4 errors.\nScore: 6/10", 6),
    ],
)
def test_the_verdict_is_read_among_other_numbers(text: str, score: float) -> None:
    """Scores of aspects, counts, dates, other scales, hedges and thinking without its opening tag
    do not replace it.
    """
    assert read_score(text, 1, 10).answer == score


@pytest.mark.parametrize(
    "text",
    [
        "5/10. For style alone it would be 8/10.",
        "Clarity: 8/10, Accuracy: 6/10",
        "Total: 24/30",
        "Clarity 8, accuracy 6, overall 7",
        "I was tempted to give 9/10, but it is 7/10.",
        "It deserves less than 5/10.",
        "At least 8/10.",
        "Nearly 9/10",
        "It is close to 9/10.",
        "8-9/10",
        "8–9/10",
        "8 to 9/10",
        "between 7/10 and 8/10",
        "Score: 5+3 = 8",
        "Score: 8/10 - 1 = 7",
        "Score: 7, maybe 8",
        "Score: 7 (maybe 8)",
        "I rate it 6, perhaps 7.",
        "Score: 7 1/2",
        "Score: 7½",
        "Score: 4 (out of 5)",
        "Score (1-5): 4",
        "Score (out of 5): 4",
        "Score: 4 stars out of 5",
        "Score: 4 on a scale of 1 to 5",
        "On a scale of 1 to 5, I rate it 4.",
        "Score: 4 (max 5)",
        "I use a 5-point scale. Score: 4",
        "Scale: 1-5\nScore: 4",
        "Score: 7/10. Actually, I would lower it to 6/10.",
        "Score: 7. Correction: 6",
        "The maximum score is 10. It is poor.",
        "A perfect score is 10.",
        "Score: 8/10 for clarity, 6/10 for accuracy",
        "Score (clarity): 8\nScore (accuracy): 6",
        "Style score: 9. Overall the text is poor: 3/10",
        "On 7/10 the review took place. 6/10.",
        "It passes 8/10 tests. 7/10.",
        "It passes 8/10 tests.",
        "Overall: 2/10 tests pass.",
        "Overall, 8 of the 10 claims hold.",
        '{"score": 4, "max_score": 5}',
        '{"score": 4, "scale": "1-5"}',
        '{"score": "8/5"}',
        "The author rates it 9/10, but I give it 4/10.",
        "It is a 10/10 idea with 3/10 execution.",
        "Score: 8/10?",
        "Is this 8/10?",
        "Confidence score: 9",
        "8/10-9/10",
        "raised from 3/10 to 8/10",
        "Score: 1,000",
        "Scores: 8, 6",
        "8, 6",
        "8/10, 6/10",
        "not worth 8/10",
        "Score: -3/10",
        "Score: 80/100",
        "Rating: ★★★★☆ (4/5)",
        "The score is between 6 and 8",
        "Score: 6 to 8",
        "Score: 6 or 7",
        "Score: 6–7",
        "Score: 6~7",
        "In total: 7 points",
        "8 out of 10 reviewers agree.",
        "I would give clarity 8/10 and accuracy 6/10.",
        "Half: 5/10 at best",
        "Score: <8>",
        "Score: 8ish",
        "Score: 8e0",
        "Score: ten",
        "Clarity: 3/10\nStyle: 2/10\n\n8/10",
        "10/10 for effort, 2/10 for content",
        "Total score: 21/30. Average: 7/10",
        "Score: 0.8",
        "Score: 8.5.2",
        "Score: 7 -> 6",
        "Score: 7 → 6",
        "Score: 7 => 6",
        "Score: 7 minus 1",
        "Score: 7 x 1.2",
        "Score: 6 and 7",
        "Score: >8",
        "Score: 7/10 and 8/10",
        "Score: 9/10 if we ignore the errors, otherwise 4/10",
        "Without the typo this were 9/10; as it is, 6/10.",
        "It started at 9/10, minus 3 for errors.",
        "Score: 8/10 → 7/10",
        "Score: 8/10 minus 1",
        "Score: 7. Wait, that is too high: 5",
        "Score: 7. No, 5.",
        "Score: 7. I mean 5.",
        "Score: 7; rather 5",
        "Score: 7, or rather 5",
        "Score: 8/10. No 3 of the claims matter.",
        "Score: 8. I would rather 2 people check it.",
        "Score: 8/10 - 2 typos.",
    ],
)
def test_a_number_that_may_not_be_the_verdict_is_not_read(text: str) -> None:
    """Aspects alone, ranges, bounds, sums, second thoughts, another scale: no score, and a reason."""
    reading = read_score(text, 1, 10)
    assert reading.answer is None and reading.problems


@given(st.integers(2, 10), st.integers(1, 9), st.integers(1, 99))
def test_a_decimal_comma_is_read_as_one_number(whole: int, tenths: int, denominator: int) -> None:
    """The whole number with its decimals, or nothing; never the digits behind the comma."""
    for text in (
        f"{whole},{tenths}/10",
        f"Score: {whole},{tenths}",
        f"I give it {whole},{tenths} out of {denominator}.",
    ):
        assert read_score(text, 1, 10).answer in (None, float(f"{whole}.{tenths}"))


@given(
    st.permutations([("Overall", 7), ("Clarity", 8), ("Accuracy", 6), ("Style", 3)]),
    st.sampled_from([", ", "; ", "\n", ". "]),
)
def test_the_order_of_sub_scores_changes_nothing(
    parts: list[tuple[str, int]], between: str
) -> None:
    """The whole is read wherever it is; without it no aspect is."""
    assert (
        read_score(between.join(f"{name}: {score}/10" for name, score in parts), 1, 10).answer == 7
    )
    without = [part for part in parts if part[0] != "Overall"]
    assert (
        read_score(between.join(f"{name}: {score}/10" for name, score in without), 1, 10).answer
        is None
    )


# -----------------------------------------------------------------------------------------------------------
# yes/no


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


# ---------------------------------------------------------------------------------------------------------
# pairwise


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


# ---------------------------------------------------------------------------------------------------------
# checklist


ITEMS = ["Names the version", "Gives steps", "Is it short?"]
ALL = {"Names the version": True, "Gives steps": False, "Is it short?": True}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ALL),
        json.dumps(
            {
                "sum": 99,
                "list": {
                    "1. names the version": "yes",
                    "2) Gives steps.": 0,
                    "is it short": "TRUE",
                },
            }
        ),
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
    reading = read_checklist(
        '{"names the version": "partly", "gives steps": true, "Is kind": true}', ITEMS
    )
    assert reading.answer == {"Names the version": None, "Gives steps": True, "Is it short?": None}
    assert [
        word in " ".join(reading.problems) for word in ("partly", "Is kind", "not answered")
    ] == [True] * 3
    assert (
        read_checklist('{"Gives steps": true, "gives steps": false}', ITEMS).answer["Gives steps"]
        is None
    )  # type: ignore[index]


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


# ---------------------------------------------------------------------------------------------------
# hostile, recorded


@settings(max_examples=examples(150), deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    """There is an answer or a reason, for every kind."""
    for reading in (
        read_score(text, 1, 10),
        read_yes_no(text),
        read_pairwise(text),
        read_checklist(text, ITEMS),
    ):
        assert reading.answer is not None or reading.problems


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "score: ",
        "8/10 ",
        "8/10.\n",
        "Output (a) is ",
        "not ",
        '"',
        "**",
        "[[",
        "- [x] a\n",
        "if A is better ",
    ],
)
def test_a_flood_is_read_to_its_end(piece: str) -> None:
    """200 kB of one piece end in an answer or a reason; work that grows with the square would take
    minutes.
    """
    text = (piece * (200_000 // len(piece)))[:200_000]
    for reading in (
        read_score(text, 1, 10),
        read_yes_no(text),
        read_pairwise(text),
        read_checklist(text, ITEMS),
    ):
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
            if {item: met for item, met in answer.items() if met is not None} != row["expected"][
                "checklist"
            ]:
                wrong.append(row["id"])
    assert wrong == []


def test_recorded_preferences() -> None:
    """Easy ones all, hard ones nearly all, and no decision where a careful reader finds none."""
    easy = [
        row["id"]
        for row in recorded("real_pairwise_easy.jsonl")
        if read_pairwise(row["raw"]).answer != row["expected"]
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
