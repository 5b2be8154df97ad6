"""The journal of a store that waits for a server: a thread makes its calls, so that the event loop
is free meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeVar

from honestone.adapters.stores.journal import AppendWish, Lost, StoreJournal, append_wishes
from honestone.ports import Recordable, Store
from honestone.system.together import Together

if TYPE_CHECKING:
    from honestone.core.events import Event

T = TypeVar("T")
Wish = TypeVar("Wish")
# Seconds that a task which is cancelled waits for the answer to a call that it had begun.
PATIENCE_OF_CANCELLED: Final = 10.0
_CLOSE_SECONDS: Final = 10.0
# Seconds that an event waits for others, so that one transaction keeps them all: it is the dearest
# call of a case.
_TOGETHER: Final = 0.02


async def through(answer: asyncio.Future[T], seconds: float = PATIENCE_OF_CANCELLED) -> T:
    """The answer to a call that is made in any case. A task that is cancelled while it waits gets
    the answer first: it may be a claim or a grant that it has to give back. It is cancelled at what
    it awaits next.
    """
    try:
        return await asyncio.shield(answer)
    except asyncio.CancelledError:
        here = asyncio.current_task()
        if here is None or answer.cancelled():
            raise
        await asyncio.wait(
            (answer,), timeout=seconds
        )  # where it is cancelled once more, it waits no longer
        if not answer.done():
            raise
        here.uncancel()  # this cancellation has been taken; the next line asks for it again
        here.cancel()
        return answer.result()


class ThreadJournal(StoreJournal):
    """For a store that may be used by several threads. One thread of its own makes the calls, one
    after the other. `give_up` makes a call end that waits for a server; `close` uses it where one
    does not end.
    """

    def __init__(self, store: Store, give_up: Callable[[], None]) -> None:
        super().__init__(store)
        self._give_up = give_up
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._wishes: list[AppendWish] = []
        self._appended: asyncio.Future[Mapping[int, Lost]]

    async def append(
        self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None
    ) -> Event | None:
        if blobs:
            return await super().append(run, event, blobs)
        return (await self.append_many(run, (event,))).get(0)

    def close(self) -> None:
        """Ends when every call that was begun has been made. A server that does not answer is
        waited for ten seconds; then the calls end with StoreAway, and replies that were paid for
        are on this machine's disk.
        """
        self._begin_appending()
        if self._thread is None:
            return
        self._calls.put(None)
        self._thread.join(_CLOSE_SECONDS)
        if self._thread.is_alive():
            self._give_up()
            self._thread.join(_CLOSE_SECONDS)
        self._thread = None

    # -- inside

    async def _call(self, call: Callable[[], T]) -> T:
        return await through(self._begin(call))

    def _together(self, act: Callable[[Sequence[Wish]], T]) -> Callable[[Wish], Awaitable[T]]:
        begin = Together[Wish, asyncio.Future[T]](lambda wishes: self._begin(lambda: act(wishes)))

        async def ask(wish: Wish) -> T:
            return await through(await begin(wish))

        return ask

    async def _append_together(self, wish: AppendWish) -> Mapping[int, Lost]:
        return await through(self._append(wish))

    def _append(self, wish: AppendWish) -> asyncio.Future[Mapping[int, Lost]]:
        loop = asyncio.get_running_loop()
        if self._wishes and self._appended.get_loop() is not loop:
            # That loop was closed before their time came.
            self._begin_appending()
        if not self._wishes:
            self._appended = loop.create_future()
            loop.call_later(_TOGETHER, self._begin_appending)
        self._wishes.append(wish)
        return self._appended

    def _begin_appending(self) -> None:
        """All that was wished for since the last time."""
        wishes, self._wishes = self._wishes, []
        if wishes:
            self._hand_over(lambda: append_wishes(self._store, wishes), self._appended)

    def _begin(self, call: Callable[[], T]) -> asyncio.Future[T]:
        """Hands a call to the thread."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._hand_over(call, answer)
        return answer

    def _hand_over(self, call: Callable[[], T], answer: asyncio.Future[T]) -> None:
        loop = answer.get_loop()
        answer.add_done_callback(_take_error)

        def make() -> None:
            with suppress(RuntimeError):  # the loop was closed: its tasks wait no longer
                try:
                    loop.call_soon_threadsafe(answer.set_result, call())
                except BaseException as error:
                    loop.call_soon_threadsafe(answer.set_exception, error)

        if self._thread is None:
            # A daemon: a program that ends in disorder does not wait for a server.
            self._thread = threading.Thread(target=self._work, name="journal", daemon=True)
            self._thread.start()
        self._calls.put(make)

    def _work(self) -> None:
        while (make := self._calls.get()) is not None:
            make()


def _take_error(answer: asyncio.Future[Any]) -> None:
    """An error is raised in whoever waits; a task that waits no longer has been cancelled, and
    nothing is to be said of it.
    """
    if not answer.cancelled():
        answer.exception()
