"""Telemetry as a user has it: variables, a collector on this machine that answers, refuses, fails
or hangs.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from .test_measures import embedding

# Each test starts the installed program with the SDK of OpenTelemetry.
pytestmark = pytest.mark.slow

JUDGE = """
import json, os, re, sys
prompt = sys.stdin.read()
reply = json.loads(prompt[prompt.rindex('{"token"'):])
for number, answer in reply["answers"].items():
    answer["answer"] = "hello" in re.search(r"\\[%s\\] (.*)" % number, prompt).group(1)
open("parent.txt", "w").write(os.environ.get("TRACEPARENT", "none"))
print(json.dumps(reply))
"""


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent, and answers with `status`; 0: not before the test ends."""

    daemon_threads = True

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.bodies, self.over = status, [], threading.Event()  # type: ignore[var-annotated]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.bodies.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        if self.server.status == 0:
            self.server.over.wait(60)
            return
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@contextmanager
def collecting(status: int = 200) -> Iterator[Collector]:
    collector = Collector(status)
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        collector.over.set()
        collector.shutdown()
        collector.server_close()


def evaluate(folder: Path, *more: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (folder / "r.yaml").write_text("rubric: 1\ncriteria: [{id: a, requirement: It says hello}]\n")
    (folder / "t.md").write_text("hello")
    (folder / "judge.py").write_text(JUDGE)
    words = [
        "eval",
        "t.md",
        "--rubric",
        "r.yaml",
        "--judge",
        "cmd:python3 judge.py",
        "--fresh",
        *more,
    ]
    return in_folder(folder, words, **variables)


def in_folder(folder: Path, words: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACE"))
    }
    return subprocess.run(
        [sys.executable, "-m", "honestone", *words],
        cwd=folder,
        env={**env, **variables},
        capture_output=True,
        text=True,
        timeout=120,
    )


def needs_sdk() -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs the extra otel")


def test_a_collector_gets_spans_metrics_and_scores(tmp_path: Path) -> None:
    """Real OTLP over HTTP, decoded with the protocol's own classes; nothing is said and nothing
    secret is sent.
    """
    needs_sdk()
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with collecting() as collector:
        done = evaluate(
            tmp_path,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_EXPORTER_OTLP_HEADERS="x-key=SECRET",
            OPENAI_API_KEY="SECRET",
            OTEL_SERVICE_NAME="mine",
        )
        bodies = dict(collector.bodies)
    assert done.returncode == 0, done.stderr
    assert "telemetry" not in done.stderr and "SECRET" not in done.stderr
    traces = ExportTraceServiceRequest.FromString(bodies["/v1/traces"]).resource_spans[0]
    assert {one.key: one.value.string_value for one in traces.resource.attributes}[
        "service.name"
    ] == "mine"
    spans = {span.name: span for span in traces.scope_spans[0].spans}
    assert set(spans) == {"run eval", "artifact", "judge"}
    assert spans["judge"].parent_span_id == spans["artifact"].span_id
    log = (
        ExportLogsServiceRequest.FromString(bodies["/v1/logs"])
        .resource_logs[0]
        .scope_logs[0]
        .log_records
    )
    assert {one.event_name for one in log} == {"gen_ai.evaluation.result"}
    assert {one.span_id for one in log} == {spans["artifact"].span_id}
    metrics = (
        ExportMetricsServiceRequest.FromString(bodies["/v1/metrics"])
        .resource_metrics[0]
        .scope_metrics[0]
        .metrics
    )
    assert {one.name for one in metrics} == {"honestone.calls", "honestone.run.duration"}
    assert not any(b"SECRET" in body for body in bodies.values())


@pytest.mark.parametrize("status", [500, 404, 0, -1])
def test_a_collector_that_fails_changes_no_run(tmp_path: Path, status: int) -> None:
    """It answers 500 or 404, hangs, or is not there: same verdict, a few seconds at most, said
    once.
    """
    needs_sdk()
    plain = evaluate(tmp_path)
    with collecting(max(status, 0)) as collector:
        url = collector.url if status >= 0 else f"http://me:SECRET@127.0.0.1:{free_port()}"
        began = time.monotonic()
        done = evaluate(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=url)
        took = time.monotonic() - began
    assert (done.returncode, plain.returncode) == (0, 0)
    assert done.stdout.splitlines()[:3] == plain.stdout.splitlines()[:3]
    said = [line for line in done.stderr.splitlines() if "telemetry" in line]
    assert len(said) == 1 and "the run is not affected" in said[0]
    assert "SECRET" not in done.stderr and "Traceback" not in done.stderr
    assert took < 60  # the SDK alone would wait longer; on a busy machine a start takes seconds


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_without_the_extra_the_run_is_the_same(tmp_path: Path) -> None:
    """Said once, with what to install."""
    missing = tmp_path / "missing" / "opentelemetry"
    missing.mkdir(parents=True)
    (missing / "__init__.py").write_text("raise ImportError('not here')")
    done = evaluate(
        tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", PYTHONPATH=str(missing.parent)
    )
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if "telemetry" in line] == [
        "telemetry is off: it needs the extra; install it with: pip install 'honestone[otel]'"
    ]


