"""What a call from Python leaves open for the next one: an event loop with its connections, and the
store.

Opening them costs several times what a few text checks do. An idle set is taken by the next call,
whatever thread makes it, and serves that call alone: calls at the same time have one each. All are
closed when the program ends.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar

from honestone.system import late_asyncio as asyncio

if TYPE_CHECKING:
    from honestone.adapters.stores.memory import MemoryStore
    from honestone.adapters.stores.sqlite import SqliteStore
    from honestone.app.workspace import Workspace
    from honestone.ports import Store

T = TypeVar("T")

# Sets that may wait idle; of more calls at the same time the rest close theirs.
MOST: Final = 8


class LeftOpen:
    """One event loop, at most one store of a folder and one in memory, and the rubric judged by
    last with what follows from it. For one call at a time, in any thread.
    """

    def __init__(self) -> None:
        # A RubricPlan, whose module imports this one.
        self.plan: object | None = None
        self._memory: MemoryStore | None = None
        self._store: SqliteStore | None = None

    @cached_property
    def runner(self) -> asyncio.Runner:
        from honestone.adapters.transport import keep_connections

        # Made by a factory, so that a person's own `asyncio.get_event_loop()` never gets it.
        runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        keep_connections(runner.get_loop())
        return runner

    async def first(self, work: Callable[[], Coroutine[object, object, T]]) -> T:
        """`work`, after connections that a server has closed meanwhile were noticed."""
        await asyncio.sleep(0)
        return await work()

    @contextmanager
    def memory(self) -> Iterator[Store]:
        """An empty store in memory."""
        from honestone.adapters.stores.memory import MemoryStore

        store = self._memory = self._memory or MemoryStore()
        yield store
        if not store.clear():
            store.close()
            self._memory = None

    @contextmanager
    def store(self, workspace: Workspace) -> Iterator[Store]:
        """The workspace's store, the same as last time where it still is the file that was opened
        then.
        """
        from honestone.adapters.stores.sqlite import SqliteStore

        last, self._store = self._store, None
        is_folder = workspace.shared is None
        if last is not None and not (
            is_folder and last.root == workspace.store and last.is_in_place
        ):
            last.close()
            last = None
        with ExitStack() as stack:
            store = stack.enter_context(workspace.open_store() if last is None else closing(last))
            yield store
            if isinstance(store, SqliteStore) and is_folder:
                self._store = store
                stack.pop_all()

    @property
    def is_clean(self) -> bool:
        """Nothing that a call began is still under way."""
        return "runner" not in self.__dict__ or not asyncio.all_tasks(self.runner.get_loop())

    def close(self) -> None:
        from honestone.adapters.transport import close_lingering

        for store in (self._memory, self._store):
            if store is not None:
                store.close()
        if "runner" in self.__dict__:
            self.runner.run(close_lingering())
            self.runner.close()


# What the work under way may use and leave open; None where everything is closed at its end.
LEFT_OPEN: Final[ContextVar[LeftOpen | None]] = ContextVar("left_open", default=None)

_idle: list[LeftOpen] = []


def keeping_open(work: Callable[[], T]) -> T:
    """Run it with what the call before left open. What an error interrupts is closed."""
    left_open = _idle.pop() if _idle else LeftOpen()
    before = LEFT_OPEN.set(left_open)
    try:
        found = work()
    except BaseException:
        left_open.close()
        raise
    finally:
        LEFT_OPEN.reset(before)
    if left_open.is_clean and len(_idle) < MOST:
        _idle.append(left_open)
    else:
        left_open.close()
    return found


def idle() -> Sequence[LeftOpen]:
    """What the next calls find open."""
    return tuple(_idle)


@atexit.register
def close_all() -> None:
    """Close what is idle."""
    while _idle:
        _idle.pop().close()


_parents: list[LeftOpen] = []


def _forget() -> None:
    """Forget what is idle in a forked child: it belongs to the parent, and closing it here would
    disturb it there.
    """
    _parents.extend(_idle)
    _idle.clear()


os.register_at_fork(after_in_child=_forget)
