"""Running a skill's tasks on two sides: the candidate and its baseline, with what the baseline is remembered by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from honestone.app.suites.baseline import Baseline
from honestone.app.suites.comparing import compare_reports
from honestone.core.numbers import exact
from honestone.core.skill.evaluation import SkillVerdict, TaskResult, broken_suite, judge_skill
from honestone.core.skill.skill_file import Skill
from honestone.core.skill.structure import check_structure
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.core.suite.comparison import BASELINE_GATES, Side, compare, judge_comparison
from honestone.report.suite_documents import comparison_document, suite_document

if TYPE_CHECKING:
    from honestone.app.suites.session import SuiteSession
    from honestone.ports import Store

BASELINE_LIFE = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A baseline that was run: every task decided, and the run it can be recomputed from, where that is known."""

    results: tuple[TaskResult, ...]
    run: str | None = None


class BaselineCache(Protocol):
    """Where baselines are remembered, by what decides their results and never by a path."""

    def find(self, key: str) -> Known | None: ...

    def keep(self, key: str, known: Known) -> None: ...


class RunsAsCache:
    """The runs in the store themselves: a finished one with the same key, not older than seven days, without a failed run."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, key: str) -> Known | None:
        oldest = (datetime.now(UTC) - BASELINE_LIFE).isoformat()
        for info in self._store.runs():
            if info.started < oldest:
                return None
            if info.kind == "suite" and info.identity == key and info.finished is not None:
                results = task_results(suite_document(self._store.events(info.id), run=info.id))
                if results and all(result.passed is not None for result in results):
                    return Known(results=tuple(results), run=info.id)
        return None

    def keep(self, key: str, known: Known) -> None:
        """Nothing to do: the run is in the store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The baseline's side of a comparison, run now or earlier. `usage` is what it cost this time."""

    results: Sequence[TaskResult]
    run: str | None = None
    is_cached: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)


def skill_report(
    session: SuiteSession, store: Store, chosen: Sequence[Case], baseline: Baseline | None
) -> dict[str, Any]:
    """The candidate's report, with the baseline's results beside its own where there is a baseline."""
    if baseline is None:
        say_runs(session, chosen, sides=1, cached=0)
        return session.run_side(store, session.subject, chosen, lambda report: _alone(session, report, chosen))
    before = _before(session, store, chosen, baseline)
    broken = None if baseline.is_without else broken_suite(before.results)
    if broken is not None:
        return session.run_nothing(
            store, session.subject, chosen, broken, lambda report: compared(session, report, [], before, baseline)
        )
    return session.run_side(
        store,
        session.subject,
        chosen,
        lambda report: compared(session, report, results_of(chosen, report), before, baseline),
    )


def _before(session: SuiteSession, store: Store, chosen: Sequence[Case], baseline: Baseline) -> Before:
    if baseline.report is not None:
        say_runs(session, chosen, sides=1, cached=0)
        return Before(results=task_results(baseline.report), run=baseline.report.get("run"))
    assert baseline.subject is not None
    cache = session.options.cache or RunsAsCache(store)
    key = session.identity(baseline.subject, chosen)
    known = None if session.judging.fresh else cache.find(key)
    if known is not None and _ids(known.results) != {case.id for case in chosen if case.skip is None}:
        known = None
    say_runs(session, chosen, sides=2, cached=0 if known is None else len(known.results))
    if known is not None:
        return Before(results=known.results, run=known.run, is_cached=True)
    report = session.run_side(store, baseline.subject, chosen)
    results = results_of(chosen, report)
    if results and all(result.passed is not None for result in results):
        cache.keep(key, Known(results=tuple(results), run=report["run"]))
    return Before(results=results, run=report["run"], usage=report["usage"])


def _ids(results: Sequence[TaskResult]) -> set[str]:
    return {result.task_id for result in results}


