"""How sure it is that enough cases of a suite pass."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.belief.cases.bar import SuiteBar, suite_belief
from honestone.core.belief.cases.sides import better_than
from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric

RUBRIC = Rubric(
    criteria=(
        Criterion(id="p", requirement="x", items=(Item(id="p", requirement="x", whole=True),)),
    )
)


def case(id: str, *answers: bool) -> CaseBelief:
    """Each answer is of another judge."""
    text = TextBelief(RUBRIC)
    for place, one in enumerate(answers):
        text.see(f"j{place}", {("p", "p"): Mark(one)})
    return CaseBelief(id, text)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=5))
def test_what_is_remembered_of_fewer_answers_is_forgotten(looks: list[tuple[str, bool]]) -> None:
    """A text that was asked after each look says what one says that saw them all at once."""
    asked, fresh = TextBelief(RUBRIC), TextBelief(RUBRIC)
    for judge, met in looks:
        asked.see(judge, {("p", "p"): Mark(met)})
        assert asked.signature is not None and asked.probability is not None
    for judge, met in looks:
        fresh.see(judge, {("p", "p"): Mark(met)})
    assert (asked.signature, asked.probability) == (fresh.signature, fresh.probability)


@given(st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=6), st.integers(1, 6))
def test_what_is_certain_is_between_the_two_ends(answers: list[list[bool]], need: int) -> None:
    """Cases without a look count against a pass at one end and for it at the other."""
    cases = [case(f"c{i}", *one) for i, one in enumerate(answers)]
    found = SuiteBelief(cases, min(need, len(cases))).chance
    if found is not None:
        assert 0.0 <= found.low <= found.chance + 1e-9
        assert found.chance <= found.high + 1e-9 <= 1.0 + 1e-9


def test_a_case_without_a_look_passes_nothing_by_itself() -> None:
    """However well the others did."""
    cases = [*(case(f"c{i}", True, True) for i in range(7)), case("c7")]
    found = SuiteBelief(cases, 8).chance
    assert found is not None
    assert found.low < 1e-9 and found.chance > 0.5


def test_code_alone_is_certain() -> None:
    """Exactly 0 or 1, whatever is asked for."""
    cases = [CaseBelief("a", certain=True), CaseBelief("b", certain=False)]
    for least, chance in ((Fraction(1, 2), 1.0), (Fraction(1), 0.0)):
        found = suite_belief(cases, SuiteBar(least=least, sure=Fraction(95, 100)))
        assert found is not None and found.probability == chance and found.decided


def test_one_no_among_many_cases_is_more_likely_misread_than_it_would_be_alone() -> None:
    """The share that passes is learned over the cases."""
    many = [*(case(f"c{i}", True, True) for i in range(23)), case("odd", False, True)]
    few = [case("odd", False, True), case("c0", False, False)]
    assert SuiteBelief(many, 24).by_case()["odd"] > SuiteBelief(few, 2).by_case()["odd"]


def turned(id: str, *answers: bool) -> CaseBelief:
    """A case that passes where its output does not meet the contract."""
    return replace(case(id, *answers), is_turned=True)


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_a_turned_case_passes_where_another_one_fails(answers: list[bool]) -> None:
    """Alone it is the other side of the same coin, and every further no speaks for it."""
    alone, other = turned("a", *answers).alone, case("a", *answers).alone
    assert alone is not None and other is not None and alone == pytest.approx(1.0 - other)
    now, more = SuiteBelief([turned("a", *answers)], 1), turned("a", *answers, False)
    assert now.by_case()["a"] < SuiteBelief([more], 1).by_case()["a"] < 1.0


def test_what_has_to_fail_does_not_say_how_many_of_the_others_pass() -> None:
    """Nor do they say of it that it is met: the share of each kind is learned from that kind."""
    straight = [case(f"c{i}", True, True) for i in range(12)]
    both = [*straight, turned("odd", False, False)]
    found = SuiteBelief(both, 13).by_case()
    assert found["odd"] == pytest.approx(turned("odd", False, False).alone, abs=0.05)
    assert found["c0"] == pytest.approx(SuiteBelief(straight, 12).by_case()["c0"], abs=0.01)
    chance = SuiteBelief(both, 13).chance
    assert chance is not None and 0.8 < chance.low == chance.high < found["odd"]


@given(st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1), min_size=1))
def test_no_side_is_better_than_itself_more_often_than_worse(now: dict[str, float]) -> None:
    """The same probabilities on both sides."""
    better, worse = better_than(now, now)
    assert better == pytest.approx(worse)


def test_better_is_what_counting_says() -> None:
    """Every outcome of three cases on two sides."""
    now, before = {"a": 0.9, "b": 0.4, "c": 0.7}, {"a": 0.2, "b": 0.5, "c": 0.7}
    names = list(now)
    better = worse = 0.0
    for outcome in product((0, 1), repeat=6):
        chance = 1.0
        for place, name in enumerate(names):
            chance *= now[name] if outcome[place] else 1 - now[name]
            chance *= before[name] if outcome[3 + place] else 1 - before[name]
        by = sum(outcome[:3]) - sum(outcome[3:])
        better += chance * (by > 0)
        worse += chance * (by < 0)
    assert better_than(now, before) == pytest.approx((better, worse))


def test_ten_thousand_cases_are_summed_by_their_answers() -> None:
    """The whole suite is stated, with what it rests on."""
    cases = [case(f"c{i}", True, i % 50 != 0) for i in range(10_000)]
    found = suite_belief(cases, SuiteBar(least=Fraction(9, 10)))
    assert found is not None
    assert found.probability > 0.9 and found.looks == 20_000
    assert found.subject == "at least 9,000 of 10,000 cases pass"


@given(st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.floats(0, 1), min_size=2))
def test_the_order_of_cases_changes_no_figure(now: dict[str, float]) -> None:
    """Not in the last digit: the same comparison prints the same again."""
    before = {id: 1.0 - chance / 2 for id, chance in now.items()}
    turned = dict(reversed(now.items()))
    assert better_than(now, before) == better_than(turned, before)


@given(st.lists(st.lists(st.booleans(), max_size=3), min_size=1, max_size=6))
def test_so_many_pass_whatever_is_likely_of_the_judges(answers: list[list[bool]]) -> None:
    """Not more than are expected to, fewer by more deviations, and what is certain counts whole."""
    cases = [case(str(place), *row) for place, row in enumerate(answers)]
    belief = SuiteBelief(cases, 1)
    assert belief.at_least(0.0) <= belief.expected + 1e-9
    assert belief.at_least(2.0) <= belief.at_least(1.0) <= belief.at_least(0.0)
    certain = SuiteBelief([*cases, CaseBelief("code", certain=True)], 1)
    assert certain.at_least(1.0) == pytest.approx(belief.at_least(1.0) + 1.0)


@given(st.lists(st.booleans(), min_size=1, max_size=4))
def test_a_case_with_the_same_answers_as_likely_passes(answers: list[bool]) -> None:
    """The second of them is looked up, and gives what the first gave."""
    first, second = case("a", *answers), case("b", *answers)
    belief = SuiteBelief([first, second], 1)
    assert belief.passing_of(first) == belief.passing_of(second)
    turned = replace(second, is_turned=True)
    mixed = SuiteBelief([first, turned], 1)
    assert mixed.passing_of(turned) == mixed.passing_of(replace(first, is_turned=True))
    assert mixed.passing_of(first) != mixed.passing_of(turned)
