"""What the comparisons of one run remember, so that a look costs what it changes and not the whole
run again.

Two comparisons of a run have nearly all of their votes and edits in common: the next one knows a
few more. So a result is kept by what it follows from: an edit, the votes after it, and the numbers
of what came before or branched off. Equal things have one number. A vote more gives another number
to the version it is about and to all that follow from it, so no one has to say which results
are out of date.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Results(dict[int, "T | None"], Generic[T]):
    """Results of one kind under one assumption, by number: those that this comparison used, and
    those of the one before it. `results[number]` is None where it is not known. A dictionary by
    itself, because reading one is a large part of what a comparison costs.
    """

    __slots__ = ("_before",)

    def __init__(self, before: Results[T] | None) -> None:
        super().__init__()
        self._before: dict[int, T | None] = {} if before is None else before
        if before is not None:
            before._before = {}

    def __missing__(self, number: int) -> T | None:
        remembered = self._before.get(number)
        if remembered is not None:
            self[number] = remembered
        return remembered

    def keep(self, number: int, result: T) -> T:
        self[number] = result
        return result


class ComparisonMemory:
    """Numbers of equal things, and results."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._results: dict[Hashable, Results[object]] = {}
        self._before: dict[Hashable, Results[object]] = {}

    def begin(self) -> None:
        """A comparison begins: results that the last one did not use are forgotten."""
        self._before, self._results = self._results, {}

    def number(self, *parts: Hashable) -> int:
        return self._numbers.setdefault(parts, len(self._numbers))

    def results(self, kind: str, *assumption: Hashable) -> Results[T]:
        """Those of one kind; a kind has results of one type."""
        place = (kind, *assumption)
        remembered = self._results.get(place)
        if remembered is None:
            before = self._before.get(place)
            remembered = self._results[place] = Results(before)
        return cast(Results[T], remembered)
