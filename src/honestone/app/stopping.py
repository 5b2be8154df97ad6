"""Work that can be stopped: Ctrl-C and SIGTERM end it in order."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from honestone.core.errors import Interrupted

T = TypeVar("T")


def run_to_end(
    work: Callable[[], Coroutine[object, object, T]], close: Callable[[], Coroutine[object, object, None]]
) -> T:
    """Run `work`, then `close`. SIGTERM stops as Ctrl-C does: children are ended and nothing half-written stays.

    Raises KeyboardInterrupt for both.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work())
        if threading.current_thread() is threading.main_thread():  # only it may handle signals
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            return runner.run(asyncio.wait_for(task, None))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            runner.run(close())


def run_interruptibly(
    work: Callable[[], Coroutine[object, object, T]], close: Callable[[], Coroutine[object, object, None]]
) -> T:
    """The same, for work whose calls are all on record. Raises Interrupted when it is stopped."""
    try:
        return run_to_end(work, close)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; run the same command to resume: no call on record is repeated") from None


def outside_a_loop(work: Callable[[], T]) -> T:
    """Run to the end, from a place with a running event loop (a notebook, an async test) or without one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        return elsewhere.submit(work).result()
