"""OpenAI's two APIs: Responses, and Chat Completions, which most other servers speak too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypedDict

from honestone.adapters.answers import clean
from honestone.adapters.models import api_model
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.probability import answers, openai_tokens
from honestone.adapters.models.schemas import for_openai
from honestone.core.reading.json_schema import JsonSchema
from honestone.core.reading.json_text import holds_whole_object
from honestone.ports import CallFailed, Completion, Image, Prompt
from honestone.system.loose_json import Table, string, table, tables

SCHEMA_NAME = "reply"
# How many tokens are weighed at each place when probabilities are kept.
ALTERNATIVES = 5

_PASSING = frozenset({"server_error", "rate_limit_exceeded", "vector_store_timeout"})


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

    def body(self, prompt: Prompt, use: frozenset[str]) -> dict[str, Any]:
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

    def assembled(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """The last event with a `response` of its own status holds the whole."""
        ended = ("response.completed", "response.incomplete", "response.failed")
        whole = [
            event["response"]
            for event in tables(events)
            if event.get("type") in ended and "response" in event
        ]
        if not whole:
            raise api_model.ended_early(self.model)
        return dict(table(whole[-1]))

    def read(self, value: Table) -> Completion:
        status = value.get("status", "completed")
        if status == "failed":
            error = table(value.get("error"))
            words = clean(string(error.get("message")), "") or "no reason given"
            raise CallFailed(
                f"{self.model} failed: {words}", retryable=error.get("code") in _PASSING
            )
        if status not in ("completed", "incomplete") or not isinstance(value.get("output"), list):
            raise api_model.no_reply("no output", self.model)
        messages = [item for item in tables(value["output"]) if item.get("type") == "message"]
        # Newer models think aloud in messages of their own; the answer is in those marked final.
        final = [m for m in messages if m.get("phase") == "final_answer"] or messages
        texts, tokens = [], []
        for message in final:
            parts = tables(message.get("content"))
            texts.append("".join(string(p.get("text")) or string(p.get("refusal")) for p in parts))
            tokens += [t for p in parts for t in openai_tokens(p.get("logprobs"))]
        called = [item for item in tables(value["output"]) if item.get("type") == "function_call"]
        reason = (
            string(table(value.get("incomplete_details")).get("reason"))
            if status == "incomplete"
            else ""
        )
        refused = any(p.get("type") == "refusal" for m in final for p in tables(m.get("content")))
        return Completion(
            text="\n".join([*texts, *map(json.dumps, called)]),
            calls=api_model.calls_of(called),
            cut=status == "incomplete" and reason != "content_filter",
            usage=self.usage(value),
            model=string(value.get("model")) or None,
            detail=_detail(
                "refusal" if refused else reason, tokens if self.options.probability else None
            ),
        )


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

    def body(self, prompt: Prompt, use: frozenset[str]) -> dict[str, Any]:
        own = self.endpoint.base_url.startswith("https://api.openai.com/")
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        return {
            "model": self.model,
            "messages": [
                *system,
                {"role": "user", "content": api_model.content_of(prompt, "text", _image)},
            ],
            # OpenAI's newer models refuse the old name, other servers do not know the new one.
            "max_completion_tokens" if own else "max_tokens": self.max_output(prompt),
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

    def assembled(self, events: list[dict[str, Any]]) -> dict[str, Any]:
        """The pieces of the first choice joined. A stream is whole when it says why it ended, or
        ends with [DONE] behind a whole JSON object.
        """
        message: dict[str, Any] = {"content": "", "refusal": ""}
        whole: dict[str, Any] = {}
        stop, tokens = "", list[Any]()
        for event in events:
            whole |= {name: event[name] for name in ("model", "usage") if event.get(name)}
            for choice in tables(event.get("choices")):
                if choice.get("index", 0) != 0:
                    continue
                piece = table(choice.get("delta") or choice.get("message"))
                for name in message:
                    message[name] += string(piece.get(name))
                stop = string(choice.get("finish_reason")) or stop
                tokens += tables(table(choice.get("logprobs")).get("content"))
        if not stop and not (events[-1:] == [{}] and holds_whole_object(message["content"])):
            raise api_model.ended_early(self.model)
        return {
            **whole,
            "choices": [
                {
                    "message": message,
                    "finish_reason": stop or "stop",
                    "logprobs": {"content": tokens},
                }
            ],
        }

    def read(self, value: Table) -> Completion:
        choices = tables(value.get("choices"))
        if not choices or not isinstance(choices[0].get("message"), dict):
            raise api_model.no_reply("no choices", self.model)
        choice, message = choices[0], table(choices[0]["message"])
        content, refusal = message.get("content"), string(message.get("refusal"))
        parts = "".join(string(p.get("text")) or string(p.get("refusal")) for p in tables(content))
        called, legacy = tables(message.get("tool_calls")), table(message.get("function_call"))
        stop = string(choice.get("finish_reason"))
        detail = "" if stop == "stop" else stop
        if refusal:
            detail = "refusal"
        tokens = None
        if self.options.probability:
            tokens = openai_tokens(table(choice.get("logprobs")).get("content"))
        return Completion(
            text=json.dumps(legacy)
            if legacy
            else _with_calls(string(content) or parts or refusal, called),
            calls=api_model.calls_of(
                [table(call.get("function")) for call in called] or ([legacy] if legacy else [])
            ),
            cut=stop == "length",
            usage=self.usage(value),
            model=string(value.get("model")) or None,
            detail=_detail(detail, tokens),
        )


def _with_calls(text: str, calls: Sequence[Table]) -> str:
    """What was said; with calls of tools the message as JSON, or its calls alone where nothing was
    said.
    """
    if not calls:
        return text
    return json.dumps(
        {"role": "assistant", "content": text, "tool_calls": calls} if text else calls
    )


def _responses_input(prompt: Prompt) -> Any:
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


def _schema(prompt: Prompt) -> _NamedSchema:
    schema, strict = for_openai(prompt.schema or {})
    return {"name": SCHEMA_NAME, "schema": schema, "strict": strict}


def _detail(stop: str, tokens: list[Any] | None) -> dict[str, Any]:
    detail: dict[str, Any] = {"stop": stop} if stop else {}
    if tokens:
        detail["probability"] = answers(tokens)
    return detail
