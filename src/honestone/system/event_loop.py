"""Code that blocks, called from a place where an event loop may be running."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from typing import TypeVar

from honestone.system import late_asyncio as asyncio

T = TypeVar("T")


def is_loop_running() -> bool:
    """Whether an event loop is running in this thread."""
    if "asyncio" not in sys.modules:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_blocking(work: Callable[[], T]) -> T:
    """Run `work` to completion, whether or not an event loop is running in this thread.

    Only where one is running `work` gets a thread of its own, for which this one waits. Elsewhere
    it stays in this thread: Ctrl-C is delivered to the main thread alone, and must reach it.
    """
    if not is_loop_running():
        return work()
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()


def run_coroutine(work: Coroutine[object, object, T]) -> T:
    """The result of a coroutine, awaited in an event loop of its own. See `run_blocking`."""
    return run_blocking(lambda: asyncio.run(work))
