"""A model that is given tools answers with calls of them, which are read in the words of each API."""

from __future__ import annotations

import json
from typing import Any

import pytest

from honestone.adapters.models.catalog import make_model
from honestone.core.suite.trace import ToolCall

CALLED = (ToolCall(name="weather", arguments={"city": "Rome"}), ToolCall(name="now"))
FUNCTIONS = [
    {"name": "weather", "arguments": json.dumps({"city": "Rome"})},
    {"name": "now", "arguments": "no JSON"},
]
CHAT = [
    {"id": str(n), "type": "function", "function": function} for n, function in enumerate(FUNCTIONS)
]
USES = [
    {"type": "tool_use", "id": "1", "name": "weather", "input": {"city": "Rome"}},
    {"type": "tool_use", "id": "2", "name": "now", "input": {}},
]
PARTS = [
    {"functionCall": {"name": "weather", "args": {"city": "Rome"}}},
    {"functionCall": {"name": "now"}},
]


def chat(said: str | None) -> dict[str, Any]:
    return {
        "choices": [
            {"message": {"content": said, "tool_calls": CHAT}, "finish_reason": "tool_calls"}
        ]
    }


def responses(said: str | None) -> dict[str, Any]:
    calls = [
        {"type": "function_call", "call_id": str(n), **function}
        for n, function in enumerate(FUNCTIONS)
    ]
    message = {"type": "message", "content": [{"type": "output_text", "text": said}]}
    return {"status": "completed", "output": [*([message] if said else []), *calls]}


def messages(said: str | None) -> dict[str, Any]:
    return {
        "content": [*([{"type": "text", "text": said}] if said else []), *USES],
        "stop_reason": "tool_use",
    }


def google(said: str | None) -> dict[str, Any]:
    parts = [{"text": "hm", "thought": True}, *([{"text": said}] if said else []), *PARTS]
    return {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}


@pytest.mark.parametrize(
    ("provider", "api", "answer", "alone", "with_words"),
    [
        (
            "compatible",
            "chat",
            chat,
            CHAT,
            {"role": "assistant", "content": "So.", "tool_calls": CHAT},
        ),
        ("google", None, google, PARTS, [{"text": "So."}, *PARTS]),
    ],
)
def test_calls_are_read_and_their_json_is_the_text(
    provider: str, api: Any, answer: Any, alone: Any, with_words: Any
) -> None:
    """Without words the calls alone, with words both. Arguments that are not JSON are no arguments."""
    model: Any = make_model(provider, "m", api=api, base_url="http://127.0.0.1:1/v1")
    for said, text in ((None, alone), ("So.", with_words)):
        read = model.read(answer(said))
        assert read.calls == CALLED
        assert json.loads(read.text) == text


def test_the_older_call_of_a_function_is_one_too() -> None:
    """Of `functions`, which Chat Completions had before tools."""
    model: Any = make_model("compatible", "m", base_url="http://127.0.0.1:1/v1")
    read = model.read({"choices": [{"message": {"content": None, "function_call": FUNCTIONS[0]}}]})
    assert read.calls == CALLED[:1] and json.loads(read.text) == FUNCTIONS[0]


def test_the_items_of_the_responses_api_are_a_line_each() -> None:
    """As promptfoo writes them."""
    model: Any = make_model("openai", "m", api="responses", base_url="http://127.0.0.1:1/v1")
    read = model.read(responses("So."))
    assert read.calls == CALLED
    said, *items = read.text.split("\n")
    assert said == "So." and [json.loads(item)["name"] for item in items] == ["weather", "now"]


def test_anthropics_blocks_are_parted_by_an_empty_line() -> None:
    """As promptfoo writes them."""
    model: Any = make_model("anthropic", "m", base_url="http://127.0.0.1:1/v1")
    read = model.read(messages("So."))
    assert read.calls == CALLED
    said, *blocks = read.text.split("\n\n")
    assert said == "So." and [json.loads(block) for block in blocks] == USES
    assert len(model.read(messages(None)).text.split("\n\n")) == 2
