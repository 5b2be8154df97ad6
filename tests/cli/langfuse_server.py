"""A loopback server that takes what Langfuse's API takes, and keeps it as a server does: by id, the
last one sent.

It is strict where Langfuse is: the login, the paths, the fields of a score, the form of OTLP as
JSON.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PUBLIC, SECRET = "pk-lf-loopback", "sk-lf-loopback-0123456789"
_SCORE = {
    *("id", "traceId", "sessionId", "observationId", "name", "value", "comment", "metadata"),
    *("environment", "dataType", "configId", "timestamp"),
}
_SPAN = {
    *(
        "traceId",
        "spanId",
        "parentSpanId",
        "name",
        "kind",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "attributes",
    ),
    *("status", "events", "links"),
}


@dataclass
class LangfuseStandin:
    """`takes_lists`: whether a list of scores is taken, as servers do since 2026. `faults`: (path,
    status, headers, body) of answers to come, each once.
    """

    url: str = ""
    takes_lists: bool = True
    faults: list[tuple[str, int, dict[str, str], Any]] = field(default_factory=list)
    spans: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    bodies: list[tuple[str, Any]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.Lock)

    @property
    def env(self) -> dict[str, str]:
        return {
            "LANGFUSE_HOST": self.url,
            "LANGFUSE_PUBLIC_KEY": PUBLIC,
            "LANGFUSE_SECRET_KEY": SECRET,
        }

    def answer(self, path: str, login: str, body: Any) -> tuple[int, dict[str, str], Any]:
        if login != "Basic " + base64.b64encode(f"{PUBLIC}:{SECRET}".encode()).decode():
            return 401, {}, {"message": f"Invalid credentials: {login}"}
        for number, (where, status, headers, said) in enumerate(self.faults):
            if where == path:
                del self.faults[number]
                return status, headers, said
        self.bodies.append((path, body))
        if path == "/api/public/otel/v1/traces":
            return self._take_spans(body)
        if path == "/api/public/scores":
            return self._take_scores(body)
        return 404, {}, {"message": "no such path"}

    def _take_spans(self, body: Any) -> tuple[int, dict[str, str], Any]:
        for resource in body["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    good = re.fullmatch("[0-9a-f]{32}", span["traceId"]) and re.fullmatch(
                        "[0-9a-f]{16}", span["spanId"]
                    )
                    if (
                        not good
                        or set(span) - _SPAN
                        or int(span["endTimeUnixNano"]) < int(span["startTimeUnixNano"])
                    ):
                        return 400, {}, {"message": f"not a span: {sorted(span)}"}
                    self.spans[span["spanId"]] = span
        return 200, {}, {}

    def _take_scores(self, body: Any) -> tuple[int, dict[str, str], Any]:
        if isinstance(body, list) and not self.takes_lists:
            return 400, {}, {"message": "Invalid request data"}
        for score in body if isinstance(body, list) else [body]:
            value = str if score["dataType"] == "CATEGORICAL" else float | int
            if (
                set(score) - _SCORE
                or not isinstance(score["value"], value)
                or not {"traceId", "sessionId"} & set(score)
            ):
                return 400, {}, {"message": f"not a score: {sorted(score)}"}
            self.scores[score["id"]] = score
        return (
            (202, {}, {"message": "Accepted"})
            if isinstance(body, list)
            else (200, {}, {"id": body["id"]})
        )


@contextmanager
def langfuse_standin() -> Iterator[LangfuseStandin]:
    """A server on a free port of this machine."""
    standin = LangfuseStandin()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with standin.lock:
                status, headers, said = standin.answer(
                    self.path, self.headers.get("Authorization", ""), body
                )
            data = json.dumps(said).encode()
            self.send_response(status)
            for name, value in {
                **headers,
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    standin.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield standin
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
