"""OpenTelemetry: spans, metrics and evaluation events with the GenAI semantic conventions. The only
module that imports it.

All is queued, bounded, and sent by threads of the SDK. What it raises ends here: telemetry never
changes a run.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, ConsoleLogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from honestone import __version__
from honestone.adapters.telemetry.names import (
    DURATIONS,
    EVALUATION_EVENT,
    METRICS,
    PROVIDERS,
    TOKENS,
)
from honestone.adapters.telemetry.variables import SIGNALS, SignalName, SignalSettings, collector_of
from honestone.core.record.telemetry import (
    Activity,
    CallAnswer,
    CalledThing,
    CallOperation,
    TracedCall,
    TracedPart,
    TracedRun,
    TracedScore,
    called_thing,
    safe_name,
)

# Seconds that the end of a program waits for what is still to be sent.
PATIENCE: Final = 3.0

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_Attributes = dict[str, str | int | float]


@dataclass(kw_only=True)
class Pipelines:
    """Where each signal goes; None where it goes nowhere. `failed` holds the collectors that did
    not take a batch.
    """

    traces: TracerProvider
    metrics: MeterProvider
    logs: LoggerProvider | None
    failed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, settings: SignalSettings, environment: Mapping[str, str]) -> Pipelines:
        """Read the variables of a process."""
        logging.getLogger("opentelemetry").addHandler(
            logging.NullHandler()
        )  # said once, at the end, by us
        name = environment.get("OTEL_SERVICE_NAME") or "honestone"
        given = (
            "service.name=" in environment.get("OTEL_RESOURCE_ATTRIBUTES", "")
            and name == "honestone"
        )
        resource = Resource.create({} if given else {"service.name": name})
        failed: set[str] = set()

        def watched(exporter: Any, signal: SignalName) -> Any:
            return _watched(exporter, collector_of(environment, signal), failed)

        traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        for processor in _senders("traces", settings, watched):
            traces.add_span_processor(processor)
        readers = list(_senders("metrics", settings, watched))
        metrics = MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)
        logs = None
        if settings.exporters.get("logs"):
            logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
            for processor in _senders("logs", settings, watched):
                logs.add_log_record_processor(processor)
        return cls(traces=traces, metrics=metrics, logs=logs, failed=failed)


_Watch = Callable[[Any, SignalName], Any]


_SENDERS: Final[
    Mapping[SignalName, tuple[Callable[[], Any], Callable[..., Any], Callable[[Any], Any]]]
] = {
    "traces": (OTLPSpanExporter, ConsoleSpanExporter, BatchSpanProcessor),
    "metrics": (OTLPMetricExporter, ConsoleMetricExporter, PeriodicExportingMetricReader),
    "logs": (OTLPLogExporter, ConsoleLogRecordExporter, BatchLogRecordProcessor),
}


def _senders(signal: SignalName, settings: SignalSettings, watched: _Watch) -> Iterator[Any]:
    """What sends a signal to each place where it is wanted."""
    wanted, (otlp, console, sender) = settings.exporters.get(signal, frozenset()), _SENDERS[signal]
    if "otlp" in wanted:
        yield sender(watched(otlp(), signal))
    if "console" in wanted:
        yield sender(console(out=_stderr()))


def _stderr() -> Any:
    import sys

    return sys.stderr  # stdout is for results


def _watched(exporter: Any, collector: str, failed: set[str]) -> Any:
    """The exporter, whose failures are noted."""
    export = exporter.export

    def noting(batch: Any, *rest: Any, **options: Any) -> Any:
        result = export(batch, *rest, **options)
        if result.name != "SUCCESS":
            failed.add(collector)
        return result

    exporter.export = noting
    return exporter


def _quietly(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        logging.getLogger("opentelemetry.honestone").debug("telemetry failed", exc_info=True)


class OtelTelemetry:
    """Implements ports.Telemetry. `captures`: texts are sent too. A span without a parent here is a
    part of TRACEPARENT's.
    """

    def __init__(
        self, pipelines: Pipelines, *, captures: bool, environment: Mapping[str, str]
    ) -> None:
        self._pipelines = pipelines
        self.captures = captures
        self.tracer = pipelines.traces.get_tracer("honestone", __version__)
        self.logger = (
            None if pipelines.logs is None else pipelines.logs.get_logger("honestone", __version__)
        )
        meter = pipelines.metrics.get_meter("honestone", __version__)
        self._histograms = {
            name: meter.create_histogram(
                name, unit, text, explicit_bucket_boundaries_advisory=_bounds(name)
            )
            for name, (kind, unit, text) in METRICS.items()
            if kind == "histogram"
        }
        self._counters = {
            name: meter.create_counter(name, unit, text)
            for name, (kind, unit, text) in METRICS.items()
            if kind == "counter"
        }
        carried = {
            name.lower(): environment[name]
            for name in ("TRACEPARENT", "TRACESTATE")
            if name in environment
        }
        self._outer = _PROPAGATOR.extract(carried)
        providers = (pipelines.traces, pipelines.metrics, pipelines.logs)
        self._closers = [_Closer(one.shutdown) for one in providers if one is not None]

    def begin(self, activity: Activity) -> OtelSpan:
        inside = trace.get_current_span().get_span_context().is_valid
        name, kind, attributes = _span_name(activity)
        span = self.tracer.start_span(
            name, context=None if inside else self._outer, kind=kind, attributes=_clean(attributes)
        )
        return OtelSpan(self, activity, span)

    def from_record(self, judge: str) -> None:
        self.count("honestone.replies.from_record", 1, {})

    def variables(self) -> Mapping[str, str]:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return {name.upper(): value for name, value in carrier.items()}

    def count(self, name: str, amount: float, attributes: _Attributes) -> None:
        _quietly(lambda: self._counters[name].add(amount, _clean(attributes)))

    def measure(self, name: str, value: float, attributes: _Attributes) -> None:
        _quietly(lambda: self._histograms[name].record(value, _clean(attributes)))

    def close(self) -> Sequence[str]:
        until = time.monotonic() + PATIENCE
        for closer in self._closers:
            closer.begin()
        in_time = [closer.wait(max(0.0, until - time.monotonic())) for closer in self._closers]
        lines = [
            f"telemetry: {collector} did not take all of it; the run is not affected"
            for collector in sorted(self._pipelines.failed)
        ]
        if not all(in_time) and not lines:
            lines.append(
                f"telemetry: not all of it was taken within {PATIENCE:g} s; the run is not affected"
            )
        return lines


class _Closer:
    """Closes a provider in a thread that is there already: none can be started while a program
    ends.
    """

    def __init__(self, shutdown: Callable[[], object]) -> None:
        self._asked = threading.Event()
        self._shutdown = shutdown
        self._thread = threading.Thread(target=self._work, daemon=True, name="telemetry-end")
        self._thread.start()

    def _work(self) -> None:
        self._asked.wait()
        _quietly(self._shutdown)

    def begin(self) -> None:
        self._asked.set()

    def wait(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


class OtelSpan:
    """Implements ports.Span."""

    def __init__(self, telemetry: OtelTelemetry, activity: Activity, span: trace.Span) -> None:
        self._telemetry = telemetry
        self._activity = activity
        self._span = span
        self._began = time.monotonic()
        self._thing = (
            called_thing(activity.identity) if isinstance(activity, TracedCall) else CalledThing()
        )
        self._answer: CallAnswer | None = None
        self._error: str | None = None

    @contextmanager
    def here(self) -> Iterator[None]:
        token = otel_context.attach(trace.set_span_in_context(self._span))
        try:
            yield
        finally:
            otel_context.detach(token)

    def answered(self, answer: CallAnswer) -> None:
        self._answer = answer
        _quietly(lambda: self._span.set_attributes(_clean(self._of_answer(answer))))

    def failed(self, kind: str, reason: str) -> None:
        if self._error is not None:
            return
        self._error = kind
        text = reason if self._telemetry.captures else None
        more: _Attributes = {} if text is None else {"honestone.error.message": text}
        _quietly(lambda: self._span.set_attributes(_clean({"error.type": kind, **more})))
        _quietly(lambda: self._span.set_status(trace.StatusCode.ERROR))

    def scored(self, scores: Iterable[TracedScore]) -> None:
        def tell() -> None:
            for score in scores:
                self._event(_of_score(score, captures=self._telemetry.captures))

        _quietly(tell)

    def end(self) -> None:
        _quietly(self._span.end)
        took = time.monotonic() - self._began
        if isinstance(self._activity, TracedCall):
            self._measure_call(self._activity, took)
        elif isinstance(self._activity, TracedRun):
            self._telemetry.measure(
                "honestone.run.duration", took, {"honestone.run.kind": self._activity.kind}
            )

    def _event(self, attributes: _Attributes) -> None:
        """A log record of the span, as the conventions say; an event in the span where no logs are
        sent.
        """
        logger = self._telemetry.logger
        if logger is None:
            self._span.add_event(EVALUATION_EVENT, _clean(attributes))
            return
        context = trace.set_span_in_context(self._span)
        logger.emit(
            LogRecord(
                timestamp=time.time_ns(),
                context=context,
                event_name=EVALUATION_EVENT,
                attributes=_clean(attributes),
            )
        )

    def _of_answer(self, answer: CallAnswer) -> _Attributes:
        usage = answer.usage
        known = {
            "gen_ai.response.model": answer.model,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "honestone.usage.cost": usage.usd,
        }
        found: _Attributes = {name: value for name, value in known.items() if value is not None}
        if self._telemetry.captures and isinstance(self._activity, TracedCall):
            found["gen_ai.input.messages"] = _message("user", self._activity.text())
            if self._activity.operation == "chat":
                found["gen_ai.output.messages"] = _message("assistant", answer.text())
        return found

    def _measure_call(self, call: TracedCall, took: float) -> None:
        telemetry = self._telemetry
        error: _Attributes = {} if self._error is None else {"error.type": self._error}
        role: _Attributes = {"honestone.call.role": call.role}
        telemetry.count("honestone.calls", 1, role)
        if self._error is not None:
            telemetry.count("honestone.call.failures", 1, {**role, **error})
        model = _of_model(self._thing, call.operation)
        if model:
            telemetry.measure("gen_ai.client.operation.duration", took, {**model, **error})
        if self._answer is None:
            return
        usage = self._answer.usage
        if usage.usd is not None:
            telemetry.count("honestone.cost", usage.usd, role)
        for name, tokens in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if tokens is not None and model:
                telemetry.measure(
                    "gen_ai.client.token.usage", tokens, {**model, "gen_ai.token.type": name}
                )


def _span_name(activity: Activity) -> tuple[str, trace.SpanKind, _Attributes]:
    """Name, kind and attributes of a span. The name is one of few: ids are attributes."""
    internal = trace.SpanKind.INTERNAL
    match activity:
        case TracedRun():
            found: _Attributes = {
                "honestone.run.id": activity.id,
                "honestone.run.kind": activity.kind,
            }
            return f"run {activity.kind}", internal, found
        case TracedPart():
            number: _Attributes = (
                {} if activity.number is None else {"honestone.part.number": activity.number}
            )
            return activity.kind, internal, {"honestone.part.name": activity.name, **number}
        case TracedCall():
            thing = called_thing(activity.identity)
            model = _of_model(thing, activity.operation)
            who: _Attributes = {
                "honestone.call.role": activity.role,
                "honestone.call.name": safe_name(activity.name, thing),
            }
            if not model:
                return activity.role, internal, who
            asked = thing.agent or thing.model or ""
            name = f"{model['gen_ai.operation.name']} {asked}".rstrip()
            return name, trace.SpanKind.CLIENT, {**who, **model}


def _of_model(thing: CalledThing, operation: CallOperation) -> _Attributes:
    """What the conventions say of a call of a model or an agent; nothing for a program."""
    if thing.provider is None and thing.agent is None:
        return {}
    provider = thing.provider or thing.agent or ""
    known: dict[str, str | int | None] = {
        "gen_ai.operation.name": operation if thing.agent is None else "invoke_agent",
        "gen_ai.provider.name": PROVIDERS.get(provider, provider),
        "gen_ai.agent.name": thing.agent,
        "gen_ai.request.model": thing.model,
        "server.address": thing.host,
        "server.port": thing.port,
    }
    return {name: value for name, value in known.items() if value is not None}


def _of_score(score: TracedScore, *, captures: bool) -> _Attributes:
    known = {
        "gen_ai.evaluation.name": score.criterion or "overall",
        "honestone.evaluation.scope": "overall" if score.criterion is None else "criterion",
        "gen_ai.evaluation.score.value": score.points,
        "gen_ai.evaluation.score.label": score.label,
        "gen_ai.evaluation.explanation": score.why if captures and score.why else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _bounds(name: str) -> Sequence[float]:
    return TOKENS if name == "gen_ai.client.token.usage" else DURATIONS


def _clean(attributes: _Attributes) -> _Attributes:
    """Half a surrogate pair cannot be sent: with it the whole batch would be lost."""
    return {
        name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
        for name, value in attributes.items()
    }


def make_telemetry(settings: SignalSettings) -> OtelTelemetry:
    """Make the telemetry that the variables of this process ask for."""
    environment = dict(os.environ)
    pipelines = Pipelines.of(settings, environment)
    return OtelTelemetry(pipelines, captures=settings.captures, environment=environment)


__all__ = ["SIGNALS", "OtelTelemetry", "Pipelines", "make_telemetry"]
