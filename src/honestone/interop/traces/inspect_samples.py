"""Samples of Inspect's logs as tasks: each has an input, an output, a target, and the messages with
the calls of tools.
"""

from __future__ import annotations

from typing import TypedDict

from honestone.core.json_value import Json, member
from honestone.interop.traces import task
from honestone.system.loose_json import record, table


class _Usage(TypedDict, total=False):
    """The tokens of a sample."""

    input_tokens: Json
    output_tokens: Json


class _Output(TypedDict, total=False):
    """What the model answered."""

    model: Json
    completion: Json
    choices: Json
    usage: Json


class _Sample(TypedDict, total=False):
    """A sample of a log."""

    id: Json
    epoch: Json
    input: Json
    target: Json
    messages: Json
    output: Json
    metadata: Json
    error: Json
    total_time: Json


def is_sample(value: Json) -> bool:
    row = table(value)
    return "epoch" in row and "input" in row


def task_of(value: Json, place: str) -> task.TracedTask:
    """The final output, not the messages on the way to it. A sample that failed has none."""
    sample = record(value, _Sample)
    output = record(sample.get("output"), _Output)
    used = record(output.get("usage"), _Usage)
    calls = task.calls_in(sample.get("messages"))
    seconds = task.amount(sample.get("total_time"))
    facts = task.facts_of({**table(sample.get("metadata")), "model": output.get("model")})
    return task.TracedTask(
        name=f"{sample.get('id')}/{sample.get('epoch')}",
        place=place,
        messages=task.messages_in(sample.get("input")),
        output=None if sample.get("error") else _answer(output),
        reference=_target(sample.get("target")),
        tool_calls=tuple(calls) if isinstance(sample.get("messages"), list) else None,
        input_tokens=task.whole_number(used.get("input_tokens")),
        output_tokens=task.whole_number(used.get("output_tokens")),
        duration_ms=None if seconds is None else round(seconds * 1000),
        facts=facts | ({"tools": "+".join(sorted({one.name for one in calls}))} if calls else {}),
    )


def _answer(output: _Output) -> str | None:
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = member(first, "message")
    completion = output.get("completion")
    return completion if isinstance(completion, str) and completion else task.last_text(message)


def _target(value: Json) -> str | None:
    parts = (
        [task.text_in(one) for one in value] if isinstance(value, list) else [task.text_in(value)]
    )
    return "\n".join(one for one in parts if one.strip()) or None
