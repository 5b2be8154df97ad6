"""What the page about the judges of a run is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from honestone.app.judging.measured.audits import audit_document
from honestone.app.judging.measured.calibrations import calibration_document
from honestone.app.judging.measured.measured_before import (
    Before,
    judges_of,
    measured_before,
    newest_that_holds,
)
from honestone.app.runs.records import RunRecord
from honestone.core.errors import UsageError
from honestone.core.events import AuditStarted, CalibrationStarted, Event, Started, TableStarted
from honestone.core.judging.spend import Spend
from honestone.core.record.judge_spends import judge_spends
from honestone.ports import Store
from honestone.report.building.judges_of_run import JudgesOfRun, KnownBefore
from honestone.report.building.scorecard import usage_document
from honestone.report.documents.scorecard import CriterionDoc, JudgeDoc, UsageDoc, first_look
from honestone.report.documents.trust.audit import AuditedJudgeDoc
from honestone.report.documents.trust.calibration import CalibratedJudgeDoc
from honestone.report.pages.html_page import draw_page

_RESULTS = ("measured", "inconclusive")


def judges_page(record: RunRecord) -> str:
    """Raises UsageError for a run in which no judge gives answers of its own."""
    found, usage = JudgesOfRun(), None
    for criteria, judges, spent in _judged(record):
        found.add(criteria, judges)
        usage = spent or usage
    spends = judge_spends(_log(record))
    costs = {judge: usage_document(spend) for judge, spend in _by_judge(spends or {}).items()}
    notes = ["The record has the cost of all judges together."] if usage and spends is None else []
    return draw_page(
        "view_judges.html.j2",
        served="judges",
        title=record.info.subject,
        run=record.info.id,
        found=found,
        measured=_measured(record),
        usage=usage,
        costs=costs,
        notes=notes,
    )


def _by_judge(spends: Mapping[str, Spend]) -> dict[str, Spend]:
    """What all looks of a judge cost."""
    looks: dict[str, list[Spend]] = {}
    for judge, spend in spends.items():
        looks.setdefault(first_look(judge), []).append(spend)
    return {judge: Spend.of(found) for judge, found in looks.items()}


def _log(record: RunRecord) -> Iterator[Event]:
    """The events of a run, and of the columns of a table."""
    for event in record.store.iter_events(record.info.id):
        yield event
        if isinstance(event, TableStarted):
            for column in event.columns:
                yield from record.store.iter_events(column.run)


def _judged(
    record: RunRecord,
) -> Iterator[tuple[Sequence[CriterionDoc], Sequence[JudgeDoc], UsageDoc | None]]:
    match record.info.kind:
        case "eval":
            for card in record.scorecards():
                yield card.criteria, card.judges, card.usage
        case "improve":
            document = record.improvement()[0]
            for number, one in enumerate((document.baseline, document.final)):
                if one is not None and (number == 0 or document.best_round):
                    yield one.criteria, one.judges, document.usage
        case "suite" | "column":
            report = record.suite_report()
            yield (), (), report.head.usage
            for case in report.cases:
                yield case.criteria, case.judges, None
        case "table":
            table = record.table()
            yield (), (), table.usage
            for row in table.cases:
                for cell in row.cells:
                    yield cell.criteria, cell.judges, None
        case kind:
            raise UsageError(
                f"run {record.info.id} is of kind `{kind}`: its own page has what judges said"
            )


def _measured(record: RunRecord) -> dict[str, KnownBefore]:
    """What earlier runs know of the judges, as this run's contract has them."""
    first = next(record.store.iter_events(record.info.id))
    if not isinstance(first, Started):
        return {}
    store, found = record.store, {}
    for judge in judges_of(first.contract):
        calibrated = measured_before(
            store, [(CalibrationStarted.kind, one) for one in _RESULTS], first.contract, judge
        )
        audited = measured_before(
            store, [(AuditStarted.kind, one) for one in _RESULTS], first.contract, judge
        )
        fit = newest_that_holds(calibrated, lambda before: _fit(store, before))
        audit = newest_that_holds(audited, lambda before: _audit(store, before))
        found[str(judge.get("id"))] = KnownBefore(
            calibration=fit if fit is None or isinstance(fit, str) else (fit[0].run, fit[1]),
            audit=audit if audit is None or isinstance(audit, str) else (audit[0].run, audit[1]),
        )
    return found


def _fit(store: Store, before: Before) -> CalibratedJudgeDoc | None:
    judges = calibration_document(store, before.run).judges
    return next((one for one in judges if one.id == before.judge and one.units), None)


def _audit(store: Store, before: Before) -> AuditedJudgeDoc | None:
    judges = audit_document(store.events(before.run), run=before.run).judges
    return next((one for one in judges if one.id == before.judge and one.tier is not None), None)
