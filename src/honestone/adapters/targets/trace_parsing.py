"""What a target said: an output as text or JSON, and what comes with it as the trace of its run.

Read strictly: a token count that is a text, or a tool call without a name, is an error and never a
guess.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from honestone.core.checking.checks import visible
from honestone.core.json_value import each_once, is_integer, is_number
from honestone.core.suite.trace import ToolCall, Trace
from honestone.ports import Output, Usage

OUTPUT_LIMIT: Final = 16 * 1024 * 1024
TOO_LONG: Final = f"more than {OUTPUT_LIMIT // 2**20} MiB of output"
NOT_TEXT: Final = "its output is not UTF-8 text"
# Of anything that is counted: more is a mistake, and sums of such numbers are none any more.
MOST: Final = 10**15
WANTED: Final = 'a JSON text, or an object {"output": TEXT, ...}'


class Misread(Exception):
    """What a target said cannot be taken for what it should be; its text says why."""


def since(started: float) -> int:
    """The milliseconds since a moment of `time.monotonic`, as an output tells how long it took."""
    return int((time.monotonic() - started) * 1000)


def as_output(data: bytes, *, is_json: bool, duration_ms: int = 0) -> Output:
    """The bytes that a target wrote, as an output or as the error that they are."""
    if len(data) > OUTPUT_LIMIT:
        return Output(text="", error=TOO_LONG, duration_ms=duration_ms)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return Output(text="", error=NOT_TEXT, duration_ms=duration_ms)
    if not is_json:
        return Output(text=text, duration_ms=duration_ms)
    try:
        return json_output(parsed(text), duration_ms=duration_ms)
    except Misread as why:
        return Output(text="", error=str(why), duration_ms=duration_ms)


def parsed(text: str) -> Any:
    """One JSON value. Raises Misread."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not a JSON number")

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=each_once)
    except RecursionError:
        raise Misread("its output is JSON that is nested too deeply") from None
    except ValueError as error:
        raise Misread(f"its output is not JSON: {visible(str(error), 120)}") from None


def json_output(value: Any, *, duration_ms: int = 0) -> Output:
    """A JSON text, or an object with `output`; what else is in it is the trace. Raises Misread."""
    if isinstance(value, str):
        return Output(text=_trace_text(value), duration_ms=duration_ms)
    if not isinstance(value, Mapping) or not isinstance(value.get("output"), str):
        raise Misread(f"its output is not {WANTED}")
    if value.get("error"):
        raise Misread("it has an `output` and an `error`, so it is open which of the two counts")
    text = _trace_text(value["output"])
    others = {key: inner for key, inner in value.items() if key != "output"}
    if not others:
        return Output(text=text, duration_ms=duration_ms)
    trace = read_trace(others)
    return Output(text=text, duration_ms=duration_ms, trace=trace, usage=usage_of(trace))


def returned(value: object, *, duration_ms: int = 0) -> Output:
    """The output that a function returned, as Python has it. Raises Misread."""
    if not isinstance(value, (str, Mapping)):
        raise Misread(f"it returned {type(value).__name__}, not a text")
    return json_output(value, duration_ms=duration_ms)


def _trace_text(text: str) -> str:
    """JSON can spell half a character, which no file and no judge can be given."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Misread(NOT_TEXT) from None
    return text


def usage_of(trace: Trace) -> Usage:
    return Usage(input_tokens=trace.input_tokens, output_tokens=trace.output_tokens, usd=trace.usd)


# -----------------------------------------------------------------------------------------------------------
# traces

_KNOWN: Final = frozenset(
    "trace tool_calls token_usage usage input_tokens output_tokens usd cost_usd duration_ms skill_loaded model_calls llm_calls".split()
)


def read_trace(plain: Mapping[str, Any]) -> Trace:
    """The known names of a trace; other names are kept in `extra`. A `trace` object inside counts
    like its names here.
    """
    inner = plain.get("trace")
    if isinstance(inner, Mapping):
        plain = {**{key: value for key, value in plain.items() if key != "trace"}, **inner}
    elif inner is not None:
        raise Misread("`trace` is not an object")
    tokens: Any = next(
        (plain[name] for name in ("token_usage", "usage") if plain.get(name) is not None), {}
    )
    if not isinstance(tokens, Mapping):
        raise Misread("`token_usage` is not an object")

    def of(name: str, short: str) -> Any:
        return (
            plain.get(name) if plain.get(name) is not None else tokens.get(name, tokens.get(short))
        )

    took = _amount(plain.get("duration_ms"), "duration_ms")
    return Trace(
        tool_calls=_calls(plain.get("tool_calls")),
        input_tokens=_count(of("input_tokens", "input"), "input_tokens"),
        output_tokens=_count(of("output_tokens", "output"), "output_tokens"),
        usd=_amount(
            plain.get("usd") if plain.get("usd") is not None else plain.get("cost_usd"), "usd"
        ),
        duration_ms=None if took is None else round(took),
        skill_loaded=_flag(plain.get("skill_loaded"), "skill_loaded"),
        model_calls=_count(plain.get("model_calls", plain.get("llm_calls")), "model_calls"),
        extra={str(key): value for key, value in plain.items() if key not in _KNOWN},
    )


def _calls(value: Any) -> tuple[ToolCall, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise Misread("`tool_calls` is not a list")
    return tuple(_call(call, number) for number, call in enumerate(value))


def _call(call: Any, number: int) -> ToolCall:
    if isinstance(call, str):
        return ToolCall(name=call)
    known: Mapping[str, Any] = call if isinstance(call, Mapping) else {}
    name = known.get("name", known.get("tool"))
    if not isinstance(name, str) or not name:
        raise Misread(f"`tool_calls[{number}]` has no `name`")
    given: Any = next(
        (known[key] for key in ("arguments", "args", "input") if known.get(key) is not None), {}
    )
    if not isinstance(given, Mapping):
        raise Misread(f"`arguments` of `tool_calls[{number}]` is not an object")
    return ToolCall(
        name=name, arguments=dict(given), result=known.get("result", known.get("output"))
    )


def _count(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if not is_integer(value) or not 0 <= value <= MOST:
        raise Misread(f"`{name}` is {visible(repr(value), 40)}, not a whole number from 0")
    return value


def _amount(value: Any, name: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(value) if is_number(value) else float("nan")
    except OverflowError:
        number = float("nan")
    if not isfinite(number) or not 0 <= number <= MOST:
        raise Misread(f"`{name}` is {visible(repr(value), 40)}, not a number from 0")
    return number


def _flag(value: Any, name: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise Misread(f"`{name}` is {visible(repr(value), 40)}, not true or false")
    return value
