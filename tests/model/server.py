"""llama.cpp's server with SmolLM2-135M on a free loopback port, and before it a relay that
remembers what the server said.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / os.environ.get("MODEL_DIR", ".model")
STARTS_WITHIN = 60.0


def program() -> Path | None:
    return next(iter(sorted(FOLDER.glob("*/bin/llama-server"))), None)


def weights() -> Path | None:
    return next(iter(sorted(FOLDER.glob("*/*.gguf"))), None)


@dataclass
class Relay:
    """`answers` are what the server answered with, in the order in which it did, and `requests` what
    it was asked for each of them.
    """

    root: str
    answers: list[Any] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    url: str = ""

    @property
    def tokens(self) -> tuple[int, int]:
        """Those of prompts and of replies, as the server counted them, in the words of each of its
        APIs.
        """
        used = [answer.get("usage") or {} for answer in self.answers if isinstance(answer, dict)]
        sent = sum(one.get("prompt_tokens", one.get("input_tokens", 0)) for one in used)
        cached = sum(one.get("cache_read_input_tokens", 0) for one in used)
        return sent + cached, sum(
            one.get("completion_tokens", one.get("output_tokens", 0)) for one in used
        )


class Server:
    """The model's server: `start`, `relay` for each test, `end`. `options` are those of llama.cpp."""

    def __init__(self, program: Path, weights: Path, *options: str) -> None:
        self.program, self.weights, self.options = program, weights, options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.root = f"http://127.0.0.1:{self.port}"
        self.running: subprocess.Popen[bytes] | None = None
        self.relays: list[ThreadingHTTPServer] = []

    def start(self) -> None:
        """Raises RuntimeError with its last words where it ends, as on a machine with an older C
        library.
        """
        words = [
            self.program,
            "-m",
            self.weights,
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "-np",
            "1",
        ]
        self.running = subprocess.Popen(
            [*map(str, words), "-c", "8192", "--seed", "1", *self.options],
            env={**os.environ, "LD_LIBRARY_PATH": str(self.program.parent)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self.running.stderr is not None
        last: list[bytes] = []
        threading.Thread(target=lambda: last.extend(self.running.stderr), daemon=True).start()  # type: ignore[union-attr,arg-type]
        until = time.monotonic() + STARTS_WITHIN
        while not self._is_ready():
            code = self.running.poll()
            if code == -signal.SIGILL:
                raise RuntimeError("this processor lacks instructions that its wheel was built for")
            if code is not None or time.monotonic() > until:
                raise RuntimeError(b"".join(last[-3:]).decode(errors="replace"))
            time.sleep(0.2)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.root}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def relay(self) -> Relay:
        made = Relay(self.root)
        http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.relays.append(http)
        made.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
        return made

    def end(self) -> None:
        for http in self.relays:
            http.shutdown()
            http.server_close()
        if self.running is not None:
            self.running.terminate()
            self.running.wait(20)


def _handler(relay: Relay) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = urllib.request.Request(
                relay.root + self.path,
                data=body,
                headers={"Content-Type": "application/json"},
                method="POST",
            )
            try:
                with urllib.request.urlopen(asked, timeout=300) as answer:
                    status, said = answer.status, answer.read()
            except urllib.error.HTTPError as refused:
                status, said = refused.code, refused.read()
            if status == 200:
                relay.answers.append(json.loads(said))
                relay.requests.append(json.loads(body))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

    return Handler
