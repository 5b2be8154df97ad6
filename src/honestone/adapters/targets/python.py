"""`python:module:function`: a target that is a function, called in child processes that stay: one
for each case at a time.

It is found in the working directory or next to the suite, imported once a process, called with the
input (several messages: the list of {role, content}) and the path of a private copy of the artifact
where it takes one. It may be async, and returns a text or {"output": TEXT, ...}. What it prints is
not output. What it keeps in its module lasts from case to case; a process that hangs or dies is
ended with all that it started, and another one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from honestone.adapters.targets._child import MARK
from honestone.adapters.targets.command import failure_of, given_of
from honestone.adapters.targets.trace_parsing import OUTPUT_LIMIT, Misread, parsed, returned, since
from honestone.adapters.targets.working_directory import workdir_for
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.suite.case import Case
from honestone.ports import Output, Task
from honestone.system.files import make_copy, remove
from honestone.system.loose_json import record
from honestone.system.processes.commands import NotStarted, describe_command
from honestone.system.processes.environment import base_environment, needs_of_variables
from honestone.system.processes.warm import Gone, WarmProgram

# -P: the folder of our own script, with its everyday names, is no place to find modules in.
_ARGV: Final = (sys.executable, "-P", str(Path(__file__).with_name("_child.py")))
_NO_ANSWER: Final = "the function ended the program without an answer"
_NAME: Final = late_pattern(
    r"(?:[^\W\d]\w*(?:\.[^\W\d]\w*)*|[^\0]*\.py):[^\W\d]\w*(?:\.[^\W\d]\w*)*"
)
_SHAPE: Final = "for example python:my_bot.py:answer, or python:my_bot:answer for a module"


class PythonTarget:
    """`function` is `module:function`; `places` are the folders in which the module is looked up,
    in order.
    """

    def __init__(
        self,
        function: str,
        *,
        cwd: Path,
        places: Sequence[Path] = (),
        timeout: float,
        pass_env: Sequence[str] = (),
    ) -> None:
        if not _NAME.fullmatch(function):
            raise UsageError(f"`python:{visible(function, 80)}` names no function", hint=_SHAPE)
        self._module, _, self._function = function.rpartition(":")
        self._cwd = cwd
        self._places = list(
            dict.fromkeys([cwd.absolute(), *(place.absolute() for place in places)])
        )
        self._timeout = timeout
        self._pass_env = tuple(pass_env)
        self._idle: list[WarmProgram] = []
        self.identity = {"kind": "python", "function": function, **self._files()}
        self.needs = needs_of_variables(self._pass_env)

    def _files(self) -> dict[str, Any]:
        """The digest of the module's own file, where it is one of ours to find."""
        stem = self._module.replace(".", "/")
        for place in self._places:
            is_file = self._module.endswith(".py")
            for name in [self._module] if is_file else [f"{stem}.py", f"{stem}/__init__.py"]:
                if (place / name).is_file():
                    return {"files": describe_command([name], place)["files"]}
        return {}

    def refuse(self, cases: Sequence[Case]) -> None:
        """Imports the module, as every process will, to see that the function is there. The process
        is kept for the run.
        """
        try:
            asyncio.run(self._look())
        except _NotReady as why:
            raise UsageError(
                f"the target `python:{self._module}:{self._function}` cannot be called: {visible(str(why), 200)}",
                hint="the module is looked up in the working directory and next to the suite",
            ) from None

    async def _look(self) -> None:
        env = base_environment(pass_names=self._pass_env)
        self._idle.append(await self._ready(self._cwd, env, min(self._timeout, 60)))

    async def run(self, task: Task) -> Output:
        """Run a case in a process that ran other cases before; an isolated run gets a process of
        its own.
        """
        began, timeout = time.monotonic(), task.timeout or self._timeout
        try:
            answer = await (
                self._alone(task, timeout) if task.isolated else self._warm(task, timeout)
            )
            if "error" in answer:
                raise Misread(visible(answer["error"]))
            if "returned" not in answer:
                raise Misread(_NO_ANSWER)
            return returned(answer["returned"], duration_ms=since(began))
        except Gone as gone:
            why = failure_of(gone.ended, timeout) or _NO_ANSWER
        except (_NotReady, Misread) as error:
            why = str(error)
        return Output(text="", error=why, duration_ms=since(began))

    async def _alone(self, task: Task, timeout: float) -> _ProgramAnswer:
        with workdir_for(task, cwd=self._cwd, pass_env=self._pass_env) as workdir:
            program = await self._ready(workdir.cwd, workdir.env, timeout)
            try:
                own = {name: value for name, value in workdir.env.items() if name.startswith(MARK)}
                return await _call(program, task, workdir.artifact, workdir.cwd, own, timeout)
            finally:
                await asyncio.to_thread(program.end)

    async def _warm(self, task: Task, timeout: float) -> _ProgramAnswer:
        began = time.monotonic()
        if self._idle:
            program = self._idle.pop()
        else:
            env = base_environment(pass_names=self._pass_env)
            program = await self._ready(self._cwd, env, timeout)
        try:
            own = {"HONESTONE_CASE": task.case, "HONESTONE_ATTEMPT": str(task.attempt)}
            own["HONESTONE_ROOM"] = str(program.workdir)
            left = max(timeout - (time.monotonic() - began), 0.01)
            with _copy(task, program.workdir) as artifact:
                if artifact is not None:
                    own["HONESTONE_ARTIFACT"] = str(artifact)
                return await _call(program, task, artifact, task.folder or self._cwd, own, left)
        finally:
            if not program.is_over:
                self._idle.append(program)

    async def _ready(self, cwd: Path, env: Mapping[str, str], timeout: float) -> WarmProgram:
        """A process with the function at hand. Raises _NotReady with why there is none, and Gone
        when it takes too long.
        """
        try:
            program = WarmProgram(_ARGV, cwd=cwd, env=env, output_limit=OUTPUT_LIMIT)
        except NotStarted as error:
            raise _NotReady(f"it could not be started: {error.reason}") from None
        named = {
            "module": self._module,
            "function": self._function,
            "paths": [str(p) for p in self._places],
        }
        try:
            answer = _read_reply(await program.ask(json.dumps(named).encode(), timeout))
        except Gone as gone:
            raise _NotReady(
                failure_of(gone.ended, timeout) or "importing it ended the program"
            ) from None
        if "found" not in answer:
            await asyncio.to_thread(program.end)
            raise _NotReady(str(answer.get("error", "importing it ended the program")))
        return program

    async def close(self) -> None:
        """Ends the processes that wait for a case. A later run starts others."""
        waiting, self._idle = self._idle, []
        for program in waiting:
            await asyncio.to_thread(program.end)


class _NotReady(Exception):
    """The function has no process to be called in; the text says why."""


async def _call(
    program: WarmProgram,
    task: Task,
    artifact: Path | None,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float,
) -> _ProgramAnswer:
    asked = {
        "input": given_of(task),
        "artifact": None if artifact is None else str(artifact),
        "cwd": str(cwd.absolute()),
        "env": dict(env),
    }
    return _read_reply(await program.ask(json.dumps(asked).encode(), timeout))


@contextlib.contextmanager
def _copy(task: Task, workdir: Path) -> Iterator[Path | None]:
    """A private copy of the artifact for one call."""
    if task.version is None:
        yield None
        return
    place = workdir / "copy"
    place.mkdir()
    try:
        yield make_copy(task.version, place, name="artifact").place
    finally:
        remove(place)


class _ProgramAnswer(TypedDict, total=False):
    """What the program answers: that it found the function, what this returned, or what went
    wrong.
    """

    found: object
    returned: Any
    error: Any


def _read_reply(answer: bytes) -> _ProgramAnswer:
    with contextlib.suppress(Misread):
        return record(parsed(answer.decode("utf-8", "replace")), _ProgramAnswer)
    return {}
