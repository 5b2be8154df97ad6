"""What a planned suite costs at most, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from honestone.system.drawing import count

if TYPE_CHECKING:
    pass

from honestone.app.suites.plan import SuitePlan


def suite_cost(plan: SuitePlan, sides: int, *, each: str = "side", of: str | None = None) -> str:
    """`3 cases x 2 attempts: up to 6 runs of claude, 6 judge calls (codex), at most 22 with
    retries`. `sides` times, each a side or a column, of the targets `of`.
    """
    each_attempts = [case.attempts for case in plan.chosen if case.skip is None]
    attempts, times = sum(each_attempts), set(each_attempts)
    parts = [count(len(each_attempts), "case")]
    if len(times) > 1:
        parts = [f"{attempts} attempts at {parts[0]}"]
    elif attempts != len(each_attempts):
        parts.append(f"{times.pop()} attempts")
    if sides > 1:
        parts.append(count(sides, each))
    of = of or plan.target_name
    runs = (
        "no target runs"
        if plan.target is None
        else f"up to {count(attempts * sides, 'run')} of {of}"
    )
    words = f"{' x '.join(parts)}: {runs}"
    if plan.seats:
        calls = plan.judge_calls(case for case in plan.chosen if case.skip is None) * sides
        judges = ", ".join(seat.id for seat in plan.seats)
        most = plan.meter(calls).calls
        limit = (
            f"at most {most} with retries" if most >= calls else f"of which the limit allows {most}"
        )
        words += f", {count(calls, 'judge call')} ({judges}), {limit}"
    return words


def skill_cost(plan: SuitePlan, *, sides: int, cached: int) -> str:
    """`up to 6 tasks x 2 attempts x 2 sides = 24 agent runs of claude; up to 24 judge calls`. Agent
    runs are expensive.
    """
    tasks = [case for case in plan.chosen if case.skip is None]
    attempts = max((case.attempts for case in tasks), default=1)
    total = sum(case.attempts for case in tasks) * sides
    most = "up to " if attempts > 1 else ""
    words = (
        f"{most}{count(len(tasks), 'task')} x {count(attempts, 'attempt')} x {count(sides, 'side')}"
        f" = {total} agent runs of {plan.target_name}"
    )
    if cached:
        words += f", baseline cached: {cached}"
    calls = plan.judge_calls(tasks) * sides
    return f"{words}; {most}{calls} judge calls" if calls else words
