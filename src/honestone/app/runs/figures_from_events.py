"""What a run came to, read from its events: of a run that is not over, and of kinds whose last
event does not say it.
"""

from __future__ import annotations

from collections.abc import Sequence

from honestone.app.history import judged_documents, scorer_of, state_of
from honestone.app.run_figures import RunFigures
from honestone.app.suites.columns import first_column, table_spend
from honestone.core import events
from honestone.core.judging.ballot import CHECK
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
    match first:
        case events.SuiteStarted():
            from honestone.app.suites.running.side_run import (
                figures_of_suite,  # with all that runs a suite
            )

            return figures_of_suite(read_record(log, run=run), seconds=seconds)
        case events.LoopStarted():
            state = state_of(log)
            card = state.card(state.best)
            title, score = first.rubric.title, None if card.score is None else to_points(card.score)
            low_confidence = state.scorer.asks_judges and card.low_confidence
        case events.EvaluationStarted():
            title = first.rubric.title
            if _judged_count(log) == 1:
                document = next(judged_documents(store, run))
                score = document.score
                probability = None if document.belief is None else document.belief.probability
            low_confidence = _is_lonely(first, log)
            left_out = first.left_out
        case events.TableStarted():
            title, spend = first.suite.title or first.suite.path, table_spend(store, first)
            left_out = len(first_column(store, first).left_out)
        case events.StagesStarted():
            title = first.suite.title or first.suite.path
    return RunFigures(
        title=title or None,
        by=_rubric_file(first),
        score=score,
        probability=probability,
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
        case events.EvaluationStarted() | events.NoiseStarted() | events.AuditStarted():
            return first.rubric_path
    return None


def _is_lonely(first: events.EvaluationStarted, log: Sequence[events.Event]) -> bool:
    """Whether fewer than two judges decided an artifact."""
    scorer = scorer_of(first)
    judged = (
        event for event in log if isinstance(event, events.ArtifactJudged) and event.error is None
    )
    return scorer.asks_judges and any(scorer.card(event.ballots).low_confidence for event in judged)


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
