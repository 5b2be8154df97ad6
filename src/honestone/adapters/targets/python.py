"""`python:module:function`: a target that is a function, called in a child process.

It is found in the working directory or next to the suite, called with the input (several messages: the list of
{role, content}), may be async, and returns a text or {"output": TEXT, ...}. What it prints is not output.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from honestone.adapters.targets.command import failure_of, prompt_of
from honestone.adapters.targets.trace_parsing import OUTPUT_LIMIT, Misread, parsed, told
from honestone.adapters.targets.working_directory import room_for
from honestone.core.checks import visible
from honestone.core.errors import UsageError
from honestone.core.suite.case import Case
from honestone.ports import NothingToClose, Output, Task
from honestone.system import process

_CHILD: Final = Path(__file__).with_name("_python_child.py")
_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_SHAPE: Final = "it is python:module:function, for example python:my_bot:answer"


class PythonTarget(NothingToClose):
    """`function` is `module:function`; `places` are the folders in which the module is looked up, in order."""

    def __init__(
        self, function: str, *, cwd: Path, places: Sequence[Path] = (), timeout: float, pass_env: Sequence[str] = ()
    ) -> None:
        if not _NAME.fullmatch(function):
            raise UsageError(f"`python:{visible(function, 80)}` names no function", hint=_SHAPE)
        self._module, _, self._function = function.partition(":")
        self._cwd = cwd
        self._places = list(dict.fromkeys([cwd.absolute(), *(place.absolute() for place in places)]))
        self._timeout = timeout
        self._pass_env = tuple(pass_env)
        self.identity = {"kind": "python", "function": function, **self._files()}

    def _files(self) -> dict[str, Any]:
        """The digest of the module's own file, where it is one of ours to find."""
        stem = self._module.replace(".", "/")
        for place in self._places:
            for name in (f"{stem}.py", f"{stem}/__init__.py"):
                if (place / name).is_file():
                    return {"files": process.describe_command([name], place)["files"]}
        return {}

    def refuse(self, cases: Sequence[Case]) -> None:
        """Imports the module, as every run will, to see that the function is there."""
        try:
            done = subprocess.run(
                self._argv(),
                input=json.dumps(self._asked()).encode(),
                capture_output=True,
                cwd=self._cwd,
                env=process.base_environment(pass_names=self._pass_env),
                timeout=min(self._timeout, 60),
                start_new_session=True,
                check=False,
            )
            answer = _answer(done.stdout)
        except (OSError, subprocess.TimeoutExpired) as error:
            answer = {"error": str(error)}
        if "found" not in answer:
            why = visible(answer.get("error", "importing it ended the program"), 200)
            raise UsageError(
                f"the target `python:{self._module}:{self._function}` cannot be called: {why}",
                hint="the module is looked up in the working directory and next to the suite",
            )

    async def run(self, task: Task) -> Output:
        given: Any = prompt_of(task)
        if len(task.messages) > 1:
            given = [{"role": message.role, "content": message.content} for message in task.messages]
        timeout = task.timeout or self._timeout
        with room_for(task, cwd=self._cwd, pass_env=self._pass_env) as room:
            try:
                ended = await process.run(
                    self._argv(),
                    cwd=room.cwd,
                    env=room.env,
                    stdin=json.dumps({**self._asked(), "input": given}).encode(),
                    timeout=timeout,
                    output_limit=OUTPUT_LIMIT,
                )
            except process.NotStarted as error:
                return Output(text="", error=f"it could not be started: {error.reason}")
        return _output(ended, timeout)

    def _argv(self) -> list[str]:
        # -P: the folder of our own script, with its everyday names, is no place to find modules in.
        return [sys.executable, "-P", str(_CHILD)]

    def _asked(self) -> dict[str, Any]:
        return {"module": self._module, "function": self._function, "paths": [str(p) for p in self._places]}


def _output(ended: process.Ended, timeout: float) -> Output:
    took = int(ended.duration * 1000)
    failed = failure_of(ended, timeout)
    if failed is not None:
        return Output(text="", error=failed, duration_ms=took)
    answer = _answer(ended.stdout)
    try:
        if "error" in answer:
            raise Misread(visible(answer["error"]))
        if "returned" not in answer:
            raise Misread("the function ended the program without an answer")
        return told(answer["returned"], duration_ms=took)
    except Misread as why:
        return Output(text="", error=str(why), duration_ms=took)


def _answer(stdout: bytes) -> dict[str, Any]:
    try:
        answer = parsed(stdout.decode("utf-8", "replace"))
    except Misread:
        return {}
    return answer if isinstance(answer, dict) else {}
