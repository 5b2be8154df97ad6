"""Running a skill's tasks on two sides: with the skill, and with its baseline, which may be known from before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from honestone.app.loop import run_to_end
from honestone.app.suites.baseline import Baseline
from honestone.app.suites.compare import compare_summaries
from honestone.app.suites.plan import SuitePlan, skill_cost
from honestone.app.suites.side import KnownBaseline, RunsAsCache, SharedMeter, SideRun
from honestone.app.suites.subject import SuiteSubject
from honestone.core.errors import Interrupted
from honestone.core.json_value import JsonObject
from honestone.core.numbers import exact
from honestone.core.scorecard import Outcome
from honestone.core.skill.evaluation import SkillVerdict, TaskResult, broken_suite, judge_skill
from honestone.core.skill.structure import check_structure
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.core.suite.comparison import BASELINE_GATES, CaseSide, RunComparison, compare, judge_comparison
from honestone.core.suite.record import SuiteRecord, summary_of, task_of
from honestone.ports import Observer, Store
from honestone.report.documents import JsonDocument, plain
from honestone.report.suite import comparison_document, suite_flags, suite_usage


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The baseline's side of a comparison, run now or earlier. `usage` is what it cost this time."""

    results: Sequence[TaskResult]
    run: str | None = None
    is_cached: bool = False
    usage: JsonObject = field(default_factory=dict)


def run_skill(plan: SuitePlan, store: Store, observer: Observer, baseline: Baseline | None) -> SuiteRecord:
    """The candidate's run, completed with the baseline's results where there is a baseline. Raises Interrupted."""
    try:
        return run_to_end(lambda: compare_skill(plan, store, observer, baseline), plan.close)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; the same command resumes the run and repeats nothing on record") from None


async def compare_skill(
    plan: SuitePlan, store: Store, observer: Observer, baseline: Baseline | None, shared: SharedMeter | None = None
) -> SuiteRecord:
    """The same inside an event loop; whoever calls it closes the plan.

    With a `shared` meter its limits hold for both sides together. Raises CutShort when one comes first.
    """
    if baseline is None:
        _say_cost(plan, observer, sides=1, cached=0)
        side = await _worked(plan, store, observer, plan.subject, shared)
        results = results_of(plan.chosen, side.record)
        share = side.record.rates.pass_rate
        return side.finish(
            {
                "execution_pass_rate": None if share is None else float(share),
                "mock": plan.is_mock,
                "structure": _structure(plan),
                "flags": [*suite_flags(side.record), *not_loaded(side.record)],
                "candidate_results": [result.to_plain() for result in results],
            }
        )
    before = await _before(plan, store, observer, baseline, shared)
    broken = None if baseline.is_without else broken_suite(before.results)
    if broken is not None:
        side = SideRun.open(plan, store, observer, plan.subject, plan.chosen, plan.meter(0))
        side.pass_by(broken)
        return side.finish(_compared(plan, side.record, [], before, baseline))
    side = await _worked(plan, store, observer, plan.subject, shared)
    return side.finish(_compared(plan, side.record, results_of(plan.chosen, side.record), before, baseline))


async def _worked(
    plan: SuitePlan, store: Store, observer: Observer, subject: SuiteSubject, shared: SharedMeter | None
) -> SideRun:
    if shared is None:
        meter = plan.meter(plan.judge_calls(plan.chosen))
        side = SideRun.open(plan, store, observer, subject, plan.chosen, meter)
        await side.work()
        return side
    side = SideRun.open(plan, store, observer, subject, plan.chosen, shared.meter, is_shared=True)
    shared.runs.append(side.run)
    await side.work()
    side.require_whole()
    return side


async def _before(
    plan: SuitePlan, store: Store, observer: Observer, baseline: Baseline, shared: SharedMeter | None
) -> _Before:
    if baseline.summary is not None:
        _say_cost(plan, observer, sides=1, cached=0)
        return _Before(results=baseline.summary.tasks, run=baseline.summary.run)
    assert baseline.subject is not None
    cache = plan.request.cache or RunsAsCache(store)
    key = plan.identity(baseline.subject, plan.chosen)
    known = None if plan.judging.fresh else cache.find(key)
    if known is not None and _ids(known.results) != {case.id for case in plan.chosen if case.skip is None}:
        known = None
    _say_cost(plan, observer, sides=2, cached=0 if known is None else len(known.results))
    if known is not None:
        return _Before(results=known.results, run=known.run, is_cached=True)
    record = (await _worked(plan, store, observer, baseline.subject, shared)).finish()
    results = results_of(plan.chosen, record)
    if results and all(result.passed is not None for result in results):
        cache.keep(key, KnownBaseline(results=tuple(results), run=record.run))
    return _Before(results=results, run=record.run, usage=plain(suite_usage(record)))


def _say_cost(plan: SuitePlan, observer: Observer, *, sides: int, cached: int) -> None:
    for note in (skill_cost(plan, sides=sides, cached=cached), *plan.notes):
        observer.note(note)


