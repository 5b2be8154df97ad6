"""A function of the calling process as a target: `f(input)`, or `f(input, artifact)` with the path
of a private copy.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from honestone.adapters.functions import FunctionCall, Raised
from honestone.adapters.targets._child import arguments, artifact_parameter
from honestone.adapters.targets.command import given_of
from honestone.adapters.targets.trace_parsing import Misread, returned, since
from honestone.core.suite.case import Case
from honestone.ports import Function, NothingToClose, Output, Task
from honestone.system.files import make_copy
from honestone.system.processes.private import private_folder


class FunctionTarget(NothingToClose):
    """It runs where the caller runs: with the caller's variables and folder, and whatever it keeps
    from case to case.
    """

    def __init__(self, function: Function, *, timeout: float) -> None:
        self._call = FunctionCall(function, timeout)
        self._artifact = artifact_parameter(function)
        self.identity = {**self._call.identity, "token": self._call.token}

    def refuse(self, cases: Sequence[Case]) -> None:
        """Any function can be called with any case."""

    async def run(self, task: Task) -> Output:
        if task.version is None or self._artifact is None:
            return await self._output(task, None)
        with private_folder("artifact") as root:
            (root / "copy").mkdir()
            return await self._output(
                task, make_copy(task.version, root / "copy", name="artifact").place
            )

    async def _output(self, task: Task, artifact: Path | None) -> Output:
        began, timeout = time.monotonic(), task.timeout or self._call.timeout
        try:
            given, named = arguments(self._artifact, given_of(task), artifact)
            value = await self._call.within(timeout, *given, **named)
            return returned(value, duration_ms=since(began))
        except TimeoutError:
            why = f"no output within {timeout:g} s"
        except (Raised, Misread, TypeError) as error:
            why = str(error)
        return Output(text="", error=why, duration_ms=since(began))
