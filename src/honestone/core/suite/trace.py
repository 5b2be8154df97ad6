"""Traces: what a target reported about its own run. None is unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool by an agent, in the order made. `arguments` and `result` are plain JSON values."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    result: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """`tool_calls` is None where the target does not report them; `skill_loaded` whether the agent read the skill."""

    tool_calls: tuple[ToolCall, ...] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    duration_ms: int | None = None
    skill_loaded: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_plain(self) -> dict[str, Any]:
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
    def from_plain(cls, plain: Mapping[str, Any]) -> Trace:
        calls = plain.get("tool_calls")
        known = {name: plain.get(name) for name in cls.__slots__ if name not in ("tool_calls", "extra")}
        return cls(
            tool_calls=None if calls is None else tuple(ToolCall(**call) for call in calls),
            extra=plain.get("extra") or {},
            **known,
        )
