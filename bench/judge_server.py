"""A stand-in for a judge's HTTP API on 127.0.0.1, in a process, and on a core, of its own.

It reads a prompt as a model would: it fills in the form of `honestone`, or whatever JSON the
request's schema, tool or words ask for, and says yes to everything, or no. It costs less than any
client. No model is called.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from work import CRITERIA, MODEL

from honestone.core.judging.controls import is_control_item

_TOKEN = re.compile(r'\{"token": "(\w+)"')
_ITEM = re.compile(r"^\[(\d+)\] (.*)$", re.M)


def _words(content: str | list[dict[str, str]] | None) -> str:
    return (
        content
        if isinstance(content, str)
        else "".join(part.get("text", "") for part in content or ())
    )


def by_schema(schema: dict[str, Any], root: dict[str, Any], says: bool, place: int = 1) -> Any:
    """A value of that JSON Schema that says yes, or no, to everything; lists have an entry for each
    criterion.
    """
    if "$ref" in schema:
        return by_schema(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, says, place)
    if "anyOf" in schema:  # What may be left out is, unless it is a verdict.
        optional = {"type": "null"} in schema["anyOf"] and "$ref" not in schema["anyOf"][0]
        return None if optional else by_schema(schema["anyOf"][0], root, says, place)
    if "enum" in schema:
        return schema["enum"][0 if says else 1]
    kind = schema.get("type", "object")
    if kind == "object":
        return {
            name: by_schema(one, root, says, place)
            for name, one in schema.get("properties", {}).items()
        }
    if kind == "array":
        return [by_schema(schema["items"], root, says, 1 + n) for n in range(len(CRITERIA))]
    word = f"c{place - 1}" if schema.get("title", "").endswith(" Id") else "So it is."
    return {"boolean": says, "number": 1.0 if says else 0.0, "integer": place, "string": word}.get(
        kind
    )


def by_words(prompt: str, says: bool) -> Any:
    """What prompts without a schema ask for."""
    if "overall_reasoning" in prompt:
        checks = [
            {"id": name, "satisfied": says, "reasoning": "So it is."} for name, *_ in CRITERIA
        ]
        return {"checks": checks, "overall_reasoning": "So it is."}
    return {"reason": "So it is.", "pass": says, "score": 1.0 if says else 0.0}


class JudgeServer:
    """Answers chat completions by rule and counts what it did. Faults depend on the prompt and the
    attempt alone.
    """

    def __init__(self) -> None:
        self.reset({})

    def reset(self, settings: dict[str, str]) -> None:
        self.latency = float(settings.get("latency", 0)) / 1000
        self.faults = float(settings.get("faults", 0))
        self.says = settings.get("says", "yes") == "yes"
        self.calls = self.in_air = self.most_in_air = self.bytes_in = 0
        self.attempts: Counter[bytes] = Counter()
        self.delivered: Counter[bytes] = Counter()

    def stats(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "most_in_air": self.most_in_air,
            "bytes_in": self.bytes_in,
            "in_air": self.in_air,
            "delivered": sum(self.delivered.values()),
            "repeated": sum(n - 1 for n in self.delivered.values()),
        }

    def answer(self, body: bytes) -> tuple[int, bytes, bytes, bytes | None]:
        """(status, more headers, body, the prompt's digest when a good answer is in it)."""
        import msgspec

        self.calls += 1
        self.bytes_in += len(body)
        asked = msgspec.json.decode(body)
        prompt = "\n".join(_words(message["content"]) for message in asked["messages"])
        tool = asked["tools"][0]["function"] if asked.get("tools") else None
        key = hashlib.blake2b(prompt.encode(), digest_size=12).digest()
        self.attempts[key] += 1
        dice = hashlib.blake2b(key + bytes([self.attempts[key] % 256]), digest_size=8).digest()
        share = int.from_bytes(dice) / 2**64
        fault = int(4 * share / self.faults) if share < self.faults else None
        if fault == 0:
            return 429, b"retry-after: 1\r\n", b'{"error": {"message": "slow down"}}', None
        if fault == 1:
            return 500, b"", b'{"error": {"message": "something broke"}}', None
        form = asked.get("response_format") or {}
        schema = tool["parameters"] if tool else form.get("json_schema", {}).get("schema")
        if schema and "enum" in schema.get("properties", {}).get("token", {}):
            # Made for this one prompt, as for a server of one's own, where nobody bills for it.
            self.bytes_in -= len(msgspec.json.encode(form))
        said = self._filled_in(prompt, schema)
        if fault == 2:
            said, key = ("I cannot say." if dice[0] & 1 else said[: len(said) // 2]), b""
        if fault == 3:
            said = f"Here is what I found:\n\n```json\n{said}\n```\nI hope this helps."
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if tool:
            call = {
                "id": "call",
                "type": "function",
                "function": {"name": tool["name"], "arguments": said},
            }
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}
        sizes = {"prompt_tokens": len(body) // 4, "completion_tokens": len(said) // 4}
        usage = {**sizes, "total_tokens": sum(sizes.values())}
        head = {"id": "r", "created": 0, "model": MODEL, "usage": usage}
        if asked.get("stream"):
            delta = {
                "choices": [
                    {"index": 0, "delta": message, "finish_reason": choice["finish_reason"]}
                ]
            }
            chunk = msgspec.json.encode({**head, "object": "chat.completion.chunk", **delta})
            return (
                200,
                b"content-type: text/event-stream\r\n",
                b"data: %s\n\ndata: [DONE]\n\n" % chunk,
                key or None,
            )
        reply = {**head, "object": "chat.completion", "choices": [choice]}
        return 200, b"content-type: application/json\r\n", msgspec.json.encode(reply), key or None

    def _filled_in(self, prompt: str, schema: dict[str, Any] | None) -> str:
        start = prompt.rfind('{"token": "')
        if start < 0 and schema:
            return json.dumps(by_schema(schema, schema, self.says))
        if start < 0 and '{"marks"' in prompt:
            return json.dumps(
                {
                    "marks": [
                        {"id": name, "met": self.says, "why": "It does."} for name, *_ in CRITERIA
                    ]
                }
            )
        if start < 0:
            return json.dumps(by_words(prompt, self.says))
        token = _TOKEN.match(prompt, start)
        assert token is not None
        answers = {}
        for number, words in _ITEM.findall(prompt, prompt.rfind("\nRequirements:")):
            met = self.says and not is_control_item(words)
            answers[number] = {
                "evidence": "Do so and run it again.",
                "answer": met,
                "suggestion": "" if met else "Do.",
            }
        return json.dumps({"token": token[1], "answers": answers})


class _Connection(asyncio.Protocol):
    """Just enough HTTP/1.1 that the server costs less than any client."""

    def __init__(self, server: JudgeServer) -> None:
        self.server = server
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = re.search(rb"content-length: *(\d+)", head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < whole:
                return
            body, target = self.buffer[end + 4 : whole], self.buffer.split(b" ", 2)[1].decode()
            self.buffer = self.buffer[whole:]
            self.handle(target, body)

    def handle(self, target: str, body: bytes) -> None:
        server, url = self.server, urlsplit(target)
        if url.path == "/reset":
            server.reset(dict(parse_qsl(url.query)))
            self.send(200, b"", b"{}")
            return
        if url.path == "/stats":
            self.send(200, b"", json.dumps(server.stats()).encode())
            return
        server.in_air += 1
        server.most_in_air = max(server.most_in_air, server.in_air)
        answer = server.answer(body)
        if server.latency:
            asyncio.get_running_loop().call_later(server.latency, self.deliver, *answer)
        else:
            self.deliver(*answer)

    def deliver(self, status: int, headers: bytes, body: bytes, key: bytes | None) -> None:
        self.server.in_air -= 1
        if key and not self.transport.is_closing():
            self.server.delivered[key] += 1
        self.send(status, headers, body)

    def send(self, status: int, headers: bytes, body: bytes) -> None:
        if not self.transport.is_closing():
            head = b"HTTP/1.1 %d x\r\n%scontent-length: %d\r\n\r\n"
            self.transport.write(head % (status, headers, len(body)) + body)


async def serve(port_file: Path) -> None:
    server = JudgeServer()
    listening = await asyncio.get_running_loop().create_server(
        lambda: _Connection(server), "127.0.0.1", 0
    )
    port_file.with_suffix(".new").write_text(str(listening.sockets[0].getsockname()[1]))
    port_file.with_suffix(".new").rename(port_file)
    async with asyncio.timeout(3600):  # Ends by itself, whatever becomes of the bench.
        await asyncio.Event().wait()


def pin(which: int) -> None:
    """The server on the first core, what is measured on the last, where there are two."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[which]})


@contextmanager
def judge_server(home: Path) -> Iterator[str]:
    port_file = home / "port"
    command = [sys.executable, str(Path(__file__).resolve()), str(port_file)]
    process = subprocess.Popen(command, preexec_fn=lambda: pin(0))
    try:
        until = time.monotonic() + 30
        while not port_file.exists():
            if time.monotonic() > until or process.poll() is not None:
                raise SystemExit("the judge server did not start")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port_file.read_text()}"
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
