"""Use cases and asyncio's event loop: work that Ctrl-C, SIGTERM or another thread can stop, and
work that starts where an event loop is running already.

`asyncio.run` refuses to start inside a running event loop, and blocking inside one stops everything
else in it. So a caller with a running loop (a notebook, an async test, the MCP server) is served
from a thread, and all others in their own thread, where Ctrl-C arrives.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, TypeVar

from honestone.adapters.functions import HOME, in_thread
from honestone.app.between_calls import LEFT_OPEN
from honestone.core.errors import Interrupted
from honestone.system import late_asyncio as asyncio
from honestone.system.event_loop import is_loop_running
from honestone.system.processes.groups import on_ctrl_c, on_sigterm

T = TypeVar("T")


class Stopper:
    """Ends a use case from another thread, as Ctrl-C does from the terminal: its programs end
    first, and the same call resumes. Set `STOPPER` to it before the use case starts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_set = False
        self._ends: list[Callable[[], object]] = []

    def set(self) -> None:
        with self._lock:
            self._is_set = True
            for end in self._ends:
                end()

    @property
    def is_set(self) -> bool:
        return self._is_set

    @contextmanager
    def ending(self, end: Callable[[], object]) -> Iterator[None]:
        """Inside the block `end` is called when the stopper is set; at once if it is set already."""
        with self._lock:
            self._ends.append(end)
            if self._is_set:
                end()
        try:
            yield
        finally:
            with self._lock:
                self._ends.remove(end)


STOPPER: Final[ContextVar[Stopper | None]] = ContextVar("stopper", default=None)


def run_to_end(
    work: Callable[[], Coroutine[object, object, T]],
    close: Callable[[], Coroutine[object, object, None]],
) -> T:
    """Run `work`, then `close`. SIGTERM and a Stopper do as Ctrl-C does: children are ended and
    nothing half-written stays.

    Raises KeyboardInterrupt for both.
    """
    left_open = LEFT_OPEN.get()
    with asyncio.Runner() if left_open is None else nullcontext(left_open.runner) as runner:
        event_loop = runner.get_loop()
        task = event_loop.create_task(work() if left_open is None else left_open.first(work))
        stopper = STOPPER.get()
        end = partial(event_loop.call_soon_threadsafe, task.cancel)
        with on_sigterm(end):
            try:
                with nullcontext() if stopper is None else stopper.ending(end):
                    return runner.run(asyncio.wait_for(task, None))
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None
            finally:
                # Also after a cancel: children are ended before the runner is left.
                runner.run(close(), context=copy_context())


_THEN: Final = "run the same command to resume: no call on record is repeated"


def run_interruptibly(
    work: Callable[[], Coroutine[object, object, T]],
    close: Callable[[], Coroutine[object, object, None]],
    then: str = _THEN,
) -> T:
    """Run `work`, then `close`, as `run_to_end` does, where all calls of `work` are on record.

    Raises Interrupted when it is stopped; `then` tells the person how to resume.
    """
    try:
        return run_to_end(work, close)
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {then}") from None


def each_interruptibly(made: Iterator[T], use: Callable[[T], object], then: str = _THEN) -> None:
    """Call `use` with each that is `made`, without an event loop, and stop as `run_to_end` does.

    Raises Interrupted when it is stopped; `then` tells the person how to resume.
    """
    stopper = STOPPER.get()
    try:
        with on_sigterm(_interrupt):
            for one in made:
                use(one)
                if stopper is not None and stopper.is_set:
                    raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {then}") from None


def _interrupt() -> None:
    raise KeyboardInterrupt


def run_stoppable(work: Callable[[], T]) -> T:
    """Run `work` to completion, whether or not an event loop is running in this thread, as
    `run_blocking` does; Ctrl-C ends it in both.

    Where an event loop runs (a notebook), the work is in a thread, which Ctrl-C does not reach: it
    is stopped by a Stopper, and what it makes of that is returned or raised.
    """
    if not is_loop_running():
        return work()
    from concurrent.futures import ThreadPoolExecutor

    stopper, context = Stopper(), copy_context()
    context.run(STOPPER.set, stopper)
    with ThreadPoolExecutor(max_workers=1) as thread, on_ctrl_c(stopper.set):
        return thread.submit(context.run, work).result()


async def run_in_thread(work: Callable[[], T]) -> T:
    """Run `work` in a thread without blocking the running event loop. A person's own coroutines
    are awaited in that loop, as the objects that they use may belong to it.

    When the caller is cancelled, the work is stopped as by Ctrl-C, and its end is awaited: a
    program that it started must not outlive the call.
    """
    stopper, context = Stopper(), copy_context()
    context.run(STOPPER.set, stopper)
    context.run(HOME.set, asyncio.get_running_loop())
    working = asyncio.ensure_future(in_thread(lambda: context.run(work)))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stopper.set()
        await asyncio.wait([working])
        raise
