"""What `show --format langfuse` sends, read by the models of Langfuse's own SDK and of
OpenTelemetry's (`make test-exports`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
standin = import_module("langfuse_server")

from .finished_run import command, report  # noqa: E402

pytest.importorskip("langfuse", reason="make test-exports installs it")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[object]:
    """A server that got the run."""
    with standin.langfuse_standin() as found:
        ended = command(
            folder, "show", (folder / "run").read_text(), "--format", "langfuse", **found.env
        )
        assert ended.returncode == 0, ended.stderr
        yield found


def test_the_scores_are_the_requests_of_the_sdk(folder: Path, server) -> None:  # type: ignore[no-untyped-def]
    """Each is a CreateScoreRequest without a field that the model does not know."""
    model = import_module("langfuse.api.scores.types.create_score_request").CreateScoreRequest
    read = import_module("langfuse.api.core.pydantic_utilities").parse_obj_as
    scores = [read(model, one) for one in server.scores.values()]
    assert all(not one.model_extra for one in scores), (
        "the model keeps what it does not know as extra"
    )
    assert {one.name for one in scores} >= {
        "honestone",
        "honestone.status",
        "honestone.verdict",
        "polite",
        "level",
    }
    good = {
        one.name: one.value for one in scores if one.trace_id and (one.metadata or {}).get("counts")
    }
    assert set(good) >= {"polite", "level"} and all(
        one.data_type in ("NUMERIC", "CATEGORICAL") for one in scores
    )
    assert next(one.session_id for one in scores if one.session_id) == report(folder)["run"]


def test_the_spans_are_otlp_with_the_names_of_the_sdk(folder: Path, server) -> None:  # type: ignore[no-untyped-def]
    """OpenTelemetry's own reader takes the request, and no attribute of Langfuse's is one that its
    SDK does not know.
    """
    request = import_module(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
    ).ExportTraceServiceRequest()
    bodies = [body for path, body in server.bodies if path.endswith("/traces")]
    names = vars(import_module("langfuse._client.attributes").LangfuseOtelSpanAttributes)
    known = {value for name, value in names.items() if name.isupper()}
    sent: set[str] = set()
    for body in bodies:
        import_module("google.protobuf.json_format").ParseDict(body, request)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                sent |= {one.key for span in scope.spans for one in span.attributes}
    sent = {".".join(name.split(".")[:3]) if ".metadata." in name else name for name in sent}
    assert sent - known == set() and "langfuse.observation.output" in sent
    model = import_module("langfuse.api.opentelemetry.types.otel_resource_span").OtelResourceSpan
    read = import_module("langfuse.api.core.pydantic_utilities").parse_obj_as
    spans = [
        span
        for body in bodies
        for span in read(model, body["resourceSpans"][0]).scope_spans[0].spans
    ]
    assert len(spans) == len(server.spans) and all(
        one.trace_id and one.start_time_unix_nano for one in spans
    )


def test_the_sdk_sends_to_the_same_places_with_the_same_login(server) -> None:  # type: ignore[no-untyped-def]
    """Langfuse's own client passes the same server, so the server is as strict as the real one
    about paths and login.
    """
    client = import_module("langfuse.api").LangfuseAPI(
        base_url=server.url,
        username=standin.PUBLIC,
        password=standin.SECRET,
        x_langfuse_sdk_name="t",
    )
    model = import_module("langfuse.api.scores.types.create_score_request").CreateScoreRequest
    before = len(server.scores)
    client.scores.create(
        request=[model(id="own", name="own", value=1.0, trace_id="0" * 32, data_type="NUMERIC")]
    )
    assert len(server.scores) == before + 1 and server.bodies[-1][0] == "/api/public/scores"
