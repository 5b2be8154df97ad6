"""A model service on 127.0.0.1 that speaks to the three agent CLIs: Responses, Messages and
streamGenerateContent.

No model is behind it. A test writes a play: for each turn of the conversation what the service
does.

    with Standin() as service:
        url = service.play("calm", Say('{"ok": true}'))
        ...
        service.seen["calm"]            # the requests, as they came

The turn is the number of tool results in the request, so a request that is sent again gets the same
answer. The last line of a play is repeated for ever. `LOOK`, `CHANGE`, `RUN` and `LEARN` become
whatever tool the client offers for it. Instead of lines a play may be a function: it gets each
request as it was seen, and gives the line.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import urlsplit

PIECE = 40


@dataclass(frozen=True)
class Say:
    """A text. `stop` is how it ends: "end", "length", "cut" (dropped half-way), "open" (no closing
    events) or "early" (dropped after the headers, before any event).
    """

    text: str
    stop: str = "end"


@dataclass(frozen=True)
class Look:
    """The model reads a file."""

    path: str


@dataclass(frozen=True)
class Change:
    """The model replaces one text in a file by another."""

    path: str
    old: str
    new: str


@dataclass(frozen=True)
class Run:
    """The model runs a shell command (clients without a shell get a call of a tool that they do not
    have).
    """

    command: str


@dataclass(frozen=True)
class Learn:
    """The model reads a skill: by the client's own tool for it, else the file that the client
    named.
    """

    skill: str
    path: str = ""


@dataclass(frozen=True)
class Use:
    """The model calls a tool of an MCP server, whatever the client calls it."""

    server: str
    tool: str
    arguments: tuple[tuple[str, Any], ...] = ()

    def name(self, tools: list[str]) -> str | None:
        return next(
            (name for name in tools if re.fullmatch(f"mcp_+{self.server}[_.]+{self.tool}", name)),
            None,
        )


@dataclass(frozen=True)
class Find:
    """The model asks Claude Code for a tool whose description was left out until it is asked for."""

    tool: str


@dataclass(frozen=True)
class Fault:
    """Not a reply: a `status` with the protocol's own error, an `html` page, or a `hang` of so many
    seconds.
    """

    status: int = 0
    html: bool = False
    hang: float = 0.0
    headers: tuple[tuple[str, str], ...] = ()
    message: str = ""


Line = Say | Look | Change | Run | Learn | Use | Find | Fault


def edit_play(
    path: str, old: str, new: str, closing: str = "I have made the change."
) -> tuple[Line, ...]:
    """Read the file, change it, say so: what a worker's model does."""
    return (Look(path), Change(path, old, new), Say(closing))


@dataclass
class Seen:
    """One request. `prompt` is what the person said, all tool results and reminders left out as far
    as can be told.
    """

    protocol: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    tools: list[str]
    results: int

    @property
    def raw(self) -> str:
        return json.dumps(self.body, ensure_ascii=False)