def say_runs(session: SuiteSession, chosen: Sequence[Case], *, sides: int, cached: int) -> None:
    """What it may cost, before the first call: agent runs are dear."""
    tasks = [case for case in chosen if case.skip is None]
    attempts = max((case.attempts for case in tasks), default=1)
    total = sum(case.attempts for case in tasks) * sides
    most = "up to " if attempts > 1 else ""
    said = (
        f"{most}{_many(len(tasks), 'task')} x {_many(attempts, 'attempt')} x {_many(sides, 'side')}"
        f" = {total} agent runs of {session.target_name}"
    )
    if cached:
        said += f", baseline cached: {cached}"
    calls = session.judge_calls(tasks) * sides
    session.progress.note(f"{said}; {most}{calls} judge calls" if calls else said)
    for note in session.notes:
        session.progress.note(note)


def _many(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _alone(session: SuiteSession, document: dict[str, Any], chosen: Sequence[Case]) -> dict[str, Any]:
    return {
        "execution_pass_rate": document["pass_rate"],
        "mock": session.is_mock,
        "structure": structure_advice(session.subject.skill),
        "flags": [*document["flags"], *not_loaded(document)],
        "candidate_results": [result.to_plain() for result in results_of(chosen, document)],
    }


def structure_advice(skill: Skill | None) -> list[dict[str, Any]]:
    """What the files of a skill let one doubt: advice, told apart and never part of a score."""
    if skill is None:
        return []
    return [
        {"rule": one.rule, "line": one.line, "message": one.message, "suggestion": one.suggestion}
        for one in check_structure(skill.version, folder=skill.name)
    ]


def compared(
    session: SuiteSession, document: dict[str, Any], after: Sequence[TaskResult], before: Before, baseline: Baseline
) -> dict[str, Any]:
    """What the candidate's report says beside its baseline. `after` is empty where the candidate was never run."""
    options = session.options
    now, then = _shared(after, before.results) if baseline.report is not None else (after, before.results)
    found = judge_skill(now, then, is_without=baseline.is_without, require_improvement=options.require_improvement)
    comparison = _comparison(session, document, now, then, baseline)
    verdict, reasons = found.verdict, [found.reason] if found.reason else []
    if verdict is SkillVerdict.PASS and options.fail_on and comparison["verdict"] == "fail":
        verdict, reasons = SkillVerdict.FAIL, comparison["reasons"]
    if verdict is SkillVerdict.PASS and options.min_pass_rate is not None and document["verdict"] != "pass":
        verdict = SkillVerdict.FAIL if document["verdict"] == "fail" else SkillVerdict.ERROR
        reasons = document["reasons"]
    return {
        "verdict": str(verdict),
        "reasons": reasons,
        "execution_pass_rate": found.execution_pass_rate,
        "baseline_pass_rate": found.baseline_pass_rate,
        "delta": found.delta,
        "interval": None if found.interval is None else list(found.interval),
        "regressions": comparison["regressions"],
        "baseline": {"name": baseline.name, "run": before.run, "usage": dict(before.usage)},
        "baseline_cached": before.is_cached,
        "mock": session.is_mock,
        "structure": structure_advice(session.subject.skill),
        "flags": [*document["flags"], *_flaky_before(then), *not_loaded(document), *_one_sided(comparison)],
        "candidate_results": [result.to_plain() for result in now],
        "baseline_results": [result.to_plain() for result in then],
        "comparison": comparison,
    }


def _shared(
    after: Sequence[TaskResult], before: Sequence[TaskResult]
) -> tuple[Sequence[TaskResult], Sequence[TaskResult]]:
    """The tasks of both sides: a run from before may hold other ones, and rates of other tasks say nothing."""
    both = _ids(after) & _ids(before)
    return [r for r in after if r.task_id in both], [r for r in before if r.task_id in both]


def _flaky_before(results: Sequence[TaskResult]) -> list[str]:
    """The candidate's flaky tasks are in its own report already."""
    return [f"{flaky(result)} in the baseline" for result in results if result.is_flaky]


def flaky(result: TaskResult) -> str:
    return f"flaky: {result.task_id} ({result.passes} of {result.attempts})"


def not_loaded(document: Mapping[str, Any]) -> list[str]:
    """Tasks where the agent told what it did, and reading the skill was not part of it in any attempt."""
    names = []
    for case in document["cases"]:
        told = [(attempt["trace"] or {}).get("skill_loaded") for attempt in case["attempts"]]
        if told and all(loaded is False for loaded in told):
            names.append(case["id"])
    return [f"the agent never loaded the skill: {', '.join(names)}"] if names else []


def _one_sided(comparison: Mapping[str, Any]) -> list[str]:
    parts = {"in the baseline only": comparison["missing"], "in the candidate only": comparison["new"]}
    return [f"not compared, {where}: {', '.join(ids)}" for where, ids in parts.items() if ids]


def _comparison(
    session: SuiteSession,
    document: dict[str, Any],
    after: Sequence[TaskResult],
    before: Sequence[TaskResult],
    baseline: Baseline,
) -> dict[str, Any]:
    options = session.options
    gates = options.fail_on or BASELINE_GATES
    if baseline.report is not None:
        return compare_reports(baseline.report, document, gates=gates, across=options.across_contracts)
    # A candidate that was never run has lost nothing.
    found = compare(_sides(before) if after else {}, _sides(after))
    return comparison_document(found, judge_comparison(found, gates), baseline=None, candidate=document["run"])


def _sides(results: Sequence[TaskResult]) -> dict[str, Side]:
    status = {True: Status.PASSED, False: Status.FAILED, None: Status.INCONCLUSIVE}
    return {
        result.task_id: Side(
            status=status[result.passed],
            score=None if result.score is None else exact(result.score),
            is_unstable=result.is_flaky,
        )
        for result in results
    }


# ------------------------------------------------------------------------------------------------------------ results


def results_of(chosen: Sequence[Case], document: Mapping[str, Any]) -> list[TaskResult]:
    """One result for every task that was to be run; one that a budget did not reach is open."""
    by_id = {case["id"]: case for case in document["cases"]}
    return [_task_result(by_id[case.id]) for case in chosen if case.skip is None]


def task_results(document: Mapping[str, Any]) -> list[TaskResult]:
    """The cases of an earlier report as results of tasks; skipped ones are no results."""
    return [_task_result(case) for case in document["cases"] if case["status"] != Status.SKIPPED]


def _task_result(case: Mapping[str, Any]) -> TaskResult:
    passed = {Status.PASSED: True, Status.FAILED: False}.get(Status(case["status"]))
    score = case["score"]
    return TaskResult(
        task_id=case["id"],
        passed=passed,
        score=None if passed is None or score is None else round(score / 100, 12),
        details=_details(case),
        duration_ms=case["duration_ms"],
        error="" if passed is not None else _why_open(case),
        attempts=max(1, len(case["attempts"])),
        passes=sum(1 for attempt in case["attempts"] if attempt["status"] == Status.PASSED),
    )


def _why_open(case: Mapping[str, Any]) -> str:
    """Why a task has no mark: what its run says, and the judges that gave none."""
    silent = [f"{judge['id']}: {judge['reason']}" for judge in case.get("judges", ()) if judge["reason"]]
    return "; ".join((*case["reasons"], *silent))


def _details(case: Mapping[str, Any]) -> str:
    """Which items were met and which were not, in the rubric's words, with what the judges said about the latter."""
    met, unmet = [], []
    for criterion in case["criteria"]:
        for item in criterion["items"]:
            name = item.get("requirement") or item["id"]
            if item.get("unmet"):
                why = item.get("suggestion")
                unmet.append(f"{name} ({why})" if why else name)
            elif item["met"] is not None:
                met.append(name)
    parts = [f"met: {', '.join(met)}" if met else "", f"not met: {', '.join(unmet)}" if unmet else ""]
    return "; ".join(part for part in parts if part)
