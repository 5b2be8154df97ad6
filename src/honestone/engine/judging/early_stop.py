"""Whether the verdict is settled before every judge has answered.

The remaining judges are given the worst answers and then the best. When even the worst pass, or
even the best fail, nothing that they could say changes the verdict: a mean, median, majority or
minimum only moves with its votes, an abstention leaves it between the two, and an item without an
answer spans the whole interval anyway. Where an item may be answered "n/a" that argument does not
hold (it can leave the mean), so nothing is settled early then.
"""

from __future__ import annotations

from collections.abc import Sequence

from honestone.core.judging.ballot import Answer, Ballot, JudgeState, Mark, asked_criteria
from honestone.core.judging.rubric import Item, Rubric, as_written
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer


def settled(scorer: Scorer, ballots: Sequence[Ballot], remaining: Sequence[str]) -> Outcome | None:
    """The verdict that no answer of the remaining judges can change, or None while it is open."""
    rubric = scorer.rubric
    if any(item.may_not_apply for _, item in rubric.questions() if item.check is None):
        return None
    spared = [Ballot(judge=judge, marks={}, state=JudgeState.SKIPPED) for judge in remaining]
    if rubric.quorum is not None and scorer.card([*ballots, *spared]).short:
        return None
    worst = [_answers(rubric, judge, best=False) for judge in remaining]
    if judge_gate(scorer.card([*ballots, *worst]), rubric).outcome is Outcome.PASS:
        return Outcome.PASS
    best = [_answers(rubric, judge, best=True) for judge in remaining]
    if judge_gate(scorer.card([*ballots, *best]), rubric).outcome is Outcome.FAIL:
        return Outcome.FAIL
    return None


def _answers(rubric: Rubric, judge: str, *, best: bool) -> Ballot:
    penalties = {criterion.id for criterion, _ in rubric.walk() if criterion.is_penalty}
    marks = {
        (criterion.id, item.id): Mark(_answer(item, best != (criterion.id in penalties)))
        for criterion in asked_criteria(rubric)
        for item in criterion.items
    }
    return Ballot(judge=judge, marks=marks)


def _answer(item: Item, good: bool) -> Answer:
    if item.anchors is None:
        return good
    return as_written(item.anchors.highest if good else item.anchors.lowest)
