"""Judges behind gateways, by base URL: each stand-in takes only the address, the header and the
names that its gateway documents.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from .batches import answer_to
from .desk import GOOD, Desk

KEY = "key-of-a-gateway-0123456789"


@dataclass
class Gateway:
    """`path` is where chat completions are, `model` what the gateway calls a model, `broke` its
    answer without credit.
    """

    name: str
    path: str
    model: str
    variable: str
    broke: tuple[int, dict[str, Any]]
    calls: list[dict[str, Any]] = field(default_factory=list)
    is_broke: bool = False


GATEWAYS = [
    Gateway(
        "LiteLLM",
        "/v1",
        "claude-sonnet",
        "LITELLM_API_KEY",
        (
            429,
            {
                "error": {
                    "message": "Budget exceeded: purchase credits",
                    "type": "budget_exceeded",
                    "code": "429",
                }
            },
        ),
    ),
    Gateway(
        "OpenRouter",
        "/api/v1",
        "anthropic/claude-sonnet-4.5",
        "OPENROUTER_API_KEY",
        (
            402,
            {
                "error": {
                    "code": 402,
                    "message": "Insufficient credits. Add more using the account page",
                }
            },
        ),
    ),
    Gateway(
        "Bedrock",
        "/openai/v1",
        "openai.gpt-oss-120b-1:0",
        "AWS_BEARER_TOKEN_BEDROCK",
        (
            429,
            {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}},
        ),
    ),
    Gateway(
        "Azure",
        "/openai/v1",
        "my-deployment",
        "AZURE_OPENAI_API_KEY",
        (
            429,
            {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}},
        ),
    ),
    Gateway(
        "Vertex",
        "/v1/projects/p/locations/global/endpoints/openapi",
        "google/gemini-2.5-pro",
        "VERTEX_TOKEN",
        (
            403,
            {
                "error": {
                    "code": 403,
                    "message": "Your credit balance is used up",
                    "status": "PERMISSION_DENIED",
                }
            },
        ),
    ),
]


@contextmanager
def serving(gateway: Gateway) -> Iterator[str]:
    """The base URL of a stand-in for this gateway."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, value = self.answer(body)
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
            if self.path != f"{gateway.path}/chat/completions":
                return 404, {"detail": "Not Found"}
            if self.headers.get("authorization") != f"Bearer {KEY}":
                return 401, {"error": {"message": "no auth credentials found", "code": 401}}
            if body["model"] != gateway.model:
                return 404, {
                    "error": {
                        "message": f"model {body['model']} does not exist",
                        "code": "model_not_found",
                    }
                }
            gateway.calls.append(body)
            if gateway.is_broke:
                return gateway.broke
            message = {"role": "assistant", "content": answer_to(body["messages"][-1]["content"])}
            used = {"prompt_tokens": 1000, "completion_tokens": 100}
            return 200, {
                "model": gateway.model,
                "choices": [{"message": message, "finish_reason": "stop"}],
                "usage": used,
            }

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    ).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{gateway.path}"
    finally:
        server.shutdown()
        server.server_close()


def settings_for(gateway: Gateway, url: str) -> str:
    return (
        f'[judges.mine]\nprovider = "compatible"\nbase_url = "{url}"\nmodel = "{gateway.model}"\n'
        f'api_key_env = "{gateway.variable}"\n[prices."{gateway.model}"]\ninput = 10.0\noutput = 50.0\n'
    )


@pytest.mark.parametrize("gateway", GATEWAYS, ids=lambda one: one.name)
def test_a_judge_behind_a_gateway(ready: Desk, gateway: Gateway) -> None:
    """One call with the right address, header and model gives a verdict with a cost; without credit
    it is one call more.
    """
    ready.file("note.md", GOOD)
    with serving(gateway) as url:
        ready.file("honestone.toml", settings_for(gateway, url))
        ready.extra[gateway.variable] = KEY
        asked = ["eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mine", "--json"]
        result = ready.run(*asked)
        assert (result.code, result.json["verdict"], len(gateway.calls)) == (0, "pass", 1), (
            result.out + result.err
        )
        assert result.json["usage"]["usd"] == pytest.approx(0.015)
        gateway.is_broke = True
        broke = ready.run(*asked, "--fresh")
        assert (broke.code, len(gateway.calls)) == (3, 2), broke.err
        assert "no credit" in broke.json["judges"][0]["reason"]
        ready.extra[gateway.variable] = "another-key-0123456789"
        refused = ready.run(*asked, "--fresh")
        assert (
            refused.code == 3
            and f"{gateway.variable} was refused" in refused.json["judges"][0]["reason"]
        )
    for record in (result, broke, refused):
        assert KEY not in record.out + record.err
    assert not ready.holds_anywhere(KEY.encode())
