"""Where the cases of a suite are, for suites of very many cases: a place of the file itself is one
number in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from honestone.core.json_value import late_pattern

_COLUMN_BITS: Final = 32
_HERE: Final = late_pattern(r"([1-9][0-9]{0,8}):([1-9][0-9]{0,8})")


class Places(Mapping[str, str]):
    """`file:line:column` by id. `name` is the file that most of them are in."""

    def __init__(self, name: str) -> None:
        self._start = f"{name}:"
        self._spots: dict[str, int | str] = {}

    def put(self, id: str, place: str) -> None:
        here = _HERE.fullmatch(place.removeprefix(self._start))
        if here is None or not place.startswith(self._start):
            self._spots[id] = place
        else:
            self._spots[id] = int(here[1]) << _COLUMN_BITS | int(here[2])

    def __getitem__(self, id: str) -> str:
        spot = self._spots[id]
        if isinstance(spot, str):
            return spot
        line, column = divmod(spot, 1 << _COLUMN_BITS)
        return f"{self._start}{line}:{column}"

    def __contains__(self, id: object) -> bool:
        return id in self._spots

    def __iter__(self) -> Iterator[str]:
        return iter(self._spots)

    def __len__(self) -> int:
        return len(self._spots)
