from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.strategies import ballots, checklist, group, percent, rubric, rubrics, yes_no

from honestone.core.belief.beliefs import Beliefs
from honestone.core.belief.contract import ContractModel, Odds
from honestone.core.belief.normal import Atom
from honestone.core.belief.outcomes import Outcomes
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Key, Rubric

chances = st.floats(0, 1)
on_scale = st.builds(
    lambda mean, sd: (Atom(1.0, mean, sd * sd),), st.floats(0, 100), st.floats(0.1, 30)
)


@st.composite
def odds_of(draw: st.DrawFn, of: Rubric) -> dict[Key, Odds | None]:
    """Items on a scale and those of code are believed to have points, others to be yes so probably."""
    return {
        key: draw(chances if item.anchors is None and item.check is None else on_scale)
        for key, item in of.questions()
    }


@given(rubrics(), st.data())
def test_it_is_the_sum_over_every_answer_under_each_assumption(
    of: Rubric, data: st.DataObject
) -> None:
    """Each way of answering, one by one, with the probability that each assumption gives it."""
    model = ContractModel(of, margin=0.0)
    base = data.draw(odds_of(of))
    yes_no_keys = [key for key, one in base.items() if isinstance(one, float)]
    assume(len(yes_no_keys) <= 6)
    members = [
        (weight, {key: data.draw(chances) for key in yes_no_keys}) for weight in (0.5, 0.3, 0.2)
    ]
    directly = 0.0
    for answers in product((0.0, 1.0), repeat=len(yes_no_keys)):
        yes = dict(zip(yes_no_keys, answers, strict=True))
        share = sum(
            weight * prod(p if yes[key] else 1 - p for key, p in odds.items())
            for weight, odds in members
        )
        directly += share * model.probability({**base, **yes})
    found = Outcomes(model, [(1.0, base)]).chance(members)
    assert found == pytest.approx(directly, abs=1e-4)


def test_items_of_one_kind_count_alike_and_others_do_not() -> None:
    of = rubric(
        yes_no("a"), yes_no("b"), yes_no("heavy", weight=2), group("g", yes_no("c"), percent("d"))
    )
    odds: dict[Key, Odds | None] = {key: 0.5 for key, _ in of.questions()}
    odds["d", "d"] = (Atom(1.0, 50.0, 1.0),)
    found = ContractModel(of).kinds(odds)
    assert found == [[("a", "a"), ("b", "b")], [("heavy", "heavy")], [("c", "c")]]


class Counting(ContractModel):
    asked = 0

    def probability(self, odds: Mapping[Key, Odds | None]) -> float:
        self.asked += 1
        return super().probability(odds)


def all_said(of: Rubric, chance: float) -> dict[Key, Odds | None]:
    return {key: chance for key, _ in of.questions()}


def test_outcomes_between_equal_ones_are_not_worked_out_and_no_one_is_twice() -> None:
    of = rubric(checklist("c", [f"i{n}" for n in range(200)]), threshold=75)
    model = Counting(of)
    outcomes = Outcomes(model, [(1.0, all_said(of, 0.5))])
    for chance in (0.1, 0.5, 0.9):
        members = [(0.5, all_said(of, chance)), (0.5, all_said(of, 1 - chance))]
        found = outcomes.chance(members)
        assert found == pytest.approx(0.0 if chance == 0.5 else 0.5, abs=1e-6)
    assert model.asked < 30


def test_where_there_are_too_many_outcomes_each_pair_is_worked_out() -> None:
    of = rubric(*[yes_no(f"y{n}", weight=n + 1) for n in range(10)], threshold=60)
    model = Counting(of)
    members = [(0.7, all_said(of, 0.9)), (0.3, all_said(of, 0.4))]
    directly = sum(weight * ContractModel(of).probability(odds) for weight, odds in members)
    found = Outcomes(model, [(1.0, all_said(of, 0.5))]).chance(members)
    assert found == pytest.approx(directly) and model.asked == 2


MIXED = rubric(percent("p"), percent("q"), yes_no("a"), yes_no("b"), yes_no("c"))
WEIGHED = rubric(percent("p"), *[yes_no(f"y{n}", weight=n + 1) for n in range(10)])


@pytest.mark.parametrize("threshold", [Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize("of", [MIXED, WEIGHED])
def test_full_marks_of_all_judges_are_believed_where_scales_and_yes_no_meet(
    of: Rubric, threshold: Fraction
) -> None:
    """As of either kind alone. (What was improbable of both together was taken for unmet: 83 %.)"""
    belief = TextBelief(replace(of, threshold=threshold))
    for judge in ("ann", "bob", "cid") * 3:
        marks = {key: Mark(True if item.anchors is None else 100) for key, item in of.questions()}
        belief.see(judge, marks)
    assert belief.probability is not None and belief.probability > 0.97


@given(ballots(MIXED))
def test_a_text_is_as_sure_as_it_is_under_its_assumptions(given_: tuple[Ballot, ...]) -> None:
    belief = TextBelief(MIXED).see_all(given_)
    if belief.probability is None:
        return
    by_each = sum(weight * belief.under(one) for one, weight in belief._assumed.items())
    assert belief.probability == pytest.approx(by_each, abs=1e-6)


def test_a_loop_believes_scales_and_yes_no_items_as_under_each_pair_of_assumptions() -> None:
    of = rubric(percent("p"), yes_no("a"), yes_no("b"))
    found = Beliefs(of, "v0", ["ann", "bob"], [])
    for judge, points, yes in (("ann", 80, True), ("bob", 65, False), ("ann", 75, True)):
        marks = {key: Mark(yes if item.anchors is None else points) for key, item in of.questions()}
        found.see("v0", judge, marks)
    entry = found._versions["v0"]
    pairs = product(found._score_bank.weights.items(), found._item_bank.weights.items())
    by_pairs = sum(
        weight * share * found.contract.probability(found._odds(entry, one, other))
        for (one, weight), (other, share) in pairs
    )
    assert found.probability("v0") == pytest.approx(by_pairs, abs=1e-3)
