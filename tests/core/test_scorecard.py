"""Scorecards: votes to items, items to criteria, criteria to a score; exactly, and with an interval
for what is missing.
"""

from __future__ import annotations

import json
import random
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.judging.ballot import CHECK, Ballot, Mark, ballot_from_plain, ballot_to_plain
from honestone.core.judging.rubric import Check, Criterion, Item, Key, Rubric, Rule
from honestone.core.judging.scorecard import (
    Line,
    Outcome,
    Scorecard,
    missing,
    read_gate_reason,
)
from honestone.core.judging.scorer import Scorer, combine

from .strategies import (
    ballot,
    ballots,
    checked,
    checklist,
    completions,
    group,
    judged,
    percent,
    plain_score,
    points,
    rubric,
    rubrics,
    scale,
    yes_no,
)

CODE = Check(kind="contains", value="x")


def card_of(of: Rubric, *given: Ballot, rule: Rule = Rule.MEAN) -> Scorecard:
    return Scorer(of, rule).card(given)


def anchored(name: str, *levels: float, **more: Any) -> Criterion:
    item = Item(id=name, requirement=name, anchors=scale(*levels), whole=True)
    return replace(yes_no(name, **more), items=(item,))


# ------------------------------------------------------------------------------------------------------
# arithmetic


def test_the_weighted_mean() -> None:
    """0.9 with weight 3, 0.8 with 1 and 0.7 with 2 make 4.9 sixths, not a float near it."""
    of = rubric(percent("a", weight=3), percent("b", weight=1), percent("c", weight=2))
    assert card_of(of, ballot("ann", {"a": 90, "b": 80, "c": 70})).score == Fraction(49, 60)


@pytest.mark.parametrize(
    ("mark", "score"), [(0, "0"), (5, "0.5"), (10, "1"), (7.5, "0.75"), (2, "0.2")]
)
def test_anchors_on_0_5_10(mark: float, score: str) -> None:
    """Linear between the lowest and the highest level."""
    assert card_of(rubric(anchored("a", 0, 5, 10)), ballot("ann", {"a": mark})).score == Fraction(
        score
    )


@pytest.mark.parametrize(
    ("mark", "score"), [(1, "0"), (2, "0.25"), (3, "0.5"), (4.5, "0.875"), (5, "1")]
)
def test_anchors_on_1_to_5(mark: float, score: str) -> None:
    """The lowest level is 0, whatever its number."""
    assert card_of(
        rubric(anchored("a", 1, 2, 3, 4, 5)), ballot("ann", {"a": mark})
    ).score == Fraction(score)


@pytest.mark.parametrize(
    ("asked", "met", "score"),
    [(10, 3, Fraction(3, 10)), (7, 5, Fraction(5, 7)), (3, 0, Fraction(0)), (1, 1, Fraction(1))],
)
def test_a_checklist_is_met_by_asked(asked: int, met: int, score: Fraction) -> None:
    """Exactly, sevenths too."""
    names = [f"i{n}" for n in range(asked)]
    of = rubric(checklist("a", names))
    assert (
        card_of(of, ballot("ann", {"a": {n: i < met for i, n in enumerate(names)}})).score == score
    )


def test_all_four_ways_of_marking_in_one_criterion() -> None:
    """A yes/no item, an anchored one and a check, side by side: each counts the same."""
    of = rubric(
        checklist(
            "a",
            [
                "said",
                Item(id="rated", requirement="r", anchors=scale(0, 10)),
                Item(id="coded", requirement="c", check=CODE),
            ],
        )
    )
    card = card_of(
        of, ballot(CHECK, {"a": {"coded": True}}), ballot("ann", {"a": {"said": False, "rated": 5}})
    )
    assert card.score == Fraction(1, 2)


def test_penalties_count_as_in_healthbench() -> None:
    """Points met, less points lost, over the points that could be won."""
    of = rubric(
        yes_no("a", weight=7),
        yes_no("b", weight=5),
        yes_no("bad", weight=-8),
        yes_no("worse", weight=-2),
    )
    assert card_of(
        of, ballot("ann", {"a": True, "b": False, "bad": False, "worse": True})
    ).score == Fraction(5, 12)
    assert (
        card_of(of, ballot("ann", {"a": True, "b": True, "bad": False, "worse": False})).score == 1
    )


