"""What is made of each of many, or some of them, without all of it in memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Old = TypeVar("Old")
New = TypeVar("New")


class Each(Sequence[New], Generic[Old, New]):
    """What is made of each of `of`, every time it is asked for, because all of it together may be much."""

    def __init__(self, of: Sequence[Old], make: Callable[[Old], New]) -> None:
        self._of, self._make = of, make

    def __len__(self) -> int:
        return len(self._of)

    def __iter__(self) -> Iterator[New]:
        return map(self._make, self._of)

    @overload
    def __getitem__(self, index: int) -> New: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[New]: ...
    def __getitem__(self, index: int | slice) -> New | Sequence[New]:
        return Each(self._of[index], self._make) if isinstance(index, slice) else self._make(self._of[index])


def each_of(of: Sequence[Old], make: Callable[[Old], New]) -> Sequence[New]:
    """Made once of what is in memory, and each time of what is not."""
    return tuple(map(make, of)) if isinstance(of, tuple) else Each(of, make)


def those_of(of: Sequence[Old], is_wanted: Callable[[Old], bool]) -> Sequence[Old]:
    """Some of them, in their order: by their numbers where they are not in memory."""
    if isinstance(of, tuple):
        return tuple(filter(is_wanted, of))
    numbers = array("Q", (number for number, one in enumerate(of) if is_wanted(one)))
    return of if len(numbers) == len(of) else Each(numbers, of.__getitem__)
