"""The tasks of a skill, run with those of its baseline, and what the two come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.event_loop import run_interruptibly
from honestone.app.suites.comparing.baseline import BaselineCache, KnownBaseline, RunsAsCache
from honestone.app.suites.comparing.compare import compare_summaries, require_same_contract
from honestone.app.suites.costs import skill_cost
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.running.side_run import SideRun
from honestone.app.suites.subject import Baseline, SuiteSubject
from honestone.core.judging.spend import Meter, Spend
from honestone.core.numbers import exact
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.summary import RunSummary, summary_of, task_of
from honestone.core.skill.evaluation import TaskResult, broken_suite, judge_skill
from honestone.core.skill.sides import (
    BaselineSide,
    SidesComparison,
    SkillRemark,
    SkillSide,
    decide_skill,
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
from honestone.ports import Observer, Store
from honestone.report.building.suite import suite_flags


class SkillRun(Struct, frozen=True, kw_only=True):
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
        """One of `sides` that share one allowance, of which the side before it spent `before`."""
        assert subject is not None
        plan, store, observer = self.plan, self.store, self.observer
        if self.meter is None:
            side = SideRun.of_chosen(plan, store, observer, subject, sides=sides, before=before)
        else:
            side = SideRun.open(
                plan, store, observer, subject, plan.chosen, self.meter, is_shared=True
            )
        self.runs.append(side.run)
        await side.work()
        if self.meter is not None:
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
            require_same_contract(plan, self.store, baseline.summary)
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
        made = [one.produced for one in case.made.values() if one.ended is not None]
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
    judged = judge_skill(
        now, then, is_without=baseline.is_without, require_improvement=request.require_improvement
    )
    comparison = _comparison(plan, record, now, then, baseline, before.outputs)
    verdict, reasons = decide_skill(
        judged,
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
        skill=_skill_side(plan, judged.execution_pass_rate, now, flags),
        baseline=BaselineSide(
            name=baseline.name,
            run=before.run,
            pass_rate=judged.baseline_pass_rate,
            spend=before.spent,
            is_cached=before.is_cached,
            results=tuple(then),
        ),
        verdict=str(verdict),
        reasons=reasons,
        delta=judged.delta,
        interval=judged.interval,
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
    compared = comparison.found
    parts = {"in the baseline only": compared.missing, "in the candidate only": compared.new}
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
    comparison = compare(
        _sides(before, outputs) if after else {}, _sides(after, _outputs(summary_of(record)))
    )
    return RunComparison(
        found=comparison,
        verdict=judge_comparison(comparison, gates),
        baseline=None,
        candidate=record.run,
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
