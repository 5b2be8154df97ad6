"""Anthropic's Messages API."""

from __future__ import annotations

import json
from typing import Any, TypedDict

from honestone.adapters.models import api_model
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.schemas import for_anthropic
from honestone.ports import Completion, Image, Prompt
from honestone.system.loose_json import Table, string, table, tables

VERSION = "2023-06-01"
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_WHOLE = frozenset({"end_turn", "stop_sequence"})


class AnthropicMessages(ApiModel):
    api = "messages"
    offers = frozenset({"effort"})
    default_max_output = 8_192  # the API wants one, and older models refuse more

    # Its `input_tokens` leaves out what was read from or written to the cache.
    tokens_at = (
        "usage",
        ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        ("output_tokens",),
        ("cache_read_input_tokens",),
    )

    def path(self) -> str:
        return "/messages"

    def body(self, prompt: Prompt, use: frozenset[str]) -> dict[str, Any]:
        output: dict[str, Any] = {}
        if api_model.SCHEMA in use:
            output["format"] = {"type": "json_schema", "schema": for_anthropic(prompt.schema or {})}
        if self.options.effort:
            output["effort"] = self.options.effort
        return {
            "model": self.model,
            "max_tokens": self.max_output(prompt),
            "system": prompt.system,
            "messages": [{"role": "user", "content": api_model.content_of(prompt, "text", _image)}],
            "temperature": self.options.temperature,
            "top_p": self.options.top_p,
            "output_config": output or None,
        }

    def assembled(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        return _from_events(events, self.model)

    def read(self, value: Table) -> Completion:
        if not isinstance(value.get("content"), list):
            raise api_model.no_reply("no content", self.model)
        stop = string(value.get("stop_reason"))
        blocks = tables(value["content"])
        called = [block for block in blocks if block.get("type") == "tool_use"]
        text = "".join(string(block.get("text")) for block in blocks if block.get("type") == "text")
        return Completion(
            text="\n\n".join([*([text] if text else []), *map(json.dumps, called)]),
            calls=api_model.calls_of(called, "input"),
            cut=stop in _CUT,
            usage=self.usage(value),
            model=string(value.get("model")) or None,
            detail={} if not stop or stop in _WHOLE else {"stop": stop},
        )


def _from_events(events: list[dict[str, Any]], model: str) -> dict[str, Any]:
    message: dict[str, Any] = {}
    blocks: dict[object, dict[str, Any]] = {}
    for event in events:
        kind, delta = event.get("type"), table(event.get("delta"))
        if kind == "message_start":
            message = dict(table(event.get("message")))
        elif kind == "content_block_start":
            blocks[event.get("index")] = dict(table(event.get("content_block")))
        elif kind == "content_block_delta" and event.get("index") in blocks:
            block = blocks[event.get("index")]
            block["text"] = string(block.get("text")) + string(delta.get("text"))
        elif kind == "message_delta":
            used = {**table(message.get("usage")), **table(event.get("usage"))}
            message |= {**delta, "usage": used}
    if not any(event.get("type") == "message_stop" for event in events):
        raise api_model.ended_early(model)
    return {**message, "content": [block for _, block in blocks.items()]}


class _Source(TypedDict, total=False):
    """The address of an image, or its content in Base64."""

    type: str
    url: str
    media_type: str
    data: str


class _ImagePart(TypedDict):
    """A part of a message that is an image."""

    type: str
    source: _Source


def _image(image: Image) -> _ImagePart:
    if not image.data:
        return {"type": "image", "source": {"type": "url", "url": image.path}}
    source: _Source = {
        "type": "base64",
        "media_type": image.media_type,
        "data": api_model.base64_of(image),
    }
    return {"type": "image", "source": source}
