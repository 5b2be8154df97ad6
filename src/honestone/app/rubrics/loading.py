"""A rubric of any format that is read, with the bars of the call over its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from honestone.core.errors import UsageError
from honestone.core.numbers import exact
from honestone.core.rubric import Rubric


def load_rubric(
    path: Path,
    *,
    threshold: float | None = None,
    floor: float | None = None,
    accept_loss: bool = False,
    note: Callable[[str], None] | None = None,
) -> Rubric:
    """A rubric, ours or another tool's, with the bars of the call put over its own.

    Raises SourceErrors for what a foreign file says and ours cannot, unless that is accepted; then it is noted.
    """
    from honestone.formats.source import ForeignRubric, refuse_losses
    from honestone.interop.recognise import read_any_rubric

    source = read_any_rubric(path)
    if isinstance(source, ForeignRubric):
        lost = refuse_losses(source.losses, source.dialect, accepted=accept_loss)
        for line in (f"{path} was read as {source.dialect}", *source.notes, *lost):
            if note is not None:
                note(line)
    return with_bars(source.rubric, threshold=threshold, floor=floor)


def with_bars(rubric: Rubric, *, threshold: float | None, floor: float | None) -> Rubric:
    """Bars are points from 0 to 100; None leaves the rubric's own. Raises UsageError for other numbers."""
    if threshold is not None:
        rubric = replace(rubric, threshold=_points("--threshold", threshold))
    if floor is not None:
        rubric = replace(rubric, floor=_points("--floor", floor))
    return rubric


def _points(option: str, number: float) -> Fraction:
    try:
        value = exact(number) / 100
    except ValueError:
        value = Fraction(-1)
    if not 0 <= value <= 1:
        raise UsageError(f"{option} is {number:g}, but must be from 0 to 100", hint=f"for example {option} 80")
    return value