def test_a_score_is_cut_at_0() -> None:
    """More penalties than points are 0, not less."""
    of = rubric(yes_no("a", weight=1), yes_no("bad", weight=-3))
    assert card_of(of, ballot("ann", {"a": True, "bad": True})).score == 0


def test_siblings_are_weighed_among_themselves() -> None:
    """A heavy child of a light group stays light in the whole."""
    of = rubric(
        group("g", percent("x", weight=900), percent("y", weight=100), weight=1),
        percent("z", weight=3),
    )
    card = card_of(of, ballot("ann", {"x": 100, "y": 0, "z": 0}))
    assert card.line("g").score == Fraction(9, 10)
    assert card.score == Fraction(9, 40)


def test_a_penalty_stays_in_its_group() -> None:
    """It can take a group to 0, and no further."""
    of = rubric(group("g", yes_no("x", weight=1), yes_no("bad", weight=-5)), yes_no("z"))
    card = card_of(of, ballot("ann", {"x": True, "bad": True, "z": True}))
    assert (card.line("g").score, card.score) == (0, Fraction(1, 2))


@given(judged(complete=True))
def test_complete_ballots_add_up_as_the_formula_says(
    case: tuple[Rubric, tuple[Ballot, ...]],
) -> None:
    """Against a second, plainer way of adding up."""
    of, given_ = case
    assert card_of(of, *given_).score == plain_score(of, given_)


# -----------------------------------------------------------------------------------------------
# not applicable


def test_an_item_that_does_not_apply_leaves_the_mean() -> None:
    """One met of two that apply is a half, not a third."""
    items = ["x", "y", Item(id="z", requirement="z", may_not_apply=True)]
    card = card_of(
        rubric(checklist("a", items)), ballot("ann", {"a": {"x": True, "y": False, "z": "n/a"}})
    )
    assert card.score == Fraction(1, 2)
    assert [line.applies for line in card.line("a").items] == [True, True, False]


def test_a_criterion_that_does_not_apply_leaves_its_parent() -> None:
    """Its weight goes too, and so do a group's when all in it is left out."""
    of = rubric(
        group("g", yes_no("x", may_not_apply=True), yes_no("y", may_not_apply=True), weight=9),
        percent("z", weight=1),
    )
    card = card_of(of, ballot("ann", {"x": "n/a", "y": "n/a", "z": 40}))
    assert card.score == Fraction(2, 5)
    assert not card.line("g").applies and card.line("g").score is None


def test_where_nothing_applies_there_is_no_score() -> None:
    """Neither 0 nor 100."""
    card = card_of(rubric(yes_no("a", may_not_apply=True)), ballot("ann", {"a": "n/a"}))
    assert card.score is None and not card.applies


def test_one_judges_not_applicable_is_no_vote() -> None:
    """The others decide."""
    of = rubric(yes_no("a", may_not_apply=True))
    card = card_of(of, ballot("ann", {"a": "n/a"}), ballot("bob", {"a": True}))
    assert card.score == 1


def test_a_penalised_group_that_may_yet_leave_is_open() -> None:
    """Only a penalty in it is known to hold; if the rest does not apply, the group takes nothing
    from the whole.
    """
    of = rubric(group("g", yes_no("x", may_not_apply=True), yes_no("bad", weight=-1)), yes_no("z"))
    card = card_of(of, ballot("ann", {"bad": True, "z": True}))
    assert (card.low, card.high) == (Fraction(1, 2), 1)
    left = card_of(of, ballot("ann", {"bad": True, "z": True, "x": "n/a"}))
    assert left.score == 1


# --------------------------------------------------------------------------------------------------------
# missing


