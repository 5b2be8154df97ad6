"""What a run came to, read from its events: of a run that is not over, and of kinds whose last
event does not say it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from honestone.app.history import judged_documents, scorer_of, state_of
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
            state = state_of(log)
            card, standing = state.card(state.best), state.standing(state.best)
            title = first.rubric.title
            # What its end shows: the score by every vote, where the policy has beliefs.
            if standing is not None:
                score, probability = standing.score, standing.probability
            elif card.score is not None:
                score = to_points(card.score)
            low_confidence = state.scorer.rests_on_one(card)
        case events.EvaluationStarted():
            title = first.rubric.title
            if _judged_count(log) == 1:
                document = next(judged_documents(store, run))
                score = document.score
                if document.belief is not None:
                    probability = document.belief.probability
            pass_rate, low_confidence = _rate_and_confidence(first, log)
            left_out, undecided = first.left_out, _is_undecided(first, log)
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


def _rate_and_confidence(
    first: events.EvaluationStarted, log: Sequence[events.Event]
) -> tuple[float | None, bool]:
    """The share of several artifacts that passed, of those that could be judged, and whether fewer
    than two judges decided one. There is no share of one artifact, which has a score, and none
    where votes were bought until the verdict was sure: there the marks alone do not decide.
    """
    scorer = scorer_of(first)
    asks_judges, is_lonely = scorer.asks_judges, False
    counts: Counter[Outcome] = Counter()
    has_rate = scorer.rubric.sure is None and _judged_count(log) > 1
    if not asks_judges and not has_rate:
        return None, False
    for event in log:
        for one in events.judged_in(event):
            if one.error is None:
                card = scorer.card(one.ballots)
                is_lonely = is_lonely or scorer.rests_on_one(card)
                if has_rate:
                    counts[judge_gate(card, scorer.rubric).outcome] += 1
    judged = counts[Outcome.PASS] + counts[Outcome.FAIL]
    return counts[Outcome.PASS] / judged if judged else None, is_lonely


def _is_undecided(first: events.EvaluationStarted, log: Sequence[events.Event]) -> bool:
    """Whether everything that is open lacks no answer. It is worked out only under `sure`."""
    scorer = scorer_of(first)
    if scorer.rubric.sure is None:
        return False
    found = []
    for one in (one for event in log for one in events.judged_in(event)):
        gate = scorer.judged(one.ballots)[1]
        verdict = believed(gate, belief_of(scorer.rubric, one.ballots))
        if one.error is not None or verdict.outcome is Outcome.INCONCLUSIVE:
            found.append(one.error is None and verdict.is_undecided)
    return are_undecided(found)


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