@pytest.mark.parametrize(
    "variables", [{}, {"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}]
)
def test_nothing_of_it_is_imported_when_it_is_off(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    """No package of OpenTelemetry, without the variables and where they turn it off."""
    poison = tmp_path / "poison" / "opentelemetry"
    poison.mkdir(parents=True)
    (poison / "__init__.py").write_text(
        "import os, sys; print('imported', file=sys.stderr); os._exit(9)"
    )
    done = evaluate(tmp_path, PYTHONPATH=str(poison.parent), **variables)
    assert done.returncode == 0, done.stderr
    assert "imported" not in done.stderr and "telemetry" not in done.stderr


def test_a_program_gets_the_parent_only_where_it_is_named(tmp_path: Path) -> None:
    """TRACEPARENT is a variable like any other: `--pass-env` lets it through, with the call as the
    parent.
    """
    needs_sdk()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with collecting() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "TRACEPARENT": parent}
        assert evaluate(tmp_path, **variables).returncode == 0
        without = (tmp_path / "parent.txt").read_text()
        assert evaluate(tmp_path, "--pass-env", "TRACEPARENT", **variables).returncode == 0
        given = (tmp_path / "parent.txt").read_text()
    assert without == "none"
    assert given.split("-")[1] == parent.split("-")[1] and given != parent


def test_calls_from_python_are_sent_when_the_program_ends(tmp_path: Path) -> None:
    """Without a call of its own, in a process that ends at once."""
    needs_sdk()
    code = (
        "import honestone\n"
        "for _ in range(2):\n"
        "    print(honestone.evaluate('hello', rubric={'rubric': 1, 'criteria': [{'id': 'a', 'check': {'contains': 'hello'}}]}).passed)\n"
    )
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACE"))
    }
    with collecting() as collector:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**env, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url},
            capture_output=True,
            text=True,
            timeout=120,
        )
        paths = {path for path, _ in collector.bodies}
    assert done.stdout == "True\nTrue\n", done.stderr
    assert done.stderr == ""
    assert "/v1/traces" in paths


def test_a_loop_sends_its_rounds_its_worker_and_its_scores(tmp_path: Path) -> None:
    """The baseline fails, the worker's version passes; both scores are there."""
    needs_sdk()
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    (tmp_path / "c.yaml").write_text("rubric: 1\ncriteria: [{id: a, check: {contains: hello}}]\n")
    (tmp_path / "d.md").write_text("bye")
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "TRACE"))
    }
    worker = "cmd:sh -c 'echo hello > $HONESTONE_ARTIFACT'"
    with collecting() as collector:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "honestone",
                "improve",
                "d.md",
                "--rubric",
                "c.yaml",
                "--worker",
                worker,
            ],
            cwd=tmp_path,
            env={**env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        bodies = [body for path, body in collector.bodies if path == "/v1/traces"]
    assert done.returncode == 0, done.stderr
    spans = [
        span
        for body in bodies
        for of in ExportTraceServiceRequest.FromString(body).resource_spans
        for scope in of.scope_spans
        for span in scope.spans
    ]
    assert [span.name for span in spans] == ["round", "worker", "round", "round", "run improve"]
    by_name = {span.name: span for span in spans}
    assert by_name["worker"].parent_span_id in [
        span.span_id for span in spans if span.name == "round"
    ]
    scores = [
        {one.key: one.value for one in event.attributes}[
            "gen_ai.evaluation.score.value"
        ].double_value
        for span in spans
        for event in span.events
    ]
    assert scores == [0.0, 0.0, 100.0, 100.0]


GRADED = """
rubric: 1
criteria:
  - {id: graded, requirement: The program likes it, check: {grader: python3 grade.py}}
  - {id: broken, requirement: The program answers, check: {grader: python3 broken.py}}
  - {id: alike, requirement: It is like the reference, check: {similar: the sea, min_score: 0.5}}
  - {id: plain, requirement: It says lake, check: {contains: lake}}
"""


@pytest.mark.parametrize("status", [200, 503])
def test_checks_that_ask_a_model_or_run_a_program_are_spans(tmp_path: Path, status: int) -> None:
    """A span `embeddings MODEL` for each vector that was asked for, `check` for each program; none
    for a check of a text.
    """
    needs_sdk()
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    with embedding() as vectors, collecting() as collector:
        vectors.status = status
        (tmp_path / "r.yaml").write_text(GRADED)
        (tmp_path / "t.md").write_text("a lake")
        (tmp_path / "grade.py").write_text("import json; print(json.dumps({'score': 1}))")
        (tmp_path / "broken.py").write_text("print('SECRET')")
        settings = f'[embeddings.local]\nprovider = "compatible"\nbase_url = "{vectors.url}"\nmodel = "stand-in"\n'
        (tmp_path / "honestone.toml").write_text(settings)
        words = ["eval", "t.md", "--rubric", "r.yaml", "--embeddings", "local"]
        done = in_folder(
            tmp_path, words, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{collector.url}/v1/traces"
        )
        bodies = [ExportTraceServiceRequest.FromString(body) for _, body in collector.bodies]
    assert done.returncode == 3, done.stderr
    spans = [
        one
        for body in bodies
        for scope in body.resource_spans[0].scope_spans
        for one in scope.spans
    ]
    (artifact,) = [one for one in spans if one.name == "artifact"]
    asked = [attributes_of(one) for one in spans if one.name == "embeddings stand-in"]
    assert len(asked) == (2 if status == 200 else len(vectors.asked))
    assert {one["gen_ai.operation.name"] for one in asked} == {"embeddings"}
    assert {one["honestone.call.role"] for one in asked} == {"check"}
    assert {one.get("error.type") for one in asked} == {None if status == 200 else "retryable"}
    programs = [attributes_of(one) for one in spans if one.name == "check"]
    assert sorted(str(one.get("error.type")) for one in programs) == ["None", "no_answer"]
    assert {one["honestone.call.name"] for one in programs} == {"grader"}
    assert {
        one.parent_span_id for one in spans if one.name.startswith(("check", "embeddings"))
    } == {artifact.span_id}
    assert not any(b"SECRET" in body for _, body in collector.bodies)


def attributes_of(span) -> dict[str, str]:  # type: ignore[no-untyped-def]
    return {one.key: one.value.string_value for one in span.attributes}
