"""Model APIs as targets: what they are asked, and how they fail."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.targets.model import ModelTarget, prompt_for, skill_text
from honestone.core.artifact import Entry, Version
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Message
from honestone.core.suite.trace import ToolCall
from honestone.ports import CallFailed, Completion, Output, Prompt, Task, Usage


class Model:
    """Answers as it is told to, one after another."""

    def __init__(self, *answers: Completion | CallFailed, pause: float = 0) -> None:
        self.answers = list(answers)
        self.asked: list[Prompt] = []
        self.pause = pause
        self.is_closed = False

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"model": "m"}

    async def complete(self, prompt: Prompt) -> Completion:
        self.asked.append(prompt)
        await asyncio.sleep(self.pause)
        answer = self.answers.pop(0)
        if isinstance(answer, CallFailed):
            raise answer
        return answer

    async def close(self) -> None:
        self.is_closed = True


def run(model: Model, **task: Any) -> Output:
    target = ModelTarget(model, timeout=5, waits=(0, 0))
    output = asyncio.run(target.run(Task(messages=(Message("user", "What?"),), **task)))
    asyncio.run(target.close())
    assert model.is_closed
    return output


FINE = Completion(text="fine", usage=Usage(input_tokens=5, output_tokens=2, usd=0.1))


def test_the_input_is_the_prompt_and_its_cost_is_known() -> None:
    """Nothing is added; it has no tools, so it called none."""
    model = Model(FINE)
    output = run(model, attempt=3)
    assert (model.asked[0].text, model.asked[0].draw) == ("What?", 2)
    assert (output.text, output.usage.usd) == ("fine", 0.1)
    assert output.trace is not None
    assert (output.trace.tool_calls, output.trace.skill_loaded) == ((), False)


def test_calls_of_tools_are_in_the_trace() -> None:
    """A model that was given tools calls them; no one runs them, so its text is the calls."""
    output = run(Model(Completion(text="[]", calls=(ToolCall(name="a", arguments={"b": 1}),))))
    assert output.trace is not None and output.trace.tool_calls == (
        ToolCall(name="a", arguments={"b": 1}),
    )


def test_a_system_message_is_the_system_prompt() -> None:
    """The rest stays as it is asked elsewhere."""
    messages = (Message("system", "Be brief"), Message("user", "a"), Message("assistant", "b"))
    prompt = prompt_for(Task(messages=messages))
    assert (prompt.system, prompt.text) == ("Be brief", "user: a\n\nassistant: b")


@pytest.mark.parametrize(
    ("answers", "error", "calls"),
    [
        ([CallFailed("busy", retryable=True), FINE], None, 2),
        ([CallFailed("busy", retryable=True, retry_after=0)] * 3, "busy", 3),
        ([CallFailed("no key")], "no key", 1),
        ([Completion(text="half", cut=True)], "cut off", 1),
    ],
)
def test_a_failed_call_is_an_error(answers: list[Any], error: str | None, calls: int) -> None:
    """What may pass is tried again; half a reply is none."""
    model = Model(*answers)
    output = run(model)
    assert len(model.asked) == calls
    assert output.error is None if error is None else error in str(output.error)


def test_the_limit_holds_for_all_tries() -> None:
    """The case's own stands above the target's."""
    assert "within 0.05 s" in str(run(Model(FINE, pause=5), timeout=0.05).error)


def skill(**files: str) -> Skill:
    entries = {
        name.replace("__", "/").replace("_md", ".md"): Entry(text.encode())
        for name, text in files.items()
    }
    return Skill(name="helper", version=Version(entries, is_folder=True))


def test_a_skill_stands_before_the_task() -> None:
    """All its Markdown, SKILL.md first, no other files; and it counts as read."""
    model = Model(FINE)
    output = run(model, skill=skill(A_md="more", SKILL_md="knows", script="secret"), isolated=True)
    text = model.asked[0].text
    assert text.index("knows") < text.index("more") < text.index("What?")
    assert "secret" not in text
    assert output.trace is not None
    assert output.trace.skill_loaded is True


@given(st.text(st.sampled_from("`~a\n")))
def test_a_skill_cannot_close_its_fence(text: str) -> None:
    """No line of it is as long a fence as the one around it."""
    shown = skill_text(skill(SKILL_md=text))
    fence = re.search(r"^(`{3,})markdown SKILL\.md$", shown, re.MULTILINE)
    assert fence is not None
    assert [line for line in shown.split("\n") if line.startswith(fence[1])] == [
        f"{fence[1]}markdown SKILL.md",
        fence[1],
    ]


@pytest.mark.parametrize(
    ("artifact", "expected"),
    [("Answer {{input}} now.", "Answer What? now."), ("Be kind.\n", "Be kind.\n\nWhat?")],
)
def test_another_artifact_is_the_prompt(artifact: str, expected: str) -> None:
    """The input in its place, or after it; an isolated run is not shown it."""
    model = Model(FINE, FINE)
    run(model, version=Version.of_text(artifact))
    assert model.asked[0].text == expected
    run(model, version=Version.of_text(artifact), isolated=True)
    assert model.asked[1].text == "What?"


def test_a_system_message_with_an_image_is_a_part_of_the_prompt() -> None:
    """APIs take images from users alone; as text it would be a long line of letters."""
    messages = (
        Message("system", "Like [[image: https://x.org/a.png]]"),
        Message("user", "Draw it"),
    )
    prompt = prompt_for(Task(messages=messages))
    assert prompt.system is None and "[image 1," in prompt.text and "[[image" not in prompt.text
    assert [one.path for one in prompt.images] == ["https://x.org/a.png"]


def test_images_of_the_input_go_with_the_prompt() -> None:
    """Their numbers are in its text. An artifact brings none, whatever it says."""
    image = "[[image: https://x.org/a.png]]"
    prompt = prompt_for(
        Task(
            messages=(Message("user", f"Look: {image}"),),
            version=Version.of_text(f"Be brief {image}"),
        )
    )
    assert [one.path for one in prompt.images] == ["https://x.org/a.png"]
    assert prompt.text == f"Be brief {image}\n\nLook: [image 1, {prompt.images[0].digest[7:23]}]"
