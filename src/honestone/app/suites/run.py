"""Running a suite: one run of its cases with one subject, resumed where it is unfinished; the
baseline's first where there is one to run, or known from before; and what the two come to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property

from honestone.app.doors.results import DocumentResult
from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import BATCH_AT_ONCE, make_panel
from honestone.app.judging.known_noise import noise_of_cases
from honestone.app.run_figures import RunFigures
from honestone.app.suites.baseline import BaselineCache, KnownBaseline, RunsAsCache
from honestone.app.suites.cases import case_work
from honestone.app.suites.columns import last_starts
from honestone.app.suites.compare import compare_summaries
from honestone.app.suites.costs import skill_cost, suite_cost
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.subject import Baseline, SuiteSubject, find_baseline
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import (
    AttemptJudged,
    CasePassedBy,
    Event,
    RunFinished,
    SidesCompared,
    SuiteStarted,
    total_spend,
)
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.contract import digest_json
from honestone.core.judging.scorecard import Outcome
from honestone.core.judging.spend import Meter, Spend
from honestone.core.numbers import exact, to_points
from honestone.core.record.kinds import COLUMN
from honestone.core.record.record import RunSummary, SuiteRecord, read_record, summary_of, task_of
from honestone.core.skill.evaluation import TaskResult, broken_suite, judge_skill
from honestone.core.skill.sides import (
    BaselineSide,
    SidesComparison,
    SkillRemark,
    SkillSide,
    decide_skill,
    joint_verdict,
)
from honestone.core.skill.structure import check_structure
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.core.suite.comparison import (
    BASELINE_GATES,
    CaseSide,
    RunComparison,
    compare,
    judge_comparison,
)
from honestone.engine.journal import give_back, reserve_in
from honestone.engine.panel import Panel
from honestone.engine.suites import SuiteRun
from honestone.ports import Observer, RunInfo, Store
from honestone.report.building.suite import CaseLog, suite_flags, suite_report
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.scorecard import KnownNoiseDoc
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.misses import why
from honestone.system.drawing import count


class CutShort(Exception):
    """A run was cut short by a limit, which the message names."""


@dataclass(kw_only=True)
class SideRun:
    """`record` is the run as far as it got; `meter` holds its limits."""

    plan: SuitePlan
    store: Store
    observer: Observer
    subject: SuiteSubject
    meter: Meter
    run: str
    record: SuiteRecord
    is_finished: bool = False

    @classmethod
    def open(
        cls,
        plan: SuitePlan,
        store: Store,
        observer: Observer,
        subject: SuiteSubject,
        cases: Sequence[Case],
        meter: Meter,
        *,
        is_shared: bool = False,
        kind: str = "suite",
        named: str | None = None,
        is_brief: bool = False,
    ) -> SideRun:
        """The run that is `named`, else the unfinished one of the same identity, else a new one of
        that `kind`. Raises UsageError while another one is at it.

        What it has spent counts against the meter, unless that is shared: then whoever shares it
        knows of that.
        """
        identity = claimed_identity(plan, store, subject, cases)
        old = store.find_run(named) if named is not None else unfinished(plan, store, identity)
        if old is not None:
            run, log = old.id, _resumed(store, observer, old.id, None if is_shared else meter)
        else:
            log = [plan.started(subject, cases, meter)]
            run = begin(plan, store, identity, log[0], kind)
        if not is_shared and kind != COLUMN:  # the limits of a column are those of its table
            reserve_in(store, run, meter)
        record = read_record(log, run=run, is_brief=is_brief)
        for case in record.cases.values():
            case.ask_again()
        return cls(
            plan=plan,
            store=store,
            observer=observer,
            subject=subject,
            meter=meter,
            run=run,
            record=record,
            is_finished=old is not None and old.finished is not None,
        )

    def work_to_end(self) -> None:
        """Runs every case; the run is left open. Raises Interrupted."""
        then = f"the same command resumes run {self.run} and repeats nothing on record"
        run_interruptibly(self.work, self.plan.close, then)

    async def work(
        self, panel: Panel | None = None, slots: AbstractAsyncContextManager[object] | None = None
    ) -> None:
        """The same inside an event loop. Whoever calls it closes the plan. `panel` and `slots` are
        shared with other runs: what they ask is asked once, and `slots` lets so many attempts of
        all of them be at work.
        """
        plan = self.plan
        panel = panel or make_panel(plan.seats, self.store, self.meter, plan.judging)
        work = case_work(
            plan,
            self.store,
            self.meter,
            self.observer,
            run=self.run,
            subject=self.subject,
            panel=panel,
            add=self.record.add,
        )
        suite = SuiteRun(
            record=self.record,
            work=work,
            judged_at_once=BATCH_AT_ONCE if plan.judging.batch is not None else 0,
            slots=slots or nullcontext(),
        )
        try:
            await suite.all()
        finally:
            await give_back(self.meter)

    def require_whole(self) -> None:
        """Raises CutShort where a limit came before every case had its result. The run stays open:
        when it is resumed, what is on record is not run again.
        """
        reason = self.meter.exhausted() or self.meter.no_call_left()
        wanted = (one.result.status for one in self.record.cases.values() if one.case.skip is None)
        if reason is not None and any(
            status in (Status.SKIPPED, Status.INCONCLUSIVE) for status in wanted
        ):
            raise CutShort(reason)

    def pass_by(self, reason: str) -> None:
        """None of the cases is worth a call."""
        log = [CasePassedBy(case=id, reason=reason) for id in self.record.cases]
        self.store.append_many(self.run, log)
        for event in log:
            self.record.add(event)

    def finish(self, sides: SidesComparison | None = None) -> SuiteRecord:
        """Closes the run. `sides` compare it with its baseline: only a complete run passes."""
        if sides is not None:
            if sides.verdict == "pass" and self.record.tally.is_cut_short:
                reasons = ("not every case was reached",)
                sides = replace(sides, verdict=str(Outcome.INCONCLUSIVE), reasons=reasons)
            event = SidesCompared(sides=sides)
            self.store.append(self.run, event)
            self.record.add(event)
        return finish_run(self.store, self.record, self.meter)


def finish_run(store: Store, record: SuiteRecord, meter: Meter) -> SuiteRecord:
    """Closes a run with the verdict of its record."""
    assert record.run is not None
    seconds = round(meter.seconds, 3)
    figures = asdict(figures_of_suite(record, seconds=seconds))
    finished = RunFinished(result=record.verdict, seconds=seconds, figures=figures)
    store.finish_run(record.run, finished.result, finished)
    record.add(finished)
    return record


def claimed_identity(
    plan: SuitePlan, store: Store, subject: SuiteSubject, cases: Sequence[Case]
) -> str:
    """What a run of these cases is known by, claimed for this process. Raises UsageError while
    another one is at it.
    """
    identity = plan.identity(subject, cases)
    if not store.lock(identity):
        raise UsageError(
            "another command is running this suite already, with the same target and judges",
            hint="wait for that run, or stop it",
        )
    return identity


def begin(plan: SuitePlan, store: Store, identity: str, first: Event, kind: str = "suite") -> str:
    """Starts a run; its id."""
    return store.start_run(
        kind=kind,
        subject=plan.suite_name.subject,
        identity=identity,
        contract=plan.contract.id,
        first=first,
    )


def unfinished(plan: SuitePlan, store: Store, identity: str) -> RunInfo | None:
    """The run to resume. `--fresh` closes it instead."""
    old = store.unfinished(identity)
    if old is not None and plan.judging.fresh:
        store.finish_run(
            old.id,
            "interrupted",
            RunFinished(result="interrupted", reason="started over with --fresh"),
        )
        return None
    return old


def _resumed(store: Store, observer: Observer, run: str, meter: Meter | None) -> list[Event]:
    """What a run that is resumed holds; what it spent is counted."""
    log = store.events(run)
    if meter is not None:
        meter.before.join(total_spend(log))
    done = sum(1 for event in log if isinstance(event, AttemptJudged) and not event.refused)
    observer.note(
        f"resuming run {run}: {done} attempt{'s are' if done != 1 else ' is'} judged already"
    )
    return log


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRun:
    """A skill's tasks, run with those of its baseline. With a `meter` its limits hold for both
    sides together, and `runs` are those that were made under it.
    """

    plan: SuitePlan
    store: Store
    observer: Observer
    meter: Meter | None = None
    runs: list[str] = field(default_factory=list)

    def to_end(self, baseline: Baseline | None) -> SuiteRecord:
        """The candidate's run, completed with the baseline's results where there is a baseline.
        Raises Interrupted.
        """
        then = "the same command resumes the run and repeats nothing on record"
        return run_interruptibly(lambda: self.compare(baseline), self.plan.close, then)

    async def compare(self, baseline: Baseline | None) -> SuiteRecord:
        """The same inside an event loop; whoever calls it closes the plan. Raises CutShort when a
        limit of the meter that is shared comes first.
        """
        plan = self.plan
        if baseline is None:
            self._say_cost(sides=1, cached=0)
            side = await self._worked(plan.subject)
            return side.finish(skill_alone(plan, side.record))
        known = self._known(baseline)
        if known is not None:
            return await self._candidate(baseline, known)
        # Closed last: killed in between, the same command finds it complete, runs nothing again,
        # and counts what it cost.
        first = await self._worked(baseline.subject, sides=2)
        before = self._run_before(first)
        is_same = self._key(baseline) == self.plan.identity(self.plan.subject, self.plan.chosen)
        if is_same:  # else the candidate would take up the baseline's run
            first.finish()
        record = await self._candidate(baseline, before)
        if not is_same:
            first.finish()
        if before.results and all(result.passed is not None for result in before.results):
            self._cache.keep(self._key(baseline), before)
        return record

    async def _candidate(self, baseline: Baseline, before: KnownBaseline) -> SuiteRecord:
        """The candidate's run, closed with what the comparison says."""
        plan = self.plan
        broken = None if baseline.is_without else broken_suite(before.results)
        if broken is not None:
            side = SideRun.open(
                plan, self.store, self.observer, plan.subject, plan.chosen, plan.meter(0)
            )
            side.pass_by(broken)
            return side.finish(_compared_skill(plan, side.record, [], before, baseline))
        sides = 1 if before.spent is None else 2
        side = await self._worked(plan.subject, sides=sides, before=before.spent)
        return side.finish(
            _compared_skill(
                plan, side.record, results_of(plan.chosen, side.record), before, baseline
            )
        )

    async def _worked(
        self, subject: SuiteSubject | None, *, sides: int = 1, before: Spend | None = None
    ) -> SideRun:
        """One of so many sides that share one allowance, of which the side `before` has used its
        part.
        """
        assert subject is not None
        plan, is_shared = self.plan, self.meter is not None
        meter = self.meter or plan.meter(sides * plan.judge_calls(plan.chosen), before=before)
        side = SideRun.open(
            plan, self.store, self.observer, subject, plan.chosen, meter, is_shared=is_shared
        )
        self.runs.append(side.run)
        await side.work()
        if is_shared:
            side.require_whole()
        return side

    @property
    def _cache(self) -> BaselineCache:
        return self.plan.request.cache or RunsAsCache(self.store)

    def _key(self, baseline: Baseline) -> str:
        assert baseline.subject is not None
        return self.plan.identity(baseline.subject, self.plan.chosen)

    def _known(self, baseline: Baseline) -> KnownBaseline | None:
        """The baseline where it need not be run. Says what the whole will cost."""
        plan = self.plan
        if baseline.summary is not None:
            self._say_cost(sides=1, cached=0)
            return KnownBaseline(results=baseline.summary.tasks, run=baseline.summary.run)
        known = None if plan.judging.fresh else self._cache.find(self._key(baseline))
        if known is not None and _ids(known.results) != {
            case.id for case in plan.chosen if case.skip is None
        }:
            known = None
        self._say_cost(sides=2, cached=0 if known is None else len(known.results))
        return known and replace(known, is_cached=True, outputs=_outputs_of(self.store, known.run))

    def _run_before(self, side: SideRun) -> KnownBaseline:
        """The baseline as its run gave it."""
        record = side.record
        return KnownBaseline(
            results=results_of(self.plan.chosen, record),
            run=record.run,
            spent=record.spend,
            outputs=_outputs(summary_of(record)),
        )

    def _say_cost(self, *, sides: int, cached: int) -> None:
        for note in (
            skill_cost(self.plan, sides=sides, cached=cached),
            *self.plan.contacts,
            *self.plan.notes,
        ):
            self.observer.note(note)