def test_a_missing_mark_is_an_interval() -> None:
    """Not 0 and not left out: two known of three give a third of room."""
    card = card_of(
        rubric(checklist("a", ["x", "y", "z"])), ballot("ann", {"a": {"x": True, "y": False}})
    )
    assert (card.low, card.high, card.score) == (Fraction(1, 3), Fraction(2, 3), None)
    assert missing(card) == [("a", "z")]


def test_nobody_answered() -> None:
    """The whole scale is open, and nothing is marked."""
    card = card_of(rubric(yes_no("a"), percent("b")))
    assert (card.low, card.high, card.score, card.has_marks) == (0, 1, None, False)


def test_a_missing_penalty_widens_downwards() -> None:
    """It can only take away."""
    of = rubric(yes_no("a", weight=4), yes_no("bad", weight=-1))
    card = card_of(of, ballot("ann", {"a": True}))
    assert (card.low, card.high) == (Fraction(3, 4), 1)


def test_one_answer_is_enough_for_an_item() -> None:
    """A judge that abstains on it leaves the score, but its vote stays open for the gate."""
    of = rubric(checklist("a", ["x", "y"]))
    card = card_of(
        of, ballot("ann", {"a": {"x": True, "y": True}}), ballot("bob", {"a": {"x": True}})
    )
    assert (card.score, card.low, card.high, card.open) == (1, Fraction(3, 4), 1, ("bob",))


@given(st.data(), judged())
def test_the_interval_holds_every_completion(
    data: st.DataObject, case: tuple[Rubric, tuple[Ballot, ...]]
) -> None:
    """Whatever the missing answers turn out to be, "n/a" included, of the whole and of every
    criterion.
    """
    of, given_ = case
    before = card_of(of, *given_)
    full = data.draw(completions(of, given_))
    after = card_of(of, *full)
    assert after.score == plain_score(of, full)
    if after.applies:
        assert before.applies and before.low <= after.low <= after.high <= before.high
    for old, new in zip(before.lines, after.lines, strict=True):
        if new.applies:
            assert old.low <= new.low <= new.high <= old.high


@given(judged())
def test_a_score_is_known_exactly_when_the_interval_is_a_point(
    case: tuple[Rubric, tuple[Ballot, ...]],
) -> None:
    """Of those who answered, so far as no vote is open; and everything stays between 0 and 1."""
    card = card_of(case[0], *case[1])
    for one in (card, *card.lines):
        assert 0 <= one.low <= one.high <= 1
        assert (one.applies and one.score is not None) or one.low < one.high or not one.applies


# --------------------------------------------------------------------------------------------
# monotone, order, pure


@given(st.data(), judged(), st.sampled_from(Rule))
def test_raising_one_mark_never_lowers_a_score(
    data: st.DataObject, case: tuple[Rubric, tuple[Ballot, ...]], rule: Rule
) -> None:
    """Of its criterion, of any above it or of the whole; for a penalty it never raises one."""
    of, given_ = case
    items = dict(of.questions())
    penalties = {c.id for c, _ in of.walk() if c.is_penalty}
    raisable = [
        (index, key, higher)
        for index, one in enumerate(given_)
        for key, mark in one.marks.items()
        if (higher := _higher(items[key], mark.answer)) is not None
    ]
    assume(raisable)
    index, key, answer = data.draw(st.sampled_from(raisable))
    marks = {**given_[index].marks, key: Mark(answer)}
    raised = [*given_[:index], replace(given_[index], marks=marks), *given_[index + 1 :]]
    before, after = card_of(of, *given_, rule=rule), card_of(of, *raised, rule=rule)
    sign = -1 if key[0] in penalties else 1
    pairs: list[tuple[Scorecard | Line, Scorecard | Line]] = [(before, after)]
    pairs += [p for p in zip(before.lines, after.lines, strict=True) if p[0].criterion.id != key[0]]
    for old, new in pairs:
        assert sign * old.low <= sign * new.low and sign * old.high <= sign * new.high
    old, new = before.line(key[0]), after.line(key[0])
    assert old.low <= new.low and old.high <= new.high


