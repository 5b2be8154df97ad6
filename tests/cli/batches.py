"""A loopback server with the batch APIs of OpenAI and Anthropic, as their owners document them.

It holds batches back until `release` is set, counts what it was sent, and answers a judge's prompt
by the last word of each requirement: yes where the word is somewhere else in the prompt too. It is
strict about fields, keys and content types.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-batches-0123456789-secret"
USED = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}


def answer_to(prompt: str) -> str:
    """The skeleton at the end of a judge's prompt, filled in."""
    skeleton = json.loads(prompt[prompt.rindex('{"token"') :])
    for number, answer in skeleton["answers"].items():
        requirement = re.search(rf"^\s*(?:- )?\[{number}\] (.+)$", prompt, re.M)
        assert requirement is not None, prompt
        word = re.sub(r"\W", "", requirement[1].split()[-1]).lower()
        answer["answer"] = len(re.findall(rf"\b{re.escape(word)}\b", prompt.lower())) > 1
    return json.dumps(skeleton)


@dataclass
class Batches:
    root: str = ""
    release: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Event = field(default_factory=threading.Event)
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    direct: int = 0
    """Calls outside of batches."""
    looks: int = 0
    silent: bool = False
    """Take the next batch and never say so."""
    fails: dict[int, str] = field(default_factory=dict)
    """The request of that number, from 0, ends so: "expired" or "errored"."""
    troubles: int = 0
    """So many looks at a batch fail with 503 first."""

    @property
    def requests(self) -> int:
        return sum(len(batch["requests"]) for batch in self.batches.values())