def results_of(cases: Sequence[Case], record: SuiteRecord) -> list[TaskResult]:
    """One result for every task that was to be run; one that a budget did not reach is open."""
    return [task_of(record.cases[case.id]) for case in cases if case.skip is None]


def skill_alone(plan: SuitePlan, record: SuiteRecord) -> SidesComparison:
    """What is known of a skill that is compared with nothing."""
    share = record.tally.rates.pass_rate
    rate_of_tasks = None if share is None else float(share)
    results = results_of(plan.chosen, record)
    flags = (*suite_flags(record), *not_loaded(record))
    return SidesComparison(skill=_skill_side(plan, rate_of_tasks, results, flags))


def _skill_side(
    plan: SuitePlan,
    pass_rate: float | None,
    results: Sequence[TaskResult],
    flags: tuple[str, ...],
) -> SkillSide:
    return SkillSide(
        pass_rate=pass_rate,
        is_mock=plan.is_mock,
        structure=_structure(plan),
        flags=flags,
        results=tuple(results),
    )


def not_loaded(record: SuiteRecord) -> list[str]:
    """Tasks where the agent reported what it did, and reading the skill was not part of it in any
    attempt.
    """
    names = []
    for id, case in record.cases.items():
        made = [case.produced.get(number) for number in case.attempts]
        traces = [one.trace if one is not None else None for one in made]
        if traces and all(trace is not None and trace.skill_loaded is False for trace in traces):
            names.append(id)
    return [f"the agent never loaded the skill: {', '.join(names)}"] if names else []


