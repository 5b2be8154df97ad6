"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from honestone.adapters.models import api_model
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.schemas import for_anthropic
from honestone.core.json_value import Json
from honestone.core.reading.json_schema import JsonSchema
from honestone.ports import Completion, Image, Prompt
from honestone.system.loose_json import record, records, string, table

VERSION = "2023-06-01"
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
_WHOLE = frozenset({"end_turn", "stop_sequence"})


class _Block(api_model.WrittenCall, total=False):
    """A part of a message."""

    type: Json
    text: Json


class _TextDelta(TypedDict, total=False):
    """What an event adds to a block."""

    text: Json


class _MessageDelta(TypedDict, total=False):
    """What an event adds to the message."""

    stop_reason: Json


class _Message(TypedDict, total=False):
    """What the model answered."""

    model: Json
    stop_reason: Json
    content: object
    usage: Json


class _Event(TypedDict, total=False):
    """An event of a stream."""

    type: Json
    index: Json
    delta: Json
    message: Json
    content_block: Json
    usage: Json


class _Form(TypedDict):
    """The form of the reply."""

    type: str
    schema: JsonSchema


class _OutputConfig(TypedDict, total=False):
    """How the reply is made."""

    format: _Form
    effort: str


class _AskedMessage(TypedDict):
    """A message of a request."""

    role: str
    content: object


class _Request(TypedDict):
    """What is asked; None is left out."""

    model: str
    max_tokens: int | None
    system: str | None
    messages: list[_AskedMessage]
    temperature: float | None
    top_p: float | None
    output_config: _OutputConfig | None


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

    def body(self, prompt: Prompt, use: frozenset[str]) -> _Request:
        output: _OutputConfig = {}
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

    def assembled(self, events: Sequence[Json]) -> _Message:
        return _from_events(records(events, _Event), self.model)

    def read(self, value: object) -> Completion:
        message = record(value, _Message)
        if not isinstance(message.get("content"), list):
            raise api_model.no_reply("no content", self.model)
        stop = string(message.get("stop_reason"))
        blocks = records(message["content"], _Block)
        called = [block for block in blocks if block.get("type") == "tool_use"]
        text = "".join(string(block.get("text")) for block in blocks if block.get("type") == "text")
        return Completion(
            text="\n\n".join([*([text] if text else []), *map(json.dumps, called)]),
            calls=api_model.calls_of(called, "input"),
            cut=stop in _CUT,
            usage=self.usage(value),
            model=string(message.get("model")) or None,
            detail={} if not stop or stop in _WHOLE else {"stop": stop},
        )


def _from_events(events: Sequence[_Event], model: str) -> _Message:
    message: _Message = {}
    blocks: dict[str, _Block] = {}
    for event in events:
        kind, index = event.get("type"), json.dumps(event.get("index"))
        if kind == "message_start":
            message = record(event.get("message"), _Message)
        elif kind == "content_block_start":
            blocks[index] = {**record(event.get("content_block"), _Block)}
        elif kind == "content_block_delta" and index in blocks:
            block = blocks[index]
            added = record(event.get("delta"), _TextDelta)
            block["text"] = string(block.get("text")) + string(added.get("text"))
        elif kind == "message_delta":
            used = {**table(message.get("usage")), **table(event.get("usage"))}
            ending = record(event.get("delta"), _MessageDelta)
            message = {**message, **ending, "usage": used}
    if not any(event.get("type") == "message_stop" for event in events):
        raise api_model.ended_early(model)
    return {**message, "content": list(blocks.values())}


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
