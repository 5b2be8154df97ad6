"""What `sure` needs of a call: refused before anything is spent where it cannot be asked on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from honestone.app.judging.judging_options import JudgingOptions
from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.numbers import exact
from honestone.core.suite.case import Suite
from honestone.engine.judging.seats import Seat


def require_askable(
    rubric: Rubric, seats: Sequence[Seat], options: JudgingOptions, *, gate_only: bool = False
) -> None:
    """Raises UsageError for options that contradict `sure`, and where people are the only judges."""
    if rubric.sure is None:
        return
    refuse_other_ways(options, gate_only=gate_only)
    if seats and rubric.asks_judges and all(seat.kind == "person" for seat in seats):
        raise UsageError(
            "--sure asks judges again until it is sure enough, and people are the only judges here",
            hint="name a judge that can be asked again, or leave `sure` out",
        )


def refuse_other_ways(options: JudgingOptions, *, gate_only: bool = False) -> None:
    """Raises UsageError for another way to say how often a judge is asked."""
    if options.repeat is not None:
        raise UsageError(
            "--repeat says how often each judge looks, and --sure decides that itself",
            hint="leave one of the two out; --max-looks limits --sure",
        )
    if gate_only:
        raise UsageError(
            "--gate-only asks each judge at most once, and --sure asks on",
            hint="leave one of the two out: --sure stops as soon as it is sure, too",
        )
    if options.batch is not None:
        raise UsageError(
            "--batch sends all questions at once, and --sure decides after each reply what to ask",
            hint="leave one of the two out",
        )


def sure_of_suite(suite: Suite, options: JudgingOptions) -> Fraction | None:
    """How sure the verdict of a suite has to be (0-1): the option before the file."""
    return suite.sure if options.sure is None else exact(options.sure) / 100


def refuse_limit_alone(sure: Fraction | None, options: JudgingOptions) -> None:
    """Raises UsageError for a limit of what is not asked for."""
    if sure is None and options.max_looks is not None:
        raise UsageError(
            "--max-looks limits what --sure asks for, and nothing says how sure the verdict has to be",
            hint="add --sure 95, or `sure: 95` in the file",
        )