def _higher(item: Item, answer: object) -> Any:
    if answer == "n/a":
        return None
    if item.anchors is None:
        return None if answer else True
    top = item.anchors.highest
    return None if Fraction(str(answer)) == top else float(top)


@given(judged(), st.sampled_from(Rule), st.randoms(use_true_random=False))
def test_order_never_matters(
    case: tuple[Rubric, tuple[Ballot, ...]], rule: Rule, chance: random.Random
) -> None:
    """Of judges, criteria, items and marks."""
    of, given_ = case

    def mixed(things: Any) -> Any:
        out = list(things)
        chance.shuffle(out)
        return tuple(out)

    def mix(c: Criterion) -> Criterion:
        return replace(c, items=mixed(c.items), children=mixed(mix(child) for child in c.children))

    other_rubric = replace(of, criteria=mixed(mix(c) for c in of.criteria))
    other_ballots = mixed(replace(b, marks=dict(mixed(b.marks.items()))) for b in given_)
    one, other = card_of(of, *given_, rule=rule), card_of(other_rubric, *other_ballots, rule=rule)
    assert (one.low, one.high, one.applies, one.voters) == (
        other.low,
        other.high,
        other.applies,
        other.voters,
    )
    assert sorted(one.flags) == sorted(other.flags)
    for line in one.lines:
        twin = other.line(line.criterion.id)
        assert (line.low, line.high, line.by_judge) == (twin.low, twin.high, twin.by_judge)


@given(st.data(), rubrics(), st.sampled_from(Rule))
def test_a_scorer_remembers_nothing_that_changes_a_card(
    data: st.DataObject, of: Rubric, rule: Rule
) -> None:
    """The hundredth card is the one that a new scorer would make."""
    used = Scorer(of, rule)
    for given_ in data.draw(st.lists(ballots(of), min_size=2, max_size=5)):
        code_alone = [b for b in given_ if b.judge == CHECK]
        for some in (given_, code_alone):
            assert used.card(some) == Scorer(of, rule).card(some)


def test_one_judge_cannot_vote_twice() -> None:
    """Two ballots of one judge are refused."""
    with pytest.raises(ValueError, match="two ballots"):
        card_of(rubric(yes_no("a")), ballot("ann", {"a": True}), ballot("ann", {"a": False}))


# ------------------------------------------------------------------------------------------------------
# combining


@pytest.mark.parametrize(
    ("rule", "votes", "made"),
    [
        (Rule.MEAN, [100, 70], "0.85"),
        (Rule.MEAN, [100, 100, 67], "0.89"),
        (Rule.MEDIAN, [100, 20, 70], "0.7"),
        (Rule.MEDIAN, [100, 20, 70, 80], "0.75"),
        (Rule.MAJORITY, [100, 20, 70], "0.7"),
        (Rule.MIN, [100, 20, 70], "0.2"),
    ],
)
def test_votes_on_a_scale(rule: Rule, votes: list[int], made: str) -> None:
    """Numbers have no majority, so their median stands for it."""
    given_ = [ballot(f"j{n}", {"a": vote}) for n, vote in enumerate(votes)]
    assert card_of(rubric(percent("a")), *given_, rule=rule).score == Fraction(made)


@pytest.mark.parametrize(
    ("rule", "votes", "made"),
    [
        (Rule.MEAN, "yyn", Fraction(2, 3)),
        (Rule.MEDIAN, "yyn", Fraction(1)),
        (Rule.MEDIAN, "yn", Fraction(1, 2)),
        (Rule.MAJORITY, "yyn", Fraction(1)),
        (Rule.MAJORITY, "ynn", Fraction(0)),
        (Rule.MAJORITY, "yn", Fraction(0)),
        (Rule.MIN, "yyn", Fraction(0)),
        (Rule.MIN, "yy", Fraction(1)),
    ],
)
def test_yes_and_no(rule: Rule, votes: str, made: Fraction) -> None:
    """A tied majority is a no."""
    given_ = [ballot(f"j{n}", {"a": vote == "y"}) for n, vote in enumerate(votes)]
    assert card_of(rubric(yes_no("a")), *given_, rule=rule).score == made


