"""Google's generateContent."""

from __future__ import annotations

import json
from typing import Any, TypedDict
from urllib.parse import quote

from honestone.adapters.models import api_model
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.probability import answers, google_tokens
from honestone.adapters.models.schemas import for_google
from honestone.ports import Completion, Image, Prompt
from honestone.system.loose_json import Table, string, table, tables

ALTERNATIVES = 5


class GoogleGenerate(ApiModel):
    api = "generateContent"
    can_stream = False
    offers = frozenset({"effort", "probability", "seed"})
    default_max_output = 16_000  # thinking counts as output

    tokens_at = (
        "usageMetadata",
        ("promptTokenCount",),
        ("candidatesTokenCount", "thoughtsTokenCount"),
        ("cachedContentTokenCount",),
    )

    def path(self) -> str:
        name = self.model if "/" in self.model else f"models/{self.model}"
        return f"/{quote(name, safe='/')}:generateContent"

    def body(self, prompt: Prompt, use: frozenset[str]) -> dict[str, Any]:
        seed = self.seed(prompt) if api_model.SEED in use else None
        config = api_model.without_nones(
            {
                "maxOutputTokens": self.max_output(prompt),
                "temperature": self.options.temperature,
                "topP": self.options.top_p,
                "seed": seed,
                "thinkingConfig": {"thinkingLevel": self.options.effort}
                if self.options.effort
                else None,
                "responseMimeType": "application/json" if api_model.SCHEMA in use else None,
                "responseJsonSchema": for_google(prompt.schema or {})
                if api_model.SCHEMA in use
                else None,
                "responseLogprobs": True if api_model.PROBABILITY in use else None,
                "logprobs": ALTERNATIVES if api_model.PROBABILITY in use else None,
            }
        )
        return {
            "systemInstruction": {"parts": [{"text": prompt.system}]} if prompt.system else None,
            "contents": [
                {
                    "role": "user",
                    "parts": api_model.parts_of(prompt, _text, _image),
                }
            ],
            "generationConfig": config,
        }

    def read(self, value: Table) -> Completion:
        candidates = tables(value.get("candidates"))
        blocked = string(table(value.get("promptFeedback")).get("blockReason"))
        if not candidates and not blocked:
            raise api_model.no_reply("no candidates", self.model)
        first = candidates[0] if candidates else {}
        parts = tables(table(first.get("content")).get("parts"))
        called = [table(part["functionCall"]) for part in parts if "functionCall" in part]
        shown = [part for part in parts if not part.get("thought")]
        stop = string(first.get("finishReason")) or blocked
        detail: dict[str, Any] = {} if stop in ("", "STOP") else {"stop": stop}
        if self.options.probability and "logprobsResult" in first:
            detail["probability"] = answers(google_tokens(first["logprobsResult"]))
        return Completion(
            text=json.dumps(shown)
            if called
            else "".join(string(part.get("text")) for part in shown),
            calls=api_model.calls_of(called, "args"),
            cut=stop == "MAX_TOKENS",
            usage=self.usage(value),
            model=string(value.get("modelVersion")) or None,
            detail=detail,
        )


class _FileData(TypedDict):
    """The address of a file."""

    fileUri: str


class _InlineData(TypedDict):
    """A file in Base64."""

    mimeType: str
    data: str


class _Part(TypedDict, total=False):
    """A part of a message: text, or an image."""

    text: str
    fileData: _FileData
    inlineData: _InlineData


def _text(words: str) -> _Part:
    return {"text": words}


def _image(image: Image) -> _Part:
    if not image.data:
        return {"fileData": {"fileUri": image.path}}
    return {"inlineData": {"mimeType": image.media_type, "data": api_model.base64_of(image)}}