def flaky(result: TaskResult) -> str:
    return f"flaky: {result.task_id} ({result.passes} of {result.attempts})"


def _structure(plan: SuitePlan) -> tuple[SkillRemark, ...]:
    """Advice on the files of the skill, which is never part of a score."""
    skill = plan.subject.skill
    if skill is None:
        return ()
    return tuple(
        SkillRemark(one.rule, one.line, one.message, one.suggestion)
        for one in check_structure(skill.version, folder=skill.name)
    )


def _compared_skill(
    plan: SuitePlan,
    record: SuiteRecord,
    after: Sequence[TaskResult],
    before: KnownBaseline,
    baseline: Baseline,
) -> SidesComparison:
    """The candidate next to its baseline. `after` is empty where the candidate was never run."""
    request = plan.request
    if baseline.summary is None:
        now, then = after, before.results
    else:
        now, then = _shared(after, before.results)
    found = judge_skill(
        now, then, is_without=baseline.is_without, require_improvement=request.require_improvement
    )
    comparison = _comparison(plan, record, now, then, baseline, before.outputs)
    verdict, reasons = decide_skill(
        found,
        comparison,
        is_gated=bool(request.fail_on or comparison.found.missing),
        own=None if request.min_pass_rate is None else record.own_verdict,
    )
    flags = (
        *suite_flags(record),
        # The candidate's flaky tasks are in its own report already.
        *(f"{flaky(result)} in the baseline" for result in then if result.is_flaky),
        *not_loaded(record),
        *_one_sided(comparison),
    )
    return SidesComparison(
        skill=_skill_side(plan, found.execution_pass_rate, now, flags),
        baseline=BaselineSide(
            name=baseline.name,
            run=before.run,
            pass_rate=found.baseline_pass_rate,
            spend=before.spent,
            is_cached=before.is_cached,
            results=tuple(then),
        ),
        verdict=str(verdict),
        reasons=reasons,
        delta=found.delta,
        interval=found.interval,
        comparison=comparison,
        spend=Spend.of([record.spend, before.spent or Spend()]),
    )


