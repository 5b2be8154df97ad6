"""A run of any kind as one document, for who asks in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from honestone.app.doors.measured import RecordedResult
from honestone.app.runs.records import RunRecord, open_run
from honestone.core.errors import UsageError
from honestone.report.building.many import ManyArtifacts
from honestone.report.documents.scorecard import ScorecardDoc

if TYPE_CHECKING:
    from honestone.app.runs.rescore import RescoredRun
    from honestone.app.workspace import Workspace


def shown_run(workspace: Workspace, run: str) -> RecordedResult:
    """Raises StoreError for a run that is not there, UsageError for one that has no document."""
    with open_run(workspace, run) as record:
        return _shown(record)


def _shown(record: RunRecord) -> RecordedResult:
    info = record.info
    name, stated = f"{info.kind} {info.subject}, run {info.id}", info.result or "unfinished"
    match info.kind:
        case "eval" if record.table_columns is not None:
            from msgspec.structs import replace

            from honestone.app.runs.texts import recorded_texts
            from honestone.report.documents.texts import TextRowDoc

            rows: list[TextRowDoc] = []
            doc = recorded_texts(record.store, info, lambda row, _: rows.append(row))
            return RecordedResult(report=replace(doc, rows=rows), stated=doc.verdict, name=name)
        case "eval":
            return _of_cards(list(record.scorecards()), name)
        case "suite" | "column":
            report = record.suite_report().whole
            return RecordedResult(report=report, stated=report.verdict, name=name)
        case "table":
            table = record.table()
            return RecordedResult(report=table, stated=table.verdict, name=name)
        case "improve":
            return RecordedResult(report=record.improvement()[0], stated=stated, name=name)
        case "noise" | "audit" | "calibrate" | "imported":
            return RecordedResult(report=record.document(), stated=stated, name=name)
        case kind:
            raise UsageError(
                f"run {info.id} is of the kind {kind}, which has no single document",
                hint=f"honestone show {info.id} --json",
            )


def _of_cards(cards: Sequence[ScorecardDoc], name: str) -> RecordedResult:
    """The scorecard of one artifact; of several the summary, with a card of each."""
    if not cards:
        raise UsageError("nothing was judged in this run")
    if len(cards) == 1:
        return RecordedResult(report=cards[0], stated=cards[0].verdict, name=name)
    many = ManyArtifacts()
    for card in cards:
        many.add(card)
    doc = many.document()
    return RecordedResult(report=doc, stated=doc.verdict, name=name, cards=cards)


def rescored_result(rescored: RescoredRun) -> RecordedResult:
    """What `rescore` comes to."""
    name = f"rescored run {rescored.info.id}"
    if rescored.report is not None:
        return RecordedResult(report=rescored.report, stated=rescored.verdict, name=name)
    return _of_cards(rescored.scorecards, name)
