"""A host that speaks MCP to `honestone agent mcp`: raw lines of JSON-RPC, so that nothing of the SDK
checks for us.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import warm

from cli.desk import HONESTONE, Desk

PATIENCE = 120


@dataclass(frozen=True)
class ToolResult:
    """What a call of a tool came to."""

    error: bool
    text: str
    data: dict[str, Any]

    @property
    def code(self) -> int:
        return int(self.data["exit_code"])

    @property
    def refused(self) -> str:
        """The words of a wrong call, which both kinds of hosts see."""
        assert self.error and self.code == 2 and self.data["error"] == self.text, self
        assert self.text.startswith("error: ") and "Traceback" not in self.text, self
        return self.text


class McpHost:
    """A server, started at a desk and spoken to from this thread. `roots` are what it is told when
    it asks. `is_installed`: the installed command, for who ends it by a signal.
    """

    def __init__(
        self,
        desk: Desk,
        *args: str,
        env: Mapping[str, str] | None = None,
        roots: list[str] | None = None,
        is_installed: bool = False,
    ) -> None:
        self._roots = roots
        self.process = subprocess.Popen(
            [HONESTONE if is_installed else warm.command(), "mcp", *args],
            cwd=desk.folder,
            env={**desk.env, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._last = 0
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers: dict[int, dict[str, Any]] = {}
        self.progress: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()
        can = {} if roots is None else {"roots": {}}
        who = {
            "protocolVersion": "2025-06-18",
            "capabilities": can,
            "clientInfo": {"name": "t", "version": "1"},
        }
        self.hello = self.ask("initialize", who)["result"]
        self._send({"method": "notifications/initialized"})

    def __enter__(self) -> McpHost:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None and self.process.stderr is not None
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        err = self.process.stderr.read().decode()
        assert kind is not None or "Traceback" not in err, err

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def start(self, method: str, params: Mapping[str, Any] | None = None) -> int:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params or {}})
        return self._last

    def wait(self, id: int) -> dict[str, Any]:
        """The answer to a request; what comes meanwhile is kept or answered."""
        while id not in self._answers:
            found = self._lines.get(timeout=PATIENCE)
            if found.get("method") == "roots/list":
                roots = [{"uri": Path(root).as_uri()} for root in self._roots or ()]
                self._send({"id": found["id"], "result": {"roots": roots}})
            elif found.get("method") == "notifications/progress":
                self.progress.append(found["params"])
            elif "method" not in found:
                self._answers[found["id"]] = found
        return self._answers.pop(id)

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.wait(self.start(method, params))

    def start_call(
        self, tool: str, /, meta: Mapping[str, Any] | None = None, **arguments: object
    ) -> int:
        return self.start(
            "tools/call",
            {"name": tool, "arguments": arguments, **({"_meta": meta} if meta else {})},
        )

    def call(
        self, tool: str, /, meta: Mapping[str, Any] | None = None, **arguments: object
    ) -> ToolResult:
        return self.result(self.start_call(tool, meta, **arguments))

    def result(self, id: int) -> ToolResult:
        found = self.wait(id)["result"]
        (content,) = found["content"]
        return ToolResult(found["isError"], content["text"], found["structuredContent"])

    def cancel(self, id: int) -> None:
        self._send({"method": "notifications/cancelled", "params": {"requestId": id}})
