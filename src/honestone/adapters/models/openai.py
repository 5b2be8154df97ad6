"""OpenAI's two APIs: Responses, and Chat Completions, which most other servers speak too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TypedDict

from honestone.adapters.answers import clean
from honestone.adapters.models import api_model
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.probability import ReplyDetail, Token, answers, openai_tokens
from honestone.adapters.models.schemas import for_openai
from honestone.core.json_value import Json
from honestone.core.reading.json_schema import JsonSchema
from honestone.core.reading.json_text import holds_whole_object
from honestone.ports import CallFailed, Completion, Image, Prompt
from honestone.system.loose_json import record, records, string

SCHEMA_NAME = "reply"
# How many tokens are weighed at each place when probabilities are kept.
ALTERNATIVES = 5

_PASSING = frozenset({"server_error", "rate_limit_exceeded", "vector_store_timeout"})


class _Error(TypedDict, total=False):
    """Why a response failed."""

    code: Json
    message: Json


class _Incomplete(TypedDict, total=False):
    """Why a response is not whole."""

    reason: Json


class _Part(TypedDict, total=False):
    """A part of a message, of either API."""

    type: Json
    text: Json
    refusal: Json
    logprobs: Json


class _Item(api_model.WrittenCall, total=False):
    """What a response consists of: messages, calls of functions, and others."""

    type: Json
    phase: Json
    content: Json


class _Response(TypedDict, total=False):
    """A response."""

    status: Json
    error: Json
    output: Json
    incomplete_details: Json
    model: Json


class _ResponseEvent(TypedDict, total=False):
    """An event of a streamed response; some have the whole as it is then."""

    type: Json
    response: Json


class _Effort(TypedDict):
    """How long the model may think."""

    effort: str


class _TextForm(TypedDict):
    """The form of the text."""

    format: _ResponseSchema


class _ResponsesRequest(TypedDict):
    """What is asked; None is left out."""

    model: str
    instructions: str | None
    input: object
    store: bool
    max_output_tokens: int | None
    temperature: float | None
    top_p: float | None
    reasoning: _Effort | None
    text: _TextForm | None
    include: list[str] | None
    top_logprobs: int | None


class OpenAIResponses(ApiModel):
    """Nothing is stored on the other side (`store: false`): artifacts may be private."""

    api = "responses"
    offers = frozenset({"effort", "probability"})
    default_max_output = 16_000  # thinking counts as output

    tokens_at = (
        "usage",
        ("input_tokens",),
        ("output_tokens",),
        ("input_tokens_details", "cached_tokens"),
    )

    def path(self) -> str:
        return "/responses"

    def body(self, prompt: Prompt, use: frozenset[str]) -> _ResponsesRequest:
        effort = self.options.effort
        probable = api_model.PROBABILITY in use
        return {
            "model": self.model,
            "instructions": prompt.system,
            "input": _responses_input(prompt),
            "store": False,
            "max_output_tokens": self.max_output(prompt),
            "temperature": self.options.temperature,
            "top_p": self.options.top_p,
            "reasoning": {"effort": effort} if effort else None,
            "text": {"format": {"type": "json_schema", **_schema(prompt)}}
            if api_model.SCHEMA in use
            else None,
            "include": ["message.output_text.logprobs"] if probable else None,
            "top_logprobs": ALTERNATIVES if probable else None,
        }

    def assembled(self, events: Sequence[Json]) -> Json:
        """The last event with a `response` of its own status holds the whole."""
        ended = ("response.completed", "response.incomplete", "response.failed")
        whole = [
            event["response"]
            for event in records(events, _ResponseEvent)
            if event.get("type") in ended and "response" in event
        ]
        if not whole:
            raise api_model.ended_early(self.model)
        return whole[-1]

    def read(self, value: object) -> Completion:
        response = record(value, _Response)
        status, output = response.get("status", "completed"), response.get("output")
        if status == "failed":
            error = record(response.get("error"), _Error)
            words = clean(string(error.get("message")), "") or "no reason given"
            raise CallFailed(
                f"{self.model} failed: {words}", retryable=string(error.get("code")) in _PASSING
            )
        if status not in ("completed", "incomplete") or not isinstance(output, list):
            raise api_model.no_reply("no output", self.model)
        items = records(output, _Item)
        messages = [item for item in items if item.get("type") == "message"]
        # Newer models think aloud in messages of their own; the answer is in those marked final.
        final = [m for m in messages if m.get("phase") == "final_answer"] or messages
        texts, tokens = [], []
        for message in final:
            parts = records(message.get("content"), _Part)
            texts.append(_text_of(parts))
            tokens += [t for p in parts for t in openai_tokens(p.get("logprobs"))]
        called = [item for item in items if item.get("type") == "function_call"]
        details = record(response.get("incomplete_details"), _Incomplete)
        reason = string(details.get("reason")) if status == "incomplete" else ""
        refused = any(
            p.get("type") == "refusal" for m in final for p in records(m.get("content"), _Part)
        )
        return Completion(
            text="\n".join([*texts, *map(json.dumps, called)]),
            calls=api_model.calls_of(called),
            cut=status == "incomplete" and reason != "content_filter",
            usage=self.usage(value),
            model=string(response.get("model")) or None,
            detail=_detail(
                "refusal" if refused else reason, tokens if self.options.probability else None
            ),
        )


class _Message(TypedDict, total=False):
    """What the model wrote, or a piece of it."""

    content: Json
    refusal: Json
    tool_calls: Json
    function_call: Json


class _ToolCall(TypedDict, total=False):
    """A call of a tool in a message."""

    function: Json


class _Logprobs(TypedDict, total=False):
    """The tokens of a choice."""

    content: Json


class _Choice(TypedDict, total=False):
    """One of the model's answers; in a stream a piece of it."""

    index: Json
    message: Json
    delta: Json
    finish_reason: Json
    logprobs: Json