@contextmanager
def batch_server() -> Iterator[Batches]:
    owner = Batches()

    class Handler(_Handler):
        batches = owner

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    owner.root = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    try:
        yield owner
    finally:
        owner.release.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    batches: Batches
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self._has_key():
            return self._error(401, "authentication_error", "Incorrect API key provided")
        path = self.path.removeprefix("/v1")
        if path == "/files":
            return self._file(body)
        if path == "/batches":
            return self._openai(json.loads(body))
        if path == "/messages/batches":
            return self._anthropic(json.loads(body))
        if path in ("/chat/completions", "/messages"):
            self.batches.direct += 1
            return self._json(_answer(path, json.loads(body)))
        return self._error(404, "not_found_error", "Not Found")

    def do_GET(self) -> None:
        if not self._has_key():
            return self._error(401, "authentication_error", "Incorrect API key provided")
        path, _, query = self.path.removeprefix("/v1").partition("?")
        owner = self.batches
        if path in ("/batches", "/messages/batches"):
            assert "limit=" in query
            return self._json(
                {
                    "data": [_public(one) for one in reversed(owner.batches.values())],
                    "has_more": False,
                }
            )
        if found := re.fullmatch(r"/files/([\w-]+)/content", path):
            return self._bytes(owner.files[found[1]], "application/octet-stream")
        if found := re.fullmatch(r"/(?:messages/)?batches/([\w-]+)(/results)?", path):
            if found[1] not in owner.batches:
                return self._error(404, "not_found_error", "no such batch")
            if found[2]:
                return self._bytes(_results(owner, found[1]), "application/x-jsonl")
            owner.looks += 1
            if owner.troubles:
                owner.troubles -= 1
                return self._error(503, "overloaded_error", "try again")
            if owner.release.is_set():
                _end(owner, found[1])
            return self._json(_public(owner.batches[found[1]]))
        return self._error(404, "not_found_error", "Not Found")

    def _has_key(self) -> bool:
        return KEY in (
            self.headers.get("x-api-key"),
            (self.headers.get("authorization") or "").removeprefix("Bearer "),
        )

    def _file(self, body: bytes) -> None:
        form = message_from_bytes(
            b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + body
        )
        parts = {
            part.get_param("name", header="content-disposition"): part
            for part in form.walk()
            if not part.is_multipart()
        }
        assert parts["purpose"].get_payload() == "batch"
        id = f"file-{len(self.batches.files)}"
        self.batches.files[id] = parts["file"].get_payload(decode=True)
        self._json({"id": id, "object": "file"})

    def _openai(self, body: dict[str, Any]) -> None:
        assert set(body) == {"input_file_id", "endpoint", "completion_window", "metadata"}, body
        assert body["completion_window"] == "24h"
        lines = [
            json.loads(line) for line in self.batches.files[body["input_file_id"]].splitlines()
        ]
        assert all(set(line) == {"custom_id", "method", "url", "body"} for line in lines)
        assert {line["url"] for line in lines} == {body["endpoint"]} == {"/v1/chat/completions"}
        assert len({line["custom_id"] for line in lines}) == len(lines)
        requests = [(line["custom_id"], line["body"]) for line in lines]
        self._take({"status": "in_progress", "metadata": body["metadata"]}, requests, "openai")

    def _anthropic(self, body: dict[str, Any]) -> None:
        assert set(body) == {"requests"} and self.headers["anthropic-version"], body
        requests = [(one["custom_id"], one["params"]) for one in body["requests"]]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name, _ in requests)
        counts = {
            "processing": len(requests),
            "succeeded": 0,
            "errored": 0,
            "canceled": 0,
            "expired": 0,
        }
        self._take(
            {"processing_status": "in_progress", "request_counts": counts}, requests, "anthropic"
        )

    def _take(self, state: dict[str, Any], requests: list[tuple[str, Any]], kind: str) -> None:
        owner = self.batches
        id = f"batch_{len(owner.batches)}"
        stamp = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        owner.batches[id] = {
            "id": id,
            "created_at": stamp,
            **state,
            "requests": requests,
            "kind": kind,
        }
        owner.arrived.set()
        if owner.silent:
            owner.silent = False
            owner.release.wait(120)
            self.close_connection = True
            return
        self._json(_public(owner.batches[id]))

    def _error(self, status: int, kind: str, words: str) -> None:
        self._json({"type": "error", "error": {"type": kind, "message": words}}, status)

    def _json(self, value: Any, status: int = 200) -> None:
        self._bytes(json.dumps(value).encode(), "application/json", status)

    def _bytes(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _public(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in batch.items() if name not in ("requests", "kind")}


def _end(owner: Batches, id: str) -> None:
    batch = owner.batches[id]
    if batch["kind"] == "anthropic":
        batch |= {"processing_status": "ended", "results_url": "http://elsewhere.invalid/results"}
        return
    batch["status"] = "completed"
    for name, lines in (
        ("output_file_id", _openai_lines(owner, id, True)),
        ("error_file_id", _openai_lines(owner, id, False)),
    ):
        file = f"{id}-{name}"
        owner.files[file] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        batch[name] = file if lines else None


def _openai_lines(owner: Batches, id: str, good: bool) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for number, (name, body) in enumerate(owner.batches[id]["requests"]):
        how = owner.fails.get(number)
        if (how is None) != good:
            continue
        if how is None:
            response: Any = {"status_code": 200, "body": _answer("/chat/completions", body)}
            lines.append({"id": "r", "custom_id": name, "response": response, "error": None})
        elif how == "expired":
            error = {
                "code": "batch_expired",
                "message": "This request could not be executed before the window expired.",
            }
            lines.append({"id": "r", "custom_id": name, "response": None, "error": error})
        else:
            words = {
                "error": {
                    "message": "the model has a bad day",
                    "type": "server_error",
                    "code": None,
                }
            }
            lines.append(
                {
                    "id": "r",
                    "custom_id": name,
                    "response": {"status_code": 400, "body": words},
                    "error": None,
                }
            )
    return lines[::-1]  # in no order


def _results(owner: Batches, id: str) -> bytes:
    lines = []
    for number, (name, body) in enumerate(owner.batches[id]["requests"]):
        how = owner.fails.get(number)
        result: dict[str, Any] = {"type": how}
        if how is None:
            result = {"type": "succeeded", "message": _answer("/messages", body)}
        elif how == "errored":
            inner = {"type": "invalid_request_error", "message": "the model has a bad day"}
            result = {"type": "errored", "error": {"type": "error", "error": inner}}
        lines.append({"custom_id": name, "result": result})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines[::-1])


def _answer(path: str, body: dict[str, Any]) -> dict[str, Any]:
    assert "stream" not in body
    text = answer_to(body["messages"][0]["content"])
    if path == "/messages":
        used = {"input_tokens": 1000, "output_tokens": 100}
        return {
            "type": "message",
            "model": body["model"],
            "stop_reason": "end_turn",
            "content": [{"type": "text", "text": text}],
            "usage": used,
        }
    message = {"role": "assistant", "content": text}
    return {
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": USED,
    }
