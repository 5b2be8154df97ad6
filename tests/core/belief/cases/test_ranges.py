"""How probable it is that true scores are in ranges: by bars, as by counting every state of the items."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.belief.cases.ranges import OutsideBelief, Ranges, text_with
from honestone.core.belief.verdict import Assumption, TextBelief, assumptions, met_odds
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer

RUBRIC = Rubric(
    criteria=tuple(
        Criterion(
            id=id,
            requirement="x",
            weight=Fraction(weight),
            items=tuple(Item(id=f"{id}{n}", requirement="x") for n in range(items)),
        )
        for id, weight, items in (("a", 2, 3), ("b", 1, 2))
    ),
    threshold=Fraction(70, 100),
    floor=Fraction(30, 100),
)
KEYS = [key for key, _ in RUBRIC.questions()]


def look(number: int, answers: list[bool]) -> Ballot:
    marks = {key: Mark(one) for key, one in zip(KEYS, answers, strict=True)}
    return Ballot(judge=f"j{number}", marks=marks)


def counted(text: TextBelief, one: Assumption, ranges: Ranges) -> float:
    """P(every range is kept) over all states of the items."""
    found, spans = 0.0, dict(ranges.criteria)
    for truth in product((True, False), repeat=len(KEYS)):
        chance = 1.0
        for key, met in zip(KEYS, truth, strict=True):
            odds = met_odds(one, text.history(key))
            chance *= odds if met else 1.0 - odds
        card = Scorer(RUBRIC).card([look(0, list(truth))])
        inside = ranges.score is None or ranges.score[0] <= card.low <= ranges.score[1]
        inside &= all(low <= card.line(id).low <= high for id, (low, high) in spans.items())
        if ranges.wants_met is not None:
            inside &= (judge_gate(card, RUBRIC).outcome is Outcome.PASS) is ranges.wants_met
        found += chance * inside
    return found


ends = st.tuples(st.integers(0, 100), st.integers(0, 100)).map(
    lambda two: (Fraction(min(two), 100), Fraction(max(two), 100))
)


@given(
    st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=3),
    st.none() | ends,
    st.dictionaries(st.sampled_from("ab"), ends),
    st.sampled_from([None, True, False]),
)
def test_ranges_are_as_probable_as_their_states(
    answers: list[list[bool]],
    score: tuple[Fraction, Fraction] | None,
    criteria: dict[str, tuple[Fraction, Fraction]],
    wants_met: bool | None,
) -> None:
    """Of the whole and of criteria, with the contract met, or not, or either."""
    ranges = Ranges(score, tuple(sorted(criteria.items())), wants_met)
    text = OutsideBelief.of(RUBRIC, ranges)
    assert text is not None
    text.see_all(look(number, one) for number, one in enumerate(answers))
    for one in list(assumptions(text.tallies))[:3]:
        assert 1.0 - text.under(one) == pytest.approx(counted(text, one, ranges), abs=1e-6)


def test_what_no_range_is_expected_of_is_any_text() -> None:
    """Nor where doubt is expected of the judges."""
    assert type(text_with(RUBRIC, None)) is TextBelief
    doubt = {"verdict": "inconclusive", "score": ["0", "1/2"], "criteria": {}}
    assert type(text_with(RUBRIC, doubt)) is TextBelief
    met = {"verdict": "pass", "score": None, "criteria": {}}
    assert type(text_with(RUBRIC, met)) is TextBelief
    span = {"verdict": None, "score": ["1/5", "1/2"], "criteria": {}}
    assert isinstance(text_with(RUBRIC, span), OutsideBelief)
