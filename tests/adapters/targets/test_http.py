"""`http:` targets, against a server on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from honestone.adapters.targets.http import HttpTarget
from honestone.core.artifact import Version
from honestone.core.errors import SettingsError
from honestone.core.suite.case import Message
from honestone.ports import Output, Task

SEEN: list[tuple[dict[str, Any], dict[str, str]]] = []
ANSWERS: dict[str, tuple[int, str, bytes]] = {
    "/json": (
        200,
        "application/json",
        b'{"output": "alpha", "trace": {"input_tokens": 5, "tool_calls": ["search"]}}',
    ),
    "/word": (200, "application/json; charset=utf-8", b'"alpha"'),
    "/text": (200, "text/plain", b'{"output": "alpha"}'),
    "/other": (200, "application/json", b'{"text": 5}'),
    "/half": (200, "application/json", b'{"output'),
    "/bytes": (200, "text/plain", b"\xff\xfe"),
    "/moved": (302, "text/plain", b""),
    "/error": (500, "text/plain", b"out of \x1b[2J order"),
    "/flood": (200, "text/plain", b"x" * 17_000_000),
}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        SEEN.append(
            (json.loads(body), {name.lower(): value for name, value in self.headers.items()})
        )
        if self.path == "/hang":
            time.sleep(60)
        if self.path == "/drop":
            self.close_connection = True
            return
        status, kind, data = ANSWERS.get(self.path, (200, "text/plain", b"late"))
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if status == 302:
            self.send_header("Location", "/text")
        if self.path == "/packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(data)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def run(url: str, **options: Any) -> Output:
    task = Task(
        messages=(Message("user", "hi ☕"),), case="c", attempt=2, **options.pop("task", {})
    )
    return use(HttpTarget(url, timeout=options.pop("timeout", 20), **options), task)


def use(target: HttpTarget, task: Task) -> Output:
    async def run_and_close() -> Output:
        try:
            return await target.run(task)
        finally:
            await target.close()

    return asyncio.run(run_and_close())


def test_the_task_is_posted_and_the_answer_read(url: str) -> None:
    """Input, messages, case and attempt go in; output and trace come out, measured."""
    SEEN.clear()
    output = run(f"{url}/json")
    assert (output.text, output.usage.input_tokens) == ("alpha", 5)
    assert SEEN[0][0] == {
        "input": "hi ☕",
        "messages": [{"role": "user", "content": "hi ☕"}],
        "case": "c",
        "attempt": 2,
    }
    assert "authorization" not in SEEN[0][1]
    assert "cookie" not in SEEN[0][1]


def test_the_artifact_goes_along(url: str) -> None:
    """With its digest; an isolated run is not sent it."""
    SEEN.clear()
    version = Version.of_text("prompt")
    run(f"{url}/json", task={"version": version})
    run(f"{url}/json", task={"version": version, "isolated": True})
    assert SEEN[0][0]["artifact"] == {"digest": version.digest, "text": "prompt"}
    assert "artifact" not in SEEN[1][0]


@pytest.mark.parametrize(("path", "text"), [("/word", "alpha"), ("/text", '{"output": "alpha"}')])
def test_a_reply_may_be_a_text(url: str, path: str, text: str) -> None:
    """As JSON, or as it is where it is not called JSON."""
    assert run(url + path).text == text


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/other", "is not a JSON text, or an object"),
        ("/half", "not JSON"),
        ("/bytes", "not UTF-8"),
        ("/moved", "redirects are not followed"),
        ("/error", "it answered 500: out of"),
        ("/flood", "sent more than 16"),
        ("/packed", "compressed"),
        ("/drop", "dropped the connection"),
        ("/hang", "within 0.3 s"),
    ],
)
def test_every_failure_is_an_error(url: str, path: str, error: str) -> None:
    """Named, harmless to show, and never an output."""
    SEEN.clear()
    output = run(url + path, timeout=0.3 if path == "/hang" else 20)
    assert error in str(output.error)
    assert str(output.error).isprintable()
    assert (output.text, len(SEEN)) == ("", 1)


def test_nobody_there_is_an_error() -> None:
    """A refused connection says where."""
    assert "could not connect to 127.0.0.1:9" in str(run("http://127.0.0.1:9/").error)


def test_a_key_is_sent_and_kept_nowhere(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its variable, for each call; without it the target is refused before anything is spent."""
    monkeypatch.delenv("MY_KEY", raising=False)
    target = HttpTarget(f"{url}/json", timeout=20, key_env="MY_KEY")
    with pytest.raises(SettingsError, match="MY_KEY is not set"):
        target.refuse(())
    monkeypatch.setenv("MY_KEY", "sk-4711")
    target.refuse(())
    SEEN.clear()
    use(target, Task(messages=()))
    assert SEEN[0][1]["authorization"] == "Bearer sk-4711"
    assert "sk-4711" not in json.dumps(dict(target.identity))


@pytest.mark.parametrize("url", ["http://", "http:80", "ftp://x/", "http://me:secret@127.0.0.1/"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """And one with a login in it, which would be shown."""
    with pytest.raises(SettingsError) as refused:
        HttpTarget(url, timeout=5)
    assert "secret" not in str(refused.value)
