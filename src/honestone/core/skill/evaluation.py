"""Does a skill help: tasks with it and the same tasks without it, or with an earlier version of it.

    pass      the candidate's rate is at least the baseline's
    fail      it is below
    error     the suite is broken (a baseline that hardly passes anything shows nothing), or runs failed that could tip it
    skipped   nothing called for a run

A task whose agent or judge could not run is None, on neither side of the scales; the verdict is
given when every way such tasks could have ended gives the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import asdict

from honestone.core.json_value import Json, JsonObject
from honestone.core.suite.comparison import bootstrap, bootstrap_pairs

# A baseline under this rate means a broken suite; exactly this is enough.
BROKEN_BELOW = Fraction(1, 5)


NOISE = "the improvement is not above the noise: the interval's lower end is not above 0"


class SkillVerdict(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"


EXIT_OF = {
    SkillVerdict.PASS: 0,
    SkillVerdict.FAIL: 1,
    SkillVerdict.ERROR: 3,
    SkillVerdict.SKIPPED: 3,
}


class TaskResult(Struct, frozen=True, kw_only=True):
    """One task on one side. `passed` and `score` (0-1) are None where it could not be run or
    judged.
    """

    task_id: str
    passed: bool | None
    score: float | None
    details: str = ""
    duration_ms: int = 0
    error: str = ""
    attempts: int = 1
    passes: int = 0

    @property
    def is_flaky(self) -> bool:
        """Passed in one attempt and not in another."""
        return 0 < self.passes < self.attempts

    def to_plain(self) -> dict[str, Json]:
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: JsonObject) -> TaskResult:
        """Names that are not known are left out. Raises TypeError where one is missing."""
        known: dict[str, object] = {
            name: plain[name] for name in cls.__struct_fields__ if name in plain
        }
        make: Callable[..., TaskResult] = cls
        return make(**known)


class SkillResult(Struct, frozen=True, kw_only=True):
    """Rates, delta and interval are 0-1; None when a task is open. `reason` says why it is not a
    plain pass.
    """

    verdict: SkillVerdict
    execution_pass_rate: float | None = None
    baseline_pass_rate: float | None = None
    delta: float | None = None
    interval: tuple[float, float] | None = None
    reason: str = ""


def rate(results: Sequence[TaskResult]) -> Fraction | None:
    """The share of tasks that passed; None without tasks and while one is open."""
    low, high = rate_interval(results)
    return low if low == high and results else None


def rate_interval(results: Sequence[TaskResult]) -> tuple[Fraction, Fraction]:
    if not results:
        return Fraction(0), Fraction(1)
    passed = sum(1 for result in results if result.passed)
    unsure = sum(1 for result in results if result.passed is None)
    return Fraction(passed, len(results)), Fraction(passed + unsure, len(results))


def broken_suite(baseline: Sequence[TaskResult]) -> str | None:
    """Why a baseline that is a version of the skill shows that the suite is broken; None when it
    does not for certain.
    """
    high = rate_interval(baseline)[1]
    return None if high >= BROKEN_BELOW else _broken(high, high, is_without=False)


def _broken(high: Fraction, then_high: Fraction, is_without: bool) -> str:
    if not is_without:
        return f"baseline pass rate {float(then_high):.3g} < 0.2: fix the suite first"
    rates = f"{float(high):.3g} with the skill and {float(then_high):.3g} without"
    return f"pass rate {rates}, both < 0.2: fix the suite first"


def judge_skill(
    candidate: Sequence[TaskResult],
    baseline: Sequence[TaskResult],
    *,
    is_without: bool,
    require_improvement: bool = False,
) -> SkillResult:
    """Candidate and baseline are results of the same tasks. `is_without`: the baseline has no skill
    at all.
    """
    now, then = rate(candidate), rate(baseline)
    delta = now - then if now is not None and then is not None else None
    before = {result.task_id: _share(result) for result in baseline}
    interval = bootstrap_pairs((before.get(result.task_id), _share(result)) for result in candidate)
    verdict, reason = _verdict(
        candidate, baseline, is_without=is_without, strict=require_improvement
    )
    return SkillResult(
        verdict=verdict,
        reason=reason,
        execution_pass_rate=None if now is None else float(now),
        baseline_pass_rate=None if then is None else float(then),
        delta=None if delta is None else float(delta),
        interval=None if interval is None else (float(interval[0]), float(interval[1])),
    )


def _verdict(
    candidate: Sequence[TaskResult],
    baseline: Sequence[TaskResult],
    *,
    is_without: bool,
    strict: bool,
) -> tuple[SkillVerdict, str]:
    """Each side may end anywhere between its ends, whatever the other does: the corners speak for
    all completions.
    """
    (low, high), (then_low, then_high) = rate_interval(candidate), rate_interval(baseline)
    if then_high < BROKEN_BELOW and (not is_without or high < BROKEN_BELOW):
        return SkillVerdict.ERROR, _broken(high, then_high, is_without)
    if {r.task_id for r in candidate} != {r.task_id for r in baseline} or not candidate:
        return SkillVerdict.ERROR, "the two sides did not run the same tasks"
    if then_low < BROKEN_BELOW and (not is_without or low < BROKEN_BELOW):
        return SkillVerdict.ERROR, _open(candidate, baseline)
    if high < then_low:
        return SkillVerdict.FAIL, _fell(low, high, then_low, then_high)
    if strict and not _is_above_noise(candidate, baseline, at_best=True):
        return SkillVerdict.FAIL, NOISE
    if low >= then_high and (not strict or _is_above_noise(candidate, baseline, at_best=False)):
        return SkillVerdict.PASS, ""
    return SkillVerdict.ERROR, _open(candidate, baseline)


def _is_above_noise(
    candidate: Sequence[TaskResult], baseline: Sequence[TaskResult], *, at_best: bool
) -> bool:
    """Whether the interval's lower end is above 0 when every open task ends well for the candidate
    (`at_best`), or badly.

    The lower end never falls when one task ends better: the same draws are taken whatever the
    differences are.
    """
    now = {r.task_id: at_best if r.passed is None else r.passed for r in candidate}
    then = {r.task_id: not at_best if r.passed is None else r.passed for r in baseline}
    if now.keys() != then.keys() or not now:
        return False
    return bootstrap([Fraction(int(now[id]) - int(then[id])) for id in now])[0] > 0


def _share(result: TaskResult) -> Fraction | None:
    return None if result.passed is None else Fraction(result.passed)


def _fell(low: Fraction, high: Fraction, then_low: Fraction, then_high: Fraction) -> str:
    now = f"{float(low):.3g}" if low == high else f"at most {float(high):.3g}"
    then = f"{float(then_low):.3g}" if then_low == then_high else f"at least {float(then_low):.3g}"
    return f"the pass rate fell from {then} to {now}"


def _open(candidate: Sequence[TaskResult], baseline: Sequence[TaskResult]) -> str:
    undecided = [result for result in (*candidate, *baseline) if result.passed is None]
    names, first = dict.fromkeys(result.task_id for result in undecided), undecided[0]
    return f"could not be run or judged, and could tip it: {', '.join(names)} ({first.error or 'no reason given'})"
