"""What becomes of a run in OpenTelemetry: names of the conventions, parents, scores, texts only
where asked for.
"""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.telemetry.names import ATTRIBUTES, EVALUATION_EVENT, METRICS
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.record.telemetry import (
    CallAnswer,
    TracedCall,
    TracedPart,
    TracedRun,
    called_thing,
    safe_name,
)
from honestone.engine.traced import ask_judge, tell_scores
from honestone.ports import CallFailed, Usage
from honestone.system.telemetry import span_of, telemetry, using

pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")
otel = importlib.import_module("honestone.adapters.telemetry.otel")

OPENAI = {
    "kind": "prompted",
    "model": {
        "provider": "google",
        "base_url": "https://user:pw@api.example/v1?key=SECRET",
        "model": "gemini-9",
    },
}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


class World:
    """Telemetry into memory."""

    def __init__(
        self, *, captures: bool = False, environment: Mapping[str, str] | None = None
    ) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        traces = TracerProvider(shutdown_on_exit=False)
        traces.add_span_processor(SimpleSpanProcessor(self.exporter))
        metrics = MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        pipelines = otel.Pipelines(traces=traces, metrics=metrics, logs=None)
        self.telemetry = otel.OtelTelemetry(
            pipelines, captures=captures, environment=environment or {}
        )

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def metrics(self) -> Iterator[tuple[str, Any]]:
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                yield from (
                    (metric.name, point)
                    for metric in scope.metrics
                    for point in metric.data.data_points
                )


def call(text: str = "SECRET prompt") -> TracedCall:
    return TracedCall(role="judge", name="google:gemini-9", identity=OPENAI, text=lambda: text)


ANSWER = CallAnswer(
    usage=Usage(input_tokens=10, output_tokens=3, cached_tokens=2, usd=0.5),
    model="gemini-9-1",
    text=lambda: "SECRET \ud800 reply",
)


def a_run(world: World) -> None:
    """A run of one attempt, with one call that answers and one that fails."""
    scorer = Scorer(
        Rubric(
            criteria=(Criterion(id="a", requirement="A", items=(Item(id="a", requirement="A"),)),)
        )
    )
    ballot = Ballot(judge="j", marks={("a", "a"): Mark(True, ("SECRET quote",))})
    with using(world.telemetry), span_of(TracedRun(id="R", kind="suite")):
        with span_of(TracedPart(kind="attempt", name="one", number=1)) as attempt:
            with span_of(call()) as span:
                span.answered(ANSWER)
            tell_scores(attempt, scorer, (ballot,))
        with span_of(
            TracedCall(
                role="worker", name="cmd:/bin/fix --key=SECRET", identity={"command": ["/bin/fix"]}
            )
        ) as span:
            span.failed("crashed", "SECRET reason")


def test_a_call_is_a_span_with_the_names_of_the_conventions() -> None:
    """Model, tokens and cost; parents as they are nested; a name that holds no id."""
    world = World()
    a_run(world)
    spans = world.spans
    chat, attempt, run, worker = (
        spans["chat gemini-9"],
        spans["attempt"],
        spans["run suite"],
        spans["worker"],
    )
    assert dict(chat.attributes) == {
        "honestone.call.role": "judge",
        "honestone.call.name": "google:gemini-9",
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-9",
        "gen_ai.response.model": "gemini-9-1",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 2,
        "honestone.usage.cost": 0.5,
        "server.address": "api.example",
        "server.port": 443,
    }
    assert chat.parent.span_id == attempt.context.span_id
    assert attempt.parent.span_id == run.context.span_id == worker.parent.span_id
    assert worker.attributes["error.type"] == "crashed" and not worker.status.is_ok
    assert worker.attributes["honestone.call.name"] == "cmd:fix"


def test_scores_are_evaluation_events_of_what_was_judged() -> None:
    """One for the whole, with the verdict, and one for each criterion."""
    world = World()
    a_run(world)
    whole, one = world.spans["attempt"].events
    assert {whole.name, one.name} == {EVALUATION_EVENT}
    assert whole.attributes["gen_ai.evaluation.score.label"] == "pass"
    assert (
        one.attributes["gen_ai.evaluation.name"],
        one.attributes["gen_ai.evaluation.score.value"],
    ) == ("a", 100.0)


def test_no_text_leaves_unless_it_is_asked_for() -> None:
    """Prompts, replies, reasons and quotes; with the opt-in all of them, half characters replaced."""
    world, open_world = World(), World(captures=True)
    a_run(world)
    a_run(open_world)
    assert "SECRET" not in "".join(span.to_json() for span in world.exporter.get_finished_spans())
    asked = open_world.spans["chat gemini-9"].attributes
    assert json.loads(asked["gen_ai.input.messages"])[0]["parts"][0]["content"] == "SECRET prompt"
    assert "reply" in asked["gen_ai.output.messages"]
    assert open_world.spans["worker"].attributes["honestone.error.message"] == "SECRET reason"
    assert (
        open_world.spans["attempt"].events[1].attributes["gen_ai.evaluation.explanation"]
        == "SECRET quote"
    )
    assert "--key" not in "".join(
        span.to_json() for span in open_world.exporter.get_finished_spans()
    )


