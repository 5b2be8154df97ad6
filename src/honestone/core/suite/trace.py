"""Traces: what a target reported about its own run. None is unknown, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import asdict

from honestone.core.json_value import Json, JsonObject, built


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call of a tool by an agent, in the order made. `arguments` and `result` are plain JSON
    values.
    """

    name: str
    arguments: JsonObject = field(default_factory=dict)
    result: Json = None


class Trace(Struct, frozen=True, kw_only=True):
    """`tool_calls` is None where the target does not report them; `skill_loaded` whether the agent
    read the skill; `model_calls` how often it asked its model.
    """

    tool_calls: tuple[ToolCall, ...] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    duration_ms: int | None = None
    skill_loaded: bool | None = None
    model_calls: int | None = None
    extra: JsonObject = field(default_factory=dict)

    def to_plain(self) -> dict[str, Json]:
        plain: dict[str, Json] = asdict(self)
        if self.tool_calls is not None:
            plain["tool_calls"] = [asdict(call) for call in self.tool_calls]
        return {**plain, "extra": dict(self.extra)}

    @classmethod
    def from_plain(cls, plain: JsonObject) -> Trace:
        return built(_trace, plain)


def _trace(
    tool_calls: Sequence[JsonObject] | None = None,
    extra: JsonObject | None = None,
    **same: float | bool | None,
) -> Trace:
    calls = None if tool_calls is None else tuple(built(ToolCall, call) for call in tool_calls)
    return built(partial(Trace, tool_calls=calls, extra=extra or {}), same)
