"""What `sure` needs of a call: refused before anything is spent where it cannot be asked on."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from honestone.app.judging.judging_options import JudgingOptions
from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.numbers import exact
from honestone.core.suite.case import Suite
from honestone.engine.judging.seats import Seat


def require_askable(
    rubric: Rubric,
    seats: Sequence[Seat],
    options: JudgingOptions,
    *,
    gate_only: bool = False,
    file: Path | None = None,
) -> None:
    """Raises UsageError for options that contradict `sure`, for a limit of what is not asked for,
    and where people are the only judges. `file`: where the rubric is written.
    """
    if rubric.sure is None:
        refuse_limit_in_file(rubric.max_looks, file)
        return
    refuse_other_ways(options, gate_only=gate_only)
    if rubric.asks_judges:
        refuse_people_alone(seats, place_of_sure(file, options))


def refuse_people_alone(seats: Sequence[Seat], place: str | None) -> None:
    """Raises UsageError where no judge can be asked a second time, since all are people."""
    if seats and all(seat.kind == "person" for seat in seats):
        raise UsageError(
            "--sure asks judges again until it is sure enough, and people are the only judges here",
            place=place,
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


def refuse_limit_in_file(max_looks: int | None, file: Path | None) -> None:
    """Raises UsageError for `max_looks` where neither file nor command says `sure`."""
    if max_looks is not None:
        raise UsageError(
            "`max_looks` limits what `sure` asks for, and nothing says how sure the verdict has to be",
            place=place_of(file, "max_looks"),
            hint="write `sure: 95` too, add --sure 95, or leave `max_looks` out",
        )


def place_of_sure(file: Path | None, options: JudgingOptions) -> str | None:
    """Where a file says how sure it has to be; None where the command does."""
    return place_of(file, "sure") if options.sure is None else None


def place_of(file: Path | None, key: str) -> str | None:
    """`file:line:column` of a key at the top of a file, looked up for an error; None where it is
    written elsewhere.
    """
    from honestone.formats.syntax.marked import parse_marked, read_text

    try:
        marked = None if file is None else parse_marked(read_text(file), str(file))
    except FileError:
        return None
    return marked.key_at((key,)) if marked is not None and marked.has((key,)) else None
