"""Running a suite: its cases, the baseline's first where there is one to run, and what the two come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from honestone.app.suites.baseline import Baseline, find_baseline
from honestone.app.suites.compare import compare_summaries
from honestone.app.suites.plan import SuitePlan, SuiteRequest, plan_suite, suite_cost
from honestone.app.suites.side import SideRun, SkillRun
from honestone.app.suites.subject import SuiteSubject
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import total_spend
from honestone.core.scorecard import Outcome, Verdict
from honestone.core.suite.comparison import BASELINE_GATES
from honestone.core.suite.record import RunSummary, SuiteRecord, summary_of
from honestone.ports import Observer, Store
from honestone.report.documents import JsonDocument, plain
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.suite import baseline_fields, suite_document


@dataclass(frozen=True, kw_only=True)
class SuiteResult:
    """A run that came to its end."""

    record: SuiteRecord

    @property
    def verdict(self) -> str:
        return self.record.verdict

    @cached_property
    def report(self) -> SuiteReportDoc:
        """`honestone.report/1`."""
        return suite_document(self.record)

    @cached_property
    def document(self) -> JsonDocument:
        """The same as JSON values."""
        return plain(self.report)


def evaluate_suite(workspace: Workspace, request: SuiteRequest, observer: Observer) -> SuiteResult:
    """Plans a suite and runs it: `eval SUITE`. Raises as `plan_suite` and `run_suite` do."""
    return run_suite(plan_suite(workspace, request, observer), observer)


def run_suite(plan: SuitePlan, observer: Observer) -> SuiteResult:
    """Raises UsageError for a baseline that cannot be, and while the same suite is being run; Interrupted."""
    with plan.workspace.open_store() as store:
        baseline = _baseline_of(plan, store)
        if baseline is not None and baseline.subject is not None:
            _require_two_sides(plan)
        if plan.subject.is_isolated:
            return SuiteResult(record=SkillRun(plan=plan, store=store, observer=observer).to_end(baseline))
        if baseline is not None and baseline.is_same:
            plan = plan.with_note(
                f"{plan.subject.path} is the same at {baseline.name}: its run is compared with itself"
            )
        sides = 2 if baseline is not None and baseline.subject is not None else 1
        for note in (suite_cost(plan, sides), *plan.contacts, *plan.notes):
            observer.note(note)
        if baseline is not None and baseline.subject is not None:
            return SuiteResult(record=_run_both(plan, store, observer, baseline, baseline.subject))
        side = _open(plan, store, observer, plan.subject)
        side.work_to_end()
        if baseline is None:
            return SuiteResult(record=side.finish())
        before = baseline.summary or summary_of(side.record)
        return SuiteResult(record=side.finish(_compared(plan, side.record, before, baseline.name)))


def _baseline_of(plan: SuitePlan, store: Store) -> Baseline | None:
    request = plan.request
    if request.update_baseline and plan.left_out:
        raise UsageError(
            f"{len(plan.left_out)} of {len(plan.cases)} cases are left out, so this run cannot become the baseline",
            hint="run the whole suite with --update-baseline",
        )
    if request.baseline is None:
        return request.against
    return find_baseline(
        plan.workspace,
        store,
        request.baseline,
        plan.subject,
        update=request.update_baseline,
        exclude=plan.own_files,
        max_bytes=plan.max_bytes,
    )


def _require_two_sides(plan: SuitePlan) -> None:
    """Raises UsageError where both sides would give the same whatever they are."""
    if plan.target is not None and plan.target.identity.get("kind") == "record":
        raise UsageError(
            f"the outputs of `{plan.target_name}` are recorded: both sides would be the same",
            hint="name a target that does the tasks, or compare with a run: --baseline RUN",
        )


def _open(
    plan: SuitePlan,
    store: Store,
    observer: Observer,
    subject: SuiteSubject,
    *,
    sides: int = 1,
    after: str | None = None,
) -> SideRun:
    """A run of the chosen cases under the limits of the command, of which the run `after` used its part."""
    before = None if after is None else total_spend(store.events(after))
    meter = plan.meter(sides * plan.judge_calls(plan.chosen), before=before)
    return SideRun.open(plan, store, observer, subject, plan.chosen, meter)


def _run_both(
    plan: SuitePlan, store: Store, observer: Observer, baseline: Baseline, other: SuiteSubject
) -> SuiteRecord:
    """The baseline's run, then this one, under one allowance.

    The baseline's is closed last: killed in between, the same command finds it complete and runs nothing again.
    """
    first = _open(plan, store, observer, other, sides=2)
    first.work_to_end()
    second = _open(plan, store, observer, plan.subject, sides=2, after=first.run)
    second.work_to_end()
    record = second.finish(_compared(plan, second.record, summary_of(first.record), baseline.name))
    first.finish()
    return record


def _compared(plan: SuitePlan, record: SuiteRecord, before: RunSummary, name: str) -> JsonDocument:
    """What the report says of its baseline. The verdict is the comparison's; with --min-pass-rate both must hold. What a
    limit kept from being run is not lost, but open."""
    request = plan.request
    comparison = compare_summaries(
        before,
        summary_of(record),
        gates=request.fail_on or [gate for gate in BASELINE_GATES if gate != "missing" or not record.is_cut_short],
        across=request.across_contracts,
        require_improvement=request.require_improvement,
        left_out=plan.left_out,
    )
    verdicts = [comparison.verdict, *([record.own_verdict] if request.min_pass_rate is not None else [])]
    return baseline_fields(comparison, _both(verdicts), before=before, name=name)


def _both(verdicts: Sequence[Verdict]) -> Verdict:
    """A failure decides, then what is open; with the reasons of those that say so."""
    for outcome in (Outcome.FAIL, Outcome.INCONCLUSIVE):
        same = [one for one in verdicts if one.outcome is outcome]
        if same:
            return Verdict(outcome, tuple(reason for one in same for reason in one.reasons))
    return Verdict(Outcome.PASS, tuple(reason for one in verdicts if one.passed for reason in one.reasons))