def _shared(
    after: Sequence[TaskResult], before: Sequence[TaskResult]
) -> tuple[Sequence[TaskResult], Sequence[TaskResult]]:
    """The tasks of both sides: a run from before may hold other ones, and rates of other tasks say
    nothing.
    """
    both = _ids(after) & _ids(before)
    return [r for r in after if r.task_id in both], [r for r in before if r.task_id in both]


def _ids(results: Sequence[TaskResult]) -> set[str]:
    return {result.task_id for result in results}


def _one_sided(comparison: RunComparison) -> list[str]:
    found = comparison.found
    parts = {"in the baseline only": found.missing, "in the candidate only": found.new}
    return [f"not compared, {where}: {', '.join(ids)}" for where, ids in parts.items() if ids]


def _comparison(
    plan: SuitePlan,
    record: SuiteRecord,
    after: Sequence[TaskResult],
    before: Sequence[TaskResult],
    baseline: Baseline,
    outputs: Mapping[str, str | None],
) -> RunComparison:
    gates = plan.request.fail_on or BASELINE_GATES
    if baseline.summary is not None:
        return compare_summaries(
            baseline.summary,
            summary_of(record),
            gates=gates,
            across=plan.request.across_contracts,
            left_out=plan.left_out,
        )
    # A candidate that was never run has lost nothing.
    found = compare(
        _sides(before, outputs) if after else {}, _sides(after, _outputs(summary_of(record)))
    )
    return RunComparison(
        found=found, verdict=judge_comparison(found, gates), baseline=None, candidate=record.run
    )


def _outputs(run: RunSummary) -> dict[str, str | None]:
    return {id: side.output for id, side in run.sides.items()}