def results_of(cases: Sequence[Case], record: SuiteRecord) -> list[TaskResult]:
    """One result for every task that was to be run; one that a budget did not reach is open."""
    return [task_of(record.cases[case.id]) for case in cases if case.skip is None]


def not_loaded(record: SuiteRecord) -> list[str]:
    """Tasks where the agent reported what it did, and reading the skill was not part of it in any attempt."""
    names = []
    for id, case in record.cases.items():
        made = [case.produced.get(number) for number in case.attempts]
        traces = [one.trace if one is not None else None for one in made]
        if traces and all(trace is not None and trace.skill_loaded is False for trace in traces):
            names.append(id)
    return [f"the agent never loaded the skill: {', '.join(names)}"] if names else []


def flaky(result: TaskResult) -> str:
    return f"flaky: {result.task_id} ({result.passes} of {result.attempts})"


def _structure(plan: SuitePlan) -> list[JsonObject]:
    """What the files of the skill let one doubt: advice, kept apart and never part of a score."""
    skill = plan.subject.skill
    if skill is None:
        return []
    return [
        {"rule": one.rule, "line": one.line, "message": one.message, "suggestion": one.suggestion}
        for one in check_structure(skill.version, folder=skill.name)
    ]


def _compared(
    plan: SuitePlan, record: SuiteRecord, after: Sequence[TaskResult], before: _Before, baseline: Baseline
) -> JsonDocument:
    """What the candidate's report says of its baseline. `after` is empty where the candidate was never run."""
    request = plan.request
    now, then = _shared(after, before.results) if baseline.summary is not None else (after, before.results)
    found = judge_skill(now, then, is_without=baseline.is_without, require_improvement=request.require_improvement)
    comparison = _comparison(plan, record, now, then, baseline)
    verdict = found.verdict
    reasons: tuple[str, ...] = (found.reason,) if found.reason else ()
    if verdict is SkillVerdict.PASS and request.fail_on and comparison.verdict.outcome is Outcome.FAIL:
        verdict, reasons = SkillVerdict.FAIL, comparison.verdict.reasons
    own = record.own_verdict
    if verdict is SkillVerdict.PASS and request.min_pass_rate is not None and own.outcome is not Outcome.PASS:
        verdict = SkillVerdict.FAIL if own.outcome is Outcome.FAIL else SkillVerdict.ERROR
        reasons = own.reasons
    # The candidate's flaky tasks are in its own report already.
    flaky_before = [f"{flaky(result)} in the baseline" for result in then if result.is_flaky]
    document = plain(comparison_document(comparison))
    return {
        "verdict": str(verdict),
        "reasons": list(reasons),
        "execution_pass_rate": found.execution_pass_rate,
        "baseline_pass_rate": found.baseline_pass_rate,
        "delta": found.delta,
        "interval": None if found.interval is None else list(found.interval),
        "regressions": document["regressions"],
        "baseline": {"name": baseline.name, "run": before.run, "usage": dict(before.usage)},
        "baseline_cached": before.is_cached,
        "mock": plan.is_mock,
        "structure": _structure(plan),
        "flags": [*suite_flags(record), *flaky_before, *not_loaded(record), *_one_sided(comparison)],
        "candidate_results": [result.to_plain() for result in now],
        "baseline_results": [result.to_plain() for result in then],
        "comparison": document,
    }


def _shared(
    after: Sequence[TaskResult], before: Sequence[TaskResult]
) -> tuple[Sequence[TaskResult], Sequence[TaskResult]]:
    """The tasks of both sides: a run from before may hold other ones, and rates of other tasks say nothing."""
    both = _ids(after) & _ids(before)
    return [r for r in after if r.task_id in both], [r for r in before if r.task_id in both]


def _ids(results: Sequence[TaskResult]) -> set[str]:
    return {result.task_id for result in results}


def _one_sided(comparison: RunComparison) -> list[str]:
    found = comparison.found
    parts = {"in the baseline only": found.missing, "in the candidate only": found.new}
    return [f"not compared, {where}: {', '.join(ids)}" for where, ids in parts.items() if ids]


def _comparison(
    plan: SuitePlan, record: SuiteRecord, after: Sequence[TaskResult], before: Sequence[TaskResult], baseline: Baseline
) -> RunComparison:
    gates = plan.request.fail_on or BASELINE_GATES
    if baseline.summary is not None:
        return compare_summaries(
            baseline.summary, summary_of(record), gates=gates, across=plan.request.across_contracts
        )
    # A candidate that was never run has lost nothing.
    found = compare(_sides(before) if after else {}, _sides(after))
    return RunComparison(found=found, verdict=judge_comparison(found, gates), baseline=None, candidate=record.run)


def _sides(results: Sequence[TaskResult]) -> dict[str, CaseSide]:
    status = {True: Status.PASSED, False: Status.FAILED, None: Status.INCONCLUSIVE}
    return {
        result.task_id: CaseSide(
            status=status[result.passed],
            score=None if result.score is None else exact(result.score),
            is_unstable=result.is_flaky,
        )
        for result in results
    }
