"""Code that blocks, called from a place where an event loop may be running."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def run_blocking(work: Callable[[], T]) -> T:
    """Run `work` to completion, whether or not an event loop is running in this thread.

    Only where one is running `work` gets a thread of its own, for which this one waits. Elsewhere
    it stays in this thread: Ctrl-C is delivered to the main thread alone, and must reach it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(work).result()


def run_coroutine(work: Coroutine[object, object, T]) -> T:
    """The result of a coroutine, awaited in an event loop of its own. See `run_blocking`."""
    return run_blocking(lambda: asyncio.run(work))
