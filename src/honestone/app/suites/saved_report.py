"""Saved reports of suites (`eval SUITE --json > FILE`), read for a comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from honestone.core.checks import visible
from honestone.core.errors import UsageError
from honestone.core.events import StartedArtifact
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import CaseSide
from honestone.core.suite.record import CaseSummary, ItemSummary, RunSummary, make_task, printed_share
from honestone.report.documents.scorecard import ItemDoc
from honestone.report.documents.suite import REPORT, BaselineDoc, CaseDoc, SuiteReportDoc

MAX_BYTES: Final = 500_000_000
_SAVE: Final = "`honestone show RUN --json > FILE` saves one"
_OURS: Final = re.compile(rb'"schema"\s*:\s*"honestone\.')


def read_saved_report(path: Path) -> RunSummary | None:
    """The run in a saved report, whatever its file is called; None for a file that is something else.

    Raises UsageError for another kind of document of ours, and for a report that is damaged: as an artifact it would
    be a baseline by mistake.
    """
    data = _beginning_with_a_brace(path)
    if data is None:
        return None
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        if _OURS.search(data[:4000]):
            raise UsageError(f"`{path}` was a report, but it is cut off or damaged", hint=_SAVE) from None
        return None
    schema = document.get("schema") if isinstance(document, dict) else None
    if not isinstance(schema, str) or not schema.startswith("honestone."):
        return None
    return read_report(document, f"`{path}`")


def read_report(document: Mapping[str, object], name: str) -> RunSummary:
    """The run in a report. Raises UsageError, which calls it by `name`, for another document and a damaged one."""
    schema = document.get("schema")
    if schema != REPORT:
        raise UsageError(f"{name} is {visible(str(schema), 60)}, not the {REPORT} of a suite", hint=_SAVE)
    try:
        return _summary(msgspec.convert(document, SuiteReportDoc))
    except ValueError as error:
        raise UsageError(f"{name} is not a complete report: {visible(str(error), 200)}", hint=_SAVE) from None


def _summary(report: SuiteReportDoc) -> RunSummary:
    """Raises ValueError when a case is in it twice."""
    cases = {case.id: _case(case) for case in report.cases}
    if len(cases) != len(report.cases):
        raise ValueError("a case is in it twice")
    artifact, span = report.artifact, report.pass_rate_interval
    return RunSummary(
        run=report.run,
        suite=report.suite.title or report.suite.path,
        artifact=None if artifact is None else StartedArtifact(path=artifact.path, digest=artifact.digest),
        target=report.target,
        verdict=report.verdict,
        pass_rate=report.pass_rate,
        pass_rate_interval=None if span is None else (span[0], span[-1]),
        mean_score=report.mean_score,
        counts=report.counts,
        contract=report.contract,
        cases=cases,
        is_mock=report.mock is True,
        left_out=tuple(report.left_out_cases or ()),
        baseline=report.baseline.name if isinstance(report.baseline, BaselineDoc) else None,
        baseline_tasks=msgspec.convert(report.baseline_results or (), tuple[TaskResult, ...]),
    )


def _case(case: CaseDoc) -> CaseSummary:
    status = Status(case.status)
    task = make_task(
        case.id,
        status=status,
        points=case.score,
        items=[_item(item) for criterion in case.criteria for item in criterion.items],
        duration_ms=int(case.duration_ms or 0),
        reasons=[*case.reasons, *(f"{one.id}: {one.reason}" for one in case.judges if one.reason)],
        attempts=[Status(one.status) for one in case.attempts],
    )
    side = CaseSide(status=status, score=printed_share(case.score), is_unstable=case.unstable)
    return CaseSummary(side=side, contract=case.contract, input=str(case.input or ""), task=task)


def _item(item: ItemDoc) -> ItemSummary:
    met = False if item.unmet else None if item.met is None else True
    return ItemSummary(name=item.requirement or item.id, met=met, suggestion=item.suggestion)


def _beginning_with_a_brace(path: Path) -> bytes | None:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        with path.open("rb") as file:
            start = file.read(4096)
            return start + file.read() if start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else None
    except (OSError, ValueError):
        return None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")
