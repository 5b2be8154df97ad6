"""Samples of Inspect's logs as tasks: each has an input, an output, a target, and the messages with
the calls of tools.
"""

from __future__ import annotations

from honestone.core.json_value import Json, JsonObject
from honestone.interop.traces import task
from honestone.system.loose_json import table


def is_sample(plain: JsonObject) -> bool:
    return "epoch" in plain and "input" in plain


def task_of(sample: JsonObject, place: str) -> task.TracedTask:
    """The final output, not the messages on the way to it. A sample that failed has none."""
    output = table(sample.get("output"))
    used = table(output.get("usage"))
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


def _answer(output: JsonObject) -> str | None:
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    completion = output.get("completion")
    return completion if isinstance(completion, str) and completion else task.last_text(message)


def _target(value: Json) -> str | None:
    parts = (
        [task.text_in(one) for one in value] if isinstance(value, list) else [task.text_in(value)]
    )
    return "\n".join(one for one in parts if one.strip()) or None
