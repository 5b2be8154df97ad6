"""What a run came to, read from its events: of a run that is not over, and of kinds whose last
event does not say it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from honestone.app.history import scorer_of, state_of
from honestone.app.run_figures import RunFigures
from honestone.app.suites.columns import first_column, read_table, table_spend
from honestone.core import events
from honestone.core.belief.stated import belief_of, believed
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.scorecard import Outcome, are_undecided, judge_gate
from honestone.core.numbers import to_points
from honestone.core.record.record import read_record
from honestone.ports import Store


def read_figures(store: Store, run: str) -> RunFigures:
    log = store.events(run)
    if not log:
        return RunFigures()
    first, spend = log[0], events.total_spend(log)
    seconds = max((event.seconds or 0.0 for event in log), default=0.0)
    title, score, low_confidence, left_out = None, None, False, 0
    probability: float | None = None
    undecided = False
    pass_rate: float | None = None
    match first:
        case events.SuiteStarted():
            from honestone.app.suites.running.side_run import (
                figures_of_suite,  # with all that runs a suite
            )

            return figures_of_suite(read_record(log, run=run), seconds=seconds)
        case events.LoopStarted():
            from honestone.report.building.improvement import (
                rests_on_one_judge,  # with all that draws a loop
            )

            state = state_of(log)
            card, standing = state.card(state.best), state.standing(state.best)
            title = first.rubric.title
            # What its end shows: the score by every vote, where the policy has beliefs.
            if standing is not None:
                score, probability = standing.score, standing.probability
            elif card.score is not None:
                score = to_points(card.score)
            if standing is None:
                probability = state.stated_probability(state.best)
            low_confidence = rests_on_one_judge(state, log)
        case events.EvaluationStarted():
            title = first.rubric.title
            score, probability, pass_rate, low_confidence, undecided = _evaluated(first, log)
            left_out = first.left_out
        case events.TableStarted():
            title, spend = first.suite.title or first.suite.path, table_spend(store, first)
            column = first_column(store, first)
            left_out = len(column.left_out)
            # All columns are read only where it makes a difference.
            undecided = column.sure is not None and read_table(store, run).is_undecided
        case events.StagesStarted():
            title = first.suite.title or first.suite.path
    return RunFigures(
        title=title or None,
        by=_rubric_file(first),
        score=score,
        pass_rate=pass_rate,
        probability=probability,
        is_undecided=undecided,
        usd=spend.usd,
        target_calls=spend.target_calls,
        judge_calls=spend.judge_calls,
        duration_ms=round(seconds * 1000) if seconds else None,
        judges=_judges(first, log),
        low_confidence=low_confidence,
        left_out=left_out,
    )


def _rubric_file(first: events.Event) -> str | None:
    match first:
        case (
            events.EvaluationStarted()
            | events.ImprovementStarted()
            | events.NoiseStarted()
            | events.AuditStarted()
        ):
            return first.rubric_path
    return None


class _Evaluated(NamedTuple):
    """What the artifacts of an evaluation come to; `score` and `probability` are of one alone."""

    score: float | None = None
    probability: float | None = None
    pass_rate: float | None = None
    is_lonely: bool = False
    is_undecided: bool = False


def _evaluated(first: events.EvaluationStarted, log: Sequence[events.Event]) -> _Evaluated:
    """Every artifact is looked at once. The pass rate is the share of several artifacts that passed,
    of those that could be judged: there is none where votes were bought until the verdict was sure,
    for there the marks alone do not decide. What is open is undecided under `sure` only, where every
    part of it lacks no answer.
    """
    scorer = scorer_of(first)
    is_alone, by_belief = _judged_count(log) == 1, scorer.rubric.sure is not None
    counts: Counter[Outcome] = Counter()
    open_parts: list[bool] = []
    found = _Evaluated()
    for one in (one for event in log for one in events.judged_in(event)):
        card = scorer.card(one.ballots)
        verdict = judge_gate(card, scorer.rubric)
        if is_alone or by_belief:
            belief = belief_of(scorer.rubric, one.ballots, verdict)
            verdict = believed(verdict, belief, scorer.rule)
            if is_alone:
                found = found._replace(
                    score=None if card.score is None else to_points(card.score),
                    probability=None if belief is None else belief.probability,
                )
        if one.error is not None:
            open_parts.append(False)
            continue
        found = found._replace(is_lonely=found.is_lonely or scorer.rests_on_one(card))
        counts[verdict.outcome] += 1
        if verdict.outcome is Outcome.INCONCLUSIVE:
            open_parts.append(verdict.is_undecided)
    judged = counts[Outcome.PASS] + counts[Outcome.FAIL]
    has_rate = judged > 0 and not is_alone and not by_belief
    return found._replace(
        pass_rate=counts[Outcome.PASS] / judged if has_rate else None,
        is_undecided=are_undecided(open_parts),
    )


def _judged_count(log: Sequence[events.Event]) -> int:
    """How many artifacts have a result. What text checks alone judged is recorded for many at once."""
    alone = sum(isinstance(event, events.ArtifactJudged) for event in log)
    return alone + sum(
        len(event.artifacts) for event in log if isinstance(event, events.ArtifactsChecked)
    )


def _judges(first: events.Event, log: Sequence[events.Event]) -> tuple[str, ...]:
    """Who was to judge; over the splits of a suite, who judged there."""
    if isinstance(first, events.SuiteImprovementStarted):
        judges = [
            str(one.get("id"))
            for event in log
            if isinstance(event, events.BallotCast)
            for one in event.judges
        ]
    else:
        held = first.holdouts if isinstance(first, events.LoopStarted) else ()
        judges = [*(first.panel if isinstance(first, events.Started) else ()), *held]
    return tuple(dict.fromkeys(judge for judge in judges if judge != CHECK))