def _outputs_of(store: Store, run: str | None) -> dict[str, str | None]:
    """What a run of before said, where it is still in the store."""
    log = () if run is None else store.events(run)
    return _outputs(summary_of(read_record(log))) if log else {}


def _sides(results: Sequence[TaskResult], outputs: Mapping[str, str | None]) -> dict[str, CaseSide]:
    status = {True: Status.PASSED, False: Status.FAILED, None: Status.INCONCLUSIVE}
    return {
        result.task_id: CaseSide(
            status=status[result.passed],
            score=None if result.score is None else exact(result.score),
            is_unstable=result.is_flaky,
            output=outputs.get(result.task_id),
        )
        for result in results
    }


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
    def cases(self) -> Sequence[CaseDoc]:
        """In the suite's order."""
        return tuple(self.report.cases)

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (case.id, case.status, case.score, case.output, "; ".join(why(case)))
            for case in self.cases
        ]

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
        return SkillRun(plan=plan, store=store, observer=observer).to_end(baseline)
    if baseline is not None and baseline.is_same:
        plan = plan.with_note(
            f"{plan.subject.path} is the same at {baseline.name}: its run is compared with itself"
        )
    sides = 2 if baseline is not None and baseline.subject is not None else 1
    for note in (
        suite_cost(plan, sides),
        *plan.contacts,
        *plan.doubts,
        *plan.notes,
        *judge_again({"": plan}, store),
    ):
        observer.note(note)
    if baseline is not None and baseline.subject is not None:
        return _run_both(plan, store, observer, baseline, baseline.subject)
    # A comparison speaks of words, and so may a program that goes on with what it found.
    is_brief = plan.request.is_brief and baseline is None
    side = _open(plan, store, observer, plan.subject, is_brief=is_brief)
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


def _open(
    plan: SuitePlan,
    store: Store,
    observer: Observer,
    subject: SuiteSubject,
    *,
    sides: int = 1,
    after: str | None = None,
    is_brief: bool = False,
) -> SideRun:
    """A run of the chosen cases under the limits of the command, of which the run `after` used its
    part.
    """
    before = None if after is None else total_spend(store.events(after))
    meter = plan.meter(sides * plan.judge_calls(plan.chosen), before=before)
    return SideRun.open(plan, store, observer, subject, plan.chosen, meter, is_brief=is_brief)


def _run_both(
    plan: SuitePlan, store: Store, observer: Observer, baseline: Baseline, other: SuiteSubject
) -> SuiteRecord:
    """The baseline's run, then this one, under one allowance.

    The baseline's is closed last: killed in between, the same command finds it complete and runs
    nothing again.
    """
    first = _open(plan, store, observer, other, sides=2)
    first.work_to_end()
    second = _open(plan, store, observer, plan.subject, sides=2, after=first.run)
    second.work_to_end()
    sides = _compared_runs(plan, second.record, summary_of(first.record), baseline.name)
    spent = total_spend([*store.events(first.run), *store.events(second.run)])
    record = second.finish(replace(sides, spend=spent))
    first.finish()
    return record


def _compared_runs(
    plan: SuitePlan, record: SuiteRecord, before: RunSummary, name: str
) -> SidesComparison:
    """A run next to its baseline. The verdict is the comparison's; with --min-pass-rate the run's
    own verdict must be a pass too. A case that a limit prevented is not missing, but open.
    """
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
    )


def figures_of_suite(record: SuiteRecord, *, seconds: float) -> RunFigures:
    """What a suite's run came to that has ended, or got so far."""
    started, rates, spend = record.started, record.tally.rates, record.spend
    return RunFigures(
        side=started.side or None,
        title=started.suite.title or started.suite.path or None,
        score=None if rates.mean_score is None else to_points(rates.mean_score),
        pass_rate=None if rates.pass_rate is None else float(rates.pass_rate),
        usd=spend.usd,
        target_calls=spend.target_calls,
        judge_calls=spend.judge_calls,
        duration_ms=round(seconds * 1000) if seconds else None,
        judges=tuple(dict.fromkeys(judge for judge in started.panel if judge != CHECK)),
        low_confidence=bool(record.tally.lonely),
        compared_by=_compared_by(started),
    )


def _compared_by(started: SuiteStarted) -> str:
    artifact = None if started.artifact is None else started.artifact.path
    cases = [[one.id, one.plain.get("contract")] for one in started.cases]
    return digest_json([started.target, artifact, cases])
