"""The rows of a run's events by case, read some cases at a time where they are asked for in the order
in which they came on record, as reports do: a query for each row costs more than the row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from honestone.adapters.stores.stored import case_of

# The number of an event in its run, and its JSON.
EventRow: TypeAlias = tuple[int, bytes]
# Most cases that are read together, and about how many bytes of their events.
MOST_CASES: Final = 32
MOST_BYTES: Final = 1_000_000
# Databases take some hundred parameters at least.
_MOST_ROWS: Final = 500


class _OnRecord(Struct):
    """Of a case: its place among all, the numbers of its events, the bytes of their rows."""

    place: int
    numbers: list[int]
    size: int = 0


class CasePages:
    """`every` are the rows of a run, which are gone through once and not held; `read` gives those
    of some numbers, in any order. One page of them is held.
    """

    def __init__(
        self, every: Iterable[EventRow], read: Callable[[Sequence[int]], Iterable[EventRow]]
    ) -> None:
        self._read = read
        self._cases: dict[str, _OnRecord] = {}
        for number, data in every:
            if (case := case_of(data)) is not None:
                known = self._cases.get(case)
                if known is None:
                    known = self._cases[case] = _OnRecord(len(self._cases), [])
                known.numbers.append(number)
                known.size += len(data)
        self._order = list(self._cases)
        self._page: dict[str, list[EventRow]] = {}
        # Where the page ends, and how many cases it has: more while they are asked for in order.
        self._end = 0
        self._ahead = 1

    def rows(self, case: str) -> Sequence[EventRow]:
        """Those of a case, in order; none for a case of which nothing is on record."""
        if case not in self._page:
            if case not in self._cases:
                return ()
            self._turn_to(self._cases[case].place)
        return self._page.pop(case)

    def _turn_to(self, place: int) -> None:
        self._ahead = min(2 * self._ahead, MOST_CASES) if place == self._end else 1
        chosen = self._chosen(place)
        self._end = place + len(chosen)
        numbers = sorted(number for case in chosen for number in self._cases[case].numbers)
        found = {
            number: data
            for start in range(0, len(numbers), _MOST_ROWS)
            for number, data in self._read(numbers[start : start + _MOST_ROWS])
        }
        self._page = {
            case: [(number, found[number]) for number in self._cases[case].numbers]
            for case in chosen
        }

    def _chosen(self, place: int) -> list[str]:
        chosen, size = list[str](), 0
        for case in self._order[place : place + self._ahead]:
            size += self._cases[case].size
            if chosen and size > MOST_BYTES:
                break
            chosen.append(case)
        return chosen
