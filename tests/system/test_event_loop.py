"""Code that blocks runs in this thread, or in another where an event loop is running here."""

from __future__ import annotations

import asyncio
import threading

import pytest

from honestone.system.event_loop import run_blocking, run_coroutine


async def thread_of_coroutine() -> int:
    await asyncio.sleep(0)
    return threading.get_ident()


def test_without_a_running_loop_this_thread_does_the_work() -> None:
    """Ctrl-C is delivered to the main thread, so the work must not be elsewhere."""
    assert run_blocking(threading.get_ident) == threading.get_ident()
    assert run_coroutine(thread_of_coroutine()) == threading.get_ident()


def test_inside_a_running_loop_another_thread_does_it() -> None:
    async def inside() -> tuple[int, int]:
        return run_blocking(threading.get_ident), run_coroutine(thread_of_coroutine())

    here = threading.get_ident()
    blocking, coroutine = asyncio.run(inside())
    assert blocking != here
    assert coroutine != here


def test_an_error_reaches_the_caller() -> None:
    async def fails() -> None:
        raise ValueError("as it was raised")

    with pytest.raises(ValueError, match="as it was raised"):
        run_coroutine(fails())
