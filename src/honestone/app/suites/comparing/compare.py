"""Two runs of a suite: whether they may be compared, what changed, and what that means for a gate."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from honestone.app.doors.results import DocumentResult
from honestone.app.judging.measured.known_noise import noise_of_cases
from honestone.app.suites.options import require_gates
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.subject import find_run_summary
from honestone.app.workspace import Workspace
from honestone.core.belief.cases.sides import better_than
from honestone.core.errors import ContractMismatch, StoreError, UsageError
from honestone.core.events import Started, SuiteStarted
from honestone.core.judging.contract import ContractDocument, differences
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.record.case_belief import Chances
from honestone.core.record.summary import RunSummary
from honestone.core.suite.comparison import (
    COMPARE_GATES,
    RunComparison,
    compare,
    judge_comparison,
)
from honestone.ports import Store
from honestone.report.building.suite import comparison_document, trend_document, with_noise
from honestone.report.documents.scorecard import KnownNoiseDoc
from honestone.report.documents.suite import ComparedCaseDoc, ComparisonDoc, TrendDoc
from honestone.system.drawing import count


def compare_summaries(
    before: RunSummary,
    after: RunSummary,
    *,
    gates: Sequence[str],
    across: bool,
    require_improvement: bool = False,
    contracts: tuple[ContractDocument, ContractDocument] | None = None,
    left_out: Collection[str] = (),
) -> RunComparison:
    """Raises ContractMismatch when the two were judged differently, unless `across`.

    `left_out` are cases that were not chosen to be run. `contracts` are both contracts in full,
    where they are known, to say in words what differs.
    """
    cases = {id: case.contract for id, case in after.cases.items()}
    changed = _contract_changes(before, after.contract, cases, contracts)
    if not across:
        _refuse(changed)
    comparison = compare(before.sides, after.sides, left_out=left_out)
    verdict = judge_comparison(comparison, gates)
    if (
        require_improvement
        and verdict.outcome is Outcome.PASS
        and (comparison.interval is None or comparison.interval[0] <= 0)
    ):
        why = (
            "the improvement is not above the noise: the lower bound of the interval is not above 0"
        )
        verdict = Verdict(Outcome.FAIL, (why,))
    better, worse = _better_and_worse(before.chances(), after.chances())
    return RunComparison(
        found=comparison,
        verdict=verdict,
        baseline=before.run,
        candidate=after.run,
        notes=tuple(changed),
        better=better,
        worse=worse,
    )


def require_same_contract(plan: SuitePlan, store: Store, before: RunSummary) -> None:
    """Before anything is spent. Raises ContractMismatch where a run that was not begun yet would be
    judged in another way than its baseline, and nothing says that this is wanted.
    """
    if plan.request.across_contracts:
        return
    cases = {case.id: plan.contract_of(case) for case in plan.chosen}
    # Only a difference is worth reading the other contract from the store, to say it in words.
    if _contract_changes(before, plan.contract.id, cases, None):
        then = _contract_of(store, before)
        both = None if then is None else (then, plan.contract.document)
        _refuse(_contract_changes(before, plan.contract.id, cases, both))


def _refuse(changed: Sequence[str]) -> None:
    if changed:
        raise ContractMismatch(
            "the two runs were judged under different contracts:\n  " + "\n  ".join(changed[:20]),
            hint="run the baseline again under this contract, or compare all the same with --across-contracts",
        )


def _better_and_worse(before: Chances, after: Chances) -> tuple[float | None, float | None]:
    """Both sides by the same rule: what a saved report does not say is used of neither."""
    if before.together is not None and after.together is not None:
        then, now = before.together, after.together
    else:
        then, now = before.alone, after.alone
    if not then.keys() & now.keys():
        return None, None
    return better_than(now, then, after.texts, before.texts)


def _contract_changes(
    before: RunSummary,
    contract: str,
    cases: Mapping[str, str],
    contracts: tuple[ContractDocument, ContractDocument] | None,
) -> list[str]:
    changed = []
    if before.contract != contract:
        changes = differences(*contracts) if contracts is not None else []
        changes = changes or [f"{before.contract[:19]} became {contract[:19]}"]
        changed += [f"the contract that all cases share: {line}" for line in changes]
    for id, own in cases.items():
        then = before.cases.get(id)
        if then is not None and then.contract != own:
            changed.append(
                f"case `{id}` has another contract: its rubric, input, reference, workspace or attempts changed"
            )
    return changed


class CompareRequest(Struct, frozen=True, kw_only=True):
    """Each side is a run, a saved report's file, or the run in a report. `gates` as `--fail-on` takes them;
    empty for the usual.
    """

    baseline: str | Path | RunSummary
    candidate: str | Path | RunSummary
    gates: tuple[str, ...] = ()
    across_contracts: bool = False
    require_improvement: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ComparisonResult(DocumentResult):
    """Two runs, case by case. Its document is `honestone.comparison/1`."""

    heads = ("case", "baseline", "candidate", "delta")
    report: ComparisonDoc

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`, by the gates of `fail_on`."""
        return self.report.verdict

    @property
    def run(self) -> None:
        """A comparison is not kept."""

    @property
    def cases(self) -> Sequence[ComparedCaseDoc]:
        return tuple(self.report.cases)

    @property
    def regressions(self) -> list[str]:
        """The ids of cases that passed in the baseline and fail in the candidate."""
        return list(self.report.regressions)

    @property
    def improvements(self) -> list[str]:
        return list(self.report.improvements)

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (case.id, case.baseline.status, case.candidate.status, case.delta)
            for case in self.cases
        ]

    @property
    def is_low_confidence(self) -> bool:
        return bool(self.report.low_confidence_cases)

    @property
    def headline(self) -> str:
        turned = f"{count(len(self.regressions), 'regression')}, {count(len(self.improvements), 'improvement')}"
        return f"{self.stated_verdict}, {turned}: {self.report.baseline} to {self.report.candidate}"

    def _as_struct(self) -> ComparisonDoc:
        return self.report


