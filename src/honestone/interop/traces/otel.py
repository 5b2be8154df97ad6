"""Spans of OpenTelemetry with the GenAI semantic conventions, as tasks: OTLP JSON, or one span an
object.

Texts are in `gen_ai.input.messages` and `gen_ai.output.messages`, in events of a span, or in the
indexed attributes that older instrumentations write (`gen_ai.prompt.0.content`); OpenInference has
`input.value` and `output.value`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypedDict

from msgspec import Struct

from honestone.core.json_value import Json, is_integer, late_pattern
from honestone.core.suite.case import Message
from honestone.core.suite.trace import ToolCall
from honestone.interop.traces import task
from honestone.system.loose_json import record, records, tables

_DEEPEST: Final = 40
_INDEXED: Final = late_pattern(r"(?:gen_ai|llm)\.(prompt|completion)\.(\d{1,4})\.(role|content)")
_IN: Final = ("gen_ai.input.messages", "input.value", "traceloop.entity.input")
_OUT: Final = ("gen_ai.output.messages", "output.value", "traceloop.entity.output")
_TEXTS: Final = (
    *_IN,
    *_OUT,
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
)


class _Resource(TypedDict, total=False):
    """What a resource is described by; also an event of a span."""

    attributes: Json


class _ScopeSpans(TypedDict, total=False):
    """The spans of one library."""

    spans: Json


class _ResourceSpans(TypedDict, total=False):
    """The spans of one resource; the last field is its name in older versions."""

    resource: Json
    scopeSpans: Json
    instrumentationLibrarySpans: Json


class _Otlp(TypedDict, total=False):
    """A document of OTLP."""

    resourceSpans: Json


class _Ids(TypedDict, total=False):
    """What names a span, in the words of OTLP and in those of Python's exporter."""

    traceId: Json
    trace_id: Json
    spanId: Json
    span_id: Json
    parentSpanId: Json
    parent_id: Json
    parent_span_id: Json


_Named: TypeAlias = Literal[
    "traceId",
    "trace_id",
    "spanId",
    "span_id",
    "parentSpanId",
    "parent_id",
    "parent_span_id",
    "name",
]


class _PlainSpan(_Ids, total=False):
    """A span in either of them; the latter has some of its names in `context`."""

    context: Json
    name: Json
    attributes: Json
    events: Json
    startTimeUnixNano: Json
    start_time: Json
    endTimeUnixNano: Json
    end_time: Json


class _Pair(TypedDict, total=False):
    """An attribute of OTLP."""

    key: Json
    value: Json


class _Values(TypedDict, total=False):
    """A list of OTLP, or the pairs of an object."""

    values: Json


class Span(Struct, frozen=True, kw_only=True):
    """One span. `start` and `end` are nanoseconds, `values` its attributes and those of its
    resource as plain values.
    """

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    values: Mapping[str, Json]
    place: str

    @property
    def is_tool(self) -> bool:
        return (
            self.values.get("gen_ai.operation.name") == "execute_tool"
            or "gen_ai.tool.name" in self.values
        )

    @property
    def asked(self) -> tuple[Message, ...]:
        rules = self.values.get("gen_ai.system_instructions")
        system = (
            task.messages_in([{"role": "system", "content": task.decoded(rules)}]) if rules else ()
        )
        return (*system, *task.messages_in(self._first(_IN) or self._indexed("prompt")))

    @property
    def answered(self) -> str | None:
        return task.last_text(self._first(_OUT) or self._indexed("completion"))

    @property
    def calls(self) -> list[ToolCall]:
        """The calls in its messages: those of the input were made before."""
        both = [task.decoded(self._first(names)) for names in (_IN[:1], _OUT[:1])]
        return task.calls_in([one for part in both if isinstance(part, list) for one in part])

    def _first(self, names: Sequence[str]) -> Json:
        return next((self.values[name] for name in names if self.values.get(name)), None)

    def _indexed(self, kind: str) -> Json:
        rows: dict[int, dict[str, Json]] = {}
        for key, value in self.values.items():
            match = _INDEXED.fullmatch(key)
            if match is not None and match[1] == kind:
                rows.setdefault(
                    int(match[2]), {"role": "user" if kind == "prompt" else "assistant"}
                )[match[3]] = value
        return [rows[number] for number in sorted(rows)]


def spans_of(value: Json, place: str) -> Iterator[Span]:
    """The spans of an OTLP document, or the span that this is."""
    document = record(value, _Otlp)
    if "resourceSpans" not in document:
        yield _span(record(value, _PlainSpan), {}, place)
        return
    for resource in records(document["resourceSpans"], _ResourceSpans):
        about = record(resource.get("resource"), _Resource)
        shared = _attributes(about.get("attributes"))
        scopes = resource.get("scopeSpans", resource.get("instrumentationLibrarySpans"))
        for scope in records(scopes, _ScopeSpans):
            for span in records(scope.get("spans"), _PlainSpan):
                yield _span(span, shared, place)


def is_span(value: Json) -> bool:
    span = record(value, _PlainSpan)
    return "attributes" in span and (
        "spanId" in span or "span_id" in span or "span_id" in record(span.get("context"), _Ids)
    )


