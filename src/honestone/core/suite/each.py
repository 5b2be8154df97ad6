"""What is made of each of many, without all of it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

Old = TypeVar("Old")
New = TypeVar("New")


class Each(Sequence[New], Generic[Old, New]):
    """What is made of each of `of`, every time it is asked for, because all of it together may be
    much.
    """

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
        return (
            Each(self._of[index], self._make)
            if isinstance(index, slice)
            else self._make(self._of[index])
        )


def each_of(of: Sequence[Old], make: Callable[[Old], New]) -> Sequence[New]:
    """Apply `make` to each. What is in memory is converted once; what is not is converted whenever
    it is read, so that a suite of very many cases never is in memory as a whole.
    """
    return tuple(map(make, of)) if isinstance(of, tuple) else Each(of, make)
