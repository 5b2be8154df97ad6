"""What several tasks want of the store at about the same time, done in one go: a query or a commit
each would cost more than the rest of the work between two calls.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Generic, TypeVar

from msgspec import Struct, field

Wish = TypeVar("Wish")
Found = TypeVar("Found")


class _NextTurn:
    """Waits for the next turn of the event loop."""

    def __await__(self) -> Generator[None, None, None]:
        yield


class _Batch(Struct, Generic[Wish, Found]):
    wishes: list[Wish] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    error: Exception | None = None


class Together(Generic[Wish, Found]):
    """`act` is done once for all that is wished for in one turn of the event loop. Whoever wished
    continues when it is done, with what `act` returned; what it raises is raised in all of them.
    """

    def __init__(self, act: Callable[[Sequence[Wish]], Found]) -> None:
        self._act = act
        self._batch: _Batch[Wish, Found] = _Batch()

    async def __call__(self, wish: Wish) -> Found:
        batch = self._batch
        batch.wishes.append(wish)
        try:
            await _NextTurn()
        finally:  # Also where this task is cancelled: what was to be recorded is.
            if self._batch is batch:
                self._batch = _Batch()
                try:
                    batch.found.append(self._act(batch.wishes))
                except Exception as error:
                    batch.error = error
        if batch.error is not None:
            raise batch.error
        return batch.found[0]
