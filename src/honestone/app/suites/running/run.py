"""Running a suite: one run of its cases with one subject, resumed where it is unfinished; the
baseline's first where there is one to run, or known from before; and what the two come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from msgspec.structs import replace

from honestone.app.doors.results import DocumentResult
from honestone.app.judging.measured.known_noise import noise_of_cases
from honestone.app.suites.columns import last_starts
from honestone.app.suites.costs import suite_cost
from honestone.app.suites.plan import SuitePlan, SuiteRequest, unread_artifact
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.running.side_run import SideRun
from honestone.app.suites.subject import Baseline, SuiteSubject, find_baseline
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import Event
from honestone.core.judging.spend import Spend
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.summary import RunSummary, summary_of
from honestone.core.skill.sides import (
    BaselineSide,
    SidesComparison,
    joint_verdict,
)
from honestone.core.suite.comparison import (
    BASELINE_GATES,
)
from honestone.ports import Observer, Store
from honestone.report.building.suite import CaseLog, suite_report
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.scorecard import KnownNoiseDoc
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.misses import why
from honestone.system.drawing import count


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SuiteResult(DocumentResult):
    """A run that came to its end. Its document is what `honestone eval SUITE --json` prints
    (`honestone.report/1`).
    """

    heads = ("case", "status", "score", "output", "reason")
    record: SuiteRecord
    noise: Mapping[str, KnownNoiseDoc] = field(default_factory=dict)
    _log: CaseLog | None = None

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`."""
        return self.record.verdict

    @property
    def run(self) -> str | None:
        return self.report.run

    @property
    def belief(self) -> BeliefDoc | None:
        """How sure it is that enough cases pass, or with a baseline that this side is better, and
        what that rests on; None where nothing was judged.
        """
        return self.report.belief

    @property
    def probability(self) -> float | None:
        """The probability (0-1) that enough cases truly pass; None where a baseline decides alone."""
        return None if self.belief is None else self.belief.probability

    @property
    def cases(self) -> Sequence[CaseDoc]:
        """The cases in the order of the suite."""
        return tuple(self.report.cases)

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (case.id, case.status, case.score, case.output, "; ".join(why(case)))
            for case in self.cases
        ]

    def frame_table(self) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
        """The table of a data frame: the input, tags and number of attempts of each case, and a
        column for each criterion.
        """
        criteria = list(dict.fromkeys(one.id for case in self.cases for one in case.criteria))
        more = ("input", "tags", "attempts", "error", *(f"criteria.{id}" for id in criteria))
        rows: list[Sequence[object]] = []
        for case, row in zip(self.cases, self.rows, strict=True):
            scores = {one.id: one.score for one in case.criteria}
            facts = (case.input, case.tags, len(case.attempts), case.error)
            rows.append((*row, *facts, *(scores.get(id) for id in criteria)))
        return (*self.heads, *more), rows

    @property
    def is_low_confidence(self) -> bool:
        return bool(self.record.tally.lonely)

    @property
    def headline(self) -> str:
        passed = f"{self.report.counts['passed']} of {count(len(self.cases), 'case')} passed"
        return f"{self.stated_verdict}, {passed}: {self.report.name}, run {self.run}"

    @property
    def streamed(self) -> SuiteReport:
        """`honestone.report/1`, its cases one at a time."""
        return suite_report(self.record, self.noise, self._log)

    @cached_property
    def report(self) -> SuiteReportDoc:
        """`honestone.report/1`."""
        return self.streamed.whole

    def _as_struct(self) -> SuiteReportDoc:
        return self.report


def evaluate_suite(workspace: Workspace, request: SuiteRequest, observer: Observer) -> SuiteResult:
    """Plans a suite and runs it: `eval SUITE`. Raises as `plan_suite` and `run_suite` do."""
    return run_suite(plan_suite(workspace, request, observer), observer)


def run_suite(plan: SuitePlan, observer: Observer) -> SuiteResult:
    """Raises UsageError for a baseline that cannot be, and while the same suite is being run;
    Interrupted.
    """
    with plan.workspace.open_store() as store:
        record = _run_to_end(plan, store, observer)
        noise = noise_of_cases(store, record.started)
        return SuiteResult(
            record=record, noise=noise, _log=lambda: log_of(plan.workspace, record.run or "")
        )


@contextmanager
def log_of(workspace: Workspace, run: str) -> Iterator[Callable[[str], Iterable[Event]]]:
    with workspace.open_store(readonly=True) as store:
        yield store.by_case(run)