@pytest.mark.parametrize(
    ("rule", "votes", "penalty"),
    [
        (Rule.MIN, "yn", 1),
        (Rule.MAJORITY, "yn", 1),
        (Rule.MAJORITY, "ynn", 0),
        (Rule.MEAN, "yn", Fraction(1, 2)),
    ],
)
def test_the_strict_rules_are_strict_about_penalties_too(
    rule: Rule, votes: str, penalty: Fraction
) -> None:
    """There yes is the bad answer: one yes is enough for `min`, and a tie counts."""
    given_ = [ballot(f"j{n}", {"a": True, "bad": vote == "y"}) for n, vote in enumerate(votes)]
    card = card_of(rubric(yes_no("a"), yes_no("bad", weight=-1)), *given_, rule=rule)
    assert card.line("bad").score == penalty and card.score == 1 - penalty


@given(st.lists(st.fractions(0, 1), min_size=1, max_size=7), st.sampled_from(Rule))
def test_votes_together_lie_between_the_votes(shares: list[Fraction], rule: Rule) -> None:
    """No rule goes beyond what somebody said."""
    assert min(shares) <= combine(shares, rule, yes_no=False) <= max(shares)


@pytest.mark.parametrize(
    ("votes", "unmet"), [("n", True), ("yn", True), ("yyn", False), ("y", False), ("ynn", True)]
)
def test_an_item_is_unmet_when_half_or_more_say_no(votes: str, unmet: bool) -> None:
    """Whatever the rule."""
    given_ = [ballot(f"j{n}", {"a": {"x": vote == "y"}}) for n, vote in enumerate(votes)]
    for rule in Rule:
        assert (
            card_of(rubric(checklist("a", ["x"])), *given_, rule=rule).line("a").items[0].unmet
            is unmet
        )


def test_unmet_for_scales_penalties_and_missing() -> None:
    """A number is unmet below the threshold, a penalty when half say yes, and what nobody answered
    is neither.
    """
    of = rubric(
        percent("low"), percent("high"), yes_no("bad", weight=-1), yes_no("who"), threshold=70
    )
    card = card_of(
        of, ballot("ann", {"low": 69, "high": 70, "bad": True}), ballot("bob", {"bad": False})
    )
    unmet = {line.criterion.id: line.items[0].unmet for line in card.lines}
    assert unmet == {"low": True, "high": False, "bad": True, "who": None}


# ------------------------------------------------------------------------------------------ judges
# side by side


@pytest.mark.parametrize(
    ("other", "flagged"), [(75, True), (79.9, True), (80, False), (100, False)]
)
def test_disagreement_is_more_than_20_points(other: float, flagged: bool) -> None:
    """100 and 75 are flagged, 100 and 80 are not."""
    card = card_of(
        rubric(percent("tone")), ballot("ann", {"tone": 100}), ballot("bob", {"tone": other})
    )
    assert bool(card.flags) is flagged
    assert card.line("tone").spread == 1 - Fraction(str(other)) / 100


def test_a_flag_names_the_criterion_and_the_gap() -> None:
    """Once, for the criterion that judges mark; not again for the group above it."""
    of = rubric(group("g", percent("tone")))
    card = card_of(of, ballot("ann", {"tone": 90}), ballot("bob", {"tone": 60.5}))
    assert card.flags == ("disagreement: tone (29.5)",)


def test_a_judge_does_not_disagree_with_itself() -> None:
    """Looks of one judge are one voice: they differ, and what is between judges is the mean of each."""
    of = rubric(percent("tone"))
    looks = [ballot("ann", {"tone": 100}), ballot("ann#2", {"tone": 40})]
    looks = [looks[0], replace(looks[1], draw_of="ann")]
    alone = card_of(of, *looks)
    assert alone.line("tone").spread == 0 and alone.flags == ("looks differ: ann on tone (60.0)",)
    both = card_of(of, *looks, ballot("bob", {"tone": 80}))
    assert both.line("tone").spread == Fraction(1, 10)
    assert both.flags == ("looks differ: ann on tone (60.0)",)
    apart = card_of(of, *looks, ballot("bob", {"tone": 40}))
    assert apart.flags == ("disagreement: tone (30.0)", "looks differ: ann on tone (60.0)")