def _span(plain: _PlainSpan, shared: Mapping[str, Json], place: str) -> Span:
    context = record(plain.get("context"), _PlainSpan)
    values = {**shared, **_attributes(plain.get("attributes"))}
    for event in records(plain.get("events"), _Resource):
        for key, value in _attributes(event.get("attributes")).items():
            values.setdefault(_OLD.get(key, key), value)

    def first_text(*names: _Named) -> str:
        found = (plain.get(name) or context.get(name) for name in names)
        return next((str(one) for one in found if isinstance(one, str | int)), "")

    return Span(
        trace=first_text("traceId", "trace_id") or first_text("spanId", "span_id"),
        id=first_text("spanId", "span_id"),
        parent=first_text("parentSpanId", "parent_id", "parent_span_id"),
        name=first_text("name"),
        start=whole_number_of_time(plain.get("startTimeUnixNano", plain.get("start_time"))),
        end=whole_number_of_time(plain.get("endTimeUnixNano", plain.get("end_time"))),
        values=values,
        place=place,
    )


# What events of a span were called in earlier versions of the conventions.
_OLD: Final[Mapping[str, str]] = {
    "gen_ai.prompt": "gen_ai.input.messages",
    "gen_ai.completion": "gen_ai.output.messages",
}


def whole_number_of_time(value: Json) -> int:
    """Nanoseconds; 0 where it is not said in numbers."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 20:
        return int(value)
    return value if is_integer(value) else 0


def tasks_of(spans: Sequence[Span]) -> Iterator[task.TracedTask]:
    """A task of each trace, in the order in which the traces are first met."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    for name, found in traces.items():
        yield _task(name, sorted(found, key=lambda one: one.start))


def _task(name: str, spans: Sequence[Span]) -> task.TracedTask:
    """The outermost spans with texts say what was asked first and answered last; inner ones only
    where they do not.
    """
    asked = [one for one in spans if not one.is_tool and one.asked]
    answered = [one for one in spans if not one.is_tool and one.answered]
    first = _outermost(asked)[:1] or asked[:1]
    last = _outermost(answered)[-1:] or answered[-1:]
    shown = (first or last or list(spans))[0]
    roots = [one for one in spans if not one.parent] or [shown]
    model = next(
        (str(one.values[key]) for key in _MODELS for one in spans if one.values.get(key)), ""
    )
    calls = _calls(spans)
    inner = {one.parent for one in spans if _counts(one)}
    counted = [one for one in spans if _counts(one) and one.id not in inner]
    plain = {
        key: value
        for key, value in {**roots[0].values, **shown.values}.items()
        if key not in _TEXTS
    }
    facts = task.facts_of(plain) | {"name": roots[0].name} | ({"model": model} if model else {})
    took = roots[0].end - roots[0].start
    return task.TracedTask(
        name=name,
        place=shown.place,
        messages=first[0].asked if first else (),
        output=last[0].answered if last else None,
        tool_calls=tuple(calls) or None,
        input_tokens=task.total(
            [task.whole_number(one.values.get("gen_ai.usage.input_tokens")) for one in counted]
        ),
        output_tokens=task.total(
            [task.whole_number(one.values.get("gen_ai.usage.output_tokens")) for one in counted]
        ),
        duration_ms=took // 1_000_000 if 0 < took < 10**18 else None,
        facts=facts | ({"tools": "+".join(sorted({one.name for one in calls}))} if calls else {}),
    )


_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")


def _counts(span: Span) -> bool:
    return "gen_ai.usage.input_tokens" in span.values or "gen_ai.usage.output_tokens" in span.values


def _calls(spans: Sequence[Span]) -> list[ToolCall]:
    """Spans that ran a tool say it best; without any, the messages of the span that has the most
    calls.
    """
    ran = [
        task.tool_call(
            one.values.get("gen_ai.tool.name") or one.name.removeprefix("execute_tool ").strip(),
            one.values.get("gen_ai.tool.call.arguments", one.values.get("input.value")),
            one.values.get("gen_ai.tool.call.result", one.values.get("output.value")),
        )
        for one in spans
        if one.is_tool
    ]
    found = [one for one in ran if one is not None]
    return found or max((one.calls for one in spans), key=len, default=[])


def _outermost(spans: Sequence[Span]) -> list[Span]:
    """Those whose parent is not one of them."""
    ids = {one.id for one in spans}
    return [one for one in spans if one.parent not in ids]


# -------------------------------------------------------------------------------------------------------
# attributes

_PLAIN: Final = ("stringValue", "boolValue", "doubleValue", "bytesValue")


def _attributes(value: Json) -> dict[str, Json]:
    """Attributes as OTLP lists them, or as an object from names to values."""
    if isinstance(value, dict):
        return dict(value)
    pairs = ((one.get("key"), _any(one.get("value"), 0)) for one in records(value, _Pair))
    return {key: found for key, found in pairs if isinstance(key, str)}


def _any(value: Json, depth: int) -> Json:
    """OTLP's AnyValue. What is nested deeper than any real value is left out."""
    if not isinstance(value, dict) or depth > _DEEPEST:
        return None
    plain: Json = next((value[name] for name in _PLAIN if name in value), None)
    if plain is not None:
        return plain
    if "intValue" in value:
        return task.whole_number(value["intValue"])
    if "arrayValue" in value:
        values = record(value["arrayValue"], _Values).get("values")
        return [_any(one, depth + 1) for one in tables(values)]
    pairs = records(record(value.get("kvlistValue"), _Values).get("values"), _Pair)
    return {str(one.get("key")): _any(one.get("value"), depth + 1) for one in pairs}