class _Chat(TypedDict, total=False):
    """An answer, or an event of a stream."""

    model: Json
    usage: Json
    choices: Json


class _ChatMessage(TypedDict):
    """A message of a request."""

    role: str
    content: object


class _ReplyForm(TypedDict):
    """The form of the reply."""

    type: str
    json_schema: _NamedSchema


class _ChatRequest(TypedDict, total=False):
    """What is asked; None is left out. The limit has one of two names."""

    model: str
    messages: list[_ChatMessage]
    max_completion_tokens: int | None
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    seed: int | None
    reasoning_effort: str | None
    response_format: _ReplyForm | None
    logprobs: bool | None
    top_logprobs: int | None


class OpenAIChat(ApiModel):
    """Chat Completions. No length limit is sent to other people's servers unless one was asked for:
    many refuse a limit that does not fit into what the prompt leaves of their context, and their
    own default is that rest.
    """

    api = "chat"
    offers = frozenset({"effort", "probability", "seed"})

    tokens_at = (
        "usage",
        ("prompt_tokens",),
        ("completion_tokens",),
        ("prompt_tokens_details", "cached_tokens"),
    )

    def path(self) -> str:
        return "/chat/completions"

    def body(self, prompt: Prompt, use: frozenset[str]) -> _ChatRequest:
        # OpenAI's newer models refuse the old name, other servers do not know the new one.
        own, limit = (
            self.endpoint.base_url.startswith("https://api.openai.com/"),
            self.max_output(prompt),
        )
        content = api_model.content_of(prompt, "text", _image)
        messages: list[_ChatMessage] = [{"role": "user", "content": content}]
        if prompt.system:
            messages.insert(0, {"role": "system", "content": prompt.system})
        return {
            "model": self.model,
            "messages": messages,
            "max_completion_tokens": limit if own else None,
            "max_tokens": None if own else limit,
            "temperature": self.options.temperature,
            "top_p": self.options.top_p,
            "seed": self.seed(prompt) if api_model.SEED in use else None,
            "reasoning_effort": self.options.effort,
            "response_format": {"type": "json_schema", "json_schema": _schema(prompt)}
            if api_model.SCHEMA in use
            else None,
            "logprobs": True if api_model.PROBABILITY in use else None,
            "top_logprobs": ALTERNATIVES if api_model.PROBABILITY in use else None,
        }

    def assembled(self, events: Sequence[Json]) -> _Chat:
        """The pieces of the first choice joined. A stream is whole when it says why it ended, or
        ends with [DONE] behind a whole JSON object.
        """
        whole: _Chat = {}
        text = refusal = stop = ""
        tokens: list[Json] = []
        for event in records(events, _Chat):
            if event.get("model"):
                whole["model"] = event["model"]
            if event.get("usage"):
                whole["usage"] = event["usage"]
            for choice in records(event.get("choices"), _Choice):
                if choice.get("index", 0) != 0:
                    continue
                piece = record(choice.get("delta") or choice.get("message"), _Message)
                text += string(piece.get("content"))
                refusal += string(piece.get("refusal"))
                stop = string(choice.get("finish_reason")) or stop
                weighed = record(choice.get("logprobs"), _Logprobs).get("content")
                tokens += weighed if isinstance(weighed, list) else []
        if not stop and not (events[-1:] == [{}] and holds_whole_object(text)):
            raise api_model.ended_early(self.model)
        whole["choices"] = [
            {
                "message": {"content": text, "refusal": refusal},
                "finish_reason": stop or "stop",
                "logprobs": {"content": tokens},
            }
        ]
        return whole

    def read(self, value: object) -> Completion:
        chat = record(value, _Chat)
        choices = records(chat.get("choices"), _Choice)
        if not choices or not isinstance(choices[0].get("message"), dict):
            raise api_model.no_reply("no choices", self.model)
        choice, message = choices[0], record(choices[0]["message"], _Message)
        content, refusal = message.get("content"), string(message.get("refusal"))
        parts = _text_of(records(content, _Part))
        called = records(message.get("tool_calls"), _ToolCall)
        legacy = record(message.get("function_call"), api_model.WrittenCall)
        stop = string(choice.get("finish_reason"))
        detail = "" if stop == "stop" else stop
        if refusal:
            detail = "refusal"
        tokens = None
        if self.options.probability:
            tokens = openai_tokens(record(choice.get("logprobs"), _Logprobs).get("content"))
        return Completion(
            text=json.dumps(legacy)
            if legacy
            else _with_calls(string(content) or parts or refusal, called),
            calls=api_model.calls_of(
                [record(call.get("function"), api_model.WrittenCall) for call in called]
                or ([legacy] if legacy else [])
            ),
            cut=stop == "length",
            usage=self.usage(value),
            model=string(chat.get("model")) or None,
            detail=_detail(detail, tokens),
        )


