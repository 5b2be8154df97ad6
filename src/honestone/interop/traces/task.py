"""What a trace says of one task, whichever tool wrote it, and how values of traces become texts and
messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypedDict

from msgspec import Struct, field

from honestone.core.json_value import Json, is_integer, is_number
from honestone.core.suite.case import Message
from honestone.core.suite.trace import ToolCall
from honestone.system.loose_json import record, records

_ROLES: Final[Mapping[str, str]] = {"human": "user", "ai": "assistant", "model": "assistant"}
_ASKED: Final = ("messages", "input", "question", "query", "prompt")
_MOST_FACTS: Final = 50


class TracedTask(Struct, frozen=True, kw_only=True):
    """A task that an application did. `place` is where the trace is, `facts` what tasks may be
    sampled by. Tokens, cost in US dollars and milliseconds are None where the trace does not say
    them, and so are `tool_calls`.
    """

    name: str
    place: str
    messages: tuple[Message, ...] = ()
    output: str | None = None
    reference: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    duration_ms: int | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


class DroppedTrace(Struct, frozen=True, kw_only=True):
    """A trace that becomes no case, and why."""

    name: str
    place: str
    why: str

    def to_plain(self) -> dict[str, str]:
        return {"trace": self.name, "place": self.place, "why": self.why}


class _Message(TypedDict, total=False):
    """A message of a trace, in any of the forms that are read: parts or content, calls in either, or
    what a tool gave.
    """

    role: Json
    content: Json
    parts: Json
    tool_calls: Json
    tool_call_id: Json


class _Call(TypedDict, total=False):
    """A call of a tool. Chat APIs put name and arguments into `function`; some name it `args`."""

    id: Json
    type: Json
    name: Json
    arguments: Json
    args: Json
    function: Json
    response: Json
    result: Json


def text_in(value: Json) -> str:
    """The text of a message's content: a text, or a list of parts. Calls of tools and their results
    are not text.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for part in value if (text := _part(part)))
    return ""


def _part(part: Json) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type", "text") not in (
        "text",
        "input_text",
        "output_text",
    ):
        return ""
    value = part.get("text", part.get("content"))
    return value if isinstance(value, str) else ""


def messages_in(value: Json, *, role: str = "user") -> tuple[Message, ...]:
    """A recorded input or output as messages: a text, a list of messages, or an object that holds
    one of them. Any other value is one message of its JSON.
    """
    value = decoded(value)
    if isinstance(value, dict):
        if "role" in value and ("content" in value or "parts" in value):
            return messages_in([value], role=role)
        named = next((value[key] for key in _ASKED if value.get(key)), None)
        if isinstance(named, str | list):
            return messages_in(named, role=role)
    if isinstance(value, list) and any(isinstance(one, dict) and "role" in one for one in value):
        found = [_message(one) for one in records(value, _Message)]
        return tuple(one for one in found if one.content.strip())
    if isinstance(value, str):
        text = value
    else:
        text = "" if value in (None, [], {}) else json.dumps(value, ensure_ascii=False)
    return (Message(role, text),) if text.strip() else ()


def _message(plain: _Message) -> Message:
    value = plain.get("role")
    role = _ROLES.get(value, value) if isinstance(value, str) else "user"
    return Message(role, text_in(plain.get("content", plain.get("parts"))))


def last_text(value: Json) -> str | None:
    """The last message of a recorded output, or None where it has no text."""
    found = messages_in(value, role="assistant")
    return found[-1].content if found else None


def decoded(value: Json) -> Json:
    """JSON that was written as a text, as telemetry does with what is not a plain value."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            found: Json = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found
    return value


def tool_call(name: Json, arguments: Json, result: Json = None) -> ToolCall | None:
    """None without a name. Arguments that are not an object are kept as `input`."""
    if not isinstance(name, str) or not name:
        return None
    given = decoded(arguments)
    if given is None or given == "":
        given = {}
    return ToolCall(
        name=name,
        arguments=given if isinstance(given, dict) else {"input": given},
        result=decoded(result),
    )


def calls_in(messages: Json) -> list[ToolCall]:
    """The calls of tools in a list of messages, with the results that later messages give: those of
    the GenAI conventions (parts `tool_call`, `tool_call_response`), of chat APIs (`tool_calls`, the
    role `tool`) and of Inspect.
    """
    results: list[tuple[Json, Json]] = []
    asked: list[tuple[Json, Json, Json]] = []
    for row in records(messages, _Message):
        if row.get("role") == "tool":
            results.append((row.get("tool_call_id"), text_in(row.get("content"))))
        for part in records(row.get("parts"), _Call):
            if part.get("type") == "tool_call":
                asked.append((part.get("id"), part.get("name"), part.get("arguments")))
            elif part.get("type") == "tool_call_response":
                results.append((part.get("id"), part.get("response", part.get("result"))))
        for call in records(row.get("tool_calls"), _Call):
            inner = call.get("function")
            of = record(inner, _Call) if isinstance(inner, dict) else call
            name = inner if isinstance(inner, str) else of.get("name")
            asked.append((call.get("id"), name, of.get("arguments", of.get("args"))))
    by_call = {id: result for id, result in results if isinstance(id, str)}
    found = [
        tool_call(name, given, by_call.get(id) if isinstance(id, str) else None)
        for id, name, given in asked
    ]
    return [one for one in found if one is not None]


def facts_of(plain: Mapping[str, Json]) -> dict[str, str]:
    """The plain values among these by their key, short ones: what tasks may be sampled by."""
    known: dict[str, str] = {}
    for key, value in plain.items():
        if isinstance(value, bool | int | float):
            known[key] = json.dumps(value)
        elif isinstance(value, str) and 0 < len(value) <= 200:
            known[key] = value
        if len(known) == _MOST_FACTS:
            break
    return known


def whole_number(value: Json) -> int | None:
    """A count that may be written as a text, as OTLP does; None for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        return int(value)
    return value if is_integer(value) and 0 <= value <= 10**15 else None


def amount(value: Json) -> float | None:
    """A number from 0; None for anything else."""
    return float(value) if is_number(value) and 0 <= value <= 10**12 else None


def total(values: Sequence[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
