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
from honestone.core.suite.summary import CaseSummary, ItemSummary, RunSummary, make_task, printed_share
from honestone.report.documents.suite import REPORT

MAX_BYTES: Final = 500_000_000
_SAVE: Final = "`honestone show RUN --json > FILE` saves one"
_OURS: Final = re.compile(rb'"schema"\s*:\s*"honestone\.')


class _Item(msgspec.Struct):
    id: str
    met: float | None = None
    unmet: bool | None = None
    requirement: str | None = None
    suggestion: str | None = None


class _Criterion(msgspec.Struct):
    items: list[_Item] = []


class _Judge(msgspec.Struct):
    id: str
    reason: str | None = None


class _Attempt(msgspec.Struct):
    status: Status


class _Case(msgspec.Struct):
    id: str
    status: Status
    contract: str
    score: float | None
    unstable: bool
    input: str = ""
    duration_ms: int | None = None
    reasons: list[str] = []
    judges: list[_Judge] = []
    attempts: list[_Attempt] = []
    criteria: list[_Criterion] = []

    def summary(self) -> CaseSummary:
        items = [item for criterion in self.criteria for item in criterion.items]
        task = make_task(
            self.id,
            status=self.status,
            points=self.score,
            items=[ItemSummary(name=i.requirement or i.id, met=_met(i), suggestion=i.suggestion) for i in items],
            duration_ms=self.duration_ms or 0,
            reasons=[*self.reasons, *(f"{one.id}: {one.reason}" for one in self.judges if one.reason)],
            attempts=[one.status for one in self.attempts],
        )
        side = CaseSide(status=self.status, score=printed_share(self.score), is_unstable=self.unstable)
        return CaseSummary(side=side, contract=self.contract, input=self.input, task=task)


class _Suite(msgspec.Struct):
    path: str
    title: str


class _Baseline(msgspec.Struct):
    name: str | None = None


class _Report(msgspec.Struct):
    run: str | None
    suite: _Suite
    artifact: StartedArtifact | None
    target: str | None
    verdict: str
    pass_rate: float | None
    pass_rate_interval: tuple[float, float] | None
    mean_score: float | None
    counts: dict[str, int]
    contract: str
    cases: list[_Case]
    mock: bool = False
    baseline: _Baseline | None = None
    baseline_results: list[TaskResult] = []


def _met(item: _Item) -> bool | None:
    return False if item.unmet else None if item.met is None else True


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
        return _summary(msgspec.convert(document, _Report))
    except ValueError as error:
        raise UsageError(f"{name} is not a complete report: {visible(str(error), 200)}", hint=_SAVE) from None


def _summary(report: _Report) -> RunSummary:
    """Raises ValueError when a case is in it twice."""
    cases = {case.id: case.summary() for case in report.cases}
    if len(cases) != len(report.cases):
        raise ValueError("a case is in it twice")
    return RunSummary(
        run=report.run,
        suite=report.suite.title or report.suite.path,
        artifact=report.artifact,
        target=report.target,
        verdict=report.verdict,
        pass_rate=report.pass_rate,
        pass_rate_interval=report.pass_rate_interval,
        mean_score=report.mean_score,
        counts=report.counts,
        contract=report.contract,
        cases=cases,
        is_mock=report.mock,
        baseline=None if report.baseline is None else report.baseline.name,
        baseline_tasks=tuple(report.baseline_results),
    )


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
