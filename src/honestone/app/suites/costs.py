"""What running a suite may cost, in words, before the first call."""

from __future__ import annotations

from honestone.app.suites.plan import SuitePlan


def suite_cost(plan: SuitePlan, sides: int) -> str:
    """`3 cases x 2 attempts: up to 6 runs of claude, 6 judge calls (codex), at most 22 with retries`."""
    runnable = [case for case in plan.chosen if case.skip is None]
    attempts = sum(case.attempts for case in runnable)
    parts = [_many(len(runnable), "case")]
    each = {case.attempts for case in runnable}
    if len(each) > 1:
        parts = [f"{attempts} attempts at {parts[0]}"]
    elif attempts != len(runnable):
        parts.append(f"{each.pop()} attempts")
    if sides == 2:
        parts.append("2 sides")
    runs = "no target runs" if plan.target is None else f"up to {_many(attempts * sides, 'run')} of {plan.target_name}"
    words = f"{' x '.join(parts)}: {runs}"
    if plan.seats:
        calls = plan.judge_calls(runnable) * sides
        judges = ", ".join(seat.id for seat in plan.seats)
        words += f", {_many(calls, 'judge call')} ({judges}), at most {plan.meter(calls).calls} with retries"
    return words


def skill_cost(plan: SuitePlan, *, sides: int, cached: int) -> str:
    """`up to 6 tasks x 2 attempts x 2 sides = 24 agent runs of claude; up to 24 judge calls`. Agent runs are expensive."""
    tasks = [case for case in plan.chosen if case.skip is None]
    attempts = max((case.attempts for case in tasks), default=1)
    total = sum(case.attempts for case in tasks) * sides
    most = "up to " if attempts > 1 else ""
    words = (
        f"{most}{_many(len(tasks), 'task')} x {_many(attempts, 'attempt')} x {_many(sides, 'side')}"
        f" = {total} agent runs of {plan.target_name}"
    )
    if cached:
        words += f", baseline cached: {cached}"
    calls = plan.judge_calls(tasks) * sides
    return f"{words}; {most}{calls} judge calls" if calls else words


def _many(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
