"""What a planned suite costs at most, in words."""

from __future__ import annotations

from fractions import Fraction

from honestone.app.suites.plan import SuitePlan
from honestone.core.belief.stated import percent_words
from honestone.core.suite.outline import outline_of
from honestone.system.drawing import count


def suite_cost(plan: SuitePlan, sides: int, *, each: str = "side", of: str | None = None) -> str:
    """`3 cases x 2 attempts: up to 6 runs of claude, 6 judge calls (codex), at most 22 with
    retries; all have to pass`. `sides` times, each a side or a column, of the targets `of`.
    """
    times = outline_of(plan.chosen).attempts
    cases, attempts = sum(times.values()), sum(each * number for each, number in times.items())
    parts = [count(cases, "case")]
    if len(times) > 1:
        parts = [f"{attempts} attempts at {parts[0]}"]
    elif attempts != cases:
        parts.append(f"{next(iter(times))} attempts")
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
        calls = plan.judge_calls(plan.chosen, of_skipped=False) * sides
        judges = ", ".join(seat.id for seat in plan.seats)
        most = plan.meter(calls).calls
        limit = (
            f"at most {most} with retries" if most >= calls else f"of which the limit allows {most}"
        )
        words += f", {count(calls, 'judge call')} ({judges}), {limit}"
    return words + bar_words(plan.request.least_pass_rate, plan.sure)


def bar_words(least: Fraction | None, sure: Fraction | None) -> str:
    """What a suite has to reach, behind its cost: nothing where nothing can fail."""
    if least == 0:
        return ""
    most = "all" if least is None or least == 1 else f"at least {percent_words(float(least))}"
    return f"; {most} have to pass" + (
        "" if sure is None else f", {percent_words(float(sure))} sure"
    )


def skill_cost(plan: SuitePlan, *, sides: int, cached: int) -> str:
    """`up to 6 tasks x 2 attempts x 2 sides = 24 agent runs of claude; up to 24 judge calls`. Agent
    runs are expensive.
    """
    times = outline_of(plan.chosen).attempts
    tasks, attempts = sum(times.values()), max(times, default=1)
    total = sum(each * number for each, number in times.items()) * sides
    most = "up to " if attempts > 1 else ""
    words = (
        f"{most}{count(tasks, 'task')} x {count(attempts, 'attempt')} x {count(sides, 'side')}"
        f" = {total} agent runs of {plan.target_name}"
    )
    if cached:
        words += f", baseline cached: {cached}"
    calls = plan.judge_calls(plan.chosen, of_skipped=False) * sides
    return f"{words}; {most}{calls} judge calls" if calls else words
