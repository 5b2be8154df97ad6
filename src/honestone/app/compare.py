"""Runs of a suite next to each other: two case by case, or many in a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from honestone.app.suites.baseline import run_or_report
from honestone.app.suites.comparing import compare_reports, require_gates
from honestone.app.workspace import Workspace
from honestone.core.errors import StoreError, UsageError
from honestone.core.suite.comparison import COMPARE_GATES
from honestone.ports import Store
from honestone.report.json_document import JsonDocument
from honestone.report.suite_documents import trend_document


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareRequest:
    """Each side is a run, a saved report's file, or a report. `gates` as `--fail-on` takes them; empty for the usual."""

    baseline: str | Path | JsonDocument
    candidate: str | Path | JsonDocument
    gates: tuple[str, ...] = ()
    across_contracts: bool = False
    require_improvement: bool = False


def compare_runs(workspace: Workspace, request: CompareRequest) -> JsonDocument:
    """`honestone.comparison/1`. Raises ContractMismatch when the two were judged differently, unless that is accepted."""
    gates = require_gates(request.gates) or COMPARE_GATES
    with workspace.open_store() as store:
        before, after = (_report(workspace, store, side) for side in (request.baseline, request.candidate))
        contracts = _contracts(store, before, after)
    return compare_reports(
        before,
        after,
        gates=gates,
        across=request.across_contracts,
        require_improvement=request.require_improvement,
        documents=contracts,
    )


def trend(workspace: Workspace, runs: Sequence[str]) -> JsonDocument:
    """How the results changed over runs, in the order given."""
    with workspace.open_store() as store:
        reports = [_report(workspace, store, name) for name in runs]
    contracts = {report["contract"] for report in reports}
    notes = ["these runs were judged under different contracts; their figures do not mean the same"]
    return trend_document(reports, notes=notes if len(contracts) > 1 else [])


def _report(workspace: Workspace, store: Store, side: str | Path | JsonDocument) -> JsonDocument:
    if isinstance(side, Mapping):
        return side
    name, path = str(side), workspace.path(side)
    # A run's id comes first; what is not one may be a file in the workspace's folder.
    found = run_or_report(name, store) or (run_or_report(str(path), store) if str(path) != name else None)
    if found is not None:
        return found
    is_file = bool(name) and path.exists()
    if name and not is_file:
        store.find_run(name)  # raises the error that says whether there is none, or more than one
    raise UsageError(
        f"`{name}` is {'a file, but not a saved report' if is_file else 'neither a run nor a saved report'}",
        hint="`honestone runs` lists runs; `honestone eval SUITE --json > report.json` saves one",
    )


def _contracts(store: Store, before: JsonDocument, after: JsonDocument) -> tuple[JsonDocument, JsonDocument] | None:
    """Both contracts in full, where both runs are in this store."""
    try:
        return (
            store.events(store.find_run(before["run"]).id)[0]["contract"],
            store.events(store.find_run(after["run"]).id)[0]["contract"],
        )
    except (StoreError, IndexError, KeyError, TypeError):
        return None
