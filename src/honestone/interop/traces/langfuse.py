"""Exports of Langfuse as tasks: traces with their observations, or observations that name their
trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from honestone.core.json_value import Json, JsonObject
from honestone.core.suite.trace import ToolCall
from honestone.interop.traces import task
from honestone.system.loose_json import table, tables

_TOOL: Final = "TOOL"


def is_observation(plain: JsonObject) -> bool:
    return isinstance(plain.get("traceId"), str) and "type" in plain and "attributes" not in plain


def is_trace(plain: JsonObject) -> bool:
    return (
        isinstance(plain.get("id"), str)
        and "traceId" not in plain
        and bool({"observations", "timestamp", "sessionId"} & plain.keys())
    )


def tasks_of(rows: Sequence[tuple[str, JsonObject]]) -> Iterator[task.TracedTask]:
    """A task of each trace in the order in which they are met; each row comes with its place."""
    traces: dict[str, tuple[str, JsonObject]] = {}
    inner: dict[str, list[JsonObject]] = {}
    for place, row in rows:
        name = str(row["traceId"] if is_observation(row) else row["id"])
        if is_observation(row):
            traces.setdefault(name, (place, {}))
            inner.setdefault(name, []).append(row)
        else:
            traces[name] = place, row
            inner.setdefault(name, []).extend(tables(row.get("observations")))
    for name, (place, trace) in traces.items():
        yield _task(
            name,
            place,
            trace,
            sorted(inner.get(name, []), key=lambda one: str(one.get("startTime") or "")),
        )


def _task(name: str, place: str, trace: JsonObject, seen: Sequence[JsonObject]) -> task.TracedTask:
    """What the trace says itself comes first; else the first input and the last output of its
    observations.
    """
    steps = [one for one in seen if one.get("type") != _TOOL]
    inputs = [trace.get("input"), *(one.get("input") for one in steps)]
    outputs = [trace.get("output"), *(one.get("output") for one in reversed(steps))]
    asked = next((found for one in inputs if (found := task.messages_in(one))), ())
    answered = next((text for one in outputs if (text := task.last_text(one))), None)
    ran = [
        task.tool_call(one.get("name"), one.get("input"), one.get("output"))
        for one in seen
        if one.get("type") == _TOOL
    ]
    calls = [one for one in ran if one is not None] or max(
        (_in_messages(one) for one in steps), key=len, default=[]
    )
    models = [str(one["model"]) for one in seen if isinstance(one.get("model"), str)]
    seconds = task.amount(trace.get("latency"))
    return task.TracedTask(
        name=name,
        place=place,
        messages=asked,
        output=answered,
        tool_calls=tuple(calls) or None,
        input_tokens=task.total([_tokens(one, "input") for one in seen]),
        output_tokens=task.total([_tokens(one, "output") for one in seen]),
        usd=task.amount(trace.get("totalCost")),
        duration_ms=None if seconds is None else round(seconds * 1000),
        facts=_facts(trace, steps)
        | ({"model": models[-1]} if models else {})
        | _tools([one.name for one in calls]),
    )


def _facts(trace: JsonObject, steps: Sequence[JsonObject]) -> dict[str, str]:
    tags = trace.get("tags")
    named: Json = trace.get("name") or next((one.get("name") for one in steps), None)
    plain = {
        key: trace.get(key) for key in ("environment", "release", "version", "sessionId", "userId")
    }
    known = task.facts_of({**table(task.decoded(trace.get("metadata"))), **plain, "name": named})
    return known | (
        {"tags": ",".join(sorted(map(str, tags)))} if isinstance(tags, list) and tags else {}
    )


def _tools(names: Sequence[str]) -> dict[str, str]:
    return {"tools": "+".join(sorted(set(names)))} if names else {}


def _in_messages(one: JsonObject) -> list[ToolCall]:
    parts = [task.decoded(one.get(key)) for key in ("input", "output")]
    rows: list[Json] = []
    for part in parts:
        held = part.get("messages", [part]) if isinstance(part, dict) else part
        rows += held if isinstance(held, list) else []
    return task.calls_in(rows)


def _tokens(one: JsonObject, side: str) -> int | None:
    for key in ("usageDetails", "usage"):
        used = one.get(key)
        if isinstance(used, dict) and (found := task.whole_number(used.get(side))) is not None:
            return found
    return None
