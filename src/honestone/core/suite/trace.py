"""Traces: what a target reported about its own run. None is unknown, never 0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypedDict, cast

from honestone.core.json_value import Json, JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool by an agent, in the order made. `arguments` and `result` are plain JSON values."""

    name: str
    arguments: JsonObject = field(default_factory=dict)
    result: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`tool_calls` is None where the target does not report them; `skill_loaded` whether the agent read the skill."""

    tool_calls: tuple[ToolCall, ...] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    duration_ms: int | None = None
    skill_loaded: bool | None = None
    extra: JsonObject = field(default_factory=dict)

    def to_plain(self) -> dict[str, Json]:
        calls = self.tool_calls
        return {
            "tool_calls": None
            if calls is None
            else [{"name": call.name, "arguments": dict(call.arguments), "result": call.result} for call in calls],
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "usd": self.usd,
            "duration_ms": self.duration_ms,
            "skill_loaded": self.skill_loaded,
            "extra": dict(self.extra),
        }

    @classmethod
    def from_plain(cls, plain: JsonObject) -> Trace:
        known = cast(_PlainTrace, {"tool_calls": None, "extra": None, **plain})
        calls = known["tool_calls"]
        return cls(
            tool_calls=None if calls is None else tuple(ToolCall(**call) for call in calls),
            input_tokens=known.get("input_tokens"),
            output_tokens=known.get("output_tokens"),
            usd=known.get("usd"),
            duration_ms=known.get("duration_ms"),
            skill_loaded=known.get("skill_loaded"),
            extra=known["extra"] or {},
        )


class _PlainCall(TypedDict):
    name: str
    arguments: JsonObject
    result: Json


class _PlainTrace(TypedDict):
    tool_calls: list[_PlainCall] | None
    extra: JsonObject | None
    input_tokens: int | None
    output_tokens: int | None
    usd: float | None
    duration_ms: int | None
    skill_loaded: bool | None
