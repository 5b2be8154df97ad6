"""A person's function as a judge, target or worker: called next to the event loop, awaited where it
is async, under a time limit.
"""

from __future__ import annotations

import inspect
import threading
import uuid
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, TypeVar

from honestone.core.checking.checks import visible
from honestone.ports import Function
from honestone.system import late_asyncio as asyncio

T = TypeVar("T")

# The caller's own event loop, where it runs on: a person's coroutines are awaited there, with the
# clients that belong to it.
HOME: Final[ContextVar[asyncio.AbstractEventLoop | None]] = ContextVar("home", default=None)


class Raised(Exception):
    """A function raised something; the text says what."""


class FunctionCall:
    """A function to call again and again. `token` belongs to this object alone: two functions may
    have one name.
    """

    def __init__(self, function: Function, timeout: float) -> None:
        self._function = function
        self.timeout = timeout
        self.name = name_of(function)
        self.token = uuid.uuid4().hex

    @property
    def identity(self) -> dict[str, str]:
        """What is known of a function: its kind and name. What it does may change under the same
        name.
        """
        return {"kind": "function", "name": _qualified(self._function)}

    async def __call__(self, *given: object) -> object:
        return await self.within(self.timeout, *given)

    async def within(self, seconds: float, *given: object, **named: object) -> object:
        """What it returns, awaited if need be. Raises Raised, and TimeoutError: a thread that hangs
        is left behind.
        """
        try:
            async with asyncio.timeout(seconds) as limit:
                return await self._returned(partial(self._function, *given, **named))
        except TimeoutError as error:
            if limit.expired():
                raise
            raise Raised(visible(_last_line(error), 300)) from error
        except Exception as error:
            raise Raised(visible(_last_line(error), 300)) from error

    async def _returned(self, call: Callable[[], object]) -> object:
        returned = call() if inspect.iscoroutinefunction(self._function) else await in_thread(call)
        if inspect.iscoroutine(returned):
            return await _at_home(returned)
        return returned


def name_of(function: Function) -> str:
    """`answer()`: no name of the registry or of the settings looks like this."""
    return f"{visible(_qualified(function).rpartition('.')[2].strip('<>'), 60)}()"


def _last_line(error: BaseException) -> str:
    from honestone.adapters.targets._child import last_line

    return last_line(error)


def _qualified(function: Function) -> str:
    return function.__qualname__ if inspect.isroutine(function) else type(function).__qualname__


async def _at_home(work: Coroutine[object, object, object]) -> object:
    home = HOME.get()
    if home is None or home is asyncio.get_running_loop():
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, home))


async def in_thread(work: Callable[[], T]) -> T:
    """The same in a thread of its own, which no pool makes wait and no exit waits for."""
    from concurrent.futures import Future

    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # it cannot be stopped, only given up
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            # An event loop holds neither a StopIteration nor what would end it.
            is_plain = isinstance(error, Exception) and not isinstance(error, StopIteration)
            done.set_exception(error if is_plain else Raised(_last_line(error)))

    threading.Thread(target=run, name="honestone-function", daemon=True).start()
    return await asyncio.wrap_future(done)
