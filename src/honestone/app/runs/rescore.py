"""A run's recorded answers under other weights, bars or rules. No call is made, and none is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.history import (
    find_run,
    judged_documents,
    scorer_of,
    state_of,
    still_valid,
    text_of,
)
from honestone.app.judging.rubric_plan import load_rubric, with_bars
from honestone.app.workspace import Workspace
from honestone.core import events
from honestone.core.errors import UsageError
from honestone.core.judging.contract import digest_json
from honestone.core.judging.rubric import Rubric, plain_of_contract
from honestone.core.judging.scorecard import Outcome, overall
from honestone.core.record.record import read_record
from honestone.core.record.runs import SUITES
from honestone.ports import RunInfo, Store
from honestone.report.building.scorecard import Facts, scorecard_document
from honestone.report.building.suite import suite_document, suite_usage
from honestone.report.documents.scorecard import RescoredDoc, ScorecardDoc, UsageDoc
from honestone.report.documents.suite import SuiteReportDoc
from honestone.system.files import printable


class RescoreRequest(Struct, frozen=True, kw_only=True):
    """`rubric` is another version of the run's; bars are points, None leaves the rubric's own."""

    run: str = "last"
    rubric: Path | None = None
    threshold: float | None = None
    floor: float | None = None
    combine: str | None = None


class RescoredRun(Struct, frozen=True, kw_only=True):
    """`scorecards` of artifacts, or the `report` of a suite."""

    info: RunInfo
    contract: str
    scorecards: tuple[ScorecardDoc, ...] = ()
    report: SuiteReportDoc | None = None

    @property
    def verdict(self) -> str:
        if self.report is not None:
            return self.report.verdict
        return overall({Outcome(card.verdict) for card in self.scorecards})


def rescore(workspace: Workspace, request: RescoreRequest) -> RescoredRun:
    """Raises UsageError for a run that has no answers to a rubric, StoreError for one that is not
    there.
    """
    with workspace.open_store(readonly=True, is_shown=True) as store:
        info = find_run(store, request.run)
        return (
            _suite(store, info, request)
            if info.kind in SUITES
            else _artifacts(workspace, store, info, request)
        )


def _artifacts(
    workspace: Workspace, store: Store, info: RunInfo, request: RescoreRequest
) -> RescoredRun:
    started = next(store.iter_events(info.id))
    if isinstance(started, events.SuiteImprovementStarted):
        raise UsageError(
            f"run {info.id} improved an artifact over a suite, so its scores are pass rates",
            hint="rescore one of the suite's own runs: `honestone runs` lists them",
        )
    if not isinstance(started, events.EvaluationStarted | events.LoopStarted):
        raise UsageError(
            f"run {info.id} ({info.kind}) has no answers to a rubric",
            hint="`honestone runs` lists them",
        )
    found = (
        started.rubric if request.rubric is None else load_rubric(workspace.path(request.rubric))
    )
    rubric = with_bars(
        found, threshold=request.threshold, floor=request.floor, combine=request.combine
    )
    rule = request.combine or str(started.rule)
    contract = digest_json({**started.contract, "rubric": plain_of_contract(rubric), "rule": rule})
    was = RescoredDoc(run=info.id, contract=info.contract)
    cards = tuple(
        replace(
            card,
            rescored_from=was,
            rubric=card.rubric if request.rubric is None else printable(request.rubric),
            usage=None if card.usage is None else replace(card.usage, judge_calls=0),
        )
        for card in _scorecards(store, info, started, rubric, request.combine, contract)
    )
    return RescoredRun(info=info, contract=contract, scorecards=cards)


def _scorecards(
    store: Store,
    info: RunInfo,
    started: events.EvaluationStarted | events.LoopStarted,
    rubric: Rubric,
    rule: str | None,
    contract: str,
) -> Iterator[ScorecardDoc]:
    if isinstance(started, events.EvaluationStarted):
        yield from judged_documents(store, info.id, rubric=rubric, rule=rule, contract=contract)
        return
    state = state_of(store.events(info.id))
    best = state.best
    ballots = [
        still_valid(ballot, started.rubric, rubric)
        for ballot in state.ballots.get((best, "panel"), {}).values()
    ]
    facts = Facts(
        path=started.artifact.path,
        digest=best,
        contract=contract,
        run=info.id,
        usage=UsageDoc(),
        text=text_of(store, best),
        rubric=started.rubric_path if isinstance(started, events.ImprovementStarted) else None,
    )
    yield scorecard_document(scorer_of(started, rubric=rubric, rule=rule), ballots, facts)


def _suite(store: Store, info: RunInfo, request: RescoreRequest) -> RescoredRun:
    """A suite's run under other bars or another rule. Its rubrics are its cases' own."""
    if request.rubric is not None:
        raise UsageError(
            f"run {info.id} is a suite's, and its cases have rubrics of their own",
            hint="rescore it with --threshold, --floor or --combine; run it again under other rubrics",
        )
    log = store.events(info.id)
    started = log[0]
    assert isinstance(started, events.SuiteStarted)
    rule, before = request.combine or started.rule, started.contract["options"]
    assert isinstance(before, Mapping)
    bars = {"threshold": request.threshold, "floor": request.floor}
    options = {**before, **{name: bar for name, bar in bars.items() if bar is not None}}
    contract = digest_json({**started.contract, "rule": rule, "options": options})
    record = read_record(
        log,
        run=info.id,
        rule=rule,
        bars=lambda rubric: with_bars(
            rubric, threshold=request.threshold, floor=request.floor, combine=request.combine
        ),
    )
    report = replace(
        suite_document(record),
        contract=contract,
        rescored_from=RescoredDoc(run=info.id, contract=info.contract),
        usage=replace(suite_usage(record), judge_calls=0, target_calls=0),
    )
    return RescoredRun(info=info, contract=contract, report=report)
