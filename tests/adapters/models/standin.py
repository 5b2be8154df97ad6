"""A loopback server that speaks four model APIs as their owners document them, and misbehaves on
demand.

It is strict where the real ones are (an unknown field, a missing version header, a wrong key or
model is an error in the API's own shape), so a request that passes here is one that they would
take. There is no model behind it: it says what `say` holds.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-loopback-0123456789-secret"
APIS = ("chat", "responses", "messages", "generateContent")
PATIENCE = 120.0
"""Seconds after which a call that waits ends all the same: a test that gets there has failed."""

_FIELDS = {
    "chat": {
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "top_p",
        "seed",
        "reasoning_effort",
        "response_format",
        "logprobs",
        "top_logprobs",
        "provider",
    },
    "responses": {
        "model",
        "instructions",
        "input",
        "store",
        "max_output_tokens",
        "temperature",
        "top_p",
        "reasoning",
        "text",
        "include",
        "top_logprobs",
    },
    "messages": {
        "model",
        "max_tokens",
        "system",
        "messages",
        "temperature",
        "top_p",
        "output_config",
    },
    "generateContent": {"systemInstruction", "contents", "generationConfig"},
}


@dataclass
class Saying:
    """What the model says. `stop` is "stop", "length", "refusal" or "filter"; `logprobs` is a list
    of (token, {token: log}).
    """

    text: str = '{"answer": true}'
    stop: str = "stop"
    cached: int = 3
    logprobs: list[tuple[str, dict[str, float]]] | None = None


@dataclass
class Fault:
    """How the next `times` calls go wrong. `kind` is one of the methods `_fault_KIND` below."""

    kind: str
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    message: str | None = None
    code: str | None = None
    body: bytes | None = None
    times: int = 10**9


@dataclass
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Standin:
    def __init__(self) -> None:
        self.say = Saying()
        self.fault: Fault | None = None
        self.declines: set[str] = set()
        self.streams_only = False
        self.stream_length: int | None = None
        self.seen: list[Seen] = []
        self.in_the_air = 0
        self.most_in_the_air = 0
        self.meeting: threading.Barrier | None = None
        self.on_hang: Callable[[], object] = bool
        self.closed = threading.Event()
        self.lock = threading.Lock()
        self.root = ""

    def base_url(self, api: str) -> str:
        return self.root + ("/v1beta" if api == "generateContent" else "/v1")

    @property
    def calls(self) -> list[Seen]:
        return [s for s in self.seen if s.method == "POST"]

    @property
    def last(self) -> Seen:
        return self.calls[-1]

    def take_fault(self) -> Fault | None:
        with self.lock:
            fault = self.fault
            if fault is None or fault.times <= 0:
                return None
            fault.times -= 1
            return fault


@contextmanager
def running() -> Iterator[Standin]:
    standin = Standin()

    class Handler(_Handler):
        owner = standin

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    standin.root = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield standin
    finally:
        standin.closed.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    owner: Standin
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def do_GET(self) -> None:
        self.owner.seen.append(Seen("GET", self.path, self._lower_headers(), None))
        fault = self.owner.take_fault()
        if fault is not None:
            return getattr(self, f"_fault_{fault.kind}")("chat", fault)
        if self.path == "/api/version":
            return self._json({"version": "0.99.1"})
        if self.path.endswith("/models"):
            return self._json({"object": "list", "data": [{"id": "one"}, {"id": "two"}]})
        return self._json({"detail": "Not Found"}, 404)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw)
        owner = self.owner
        with owner.lock:
            owner.in_the_air += 1
            owner.most_in_the_air = max(owner.most_in_the_air, owner.in_the_air)
            owner.seen.append(Seen("POST", self.path, self._lower_headers(), body))
        try:
            if owner.meeting is not None:
                owner.meeting.wait(PATIENCE)
        finally:
            # Before the reply: the client may send its next call as soon as it has this one's.
            with owner.lock:
                owner.in_the_air -= 1
        api = self._api()
        if api is None:
            return self._json({"detail": "Not Found"}, 404)
        fault = owner.take_fault()
        if fault is not None:
            return getattr(self, f"_fault_{fault.kind}")(api, fault)
        return self._answer(api, body)

    # ----------------------------------------------------------------------------------------------
    # being an API

    def _api(self) -> str | None:
        if self.path.startswith("/v1beta/") and self.path.endswith(":generateContent"):
            return "generateContent"
        return {
            "/v1/chat/completions": "chat",
            "/v1/responses": "responses",
            "/v1/messages": "messages",
        }.get(self.path)

    def _answer(self, api: str, body: dict[str, Any]) -> None:
        model = body.get("model") or self.path.rpartition("/")[2].removesuffix(":generateContent")
        problem = self._key_problem(api)
        if problem:
            return self._error(api, *problem)
        if model.startswith("ghost"):
            return self._error(api, 404, _ghost_words(api, model), "model_not_found")
        if self.owner.streams_only and body.get("stream") is not True:
            return self._error(api, 400, "Stream must be set to true")
        unknown = set(body) - _FIELDS[api] - ({"stream"} if self.owner.streams_only else set())
        if unknown:
            return self._error(api, 400, f"Unknown parameter: {sorted(unknown)}")
        if api == "messages" and (
            "max_tokens" not in body or "anthropic-version" not in self.headers
        ):
            return self._error(api, 400, "max_tokens and anthropic-version are required")
        for feature, is_used, words in _features(api, body):
            if feature in self.owner.declines and is_used:
                return self._error(api, 400, words)
        whole = _ANSWERS[api](self.owner.say, model)
        if not self.owner.streams_only:
            return self._json(whole)
        events = _STREAMS[api](whole)
        sent = "".join(events[: self.owner.stream_length]).encode()
        return self._bytes(sent, 200, {"Content-Type": "text/event-stream; charset=utf-8"})

    def _key_problem(self, api: str) -> tuple[int, str, str] | None:
        sent = self.headers.get(
            {"messages": "x-api-key", "generateContent": "x-goog-api-key"}.get(api, "authorization")
        )
        key = (sent or "").removeprefix("Bearer ")
        if key == KEY or key == "":
            return None
        if api == "generateContent":
            return 400, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"
        return 401, f"Incorrect API key provided: {key}.", "invalid_api_key"

    def _error(
        self, api: str, status: int, words: str, code: str | None = None, headers: Any = ()
    ) -> None:
        self._json(error_body(api, status, words, code), status, dict(headers))

    # ----------------------------------------------------------------------------------------------
    # misbehaving

    def _fault_status(self, api: str, fault: Fault) -> None:
        words = fault.message if fault.message is not None else f"made-up trouble {fault.status}"
        if fault.body is not None:
            return self._bytes(fault.body, fault.status, fault.headers)
        return self._error(api, fault.status, words, fault.code, fault.headers)

    def _fault_body(self, api: str, fault: Fault) -> None:
        self._bytes(fault.body or b"", 200, {"Content-Type": "application/json", **fault.headers})

    def _fault_half(self, api: str, fault: Fault) -> None:
        """Promises the whole, sends half, hangs up."""
        whole = json.dumps(_ANSWERS[api](self.owner.say, "m")).encode()
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(len(whole))})
        self.wfile.write(whole[: len(whole) // 2])
        self.close_connection = True

    def _fault_half_chunked(self, api: str, fault: Fault) -> None:
        whole = json.dumps(_ANSWERS[api](self.owner.say, "m")).encode()
        self._head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
        self.wfile.write(b"%x\r\n%s\r\n" % (len(whole), whole))
        self.close_connection = True

    def _fault_drop(self, api: str, fault: Fault) -> None:
        self.close_connection = True

    def _fault_hang(self, api: str, fault: Fault) -> None:
        self.owner.on_hang()
        self.owner.closed.wait(PATIENCE)
        self.close_connection = True

    def _fault_drip(self, api: str, fault: Fault) -> None:
        """A byte now and then: never idle, never done."""
        self._head(200, {"Content-Type": "application/json", "Content-Length": "100000"})
        for number in range(int(PATIENCE / 0.05)):
            self.wfile.write(b" ")
            if number == 3:
                self.owner.on_hang()
            if self.owner.closed.wait(0.05):
                break
        self.close_connection = True

    def _fault_huge(self, api: str, fault: Fault) -> None:
        self._head(200, {"Content-Type": "application/json", "Content-Length": str(10**9)})
        piece = b" " * 65_536
        for _ in range(200):
            self.wfile.write(piece)
        self.close_connection = True

    def _fault_not_http(self, api: str, fault: Fault) -> None:
        self.wfile.write(b"220 mail.example ESMTP ready\r\n\r\n")
        self.close_connection = True

    # ----------------------------------------------------------------------------------------------
    # writing

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self._bytes(
            json.dumps(value).encode(),
            status,
            {"Content-Type": "application/json", **(headers or {})},
        )

    def _bytes(self, body: bytes, status: int, headers: dict[str, str]) -> None:
        self._head(status, {**headers, "Content-Length": str(len(body))})
        self.wfile.write(body)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _lower_headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}


def error_body(api: str, status: int, words: str, code: str | None = None) -> dict[str, Any]:
    if api == "messages":
        kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(
            status, "api_error"
        )
        return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}
    if api == "generateContent":
        details = (
            [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": code}] if code else []
        )
        return {
            "error": {"code": status, "message": words, "status": "TROUBLE", "details": details}
        }
    return {"error": {"message": words, "type": "some_error", "param": None, "code": code}}


def _ghost_words(api: str, model: str) -> str:
    return {
        "messages": f"model: {model}",
        "generateContent": f"models/{model} is not found for API version v1beta",
    }.get(api, f"The model `{model}` does not exist or you do not have access to it.")


def _features(api: str, body: dict[str, Any]) -> list[tuple[str, bool, str]]:
    config = body.get("generationConfig", {})
    schema = {
        "chat": "response_format" in body,
        "responses": "format" in body.get("text", {}),
        "messages": "format" in body.get("output_config", {}),
        "generateContent": "responseJsonSchema" in config,
    }[api]
    name = {
        "chat": "response_format",
        "responses": "text.format",
        "messages": "output_config.format",
    }.get(api, "responseJsonSchema")
    return [
        ("schema", schema, f"'{name}' is not supported by this model"),
        ("seed", "seed" in body or "seed" in config, "seed is not supported"),
        (
            "logprobs",
            "top_logprobs" in body or "logprobs" in config,
            "logprobs are not enabled for this model",
        ),
    ]


def _chat(say: Saying, model: str) -> dict[str, Any]:
    refused = say.stop == "refusal"
    message = {
        "role": "assistant",
        "content": None if refused else say.text,
        "refusal": say.text if refused else None,
    }
    choice: dict[str, Any] = {
        "index": 0,
        "message": message,
        "finish_reason": "stop"
        if refused
        else {"filter": "content_filter"}.get(say.stop, say.stop),
    }
    if say.logprobs is not None:
        choice["logprobs"] = {"content": _openai_logprobs(say)}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model + "-2026",
        "choices": [choice],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": say.cached},
        },
    }


def _responses(say: Saying, model: str) -> dict[str, Any]:
    if say.stop == "refusal":
        part: dict[str, Any] = {"type": "refusal", "refusal": say.text}
    else:
        part = {"type": "output_text", "text": say.text, "annotations": []}
    if say.logprobs is not None:
        part["logprobs"] = _openai_logprobs(say)
    why = {"length": "max_output_tokens", "filter": "content_filter"}.get(say.stop)
    return {
        "id": "resp_1",
        "object": "response",
        "model": model + "-2026",
        "status": "incomplete" if why else "completed",
        "incomplete_details": {"reason": why} if why else None,
        "error": None,
        "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [part]},
        ],
        "usage": {
            "input_tokens": 11,
            "output_tokens": 7,
            "input_tokens_details": {"cached_tokens": say.cached},
        },
    }


def _messages(say: Saying, model: str) -> dict[str, Any]:
    stop = {"stop": "end_turn", "length": "max_tokens", "filter": "refusal"}.get(say.stop, say.stop)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model + "-2026",
        "stop_reason": stop,
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": say.text}],
        "usage": {
            "input_tokens": 6,
            "cache_creation_input_tokens": 5 - say.cached,
            "output_tokens": 7,
            "cache_read_input_tokens": say.cached,
        },
    }


def _google(say: Saying, model: str) -> dict[str, Any]:
    stop = {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "refusal": "SAFETY",
        "filter": "PROHIBITED_CONTENT",
    }[say.stop]
    candidate: dict[str, Any] = {
        "content": {
            "role": "model",
            "parts": [{"text": "hm", "thought": True}, {"text": say.text}],
        },
        "finishReason": stop,
    }
    if say.logprobs is not None:
        candidate["logprobsResult"] = {
            "chosenCandidates": [
                {"token": t, "logProbability": tops[t]} for t, tops in say.logprobs
            ],
            "topCandidates": [
                {"candidates": [{"token": t, "logProbability": p} for t, p in tops.items()]}
                for _, tops in say.logprobs
            ],
        }
    return {
        "candidates": [candidate],
        "modelVersion": model + "-2026",
        "usageMetadata": {
            "promptTokenCount": 11,
            "candidatesTokenCount": 4,
            "thoughtsTokenCount": 3,
            "cachedContentTokenCount": say.cached,
        },
    }


def _openai_logprobs(say: Saying) -> list[dict[str, Any]]:
    return [
        {
            "token": token,
            "logprob": tops[token],
            "top_logprobs": [{"token": t, "logprob": p} for t, p in tops.items()],
        }
        for token, tops in say.logprobs or ()
    ]


_ANSWERS = {
    "chat": _chat,
    "responses": _responses,
    "messages": _messages,
    "generateContent": _google,
}


def _event(value: dict[str, Any]) -> str:
    name = f"event: {value['type']}\r\n" if "type" in value else ""
    return f"{name}data: {json.dumps(value)}\r\n\r\n"


def _chat_stream(whole: dict[str, Any]) -> list[str]:
    choice = whole["choices"][0]
    text = choice["message"]["content"] or ""
    base = {"object": "chat.completion.chunk", "model": whole["model"]}
    deltas = [
        {"role": "assistant", "content": ""},
        *({"content": text[at : at + 3]} for at in range(0, len(text), 3)),
    ]
    chunks = [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    chunks.append(
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    )
    chunks.append({**base, "choices": [], "usage": whole["usage"]})
    return [": hello\n\n", *map(_event, chunks), "data: [DONE]\n\n"]


def _responses_stream(whole: dict[str, Any]) -> list[str]:
    delta = {"type": "response.output_text.delta", "delta": "x"}
    return [*map(_event, [{"type": "response.created", "response": {}}, delta]), _ended(whole)]


def _ended(whole: dict[str, Any]) -> str:
    return _event({"type": f"response.{whole['status']}", "response": whole})


def _messages_stream(whole: dict[str, Any]) -> list[str]:
    text = whole["content"][-1]["text"]
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm"},
        },
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    ]
    events += [
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "text_delta", "text": text[at : at + 3]},
        }
        for at in range(0, len(text), 3)
    ]
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"]},
        "usage": {"output_tokens": 7},
    }
    return [*map(_event, [*events, ended, {"type": "message_stop"}])]


_STREAMS = {"chat": _chat_stream, "responses": _responses_stream, "messages": _messages_stream}
