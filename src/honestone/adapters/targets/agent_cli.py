"""`codex`, `claude`, `gemini` (and any CLI by settings): a target that is an agent, given the
case's input as its task.

It works in the case's workspace, else in a fresh folder, from a home that was never used, with the
skill on its own shelf. What its events tell becomes the trace: tool calls in order, tokens, and
whether it read the skill.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, Unpack

from msgspec.structs import replace

from honestone.adapters.agent_clis.base import AgentCli, CliFolders, CliOutcome, Command, Setup
from honestone.adapters.agent_clis.driver import carry_out, failure, require_sendable
from honestone.adapters.agent_clis.setup import CliAdapter, CliSettings
from honestone.adapters.machine import require
from honestone.adapters.targets.model import with_artifact
from honestone.adapters.targets.trace_parsing import since
from honestone.adapters.targets.working_directory import made_folder, skills_installed
from honestone.core.errors import SettingsError, UsageError
from honestone.core.skill.skill_file import SKILL_FILE, Skill, split
from honestone.core.suite.case import Case
from honestone.core.suite.trace import ToolCall, Trace
from honestone.ports import CallFailed, Output, Task
from honestone.system.loose_json import one_line
from honestone.system.processes.commands import describe_command

_SKILL_TOOLS: Final = ("Skill", "skill", "activate_skill")


class AgentCliTarget(CliAdapter):
    """Each run in a room of its own. `concurrency`: runs at a time, few, for such programs are
    large.
    """

    concurrency: int = 4

    def __init__(self, name: str, **settings: Unpack[CliSettings]) -> None:
        """Raises SettingsError for a setting that is wrong, or when it is not installed."""
        try:
            super().__init__(name, **settings)
        except CallFailed as missing:
            raise SettingsError(
                f"the target `{name}` is not there: {missing.reason}", hint="see: honestone doctor"
            ) from None
        # Here the program itself is what is measured: after an update of it a baseline from before
        # is another agent's.
        program = describe_command((os.path.realpath(self.setup.program),), Path("/"))["files"]
        self.identity = {**self.identity, "program": sorted(program.values())}

    def refuse(self, cases: Sequence[Case]) -> None:
        """Raises SettingsError when a key or login is missing."""
        require(f"the target `{self.cli.name}`", self.needs)
        if any(case.images and not case.skip for case in cases):
            raise UsageError(
                "an agent CLI is not sent images",
                hint="name a model API, or leave their cases out with --case",
            )

    async def run(self, task: Task) -> Output:
        setup = replace(self.setup, timeout=task.timeout or self.setup.timeout)
        started = time.monotonic()
        try:
            # A plain first line: no CLI takes what follows for one of its own commands.
            text = f"Task:\n{_task_prompt(task)}"
            require_sendable(self.cli, text)
            outcome = await self._carried_out(task, setup, text)
        except CallFailed as failed:
            return Output(text="", error=failed.reason, duration_ms=since(started))
        return _output(self.cli, setup, outcome, task, since(started))

    async def _carried_out(self, task: Task, setup: Setup, text: str) -> CliOutcome:
        with ExitStack() as shelves:

            def build(folders: CliFolders, key: str) -> Command:
                folder = task.folder or made_folder(folders.root / "task")
                skill = shelves.enter_context(
                    skills_installed(task, self.cli.shelf(folders, folder))
                )
                command = self.cli.agent(setup, folders, text, folder, key)
                return (
                    command
                    if skill is None
                    else replace(command, env={**command.env, "HONESTONE_SKILL": str(skill)})
                )

            return await carry_out(self.cli, setup, build)


def _task_prompt(task: Task) -> str:
    if task.skill is None and task.version is not None and not task.isolated:
        return with_artifact(task.version, task.prompt if task.messages else "")
    return task.prompt


def _output(cli: AgentCli, setup: Setup, outcome: CliOutcome, task: Task, took: int) -> Output:
    trace = _with_skill(cli, outcome.trace, task)
    if outcome.kind == "timeout":
        return Output(
            text="", error=f"no output within {setup.timeout:g} s", duration_ms=took, trace=trace
        )
    if outcome.kind not in ("answer", "empty"):
        why = failure(cli, setup, outcome).reason
        return Output(text="", error=why, duration_ms=took, usage=outcome.usage, trace=trace)
    if trace is not None and outcome.denials:
        trace = replace(
            trace, extra={**trace.extra, "denials": [one_line(word) for word in outcome.denials]}
        )
    return Output(text=outcome.text, duration_ms=took, usage=outcome.usage, trace=trace)


def _with_skill(cli: AgentCli, trace: Trace | None, task: Task) -> Trace | None:
    if task.skill is None:
        return replace(trace or Trace(), skill_loaded=False)
    if trace is None or trace.tool_calls is None:
        return trace
    skill = task.skill
    loaded = _is_called(cli, skill, task.prompt) or any(
        _reads(call, skill) for call in trace.tool_calls
    )
    return replace(trace, skill_loaded=loaded)


def _is_called(cli: AgentCli, skill: Skill, prompt: str) -> bool:
    """Of a skill that the task calls by `$NAME` codex puts the text into the prompt itself."""
    return (
        cli.name == "codex"
        and re.search(rf"\${re.escape(skill.name)}(?![\w-])", prompt) is not None
    )


def _reads(call: ToolCall, skill: Skill) -> bool:
    """Whether a call reads the skill, by the tool for it or by reading its file. A call that failed
    read nothing.
    """
    command, result = call.arguments.get("command"), call.result
    if isinstance(command, str) and isinstance(result, str):
        # A shell may be anywhere when it reads: what it printed tells.
        return SKILL_FILE in command and any(line in result for line in _lines(skill))
    given = [value for value in call.arguments.values() if isinstance(value, str)]
    if call.name in _SKILL_TOOLS:
        named = any(value.rpartition(":")[2] in (skill.name, _own_name(skill)) for value in given)
    else:
        named = any(f"{skill.name}/{SKILL_FILE}" in value for value in given)
    return named and not _has_failed(result)


def _own_name(skill: Skill) -> str:
    """What its front matter calls it: gemini goes by that even where it can be no folder's name."""
    match = re.search(r"^name:[ \t]*[\"']?([^\"'\n#]+)", split(skill.text).block or "", re.M)
    return match[1].strip() if match else skill.name


def _lines(skill: Skill) -> list[str]:
    """Those that only who reads the file can know: its front matter is shown to everybody, and a
    rule is in any text.
    """
    lines = map(str.strip, split(skill.text).body.splitlines())
    return [line for line in lines if sum(map(str.isalnum, line)) > 3]


def _has_failed(result: Any) -> bool:
    """Whether a call failed, in the words of claude and gemini."""
    return isinstance(result, Mapping) or (
        isinstance(result, str) and result.startswith(("<tool_use_error>", "Error:"))
    )