def _run_to_end(plan: SuitePlan, store: Store, observer: Observer) -> SuiteRecord:
    baseline = _baseline_of(plan, store)
    if baseline is not None and baseline.subject is not None:
        _require_two_sides(plan)
    if plan.subject.is_isolated:
        from honestone.app.suites.comparing.skill_run import SkillRun

        return SkillRun(plan=plan, store=store, observer=observer).to_end(baseline)
    if baseline is not None and baseline.summary:
        from honestone.app.suites.comparing.compare import require_same_contract

        require_same_contract(plan, store, baseline.summary)
    if baseline is not None and baseline.is_same:
        note = (
            f"{plan.subject.path} is the same at {baseline.name}: its run is compared with itself"
        )
        plan = replace(plan, notes=(*plan.notes, note))
    sides = 2 if baseline is not None and baseline.subject is not None else 1
    for note in (
        suite_cost(plan, sides),
        *plan.contacts,
        *unread_artifact(plan),
        *plan.notes,
        *judge_again({"": plan}, store),
    ):
        observer.note(note)
    if baseline is not None and baseline.subject is not None:
        return _run_both(plan, store, observer, baseline, baseline.subject)
    # A comparison speaks of words, and so may a program that goes on with what it found.
    is_brief = plan.request.is_brief and baseline is None
    side = SideRun.of_chosen(plan, store, observer, plan.subject, is_brief=is_brief)
    side.work_to_end()
    if baseline is None:
        return side.finish()
    before = baseline.summary or summary_of(side.record)
    return side.finish(_compared_runs(plan, side.record, before, baseline.name))


def judge_again(plans: Mapping[str, SuitePlan], store: Store) -> list[str]:
    """A note where every target would be asked just what it was asked in the suite's last run, and
    only the judging is not the same. `plans` are by column; a run without columns has an empty
    name.
    """
    plan = next(iter(plans.values()))
    if plan.request.judge_again is None or any(
        one.target is None or one.is_repeatable or one.is_recorded or one.is_mock
        for one in plans.values()
    ):
        return []
    starts = last_starts(store, plan.suite_name)
    if starts.keys() != plans.keys() or all(
        one.is_judged_as(starts[name][1]) for name, one in plans.items()
    ):
        return []
    last = {name: read_record(store.events(run), run=run) for name, (run, _) in starts.items()}
    if not all(_asks_the_same(one, last[name]) for name, one in plans.items()):
        return []
    what_changed = "since the last run only what judges has changed: its outputs can be judged again, and no target asked"
    return [f"hint: {what_changed}: {plan.request.judge_again}"]


def _asks_the_same(plan: SuitePlan, last: SuiteRecord) -> bool:
    """Whether a run holds the output of every attempt that this one would ask its target for."""
    then = {case.id: case.asked for case in last.started.cases}
    wanted = [case for case in plan.chosen if case.skip is None]
    return all(
        then.get(case.id) == plan.asked(plan.subject, case)
        and len(last.cases[case.id].produced) >= (1 if case.stops_at_pass else case.attempts)
        for case in wanted
    )


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
    if plan.is_recorded:
        raise UsageError(
            f"the outputs of `{plan.target_name}` are recorded: both sides would be the same",
            hint="name a target that does the tasks, or compare with a run: --baseline RUN",
        )


def _run_both(
    plan: SuitePlan, store: Store, observer: Observer, baseline: Baseline, other: SuiteSubject
) -> SuiteRecord:
    """The baseline's run, then this one, under one allowance.

    The baseline's is closed last: killed in between, the same command finds it complete and runs
    nothing again.
    """
    first = SideRun.of_chosen(plan, store, observer, other, sides=2)
    first.work_to_end()
    spent = first.record.spend
    second = SideRun.of_chosen(plan, store, observer, plan.subject, sides=2, before=spent)
    second.work_to_end()
    sides = _compared_runs(plan, second.record, summary_of(first.record), baseline.name)
    record = second.finish(replace(sides, spend=Spend.of([spent, second.record.spend])))
    first.finish()
    return record


def _compared_runs(
    plan: SuitePlan, record: SuiteRecord, before: RunSummary, name: str
) -> SidesComparison:
    """A run next to its baseline. The verdict is the comparison's; with --min-pass-rate the run's
    own verdict must be a pass too. A case that a limit prevented is not missing, but open.
    """
    from honestone.app.suites.comparing.compare import compare_summaries

    request = plan.request
    comparison = compare_summaries(
        before,
        summary_of(record),
        gates=request.fail_on
        or [gate for gate in BASELINE_GATES if gate != "missing" or not record.tally.is_cut_short],
        across=request.across_contracts,
        require_improvement=request.require_improvement,
        left_out=plan.left_out,
    )
    own = [record.own_verdict] if request.min_pass_rate is not None else []
    verdict = joint_verdict([comparison.verdict, *own])
    delta, interval = comparison.found.delta, comparison.found.interval
    return SidesComparison(
        baseline=BaselineSide(name=name, run=before.run, pass_rate=before.pass_rate),
        verdict=str(verdict.outcome),
        reasons=verdict.reasons,
        delta=None if delta is None else float(delta),
        interval=None if interval is None else (float(interval[0]), float(interval[1])),
        comparison=comparison,
        better=comparison.better,
        worse=comparison.worse,
    )
