"""Item analysis: difficulty, item-rest correlation, discrimination and disagreement, by their
formulas.
"""

from __future__ import annotations

from fractions import Fraction
from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.app.rubrics.item_stats import Record, correlation, discrimination, item_stats
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Anchors, Criterion, Item, Key, Rubric

ITEMS = ("early", "middle", "late")
RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="day",
            requirement="Day",
            items=tuple(Item(id=name, requirement=f"Is {name}") for name in ITEMS),
        ),
    )
)
shares = st.fractions(min_value=0, max_value=1, max_denominator=20)


def key(name: str) -> Key:
    return ("day", name)


def record(*artifacts: dict[str, str]) -> Record:
    """One artifact is {judge: "yny"}: answers to the items in order, `-` for none."""
    found = Record()
    for number, votes in enumerate(artifacts):
        for judge, answers in votes.items():
            marks = {
                key(name): Mark(sign == "y")
                for name, sign in zip(ITEMS, answers, strict=True)
                if sign != "-"
            }
            found.add(f"sha256:{number}", [Ballot(judge=judge, marks=marks)])
    return found


def test_difficulty_is_the_share_that_is_met() -> None:
    """Three of four artifacts meet the first item, none the last."""
    stats = item_stats(RUBRIC, record({"a": "yyn"}, {"a": "ynn"}, {"a": "yyn"}, {"a": "nnn"}))
    assert [one.difficulty for one in stats] == [Fraction(3, 4), Fraction(1, 2), 0]
    assert [one.artifacts for one in stats] == [4, 4, 4]


def test_an_item_nobody_answered_is_left_out() -> None:
    """Missing is not zero: such an item has no line."""
    assert [one.key[1] for one in item_stats(RUBRIC, record({"a": "yy-"}, {"a": "n--"}))] == [
        "early",
        "middle",
    ]


def test_an_item_that_all_meet_never_discriminates_from_five_artifacts_on() -> None:
    """Four are too few to say so; one exception is enough not to."""
    assert not item_stats(RUBRIC, record(*[{"a": "yyn"}] * 4))[0].never_discriminates
    five = item_stats(RUBRIC, record(*[{"a": "yyn"}] * 5))
    assert [one.never_discriminates for one in five] == [True, True, True]
    one_off = item_stats(RUBRIC, record(*[{"a": "yyn"}] * 4, {"a": "nyn"}))
    assert [one.never_discriminates for one in one_off] == [False, True, True]


def test_disagreement_counts_pairs_of_judges_and_not_code() -> None:
    """Of three pairs on the first artifact two differ; a check is no judge."""
    stats = item_stats(RUBRIC, record({"a": "y--", "b": "n--", "c": "y--", CHECK: "n--"}))
    assert (stats[0].disagreement, stats[0].pairs) == (Fraction(2, 3), 3)
    assert item_stats(RUBRIC, record({"a": "y--"}))[0].disagreement is None


def test_judges_disagree_when_it_happens_often() -> None:
    """Two of five answers differ: that is about the item. One of five may be about the artifact."""
    same, other = {"a": "yyy", "b": "yyy"}, {"a": "yyy", "b": "nyy"}
    assert item_stats(RUBRIC, record(same, same, same, other, other))[0].judges_disagree
    assert not item_stats(RUBRIC, record(same, same, same, same, other))[0].judges_disagree


def test_a_number_differs_by_more_than_20_points() -> None:
    """On a scale of 0-10, 5 and 7 agree and 5 and 8 do not."""
    scale = Anchors(levels=((Fraction(0), "none"), (Fraction(10), "all")))
    rubric = Rubric(
        criteria=(
            Criterion(
                id="c",
                requirement="C",
                items=(Item(id="c", requirement="C", anchors=scale, whole=True),),
            ),
        )
    )
    for marks, differs in (((5, 7), 0), ((5, 8), 1)):
        found = Record()
        found.add(
            "x",
            [
                Ballot(judge=str(at), marks={("c", "c"): Mark(mark)})
                for at, mark in enumerate(marks)
            ],
        )
        (stats,) = item_stats(rubric, found)
        assert stats.disagreement == differs
        assert stats.difficulty == Fraction(sum(marks), 20)


