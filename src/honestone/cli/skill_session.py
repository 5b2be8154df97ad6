"""Running a skill's tasks on two sides: the candidate and its baseline, with what the baseline is remembered by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from honestone.cli.baseline import Baseline
from honestone.cli.comparing import compare_reports
from honestone.core.attempts import Status
from honestone.core.comparison import BASELINE_GATES, Side, compare, judge_comparison
from honestone.core.numbers import exact
from honestone.core.skill_evaluation import SkillVerdict, TaskResult, broken_suite, judge_skill
from honestone.core.suite import Case
from honestone.report.suite_documents import comparison_document, suite_document

if TYPE_CHECKING:
    from honestone.cli.suite_session import SuiteSession

BASELINE_LIFE = timedelta(days=7)


class BaselineCache(Protocol):
    """Where baselines are remembered, by what decides their results and never by a path."""

    def find(self, key: str) -> list[TaskResult] | None: ...

    def keep(self, key: str, results: Sequence[TaskResult]) -> None: ...


class RunsAsCache:
    """The runs in the store themselves: a finished one with the same key, not older than seven days, without a failed run."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def find(self, key: str) -> list[TaskResult] | None:
        oldest = (datetime.now(UTC) - BASELINE_LIFE).isoformat()
        for info in self._store.runs():
            if info.started < oldest:
                return None
            if info.kind == "suite" and info.identity == key and info.finished is not None:
                results = task_results(suite_document(self._store.events(info.id), run=info.id))
                if results and all(result.passed is not None for result in results):
                    return results
        return None

    def keep(self, key: str, results: Sequence[TaskResult]) -> None:
        """Nothing to do: the run is in the store."""


def skill_report(
    session: SuiteSession, store: Any, chosen: Sequence[Case], baseline: Baseline | None
) -> dict[str, Any]:
    """The candidate's report, with the baseline's results beside its own where there is a baseline."""
    cache = session.options.cache or RunsAsCache(store)
    if baseline is None:
        say_runs(session, chosen, sides=1, cached=0)
        return session.run_side(store, session.subject, chosen, _alone)
    before, cached = _baseline(session, store, chosen, baseline, cache)

    def completed(document: dict[str, Any]) -> dict[str, Any]:
        return compared(session, document, before, baseline, cached=cached)

    broken = None if baseline.is_without else broken_suite(before)
    if broken is not None:
        return session.run_nothing(store, session.subject, chosen, broken, completed)
    return session.run_side(store, session.subject, chosen, completed)


def _baseline(
    session: SuiteSession, store: Any, chosen: Sequence[Case], baseline: Baseline, cache: BaselineCache
) -> tuple[list[TaskResult], bool]:
    if baseline.report is not None:
        say_runs(session, chosen, sides=1, cached=0)
        return task_results(baseline.report), False
    assert baseline.subject is not None
    key = session.identity(baseline.subject, chosen)
    known = None if session.judging.fresh else cache.find(key)
    say_runs(session, chosen, sides=2, cached=0 if known is None else len(known))
    if known is not None:
        return known, True
    results = task_results(session.run_side(store, baseline.subject, chosen))
    if all(result.passed is not None for result in results):
        cache.keep(key, results)
    return results, False


def say_runs(session: SuiteSession, chosen: Sequence[Case], *, sides: int, cached: int) -> None:
    """What it may cost, before the first call: agent runs are dear."""
    tasks = [case for case in chosen if case.skip is None]
    attempts = max((case.attempts for case in tasks), default=1)
    total = sum(case.attempts for case in tasks) * sides
    most = "up to " if attempts > 1 else ""
    said = (
        f"{most}{len(tasks)} task{'s' if len(tasks) != 1 else ''} x {attempts} attempt{'s' if attempts > 1 else ''}"
        f" x {sides} side{'s' if sides > 1 else ''} = {total} agent runs of {session.target_name}"
    )
    session.progress.note(said)
    if cached:
        session.progress.note(f"baseline cached: {cached} tasks are not run again")
    for note in session.notes:
        session.progress.note(note)


def _alone(document: dict[str, Any]) -> dict[str, Any]:
    results = task_results(document)
    return {
        "execution_pass_rate": document["pass_rate"],
        "candidate_results": [result.to_plain() for result in results],
    }


def compared(
    session: SuiteSession,
    document: dict[str, Any],
    before: Sequence[TaskResult],
    baseline: Baseline,
    *,
    cached: bool,
) -> dict[str, Any]:
    """What the candidate's report says beside its baseline."""
    options = session.options
    after = task_results(document) if document["counts"]["skipped"] < len(document["cases"]) else []
    found = judge_skill(
        after, before, is_without=baseline.is_without, require_improvement=options.require_improvement
    )
    comparison = _comparison(session, document, before, after, baseline)
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
        "baseline": {"name": baseline.name, "run": (baseline.report or {}).get("run")},
        "baseline_cached": cached,
        "mock": session.target_name == "mock",
        "candidate_results": [result.to_plain() for result in after],
        "baseline_results": [result.to_plain() for result in before],
        "comparison": comparison,
    }


def _comparison(
    session: SuiteSession,
    document: dict[str, Any],
    before: Sequence[TaskResult],
    after: Sequence[TaskResult],
    baseline: Baseline,
) -> dict[str, Any]:
    options = session.options
    gates = options.fail_on or BASELINE_GATES
    if baseline.report is not None:
        return compare_reports(baseline.report, document, gates=gates, across=options.across_contracts)
    found = compare(_sides(before), _sides(after))
    return comparison_document(
        found, judge_comparison(found, gates), baseline=None, candidate=document["run"]
    )


def _sides(results: Sequence[TaskResult]) -> dict[str, Side]:
    status = {True: Status.PASSED, False: Status.FAILED, None: Status.INCONCLUSIVE}
    return {
        result.task_id: Side(
            status=status[result.passed],
            score=None if result.score is None else exact(result.score),
        )
        for result in results
    }


def task_results(document: Mapping[str, Any]) -> list[TaskResult]:
    """The cases of a report as results of tasks; skipped ones are no results."""
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
        error="" if passed is not None else "; ".join(case["reasons"]),
        attempts=max(1, len(case["attempts"])),
        passes=sum(1 for attempt in case["attempts"] if attempt["status"] == Status.PASSED),
    )


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
