"""Checks of a target's run, by what it said and what was measured. The rules are in
`core.trace_checks`.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from honestone.adapters.checks.check_input import Subject, finding
from honestone.core.checking.trace_checks import trace_answer
from honestone.core.judging.rubric import Check
from honestone.core.suite.trace import Trace
from honestone.ports import Finding, Output

NO_RUN: Final = "nothing was run: this check is about the run of a target"


async def find(check: Check, subject: Subject) -> Finding:
    if subject.output is None:
        return Finding(met=None, note=NO_RUN)
    try:
        answer = trace_answer(check, known_of(subject.output))
    except RecursionError:
        answer = None, "the arguments of its tool calls are nested too deeply"
    return finding(check, answer)


def known_of(output: Output) -> Trace:
    """What was measured, or counted by the one who was paid, before what the target says of itself."""
    trace, usage = output.trace or Trace(), output.usage

    def first(measured: Any, reported: Any) -> Any:
        return reported if measured is None else measured

    return replace(
        trace,
        input_tokens=first(usage.input_tokens, trace.input_tokens),
        output_tokens=first(usage.output_tokens, trace.output_tokens),
        usd=first(usage.usd, trace.usd),
        # A run that takes no millisecond was not measured: a recorded one, which may tell.
        duration_ms=output.duration_ms or trace.duration_ms,
    )