def test_item_rest_correlation_by_hand() -> None:
    """x = 1,1,0,0 against the mean of the others 1, 1/2, 1/2, 0: r = 1/sqrt(2)."""
    stats = item_stats(RUBRIC, record({"a": "yyy"}, {"a": "yyn"}, {"a": "nyn"}, {"a": "nnn"}))
    assert stats[0].item_rest is not None
    assert isclose(stats[0].item_rest, 0.5**0.5)


def test_an_item_against_all_others_has_a_negative_correlation() -> None:
    """Whatever the others say it says the contrary: r = -1, and from ten artifacts on it is told."""
    stats = item_stats(RUBRIC, record(*[{"a": "ynn"}, {"a": "nyy"}] * 5))
    assert stats[0].item_rest is not None and isclose(stats[0].item_rest, -1)
    assert [one.runs_against_the_rest for one in stats] == [True, False, False]
    assert not item_stats(RUBRIC, record(*[{"a": "ynn"}, {"a": "nyy"}] * 4))[
        0
    ].runs_against_the_rest


def test_a_penalty_is_turned_round_before_it_is_compared() -> None:
    """What good artifacts do not have goes with the rest, though its yes is bad; its difficulty
    stays the share of yes.
    """
    rubric = Rubric(
        criteria=(
            *RUBRIC.criteria,
            Criterion(
                id="rude",
                requirement="R",
                weight=Fraction(-1),
                items=(Item(id="rude", requirement="R", whole=True),),
            ),
        )
    )
    found = record({"a": "yyy"}, {"a": "nnn"}, {"a": "yyy"})
    for number, rude in enumerate((False, True, False)):
        found.add(f"sha256:{number}", [Ballot(judge="a", marks={("rude", "rude"): Mark(rude)})])
    last = item_stats(rubric, found)[-1]
    assert last.item_rest is not None and isclose(last.item_rest, 1)
    assert last.difficulty == Fraction(1, 3)


def test_discrimination_compares_the_best_with_the_worst() -> None:
    """Of eleven artifacts the best three all meet the item, the worst three never."""
    pairs = [(Fraction(int(rank >= 5)), Fraction(rank, 10)) for rank in range(11)]
    assert discrimination(pairs) == 1
    assert discrimination([(1 - x, rest) for x, rest in pairs]) == -1
    assert discrimination(pairs[:4]) is None
    assert discrimination([(x, Fraction(1)) for x, _ in pairs]) is None


def test_the_last_answer_of_a_judge_about_an_artifact_counts() -> None:
    """The same version in two runs is one artifact, and a reply on record is not a second vote."""
    found = record({"a": "yyy"})
    found.add("sha256:0", [Ballot(judge="a", marks={key("early"): Mark(False)})])
    assert len(found) == 1
    assert item_stats(RUBRIC, found)[0].difficulty == 0


@given(st.lists(st.tuples(shares, shares), max_size=12))
def test_a_correlation_is_between_minus_1_and_1(pairs: list[tuple[Fraction, Fraction]]) -> None:
    """And it is the same with the sides changed, and opposite with one side turned round."""
    found = correlation(pairs)
    assert correlation([(y, x) for x, y in pairs]) == found
    turned = correlation([(1 - x, y) for x, y in pairs])
    if found is None:
        assert turned is None
    else:
        assert -1 - 1e-12 <= found <= 1 + 1e-12
        assert turned is not None and isclose(turned, -found, abs_tol=1e-12)


@given(st.lists(st.tuples(shares, shares), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_the_record_decides_nothing(
    pairs: list[tuple[Fraction, Fraction]], random: object
) -> None:
    """Discrimination and correlation are the same whatever was judged first."""
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert discrimination(shuffled) == discrimination(pairs)
    assert correlation(shuffled) == pytest.approx(correlation(pairs), abs=1e-12)
