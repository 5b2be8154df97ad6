"""`PROVIDER:MODEL` and settings names: a target that is a model API, asked with the case's input as
its prompt.

A skill comes before the task, between fences that its text cannot close. Another artifact is the
prompt itself: the input takes the place of `{{input}}` in it, else it follows.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from honestone.adapters.machine import require
from honestone.adapters.targets.trace_parsing import since
from honestone.adapters.turns import time_limit
from honestone.core.artifact import Version
from honestone.core.json_value import fence_of
from honestone.core.judging.images import IMAGE_MARK, written_images
from honestone.core.skill.skill_file import SKILL_FILE, Skill
from honestone.core.suite.case import Case, as_prompt
from honestone.core.suite.trace import Trace
from honestone.ports import CallFailed, Completion, Model, Output, Prompt, Task, Usage, needs_of

INPUT_PLACE: Final = "{{input}}"
_WAITS: Final = (2.0, 8.0)
_LONGEST_WAIT: Final = 60.0


class ModelTarget:
    """`waits` are the pauses before a call that may work later is made once more."""

    def __init__(self, model: Model, *, timeout: float, waits: Sequence[float] = _WAITS) -> None:
        self._model = model
        self._timeout = timeout
        self._waits = tuple(waits)
        self.identity: Mapping[str, Any] = {**model.identity, "layout": 1}
        self.needs = needs_of(model)

    def refuse(self, cases: Sequence[Case]) -> None:
        """Raises SettingsError when the key is missing. What else is wrong the model says when it
        is first asked.
        """
        require("the target", self.needs)

    async def run(self, task: Task) -> Output:
        timeout = task.timeout or self._timeout
        started = time.monotonic()
        try:
            async with time_limit(timeout):
                completion = await self._asked(prompt_for(task))
        except TimeoutError:
            return _failed(f"no output within {timeout:g} s", started)
        except CallFailed as failed:
            return _failed(failed.reason, started)
        if completion.cut:
            return _failed("its reply was cut off at the length limit", started, completion.usage)
        usage = completion.usage
        return Output(
            text=completion.text,
            duration_ms=since(started),
            usage=usage,
            trace=Trace(
                tool_calls=completion.calls,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                usd=usage.usd,
                skill_loaded=task.skill is not None,
                model_calls=1,
            ),
        )

    async def _asked(self, prompt: Prompt) -> Completion:
        for wait in self._waits:
            try:
                return await self._model.complete(prompt)
            except CallFailed as failed:
                if not failed.retryable:
                    raise
                await asyncio.sleep(min(failed.retry_after or wait, _LONGEST_WAIT))
        return await self._model.complete(prompt)

    async def close(self) -> None:
        await self._model.close()


def _failed(why: str, started: float, usage: Usage | None = None) -> Output:
    return Output(text="", error=why, duration_ms=since(started), usage=usage or Usage())


# -----------------------------------------------------------------------------------------------------------
# prompts


def prompt_for(task: Task) -> Prompt:
    """A leading system message is the system prompt, unless it has images, which APIs take from
    users alone; the attempt is the draw, for models that have a seed.
    """
    first = task.messages[0] if len(task.messages) > 1 else None
    is_system = first is not None and first.role == "system" and IMAGE_MARK not in first.content
    system = first.content if first is not None and is_system else None
    messages = task.messages[1:] if system is not None else task.messages
    written = as_prompt(messages) if messages else ""
    asked, images = written_images(written)
    skills = (*([task.skill] if task.skill is not None else ()), *task.more_skills)
    if skills:
        text = "\n\n".join([*map(skill_text, skills), "The task:", asked])
    elif task.version is not None and not task.isolated:
        text = with_artifact(task.version, asked)
    else:
        text = asked
    return Prompt(text=text, system=system, draw=task.attempt - 1, images=images)


def with_artifact(version: Version, asked: str) -> str:
    """The artifact as the prompt, with the input in its place, or after it."""
    text = (
        "\n\n".join(_fenced(*file) for file in version.texts.items())
        if version.is_folder
        else version.text
    )
    if INPUT_PLACE in text:
        return text.replace(INPUT_PLACE, asked)
    return f"{text.rstrip()}\n\n{asked}" if asked else text


def skill_text(skill: Skill) -> str:
    """All Markdown files of a skill, SKILL.md first, each between fences."""
    pages = {
        path: text for path, text in skill.version.texts.items() if path.lower().endswith(".md")
    }
    order = sorted(pages, key=lambda path: (path != SKILL_FILE, path))
    opening = (
        f"You have the skill `{skill.name}`. Its files stand between fences below; use it where it helps with the task "
        "that follows them."
    )
    return "\n\n".join([opening, *(_fenced(path, pages[path]) for path in order)])


def _fenced(name: str, text: str) -> str:
    """The text behind a fence that it cannot close."""
    fence = fence_of(text)
    return f"{fence}markdown {name}\n{text.rstrip()}\n{fence}"
