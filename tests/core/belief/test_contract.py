"""The probability of the contract is what the scorecard's own arithmetic gives, outcome by outcome."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from honestone.core.belief.contract import ContractModel, Moments, Odds
from honestone.core.belief.counting import CountedContract, reached
from honestone.core.belief.normal import Atom, below, density
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Key, Rubric
from honestone.core.judging.scorecard import judge_gate
from honestone.core.judging.scorer import Scorer

from ..strategies import checklist, group, percent, rubric, rubrics, yes_no

chances = st.floats(0, 1)


def enumerated(of: Rubric, odds: Mapping[Key, Odds | None]) -> float:
    """Every way the yes/no items may be, gated by the scorecard."""
    scorer = Scorer(of)
    keys = [key for key, _ in of.questions()]
    total = 0.0
    for answers in product((False, True), repeat=len(keys)):
        marks = {CHECK: {}, "ann": {}}  # type: dict[str, dict[Key, Mark]]
        for (key, item), answer in zip(of.questions(), answers, strict=True):
            marks[CHECK if item.check is not None else "ann"][key] = Mark(answer)
        card = scorer.card([Ballot(judge=judge, marks=found) for judge, found in marks.items()])
        if judge_gate(card, of).passed:
            chance = [
                odds[key] if answer else 1.0 - odds[key]
                for key, answer in zip(keys, answers, strict=True)
            ]  # type: ignore[operator]
            total += prod(chance)
    return total


@given(rubrics(), st.data())
def test_of_yes_no_items_it_is_exact(of: Rubric, data: st.DataObject) -> None:
    keys = list(of.questions())
    assume(len(keys) <= 9 and all(item.anchors is None for _, item in keys))
    odds: dict[Key, Odds | None] = {key: data.draw(chances) for key, _ in keys}
    assert ContractModel(of).probability(odds) == pytest.approx(enumerated(of, odds), abs=1e-6)


TREE = rubric(
    group("g", checklist("a", "xy", floor=50), yes_no("b", required=True), weight=2, floor=40),
    yes_no("bad", weight=-1),
    checklist("c", "uvw", negate=True, floor=30),
    threshold=55,
)


@pytest.mark.slow
@given(st.lists(chances, min_size=7, max_size=7))
def test_of_a_tree_with_penalty_negation_and_floors_it_is_exact(given_: list[float]) -> None:
    odds: dict[Key, Odds | None] = dict(
        zip([key for key, _ in TREE.questions()], given_, strict=True)
    )
    assert ContractModel(TREE).probability(odds) == pytest.approx(enumerated(TREE, odds), abs=1e-9)


# Weights with no grid of a thousand steps.
UNEVEN = "3.17 7.31 1.13 9.71 2.39 4.43 6.07 5.53 8.89 1.97 3.61".split()


def normal(mean: float, sd: float) -> Odds:
    return (Atom(1.0, mean, sd * sd),)


@given(st.floats(40, 99), st.floats(1, 15))
def test_one_scale_needs_the_higher_of_its_bars(mean: float, sd: float) -> None:
    of = rubric(percent("a"), threshold=70, floor=60)
    expected = below((mean - 71) / sd)
    assert ContractModel(of, margin=1).probability({("a", "a"): normal(mean, sd)}) == pytest.approx(
        expected, abs=0.02
    )


@given(st.lists(st.tuples(st.floats(50, 90), st.floats(1, 12)), min_size=2, max_size=5))
def test_several_scales_are_near_to_integration(given_: list[tuple[float, float]]) -> None:
    """Against a convolution on a grid of a fifth of a point."""
    names = "abcde"[: len(given_)]
    of = rubric(*[percent(name) for name in names], threshold=70, floor=60)
    step, size = 0.2, 501
    sums = [1.0]
    for mean, sd in given_:
        grid = [
            density((step * i - mean) / sd) / sd * step if step * i >= 61 - 1e-9 else 0.0
            for i in range(size)
        ]
        grid[-1] += below((mean - 100) / sd)
        grid[305] *= 0.5
        sums = convolved(sums, grid[305:])
    needed = (71 * len(given_) - 61 * len(given_)) / step
    expected = sum(mass for i, mass in enumerate(sums) if i >= needed - 1e-6)
    odds: dict[Key, Odds | None] = {
        (n, n): normal(m, s) for n, (m, s) in zip(names, given_, strict=True)
    }
    assert ContractModel(of, margin=1).probability(odds) == pytest.approx(expected, abs=0.035)


def convolved(left: list[float], right: list[float]) -> list[float]:
    found = [0.0] * (len(left) + len(right) - 1)
    for i, a in enumerate(left):
        if a > 1e-12:
            for j, b in enumerate(right, i):
                found[j] += a * b
    return found


MIXED = rubric(
    group("g", percent("a", floor=50), checklist("b", "xyz", floor=60)),
    percent("c"),
    yes_no("d"),
    threshold=65,
)


@given(
    st.floats(30, 90),
    st.floats(30, 90),
    st.lists(chances, min_size=4, max_size=4),
    st.floats(0, 20),
    chances,
)
def test_it_rises_with_every_belief(
    a: float, c: float, yes: list[float], more: float, further: float
) -> None:
    keys = [("b", "x"), ("b", "y"), ("b", "z"), ("d", "d")]

    def chance(extra: float, lift: float) -> float:
        odds: dict[Key, Odds | None] = {("a", "a"): normal(a + extra, 8), ("c", "c"): normal(c, 8)}
        odds |= {key: p + (1 - p) * lift for key, p in zip(keys, yes, strict=True)}
        return ContractModel(MIXED).probability(odds)

    low = chance(0, 0)
    assert 0 <= low <= 1
    assert chance(more, 0) >= low - 0.02 and chance(0, further) >= low - 0.005


def test_what_does_not_apply_leaves_its_weight_to_the_others() -> None:
    of = rubric(yes_no("a", may_not_apply=True), yes_no("b"), threshold=100)
    assert ContractModel(of).probability({("a", "a"): None, ("b", "b"): 0.9}) == pytest.approx(0.9)
    assert ContractModel(of).probability({("a", "a"): None, ("b", "b"): None}) == 0


def test_a_bar_of_full_marks_can_be_met() -> None:
    """The margin never asks for more than there is, and what code knows needs none."""
    of = rubric(percent("a"), threshold=100)
    assert ContractModel(of).probability({("a", "a"): normal(108, 4)}) == pytest.approx(
        0.977, abs=0.01
    )


def test_a_bar_of_full_marks_is_exact_where_a_penalty_takes_a_group_to_nothing() -> None:
    """Two states of the group score nothing, and its weights have no grid in common with the rest."""
    below_nothing = group(
        "most", yes_no("p"), yes_no("q", weight="2.17"), yes_no("r", weight=-7), weight="0.1"
    )
    rest = [yes_no(name, weight=weight) for name, weight in zip("abcdefg", UNEVEN, strict=False)]
    of = rubric(below_nothing, *rest, threshold=100)
    odds = {key: 0.1 if key in of.bad_keys else 0.9 for key, _ in of.questions()}
    assert ContractModel(of, margin=0).probability(odds) == pytest.approx(0.9 ** len(odds))


def test_the_order_of_criteria_changes_nothing() -> None:
    """A group is as fine as it weighs, also after a light one that is alike."""

    def alike(name: str, weight: str) -> Criterion:
        parts = [yes_no(f"{name}{n}", weight=each) for n, each in enumerate(UNEVEN)]
        return group(name, *parts, weight=weight)

    light, heavy = alike("l", "0.5"), alike("h", "99")
    found = []
    for of in (rubric(light, heavy, threshold=92), rubric(heavy, light, threshold=92)):
        odds = {key: 0.9 if int(key[0][1:]) < 7 else 0.97 for key, _ in of.questions()}
        found.append(ContractModel(of, margin=0).probability(odds))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_the_value_has_a_slope_everywhere_and_misses_cost_most() -> None:
    of = rubric(percent("a"), percent("b"), floor=60)
    contract = ContractModel(of)

    def value(a: float, b: float) -> float:
        return contract.value(
            *contract.moments({("a", "a"): Moments(a, 25), ("b", "b"): Moments(b, 25)})
        )

    values = [value(a, 80) for a in (0, 20, 50, 59, 61, 80, 100)]
    assert values == sorted(values) and len(set(values)) == len(values) and values[-1] < 0
    assert value(60, 60) - value(50, 60) > value(90, 60) - value(80, 60)


def test_a_move_of_one_criterion_reaches_the_groups_above_it() -> None:
    contract = ContractModel(MIXED)
    criteria, _ = contract.moments({key: Moments(50, 100) for key, _ in MIXED.questions()})
    moved, overall = contract.moved(criteria, {"a": 10})
    assert (moved["a"].mean, moved["g"].mean) == (60, 55)
    assert overall.mean == pytest.approx(50 + 5 / 3)


@st.composite
def grouped(draw: st.DrawFn) -> Rubric:
    """Yes/no criteria in groups without bars, two deep, some with floors of their own."""
    names = iter(range(9))

    def leaf() -> Criterion:
        more = draw(st.sampled_from(({}, {"required": True}, {"floor": 50})))
        items = [f"i{n}" for n in range(draw(st.integers(1, 2)))]
        return checklist(f"c{next(names)}", items, weight=draw(st.integers(1, 3)), **more)

    inner = group("inner", leaf(), leaf(), weight=draw(st.integers(1, 3)))
    outer = group("outer", inner, leaf(), weight=draw(st.integers(1, 3)))
    return rubric(outer, leaf(), threshold=draw(st.sampled_from((0, 40, 75, 100))))


@given(grouped(), st.lists(st.floats(0.01, 0.99), min_size=8, max_size=8))
def test_groups_without_bars_count_as_what_is_in_them(of: Rubric, drawn: list[float]) -> None:
    found = CountedContract.of(of)
    if found is None:  # a grid that is too fine
        return
    met = dict(zip([key for key, _ in of.questions()], drawn, strict=False))
    counted = reached(found.shape, found.parts_by_history(lambda key: key), met)
    by_bars = ContractModel(of, margin=0.0).probability(dict(met))
    assert counted == pytest.approx(by_bars, abs=1e-9)


def test_a_group_with_a_bar_is_no_count() -> None:
    children = [yes_no("a"), yes_no("b")]
    assert CountedContract.of(rubric(group("g", *children), yes_no("c"))) is not None
    for bar in ({"floor": 60}, {"required": True}, {"negate": True}):  # type: dict[str, object]
        assert CountedContract.of(rubric(group("g", *children, **bar), yes_no("c"))) is None