@dataclass
class Standin:
    """Serves plays until it is closed. `seen` holds the requests by play."""

    seen: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))
    plays: dict[str, tuple[Line, ...] | Callable[[Seen], Line]] = field(default_factory=dict)
    stray: list[str] = field(default_factory=list)

    def __enter__(self) -> Standin:
        service = self

        class Bound(_Handler):
            owner = service

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True
        self._open = threading.Event()
        self._open.set()
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.clear()
        self._server.shutdown()
        self._server.server_close()

    def play(self, name: str, *lines: Line | Callable[[Seen], Line]) -> str:
        """The server's root for a client that shall get this play."""
        self.plays[name] = lines[0] if callable(lines[0]) else lines  # type: ignore[assignment]
        return f"http://127.0.0.1:{self._server.server_address[1]}/{name}"

    def is_open(self) -> bool:
        return self._open.is_set()

    def line(self, name: str, seen: Seen) -> Line:
        play = self.plays[name]
        return play(seen) if callable(play) else play[min(seen.results, len(play) - 1)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Standin

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.owner.stray.append(f"GET {self.path}")
        self._send(404, {"error": {"message": "nothing here"}})

    def do_POST(self) -> None:
        with contextlib.suppress(ConnectionError):
            self._answer()

    def _answer(self) -> None:
        raw = self._read_body()
        name, _, path = urlsplit(self.path).path.lstrip("/").partition("/")
        body = json.loads(raw or b"{}")
        if path.endswith("count_tokens"):
            return self._send(200, {"input_tokens": len(raw) // 4})
        dialect = next((d for d in DIALECTS if d.serves(path)), None)
        if dialect is None or name not in self.owner.plays:
            self.owner.stray.append(f"POST {self.path}")
            return self._send(404, {"error": {"message": "no such address"}})
        tools, results = dialect.tools(body), dialect.results(body)
        seen = Seen(dialect.name, path, dict(self.headers.items()), body, tools, results)
        self.owner.seen[name].append(seen)
        line = self.owner.line(name, seen)
        if isinstance(line, Fault):
            return self._fail(dialect, line)
        return self._stream(dialect, line, body, tools)

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _fail(self, dialect: Dialect, fault: Fault) -> None:
        until = time.monotonic() + min(fault.hang, 60)
        while time.monotonic() < until and self.owner.is_open():
            time.sleep(0.05)
        if fault.hang:
            return self._drop()
        if fault.html:
            page = b"<!doctype html><title>Gateway</title><p>Please sign in to the network."
            return self._send_bytes(200, "text/html", page)
        return self._send(fault.status, dialect.error(fault.status, fault.message), fault.headers)

    def _stream(self, dialect: Dialect, line: Line, body: dict[str, Any], tools: list[str]) -> None:
        events = list(dialect.events(line, body, tools))
        stop = line.stop if isinstance(line, Say) else "end"
        if stop == "cut":
            events = events[: max(1, (len(events) - dialect.closing) // 2)]
        elif stop == "open":
            events = events[: len(events) - dialect.closing]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if stop == "early":
            time.sleep(
                0.3
            )  # a reset throws away what the client has not read yet, and it is to read the headers
            return self._drop()
        for kind, data in events:
            block = (
                f"event: {kind}\n" if kind else ""
            ) + f"data: {json.dumps(data, ensure_ascii=False)}\n\n"
            self._chunk(block.encode())
        if stop == "cut":
            return self._drop()
        return self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _drop(self) -> None:
        """Reset the connection, as a crashed server does."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def _send(self, status: int, value: Any, headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._send_bytes(status, "application/json", json.dumps(value).encode(), headers)

    def _send_bytes(
        self, status: int, kind: str, data: bytes, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


# ------------------------------------------------------------------------------------------------------
# the protocols


class Dialect:
    """How one service puts things. `closing` is the number of events without which a stream is cut."""

    name = ""
    closing = 1
    # For each thing a model may want: the tools that do it, best first, and their arguments.
    menu: ClassVar[dict[type, list[tuple[str, Any]]]] = {}

    def serves(self, path: str) -> bool:
        raise NotImplementedError

    def tools(self, body: dict[str, Any]) -> list[str]:
        raise NotImplementedError

    def results(self, body: dict[str, Any]) -> int:
        raise NotImplementedError

    def error(self, status: int, message: str) -> Any:
        raise NotImplementedError

    def events(
        self, line: Line, body: dict[str, Any], tools: list[str]
    ) -> Iterator[tuple[str | None, Any]]:
        raise NotImplementedError

    def wish(self, line: Line, tools: list[str]) -> tuple[str, dict[str, Any]]:
        """The call that does what the line says, with the tools there are."""
        if isinstance(line, Use):
            return line.name(tools) or "no_such_tool", dict(line.arguments)
        if isinstance(line, Find):
            return "ToolSearch", {"query": f"select:{line.tool}", "max_results": 5}
        choices = [(name, arguments(line)) for name, arguments in self.menu.get(type(line), [])]
        for name, arguments in choices:
            if name in tools:
                return name, arguments
        return (
            choices[0] if choices else ("no_such_tool", {"command": getattr(line, "command", "")})
        )


def _sed(line: Change) -> str:
    new = line.new.replace("\n", "\\n")
    return f"sed -i {shlex.quote(f's/{line.old}/{new}/')} {shlex.quote(line.path)}"


class Responses(Dialect):
    name = "openai"
    menu: ClassVar = {
        Look: [("exec_command", lambda x: {"cmd": f"cat {shlex.quote(x.path)}"})],
        Change: [("exec_command", lambda x: {"cmd": _sed(x)})],
        Run: [("exec_command", lambda x: {"cmd": x.command})],
        Learn: [("exec_command", lambda x: {"cmd": f"cat {shlex.quote(x.path)}"})],
    }

    def serves(self, path: str) -> bool:
        return path == "v1/responses"

    def tools(self, body: dict[str, Any]) -> list[str]:
        """Those of a namespace too, as NAMESPACE.TOOL."""
        offered = body.get("tools") or []
        inner = [f"{t['name']}.{one['name']}" for t in offered for one in t.get("tools") or []]
        return [str(t.get("name") or t.get("type")) for t in offered] + inner

    def results(self, body: dict[str, Any]) -> int:
        return sum(
            1 for item in body.get("input") or [] if str(item.get("type", "")).endswith("_output")
        )

    def error(self, status: int, message: str) -> Any:
        return {
            "error": {
                "message": message or f"the stand-in answers {status}",
                "type": "error",
                "code": None,
            }
        }

    def events(
        self, line: Line, body: dict[str, Any], tools: list[str]
    ) -> Iterator[tuple[str | None, Any]]:
        text = line.text if isinstance(line, Say) else ""
        if isinstance(line, Say):
            part = {"type": "output_text", "text": text, "annotations": []}
            item: dict[str, Any] = {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
            }
            item["content"] = [part]
        else:
            whole, arguments = self.wish(line, tools)
            namespace, _, name = whole.rpartition(".")
            item = {
                "type": "function_call",
                "id": "f1",
                "call_id": f"call{self.results(body)}",
                "name": name,
            }
            item |= {"namespace": namespace} if namespace else {}
            item |= {"arguments": json.dumps(arguments), "status": "completed"}
        response = {"id": "r1", "object": "response", "model": body.get("model"), "output": [item]}
        yield self._event(
            "response.created", response={**response, "output": [], "status": "in_progress"}
        )
        opened = {**item, "status": "in_progress"} | ({"content": []} if "content" in item else {})
        yield self._event("response.output_item.added", output_index=0, item=opened)
        for start in range(0, len(text), PIECE):
            piece = text[start : start + PIECE]
            yield self._event(
                "response.output_text.delta",
                item_id="m1",
                output_index=0,
                content_index=0,
                delta=piece,
            )
        yield self._event("response.output_item.done", output_index=0, item=item)
        usage = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
        usage |= {
            "input_tokens_details": {"cached_tokens": 60},
            "output_tokens_details": {"reasoning_tokens": 0},
        }  # type: ignore[dict-item]
        if isinstance(line, Say) and line.stop == "length":
            why = {"reason": "max_output_tokens"}
            yield self._event(
                "response.incomplete",
                response={
                    **response,
                    "status": "incomplete",
                    "incomplete_details": why,
                    "usage": usage,
                },
            )
        else:
            yield self._event(
                "response.completed", response={**response, "status": "completed", "usage": usage}
            )

    def _event(self, kind: str, **fields: Any) -> tuple[str, Any]:
        return kind, {"type": kind, **fields}


class Messages(Dialect):
    name = "anthropic"
    closing = 2
    menu: ClassVar = {
        Look: [("Read", lambda x: {"file_path": x.path})],
        Change: [
            ("Edit", lambda x: {"file_path": x.path, "old_string": x.old, "new_string": x.new})
        ],
        Run: [("Bash", lambda x: {"command": x.command, "description": "run it"})],
        Learn: [("Skill", lambda x: {"skill": x.skill})],
    }

    def serves(self, path: str) -> bool:
        return path == "v1/messages"

    def tools(self, body: dict[str, Any]) -> list[str]:
        return [str(t.get("name")) for t in body.get("tools") or []]

    def results(self, body: dict[str, Any]) -> int:
        blocks = [
            m["content"] for m in body.get("messages") or [] if isinstance(m.get("content"), list)
        ]
        return sum(
            1 for content in blocks for block in content if block.get("type") == "tool_result"
        )

    def error(self, status: int, message: str) -> Any:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        said = message or f"the stand-in answers {status}"
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": said}}

    def events(
        self, line: Line, body: dict[str, Any], tools: list[str]
    ) -> Iterator[tuple[str | None, Any]]:
        usage = {
            "input_tokens": 40,
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 0,
        }
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model"),
            "content": [],
        }
        opened = {
            **message,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1},
        }
        yield self._event("message_start", message=opened)
        if isinstance(line, Say):
            stop = "max_tokens" if line.stop == "length" else "end_turn"
            yield self._event(
                "content_block_start", index=0, content_block={"type": "text", "text": ""}
            )
            for start in range(0, len(line.text), PIECE):
                piece = {"type": "text_delta", "text": line.text[start : start + PIECE]}
                yield self._event("content_block_delta", index=0, delta=piece)
        else:
            stop = "tool_use"
            name, arguments = self.wish(line, tools)
            block = {
                "type": "tool_use",
                "id": f"toolu_{self.results(body)}",
                "name": name,
                "input": {},
            }
            yield self._event("content_block_start", index=0, content_block=block)
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            yield self._event("content_block_delta", index=0, delta=delta)
        yield self._event("content_block_stop", index=0)
        yield self._event(
            "message_delta",
            delta={"stop_reason": stop, "stop_sequence": None},
            usage={"output_tokens": 20},
        )
        yield self._event("message_stop")

    def _event(self, kind: str, **fields: Any) -> tuple[str, Any]:
        return kind, {"type": kind, **fields}


class GenerateContent(Dialect):
    name = "google"
    menu: ClassVar = {
        Look: [("read_file", lambda x: {"file_path": x.path})],
        Change: [
            (
                "replace",
                lambda x: {
                    "file_path": x.path,
                    "old_string": x.old,
                    "new_string": x.new,
                    "instruction": "Make the change.",
                },
            )
        ],
        Run: [("run_shell_command", lambda x: {"command": x.command, "description": "run it"})],
        Learn: [("activate_skill", lambda x: {"name": x.skill})],
    }

    def serves(self, path: str) -> bool:
        return path.endswith(":streamGenerateContent")

    def tools(self, body: dict[str, Any]) -> list[str]:
        declared = [d for t in body.get("tools") or [] for d in t.get("functionDeclarations") or []]
        return [str(d.get("name")) for d in declared]

    def results(self, body: dict[str, Any]) -> int:
        parts = [
            part for content in body.get("contents") or [] for part in content.get("parts") or []
        ]
        return sum("functionResponse" in part for part in parts)

    def error(self, status: int, message: str) -> Any:
        kinds = {
            401: "UNAUTHENTICATED",
            404: "NOT_FOUND",
            429: "RESOURCE_EXHAUSTED",
            500: "INTERNAL",
        }
        said = message or f"the stand-in answers {status}"
        return {"error": {"code": status, "message": said, "status": kinds.get(status, "UNKNOWN")}}

    def events(
        self, line: Line, body: dict[str, Any], tools: list[str]
    ) -> Iterator[tuple[str | None, Any]]:
        if not isinstance(line, Say):
            name, arguments = self.wish(line, tools)
            yield None, self._chunk({"functionCall": {"name": name, "args": arguments}}, "STOP")
            return
        pieces = [
            line.text[start : start + PIECE] for start in range(0, len(line.text), PIECE)
        ] or [""]
        for piece in pieces:
            yield None, self._chunk({"text": piece}, None)
        yield None, self._chunk({"text": ""}, "MAX_TOKENS" if line.stop == "length" else "STOP")

    def _chunk(self, part: Any, finish: str | None) -> Any:
        candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": [part]}}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
        return {"candidates": [candidate], "usageMetadata": usage | {"cachedContentTokenCount": 60}}


DIALECTS: tuple[Dialect, ...] = (Responses(), Messages(), GenerateContent())