def compare_runs(workspace: Workspace, request: CompareRequest) -> ComparisonDoc:
    """`honestone.comparison/1`. Raises ContractMismatch when the two were judged differently,
    unless that is accepted.
    """
    with workspace.open_store() as store:
        return compare_in(store, workspace, request)


def compare_in(store: Store, workspace: Workspace, request: CompareRequest) -> ComparisonDoc:
    """The same in an open store."""
    gates = require_gates(request.gates) or COMPARE_GATES
    before, after = (
        _summary(workspace, store, side) for side in (request.baseline, request.candidate)
    )
    contracts = _contracts(store, before, after)
    noise = _noise(store, after)
    comparison = compare_summaries(
        before,
        after,
        gates=gates,
        across=request.across_contracts,
        require_improvement=request.require_improvement,
        contracts=contracts,
    )
    return with_noise(comparison_document(comparison), noise)


def trend(workspace: Workspace, runs: Sequence[str]) -> TrendDoc:
    """`honestone.trend/1`: how the results changed over runs, in the order given."""
    with workspace.open_store() as store:
        return trend_in(store, workspace, runs)


def trend_in(store: Store, workspace: Workspace, runs: Sequence[str]) -> TrendDoc:
    """The same in an open store."""
    summaries = [_summary(workspace, store, name) for name in runs]
    notes = ["these runs were judged under different contracts; their figures do not mean the same"]
    return trend_document(
        summaries, notes=notes if len({run.contract for run in summaries}) > 1 else []
    )


def _summary(workspace: Workspace, store: Store, side: str | Path | RunSummary) -> RunSummary:
    if isinstance(side, RunSummary):
        return side
    name, path = str(side), workspace.path(side)
    summary = find_run_summary(workspace, store, name)
    if summary is not None:
        return summary
    is_file = bool(name) and path.exists()
    if name and not is_file:
        store.find_run(name)  # raises the error that says whether there is none, or more than one
    raise UsageError(
        f"`{name}` is {'a file, but not a saved report' if is_file else 'neither a run nor a saved report'}",
        hint="`honestone runs` lists runs; `honestone eval SUITE --json > report.json` saves one",
    )


def _noise(store: Store, run: RunSummary) -> dict[str, KnownNoiseDoc]:
    """The noise of the cases of a run that is in this store."""
    try:
        first = next(store.iter_events(store.find_run(run.run or "").id))
    except StoreError:
        return {}
    return noise_of_cases(store, first) if isinstance(first, SuiteStarted) else {}


def _contracts(
    store: Store, before: RunSummary, after: RunSummary
) -> tuple[ContractDocument, ContractDocument] | None:
    """Both contracts in full, where both runs are in this store."""
    first, second = (_contract_of(store, run) for run in (before, after))
    return None if first is None or second is None else (first, second)


def _contract_of(store: Store, run: RunSummary) -> ContractDocument | None:
    """The contract of a run in full, where it is in this store."""
    try:
        first = next(store.iter_events(store.find_run(run.run or "").id), None)
    except StoreError:
        return None
    return first.contract if isinstance(first, Started) else None
