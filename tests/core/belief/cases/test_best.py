"""What the best of several attempts depends on, as by counting every score that each may come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.strategies import ballot, checked, rubric, yes_no

from honestone.core.belief.cases.best import best_passes, depends_on_each
from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.errors import MODELS
from honestone.core.belief.verdict import Assumption, TextBelief, met_odds
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.rubric import Rubric

ONE = Assumption(MODELS[5], 0.6)
# What fails may score more than what passes: it lacks what is required.
RUBRIC = rubric(yes_no("a", weight=2, required=True), yes_no("b", weight=3), threshold=40)
CHECKED = rubric(checked("c", weight=2, required=True), yes_no("b", weight=3), threshold=40)


class State:
    """One state of an attempt: how probable it is, its score, and whether it passes."""

    def __init__(self, chance: float, a: bool, b: bool) -> None:
        self.chance, self.score = chance, Fraction(2 * a + 3 * b, 5)
        self.is_met = a and self.score >= Fraction(40, 100)


def states(text: TextBelief) -> Iterator[State]:
    odds = [met_odds(ONE, text.history(key)) for key in (("a", "a"), ("b", "b"))]
    for truth in product((True, False), repeat=2):
        chance = prod(odd if met else 1.0 - odd for odd, met in zip(odds, truth, strict=True))
        yield State(chance, *truth)


def passes(found: Sequence[State], is_turned: bool) -> bool:
    best = max(range(len(found)), key=lambda number: (found[number].score, -number))
    return found[best].is_met is not is_turned


LOOK = st.tuples(st.booleans(), st.booleans())


@given(st.lists(st.lists(LOOK, max_size=2), min_size=2, max_size=3), st.booleans())
def test_the_best_attempt_is_counted(
    attempts: list[list[tuple[bool, bool]]], is_turned: bool
) -> None:
    texts = [
        TextBelief(RUBRIC).see_all(
            [ballot(f"j{n}", {"a": a, "b": b}) for n, (a, b) in enumerate(looks)]
        )
        for looks in attempts
    ]
    every = [list(states(text)) for text in texts]
    rows = [(prod(one.chance for one in row), row) for row in product(*every)]
    whole = sum(chance for chance, row in rows if passes(row, is_turned))
    assert best_passes(texts, ONE, is_turned=is_turned) == pytest.approx(whole, abs=1e-9)
    found = depends_on_each(texts, ONE, is_turned=is_turned)
    for number, own in enumerate(every):
        expected = 0.0
        for state in own:
            known = [(chance, row) for chance, row in rows if row[number] is state]
            given_it = sum(chance for chance, row in known if passes(row, is_turned))
            expected += state.chance * (given_it / state.chance - whole) ** 2
        assert found[number] == pytest.approx(expected, abs=1e-9)


def checked_text(is_good: bool, *looks: bool) -> TextBelief:
    found = [
        Ballot(judge=f"j{n}", marks=ballot("j", {"b": met}).marks) for n, met in enumerate(looks)
    ]
    return TextBelief(CHECKED).see_all([ballot(CHECK, {"c": is_good}), *found])


def test_marks_that_choose_between_what_code_settles_make_nothing_certain() -> None:
    """Code fails the first attempt and passes the second one: which of them is best, a judge says."""
    chances = []
    for first, second in (((True,), (False,)), ((False,), (True,)), ((True,) * 3, (False,) * 3)):
        texts = checked_text(False, *first), checked_text(True, *second)
        case = CaseBelief.of_best("a", [CaseBelief("a", text) for text in texts])
        assert case.certain is None
        found = SuiteBelief([case], 1).chance
        assert found is not None and 0.0 < found.chance < 1.0
        chances.append(found.chance)
    assert chances[2] < chances[0] < 0.5 < chances[1]


def test_what_code_settles_alike_in_every_attempt_is_certain() -> None:
    for is_good in (True, False):
        texts = checked_text(is_good, True), checked_text(is_good, False)
        case = CaseBelief.of_best("a", [CaseBelief("a", text) for text in texts])
        assert case.certain is is_good


@pytest.mark.parametrize(
    ("given_", "is_by_score"),
    [
        (RUBRIC, False),
        (CHECKED, False),
        (rubric(yes_no("a"), yes_no("b")), True),
        (rubric(yes_no("a"), yes_no("b"), floor=60), True),
        (rubric(yes_no("a", required=True), yes_no("b"), threshold=50), False),
    ],
)
def test_whether_the_score_alone_says_what_passes(given_: Rubric, is_by_score: bool) -> None:
    assert TextBelief(given_).is_by_score is is_by_score
