"""Comparing two artifacts: replies read strictly, both orders combined, exact preferences."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Version
from honestone.core.judging.ballot import Ballot, JudgeState, Mark
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric, Rule
from honestone.core.reading.pairwise import (
    Choice,
    Comparison,
    Order,
    PairAnswers,
    TwoLooks,
    choice_of,
    compare,
    pair_question,
    read_pair_reply,
    same,
)

TOKEN = "0123456789ab"
CHOICES: tuple[Choice, ...] = ("first", "second", "tie")
NUMBER = {"first": 0, "second": 1, "tie": 0.5}


def criterion(id: str, weight: int = 1, **more: Any) -> Criterion:
    item = Item(id=id, requirement=f"It has {id}", whole=True)
    return Criterion(
        id=id, requirement=f"It has {id}", weight=Fraction(weight), items=(item,), **more
    )


def rubric(*criteria: Criterion) -> Rubric:
    return Rubric(criteria=criteria)


def ballot(judge: str, **said: Choice) -> Ballot:
    return Ballot(
        judge=judge, marks={(id, id): Mark(NUMBER[choice]) for id, choice in said.items()}
    )


def looks(
    judge: str, a_first: dict[str, Choice], b_first: dict[str, Choice]
) -> dict[Order, Ballot]:
    return {"a_first": ballot(judge, **a_first), "b_first": ballot(judge, **b_first)}


def compared(of: Rubric, rule: Rule = Rule.MEAN, **judges: Any) -> Comparison:
    """Each judge as (what it said with A first, what it said with B first)."""
    return compare(
        of, PairAnswers(judges={name: looks(name, *said) for name, said in judges.items()}), rule
    )


# ----------------------------------------------------------------------------------------------------------
# replies


def reply(answers: Any, token: str = TOKEN) -> str:
    return json.dumps({"token": token, "answers": answers})


def read(text: str, *, cut: bool = False) -> dict[int, Choice | str]:
    """Number to the choice, or to the error."""
    found = read_pair_reply(text, TOKEN, (1, 2), cut=cut)
    assert set(found.answers) | set(found.errors) == {1, 2}
    assert not set(found.answers) & set(found.errors)
    return {**{n: choice_of(mark) for n, mark in found.answers.items()}, **found.errors}


def test_a_whole_reply_is_read_with_its_quotes() -> None:
    """Each answer at its number; quotes are kept."""
    text = reply(
        {"1": {"evidence": "an apple", "answer": "first"}, "2": {"evidence": "", "answer": "tie"}}
    )
    found = read_pair_reply(text, TOKEN, (1, 2))
    assert {n: choice_of(mark) for n, mark in found.answers.items()} == {1: "first", 2: "tie"}
    assert found.answers[1].evidence == ("an apple",) and found.answers[2].evidence == ()
    assert (found.errors, found.problems, found.repairs) == ({}, (), ())


@pytest.mark.parametrize(
    "answer",
    ["First", "a", "A", "1", "both", "", None, True, 1, 0.5, ["first"], {"answer": "first"}, "n/a"],
)
def test_nothing_but_the_three_words_is_an_answer(answer: Any) -> None:
    """No other spelling, number or list is turned into a preference."""
    said = read(reply({"1": {"answer": answer}, "2": {"answer": "second"}}))
    assert said[2] == "second"
    assert str(said[1]).startswith('expected "first", "second" or "tie"')


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("The first is clearly better.", "no JSON object"),
        (reply({"1": {"answer": "first"}, "2": {"answer": "first"}}, token="other"), "token"),
        (reply({"1": {"answer": "first"}, "2": {"answer": "first"}})[:-3], "cut off"),
        (
            reply({"1": {"answer": "first"}, "2": {"answer": "first"}})
            + reply({"1": {"answer": "second"}, "2": {"answer": "first"}}),
            "ambiguous",
        ),
        (reply(["first", "second"]), "neither an object nor a list"),
    ],
)
def test_a_reply_that_is_none_says_why(text: str, why: str) -> None:
    """Prose, a wrong token, half an object, two different ones: no answer at all."""
    said = read(text)
    assert why in str(said[1]) and said[1] == said[2]


def test_numbers_that_were_not_asked_void_the_comparison() -> None:
    """Its other numbers may be shifted too."""
    found = read_pair_reply(
        reply({"1": {"answer": "first"}, "2": "tie", "9": "tie"}), TOKEN, (1, 2)
    )
    assert not found.answers and "not asked: '9'" in found.problems[0]
    assert set(found.errors.values()) == set(found.problems)


def test_the_empty_skeleton_before_the_reply_answers_nothing() -> None:
    """A judge may repeat it first."""
    empty = reply({"1": {"evidence": "", "answer": None}, "2": {"evidence": "", "answer": None}})
    full = reply({"1": {"answer": "tie"}, "2": {"answer": "second"}})
    assert read(f"{empty}\n{full}") == {1: "tie", 2: "second"}


@given(st.text(max_size=300), st.booleans())
def test_no_text_raises_or_gives_an_answer_by_itself(text: str, cut: bool) -> None:
    """Without the token there is no answer, whatever is written."""
    assert not any(said in CHOICES for said in read(text.replace(TOKEN, ""), cut=cut).values())


@given(
    st.sampled_from(CHOICES),
    st.sampled_from(CHOICES),
    st.integers(0, 400),
    st.sampled_from(["prefix", "cut", "flip"]),
)
def test_a_damaged_reply_never_turns_a_preference(
    one: Choice, two: Choice, at: int, how: str
) -> None:
    """Whatever is lost or put around, each number has its own answer or none."""
    whole = reply({"1": {"evidence": "x", "answer": one}, "2": {"evidence": "", "answer": two}})
    at %= len(whole)
    damaged = {
        "prefix": f"I think second. {whole[:at]} {whole}",
        "cut": whole[:at],
        "flip": whole[:at] + "\x00" + whole[at:],
    }[how]
    said = read(damaged)
    assert said[1] == one or said[1] not in CHOICES
    assert said[2] == two or said[2] not in CHOICES


# ----------------------------------------------------------------------------------------------------------
# question


def test_the_question_shows_each_criterion_with_what_it_means() -> None:
    """One question a criterion; judged items and levels below it, checks left out, nothing of
    weights.
    """
    checklist = Criterion(
        id="steps",
        requirement="Can be repeated",
        items=(
            Item(id="n", requirement="Steps are numbered"),
            Item(id="c", requirement="code", check=Check(kind="contains", value=["x"])),
        ),
    )
    levels = Anchors(levels=((Fraction(0), "hostile"), (Fraction(10), "calm")))
    tone = Criterion(
        id="tone",
        requirement="Is calm",
        items=(Item(id="tone", requirement="Is calm", anchors=levels, whole=True),),
    )
    only_code = Criterion(
        id="code",
        requirement="Has x",
        items=(
            Item(
                id="code",
                requirement="Has x",
                check=Check(kind="contains", value=["x"]),
                whole=True,
            ),
        ),
    )
    question = pair_question(
        rubric(checklist, tone, only_code),
        Version.of_text("AAA"),
        Version.of_text("BBB"),
        "b_first",
    )
    assert [key for key, _ in question.items()] == [("steps", "steps"), ("tone", "tone")]
    assert question.details == {
        "steps": ("Steps are numbered",),
        "tone": ("0: hostile", "10: calm"),
    }
    assert (question.first.text, question.second.text) == ("BBB", "AAA")
    assert "AAA" in question.artifact.version.text and "BBB" in question.artifact.version.text


# ----------------------------------------------------------------------------------------------------------
# both orders


@pytest.mark.parametrize(
    ("a_first", "b_first", "winner", "inconsistent"),
    [
        ("first", "second", "a", False),
        ("second", "first", "b", False),
        ("tie", "tie", "tie", False),
        ("first", "first", "tie", True),
        ("second", "second", "tie", True),
        ("first", "tie", "tie", True),
        ("tie", "second", "tie", True),
        ("first", None, None, False),
        (None, None, None, False),
    ],
)
def test_only_a_preference_that_survives_the_exchange_counts(
    a_first: Choice | None, b_first: Choice | None, winner: str | None, inconsistent: bool
) -> None:
    """Everything that changes with the order is a tie and inconsistent; one look alone says
    nothing.
    """
    found = TwoLooks(a_first=a_first, b_first=b_first)
    assert (found.winner, found.is_inconsistent) == (winner, inconsistent)


def test_preferences_are_weighed_by_code() -> None:
    """B wins a criterion of weight 3, A one of weight 1, judges agree: 3/4 for B."""
    found = compared(
        rubric(criterion("x", 3), criterion("y", 1)),
        one=({"x": "second", "y": "first"}, {"x": "first", "y": "second"}),
        two=({"x": "second", "y": "first"}, {"x": "first", "y": "second"}),
    )
    assert (found.preference, found.preferred) == (Fraction(3, 4), "b")
    assert [line.wins for line in found.lines] == [
        {"a": 0, "tie": 0, "b": 2},
        {"a": 2, "tie": 0, "b": 0},
    ]
    assert (found.inconsistent, found.pairs, found.first_position_rate) == (0, 4, Fraction(1, 2))
    assert not found.low_confidence


def test_a_judge_that_goes_by_the_place_prefers_nothing_and_is_seen() -> None:
    """Always the first: a tie everywhere, all inconsistent, first position rate 1."""
    found = compared(rubric(criterion("x")), lazy=({"x": "first"}, {"x": "first"}))
    assert (found.preference, found.inconsistent, found.first_position_rate) == (
        Fraction(1, 2),
        1,
        1,
    )


def test_a_missing_look_leaves_an_interval() -> None:
    """Half of the weight is unknown: from 1/2 to 1 for B, so B is not behind but not ahead for
    sure.
    """
    of = rubric(criterion("x"), criterion("y"))
    found = compared(of, one=({"x": "second", "y": "first"}, {"x": "first"}))
    assert (found.low, found.high, found.preference, found.preferred) == (
        Fraction(1, 2),
        1,
        None,
        None,
    )
    assert found.lines[1].by_judge["one"].why == "with B first: no answer"
    assert found.first_position_rate == Fraction(1, 2)
    heavier = compared(
        rubric(criterion("x", 3), criterion("y")),
        one=({"x": "second", "y": "first"}, {"x": "first"}),
    )
    assert (heavier.preference, heavier.preferred) == (None, "b")


def test_nobody_is_no_verdict() -> None:
    """Failed judges leave 0..1, never a tie."""
    gone = Ballot(judge="gone", marks={}, state=JudgeState.SKIPPED, reason="not installed")
    found = compare(
        rubric(criterion("x")), PairAnswers(judges={"gone": {"a_first": gone, "b_first": gone}})
    )
    assert (found.low, found.high, found.preferred, found.first_position_rate) == (0, 1, None, None)
    assert "not installed" in str(found.lines[0].by_judge["gone"].why)


def test_having_more_of_a_penalty_is_worse() -> None:
    """The one that meets it better loses, and it weighs by its size."""
    found = compared(
        rubric(criterion("x", 1), criterion("slang", -3)),
        one=({"x": "tie", "slang": "second"}, {"x": "tie", "slang": "first"}),
    )
    assert found.lines[1].wins["a"] == 1
    assert found.preference == Fraction(1, 8)


def test_siblings_are_weighed_among_themselves() -> None:
    """A group of weight 1 beside a criterion of weight 1: what is inside moves half, in its own
    shares.
    """
    group = Criterion(id="g", requirement="G", children=(criterion("x", 90), criterion("y", 10)))
    found = compared(
        rubric(group, criterion("z")),
        one=({"x": "second", "y": "first", "z": "tie"}, {"x": "first", "y": "second", "z": "tie"}),
    )
    assert [line.criterion.id for line in found.lines] == ["g", "x", "y", "z"]
    assert found.lines[0].preference == Fraction(9, 10)
    assert found.preference == Fraction(7, 10)


def test_checks_are_compared_by_code_beside_judges() -> None:
    """Three items: two judged say A, one check says B: 1/3 for B. A check that could not run leaves
    it open.
    """
    check = Item(id="c", requirement="code", check=Check(kind="contains", value=["x"]))
    mixed = Criterion(
        id="m",
        requirement="M",
        items=(Item(id="i", requirement="I"), Item(id="j", requirement="J"), check),
    )
    judges = {"one": looks("one", {"m": "first"}, {"m": "second"})}

    def checked(a: bool | None, b: bool | None) -> tuple[Ballot, Ballot]:
        made = [
            Ballot(
                judge="check",
                marks={} if met is None else {("m", "c"): Mark(met)},
                abstained={("m", "c"): "timed out"} if met is None else {},
            )
            for met in (a, b)
        ]
        return made[0], made[1]

    def found(a: bool | None, b: bool | None) -> Comparison:
        return compare(rubric(mixed), PairAnswers(judges=judges, checks=checked(a, b)))

    assert found(False, True).preference == Fraction(1, 3)
    assert found(True, True).preference == Fraction(1, 6)
    assert found(True, False).preference == 0
    open_ = found(None, True)
    assert (open_.low, open_.high, open_.preferred) == (0, Fraction(1, 3), "a")
    assert open_.lines[0].checks[0].why == "A: timed out"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(CHOICES),
            st.sampled_from(CHOICES),
            st.sampled_from(CHOICES),
            st.sampled_from(CHOICES),
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 5),
    st.sampled_from([Rule.MEAN, Rule.MEDIAN, Rule.MAJORITY]),
)
def test_exchanging_a_and_b_turns_the_preference_round(
    said: list[tuple[Choice, Choice, Choice, Choice]], weight: int, rule: Rule
) -> None:
    """Neither name has an advantage: swapped inputs give the mirrored result, bit for bit."""
    of = rubric(criterion("x", weight), criterion("y", 2))
    one = {f"j{n}": ({"x": p, "y": q}, {"x": r, "y": s}) for n, (p, q, r, s) in enumerate(said)}
    other = {name: (b_first, a_first) for name, (a_first, b_first) in one.items()}
    here, there = compared(of, rule, **one), compared(of, rule, **other)
    assert (here.low, here.high) == (1 - there.high, 1 - there.low)
    assert (here.inconsistent, here.first_position_rate) == (
        there.inconsistent,
        there.first_position_rate,
    )
    assert 0 <= here.low <= here.high <= 1


def test_equal_artifacts_are_a_tie_without_votes() -> None:
    """Every line at one half, nobody asked."""
    found = same(rubric(criterion("x"), criterion("y")))
    assert (found.preferred, found.pairs) == ("tie", 0)
    assert [line.preference for line in found.lines] == [Fraction(1, 2)] * 2
