"""A promptfoo config with images and tools, run against a stand-in of Chat Completions: what
arrives there, and what is said.
"""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .desk import Desk

PNG = b"\x89PNG\r\n\x1a\n\0"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CONFIG: dict[str, Any] = {
    "prompts": ["file://prompt.json"],
    "providers": [
        {
            "id": "openai:chat:m",
            "config": {
                "temperature": 0.5,
                "max_tokens": 77,
                "tools": [
                    {"type": "function", "function": {"name": "weather", "parameters": CITY}}
                ],
            },
        }
    ],
    "tests": [
        {
            "vars": {"picture": "file://x.png", "city": city},
            "assert": [
                {"type": "is-valid-openai-tools-call"},
                {"type": "trajectory:tool-used", "value": "weather"},
                {"type": "python", "value": "output[0]['function']['name'] == 'weather'"},
            ],
        }
        for city in ("Rome", "nowhere")
    ],
}
PROMPT = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "Weather in {{city}}?"},
            {"type": "image_url", "image_url": {"url": "{{picture}}"}},
        ],
    }
]


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Calls the function with the city that it was asked about; for `nowhere` it leaves the city
    out.
    """
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(body)
            arguments = "{}" if "nowhere" in json.dumps(body["messages"]) else '{"city": "Rome"}'
            call = {
                "id": "c",
                "type": "function",
                "function": {"name": "weather", "arguments": arguments},
            }
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            data = json.dumps(
                {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{made.server_address[1]}/v1", seen
    made.shutdown()
    made.server_close()


def test_a_config_with_images_and_tools(
    ready: Desk, server: tuple[str, list[dict[str, Any]]]
) -> None:
    """Parameters, tools and the image arrive; a call that fits passes, one that does not fails, in
    words for people.
    """
    pytest.importorskip("jsonschema")
    url, seen = server
    ready.file("promptfooconfig.yaml", json.dumps(CONFIG))
    ready.file("prompt.json", json.dumps(PROMPT))
    (ready.folder / "x.png").write_bytes(PNG)
    ready.extra |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key-0123456789"}
    checked = ready.run("suite", "check", "promptfooconfig.yaml")
    assert checked.code == 0, checked.err
    result = ready.run("eval", "promptfooconfig.yaml", "--allow-code", "--json")
    assert result.code == 1, result.err
    passed, failed = sorted(result.json["cases"], key=lambda case: case["status"], reverse=True)
    assert (passed["status"], failed["status"]) == ("passed", "failed")
    assert (
        "'city' is a required property" in result.out and b64encode(PNG).decode() not in result.out
    )
    assert passed["input"].startswith("Weather in Rome?\n[image 1, ")
    for body in seen:
        assert (body["temperature"], body["max_tokens"]) == (0.5, 77)
        assert body["tools"] == CONFIG["providers"][0]["config"]["tools"]
        (message,) = body["messages"]
        assert (
            message["content"][1]["image_url"]["url"]
            == f"data:image/png;base64,{b64encode(PNG).decode()}"
        )