def test_metrics_count_calls_failures_tokens_and_money() -> None:
    """Each with the role of who was called, or the model."""
    world = World()
    a_run(world)
    world.telemetry.from_record("j")
    found = {
        (name, json.dumps(dict(point.attributes), sort_keys=True)): point
        for name, point in world.metrics()
    }
    values = {(name, *json.loads(of).values()): point for (name, of), point in found.items()}
    assert (
        values["honestone.calls", "judge"].value == values["honestone.calls", "worker"].value == 1
    )
    assert values["honestone.call.failures", "crashed", "worker"].value == 1
    assert values["honestone.cost", "judge"].value == 0.5
    assert values["honestone.replies.from_record",].value == 1
    tokens = [point for name, point in world.metrics() if name == "gen_ai.client.token.usage"]
    assert sorted((point.attributes["gen_ai.token.type"], point.sum) for point in tokens) == [
        ("input", 10),
        ("output", 3),
    ]
    assert {name for name, _ in world.metrics()} == set(METRICS)


def test_every_name_is_listed_and_those_of_the_conventions_are_theirs() -> None:
    """Against what was sent, and against the package of the conventions."""
    world = World(captures=True)
    a_run(world)
    spans = world.exporter.get_finished_spans()
    sent = {name for span in spans for name in span.attributes}
    sent |= {name for span in spans for event in span.events for name in event.attributes}
    sent |= {name for _, point in world.metrics() for name in point.attributes}
    assert sent <= set(ATTRIBUTES)
    modules = [
        importlib.import_module(f"opentelemetry.semconv.{name}")
        for name in (
            "_incubating.attributes.gen_ai_attributes",
            "_incubating.metrics.gen_ai_metrics",
            "attributes.error_attributes",
            "attributes.server_attributes",
        )
    ]
    known = {
        value for module in modules for value in vars(module).values() if isinstance(value, str)
    }
    assert {name for name in (*ATTRIBUTES, *METRICS) if not name.startswith("honestone.")} <= known


def test_the_page_lists_every_name() -> None:
    """With the meaning that the code gives it."""
    page = Path(__file__).parents[3] / "docs" / "reference" / "telemetry.md"
    lines = page.read_text("utf-8").splitlines()
    missing = [
        name for name, meaning in ATTRIBUTES.items() if f"| `{name}` | {meaning} |" not in lines
    ]
    missing += [
        name
        for name, (kind, unit, text) in METRICS.items()
        if f"| `{name}` | {kind}, {unit} | {text} |" not in lines
    ]
    assert missing == []


def test_the_variable_of_the_environment_is_the_parent() -> None:
    """And what is under way here is the parent of a program's spans."""
    world = World(environment={"TRACEPARENT": PARENT})
    with using(world.telemetry), span_of(TracedRun(id="R", kind="eval")):
        inside = telemetry().variables()["TRACEPARENT"]
    run = world.spans["run eval"]
    assert format(run.parent.span_id, "016x") == "b7ad6b7169203331"
    assert inside.split("-")[1:3] == [
        "0af7651916cd43dd8448eb211c80319c",
        format(run.context.span_id, "016x"),
    ]


def test_a_judge_that_fails_fails_as_without_telemetry() -> None:
    """The error is the same one; its span says of what kind."""
    failure = CallFailed("SECRET", retryable=True)

    class Failing:
        identity = OPENAI

        async def ask(self, request: object, question: object) -> None:
            raise failure

    world = World()
    with using(world.telemetry), pytest.raises(CallFailed) as found:
        asyncio.run(ask_judge("j", Failing(), None, None))  # type: ignore[arg-type]
    assert found.value is failure
    assert world.spans["chat gemini-9"].attributes["error.type"] == "retryable"


@pytest.mark.parametrize(
    ("identity", "provider", "agent", "program"),
    [
        ({"kind": "agent-cli", "cli": "claude", "model": None}, "anthropic", "claude", None),
        (
            {"model": {"kind": "cmd", "command": ["/usr/bin/python3", "--key=SECRET"]}},
            None,
            None,
            "python3",
        ),
        ({"kind": "function"}, None, None, None),
        ({"provider": "openai", "base_url": "http://[bad", "model": "m"}, "openai", None, None),
    ],
)
def test_an_identity_says_what_is_called(
    identity: dict[str, object], provider: str | None, agent: str | None, program: str | None
) -> None:
    """A model, an agent, a program without its words, or none of them."""
    thing = called_thing(identity)
    assert (thing.provider, thing.agent, thing.program) == (provider, agent, program)
    assert "SECRET" not in safe_name(
        "cmd:python3 --key=SECRET", called_thing({"command": ["python3"]})
    )
