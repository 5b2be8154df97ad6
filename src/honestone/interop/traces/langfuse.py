"""Exports of Langfuse as tasks: traces with their observations, or observations that name their
trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypedDict

from honestone.core.json_value import Json
from honestone.core.suite.trace import ToolCall
from honestone.interop.traces import task
from honestone.system.loose_json import record, records, table

_TOOL: Final = "TOOL"


class _Observation(TypedDict, total=False):
    """A step of a trace. Of its `usage`, the older form, and its `usageDetails` tokens are read."""

    id: Json
    traceId: Json
    type: Json
    name: Json
    startTime: Json
    input: Json
    output: Json
    model: Json
    usage: Json
    usageDetails: Json


class _Usage(TypedDict, total=False):
    """The tokens of a step."""

    input: Json
    output: Json


class _Trace(TypedDict, total=False):
    """A trace, with its observations where it was exported with them."""

    id: Json
    name: Json
    observations: Json
    timestamp: Json
    sessionId: Json
    userId: Json
    environment: Json
    release: Json
    version: Json
    tags: Json
    metadata: Json
    input: Json
    output: Json
    latency: Json
    totalCost: Json


def is_observation(value: Json) -> bool:
    row = table(value)
    return isinstance(row.get("traceId"), str) and "type" in row and "attributes" not in row


def is_trace(value: Json) -> bool:
    row = table(value)
    return (
        isinstance(row.get("id"), str)
        and "traceId" not in row
        and bool({"observations", "timestamp", "sessionId"} & row.keys())
    )


def tasks_of(rows: Sequence[tuple[str, Json]]) -> Iterator[task.TracedTask]:
    """A task of each trace in the order in which they are met; each row comes with its place."""
    traces: dict[str, tuple[str, _Trace]] = {}
    inner: dict[str, list[_Observation]] = {}
    for place, row in rows:
        if is_observation(row):
            seen = record(row, _Observation)
            name = str(seen["traceId"])
            traces.setdefault(name, (place, {}))
            inner.setdefault(name, []).append(seen)
        else:
            trace = record(row, _Trace)
            name = str(trace["id"])
            traces[name] = place, trace
            inner.setdefault(name, []).extend(records(trace.get("observations"), _Observation))
    for name, (place, trace) in traces.items():
        yield _task(
            name,
            place,
            trace,
            sorted(inner.get(name, []), key=lambda one: str(one.get("startTime") or "")),
        )


def _task(name: str, place: str, trace: _Trace, seen: Sequence[_Observation]) -> task.TracedTask:
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


def _facts(trace: _Trace, steps: Sequence[_Observation]) -> dict[str, str]:
    tags = trace.get("tags")
    named: Json = trace.get("name") or next((one.get("name") for one in steps), None)
    known = task.facts_of(
        {
            **table(task.decoded(trace.get("metadata"))),
            "environment": trace.get("environment"),
            "release": trace.get("release"),
            "version": trace.get("version"),
            "sessionId": trace.get("sessionId"),
            "userId": trace.get("userId"),
            "name": named,
        }
    )
    return known | (
        {"tags": ",".join(sorted(map(str, tags)))} if isinstance(tags, list) and tags else {}
    )


def _tools(names: Sequence[str]) -> dict[str, str]:
    return {"tools": "+".join(sorted(set(names)))} if names else {}


def _in_messages(one: _Observation) -> list[ToolCall]:
    parts = [task.decoded(one.get("input")), task.decoded(one.get("output"))]
    rows: list[Json] = []
    for part in parts:
        held = part.get("messages", [part]) if isinstance(part, dict) else part
        rows += held if isinstance(held, list) else []
    return task.calls_in(rows)


def _tokens(one: _Observation, side: Literal["input", "output"]) -> int | None:
    for used in (one.get("usageDetails"), one.get("usage")):
        found = task.whole_number(record(used, _Usage).get(side))
        if found is not None:
            return found
    return None