def test_only_complete_judges_stand_side_by_side() -> None:
    """Half an answer is a vote on its items, but no score of a judge and no disagreement."""
    of = rubric(checklist("a", ["x", "y"]))
    card = card_of(
        of, ballot("ann", {"a": {"x": True, "y": True}}), ballot("bob", {"a": {"x": False}})
    )
    assert card.line("a").by_judge == {"ann": 1} and card.flags == ()
    assert card.score == Fraction(3, 4)


def test_a_judges_score_holds_the_checks_of_its_criterion() -> None:
    """So that the mean of complete judges is the criterion's score."""
    of = rubric(checklist("a", ["x", Item(id="y", requirement="y", check=CODE)]))
    code, ann, bob = (
        ballot(CHECK, {"a": {"y": True}}),
        ballot("ann", {"a": {"x": True}}),
        ballot("bob", {"a": {"x": False}}),
    )
    card = card_of(of, code, ann, bob)
    assert card.line("a").by_judge == {"ann": 1, "bob": Fraction(1, 2)}
    assert card.score == Fraction(3, 4)


@given(judged(complete=True))
def test_the_mean_of_complete_judges_is_the_score(case: tuple[Rubric, tuple[Ballot, ...]]) -> None:
    """On every criterion that judges mark and where nobody says "n/a"."""
    of, given_ = case
    said_na = {key[0] for one in given_ for key, mark in one.marks.items() if mark.answer == "n/a"}
    for line in card_of(of, *given_).lines:
        if line.items and not line.only_checks and line.criterion.id not in said_na:
            assert sum(line.by_judge.values()) / len(line.by_judge) == line.score


@pytest.mark.parametrize(
    ("of", "given_", "voters", "low"),
    [
        (rubric(yes_no("a")), [ballot("ann", {"a": True})], 1, True),
        (rubric(yes_no("a")), [ballot("ann", {"a": True}), ballot("bob", {"a": True})], 2, False),
        (rubric(yes_no("a")), [], 0, True),
        (rubric(checked("a")), [ballot(CHECK, {"a": True})], None, False),
        (
            rubric(checked("a"), yes_no("b")),
            [ballot(CHECK, {"a": True}), ballot("ann", {"b": True})],
            1,
            True,
        ),
        (
            rubric(yes_no("a"), yes_no("b")),
            [ballot("ann", {"a": True, "b": True}), ballot("bob", {"a": True})],
            1,
            True,
        ),
    ],
)
def test_one_voter_is_low_confidence(
    of: Rubric, given_: list[Ballot], voters: int | None, low: bool
) -> None:
    """On any item that judges are asked; checks need no second voice."""
    card = card_of(of, *given_)
    assert (card.voters, card.low_confidence) == (voters, low)


@pytest.mark.parametrize(("working", "score"), [(3, "0.8"), (2, "0.85"), (1, "0.9")])
def test_judges_that_failed_leave_the_mean(working: int, score: str) -> None:
    """Three judges, two, one: the mean of those that answered; with one of them, low confidence."""
    marks = [90, 80, 70]
    given_ = [
        ballot(f"j{n}", {"a": mark}) if n < working else Ballot(judge=f"j{n}", marks={})
        for n, mark in enumerate(marks)
    ]
    card = card_of(rubric(percent("a")), *given_)
    assert card.score == Fraction(score)
    assert card.low_confidence is (working == 1)


def test_code_and_judges_answer_different_items() -> None:
    """A judge has no say in a check, and code none in a judge's item, even if a ballot claims it."""
    of = rubric(checked("a"), yes_no("b"))
    card = card_of(
        of, ballot(CHECK, {"a": False, "b": True}), ballot("ann", {"a": True, "b": False})
    )
    assert (card.line("a").score, card.line("b").score) == (0, 0)


