"""Cases with equal answers are scored once; each report still has the words of its own judges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.strategies import checklist, percent, rubric

from honestone.core.checking.check_problems import read_check
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.suite.attempts import Attempt, judge_attempt
from honestone.core.suite.case import Case
from honestone.report.building.scorecard import Facts, SharedParts, scorecard_document
from honestone.report.documents.scorecard import UsageDoc

pytestmark = pytest.mark.slow

RUBRIC = rubric(checklist("facts", ["when", "where"]), percent("tone", weight=2), threshold=60)
CHECKED = replace(
    RUBRIC,
    criteria=tuple(
        replace(
            one,
            items=tuple(
                replace(item, anchors=None, check=read_check({"contains": item.id}))
                for item in one.items
            ),
        )
        for one in RUBRIC.criteria
    ),
)
ITEMS = (("facts", "when"), ("facts", "where"), ("tone", "tone"))


@st.composite
def panels(draw: st.DrawFn) -> list[Ballot]:
    """One or two judges, few different answers and many different words."""
    words = st.sampled_from(["", "one word", "other words of it"])
    ballots = []
    for name in ("a", "b")[: draw(st.integers(1, 2))]:
        answers = [
            draw(st.sampled_from([True, False])),
            draw(st.booleans()),
            draw(st.sampled_from([0, 100, 40.5])),
        ]
        marks = {
            key: Mark(answer, tuple(filter(None, [draw(words)])), draw(words) or None)
            for key, answer in zip(ITEMS, answers, strict=True)
            if draw(st.integers(0, 5))
        }
        ballots.append(
            Ballot(
                judge=name, marks=marks, abstained={k: "no answer" for k in ITEMS if k not in marks}
            )
        )
    return ballots


@st.composite
def of_code(draw: st.DrawFn) -> list[Ballot]:
    """What checks say: a note at some answers, none where a check could not run."""
    marks = {
        key: Mark(draw(st.booleans()), draw(st.sampled_from([(), ("found it",), ("not found",)])))
        for key in ITEMS
        if draw(st.integers(0, 3))
    }
    why = draw(st.sampled_from(["too slow", "no program"]))
    return [
        Ballot(judge=CHECK, marks=marks, abstained={key: why for key in ITEMS if key not in marks})
    ]


@pytest.mark.parametrize("of", [RUBRIC, CHECKED], ids=["judges", "checks"])
@given(panel=st.lists(panels() | of_code(), min_size=1, max_size=8))
def test_what_is_remembered_changes_no_number_and_no_word(
    of: Rubric, panel: list[list[Ballot]]
) -> None:
    scorer, fresh, shared = Scorer(of), Scorer(of), SharedParts()
    facts = Facts(
        path="x", digest="", contract="", run=None, usage=UsageDoc(), text="some words of it"
    )
    for ballots in panel:
        card, verdict = scorer.judged(ballots)
        alone = fresh.card(ballots)
        assert verdict == judge_gate(alone, of)
        assert (card.values, card.low, card.high, card.score) == (
            alone.values,
            alone.low,
            alone.high,
            alone.score,
        )
        known = judge_attempt(1, card, Case(id="c", rubric=of), verdict)
        assert _figures(known) == _figures(judge_attempt(1, alone, Case(id="c", rubric=of)))
        assert scorecard_document(scorer, ballots, facts, shared) == scorecard_document(
            fresh, ballots, facts
        )


def _figures(attempt: Attempt) -> tuple[object, ...]:
    return attempt.status, attempt.low, attempt.high, attempt.reasons
