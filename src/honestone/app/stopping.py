"""Being stopped: Ctrl-C and SIGTERM end the work in order, and say how to go on."""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Callable[[], Coroutine[Any, Any, T]], close: Callable[[], Coroutine[Any, Any, None]]) -> T:
    """Run `work`, then `close`. SIGTERM stops as Ctrl-C does: children are ended and nothing half-written stays.

    Raises KeyboardInterrupt for both.
    """
    try:
        return asyncio.run(_watched(work, close))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _watched(work: Callable[[], Coroutine[Any, Any, T]], close: Callable[[], Coroutine[Any, Any, None]]) -> T:
    task = asyncio.create_task(work())
    loop = asyncio.get_running_loop()
    is_main = threading.current_thread() is threading.main_thread()  # only it may handle signals
    if is_main:
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        return await task
    finally:
        if is_main:
            loop.remove_signal_handler(signal.SIGTERM)
        await close()


def same_command() -> str:
    """The line that goes on. `--fresh` is left out of it: it would start over."""
    module = getattr(getattr(sys.modules["__main__"], "__spec__", None), "name", "")
    command = ["python", "-m", module] if module == "honestone.evaluate" else ["honestone"]
    return shlex.join([*command, *(word for word in sys.argv[1:] if word != "--fresh")])