def test_marks_of_another_rubric_do_not_count() -> None:
    """Keys that this rubric does not have are left alone."""
    key: Key = ("gone", "gone")
    extra = Ballot(judge="ann", marks={key: Mark(True), ("a", "a"): Mark(False)})
    assert card_of(rubric(yes_no("a")), extra).score == 0


def test_a_floor_is_missed_only_when_it_is_certain() -> None:
    """`is_below_floor` looks at the upper end."""
    of = rubric(checklist("a", ["x", "y", "z", "w"], floor=50))
    open_ = card_of(of, ballot("ann", {"a": {"x": False, "y": False}})).line("a")
    sure = card_of(of, ballot("ann", {"a": {"x": False, "y": False, "z": False}})).line("a")
    assert (open_.high, open_.is_below_floor) == (Fraction(1, 2), False)
    assert (sure.high, sure.is_below_floor) == (Fraction(1, 4), True)
    assert sure.floor == points(50)


# ------------------------------------------------------------------------------------------------
# measuring checks


MEASURES = Check(kind="script", value={"language": "python", "code": "0.5"})


def measured(name: str, **more: Any) -> Criterion:
    """As a file gives it: required, by the check's own bar."""
    item = Item(id=name, requirement=name, check=MEASURES, whole=True)
    return Criterion(
        id=name, requirement=name, items=(item,), **{"required": True, "floor": Fraction(0), **more}
    )


def measure(**said: tuple[bool, float]) -> Ballot:
    marks = {(name, name): Mark(met, score=score) for name, (met, score) in said.items()}
    return Ballot(judge=CHECK, marks=marks)


@pytest.mark.parametrize(
    ("met", "score"), [(True, 0.0), (True, 30.0), (False, 30.0), (False, 99.5), (True, 100.0)]
)
def test_the_own_bar_of_a_measuring_check_decides(met: bool, score: float) -> None:
    """Its score counts in the mean, and whether the criterion is met is the check's word alone,
    even at 0 points.
    """
    scorer = Scorer(replace(rubric(measured("a")), threshold=Fraction(0)))
    card, verdict = scorer.judged([measure(a=(met, score))])
    assert card.score == Fraction(repr(score)) / 100
    assert card.lines[0].items[0].unmet is not met
    assert verdict.passed is met
    if not met:
        (reason,) = verdict.reasons
        assert read_gate_reason(reason) == ("criterion", "a")
        assert f"it scored {score}" in reason


def test_a_measuring_check_that_is_not_required_counts_in_the_mean() -> None:
    """Where only the mean decides, an unmet check is a low score and no more."""
    parts = [measured("a", required=False), measured("b", required=False)]
    scorer = Scorer(replace(rubric(*parts), threshold=Fraction(1, 2), floor=Fraction(0)))
    card, verdict = scorer.judged([measure(a=(False, 20), b=(True, 80))])
    assert (card.score, verdict.passed) == (Fraction(1, 2), True)


def test_an_open_measuring_check_leaves_its_criterion_open() -> None:
    """A check that could not run has no score."""
    scorer = Scorer(replace(rubric(measured("a")), threshold=Fraction(0)))
    _, verdict = scorer.judged([Ballot(judge=CHECK, marks={}, abstained={("a", "a"): "time-out"})])
    assert verdict.outcome is Outcome.INCONCLUSIVE


@given(st.booleans(), st.floats(0, 100), st.lists(st.text(max_size=5), max_size=2))
def test_a_measured_mark_is_recorded_whole(met: bool, score: float, evidence: list[str]) -> None:
    """What a run has on record gives the same mark, also where the words are left out."""
    given = Ballot(judge=CHECK, marks={("a", "a"): Mark(met, tuple(evidence), score=score)})
    assert ballot_from_plain(json.loads(json.dumps(ballot_to_plain(given)))) == given
    (bare,) = Scorer(rubric(measured("a"))).without_words([given])
    assert bare.marks["a", "a"] == Mark(met, score=score)