def _text_of(parts: Sequence[_Part]) -> str:
    return "".join(string(part.get("text")) or string(part.get("refusal")) for part in parts)


def _with_calls(text: str, calls: Sequence[_ToolCall]) -> str:
    """What was said; with calls of tools the message as JSON, or its calls alone where nothing was
    said.
    """
    if not calls:
        return text
    return json.dumps(
        {"role": "assistant", "content": text, "tool_calls": calls} if text else calls
    )


def _responses_input(prompt: Prompt) -> object:
    content = api_model.content_of(
        prompt,
        "input_text",
        _responses_image,
    )
    return [{"role": "user", "content": content}] if prompt.images else content


class _ImageAddress(TypedDict):
    """Where an image is; its content may be the address."""

    url: str


class _ImagePart(TypedDict):
    """A part of a message that is an image."""

    type: str
    image_url: _ImageAddress


class _ResponsesImage(TypedDict):
    """The same in a request for a response."""

    type: str
    image_url: str


def _responses_image(image: Image) -> _ResponsesImage:
    return {"type": "input_image", "image_url": api_model.data_url(image)}


def _image(image: Image) -> _ImagePart:
    return {"type": "image_url", "image_url": {"url": api_model.data_url(image)}}


class _NamedSchema(TypedDict):
    """The schema of a reply, as OpenAI is sent one."""

    name: str
    schema: JsonSchema
    strict: bool


class _ResponseSchema(_NamedSchema):
    """The same in a request for a response."""

    type: str


def _schema(prompt: Prompt) -> _NamedSchema:
    schema, strict = for_openai(prompt.schema or {})
    return {"name": SCHEMA_NAME, "schema": schema, "strict": strict}


def _detail(stop: str, tokens: list[Token] | None) -> ReplyDetail:
    detail: ReplyDetail = {"stop": stop} if stop else {}
    if tokens:
        detail["probability"] = answers(tokens)
    return detail
