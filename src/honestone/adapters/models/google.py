"""Google's generateContent."""

from __future__ import annotations

import json
from typing import TypedDict
from urllib.parse import quote

from honestone.adapters.models import api_model
from honestone.adapters.models.api_model import ApiModel
from honestone.adapters.models.probability import ReplyDetail, answers, google_tokens
from honestone.adapters.models.schemas import for_google
from honestone.core.json_value import Json
from honestone.core.reading.json_schema import JsonSchema
from honestone.ports import Completion, Image, Prompt
from honestone.system.loose_json import record, records, string

ALTERNATIVES = 5


class _AnswerPart(TypedDict, total=False):
    """A part of what the model answered."""

    text: Json
    thought: Json
    functionCall: Json


class _AnswerContent(TypedDict, total=False):
    """What the model answered."""

    parts: Json


class _Candidate(TypedDict, total=False):
    """One of the model's answers."""

    content: Json
    finishReason: Json
    logprobsResult: Json


class _PromptFeedback(TypedDict, total=False):
    """Why an answer is missing."""

    blockReason: Json


class _Answer(TypedDict, total=False):
    """An answer of the server."""

    candidates: Json
    promptFeedback: Json
    modelVersion: Json


class _Thinking(TypedDict):
    """How long the model may think."""

    thinkingLevel: str


class _Config(TypedDict, total=False):
    """How the answer is made."""

    maxOutputTokens: int
    temperature: float
    topP: float
    seed: int
    thinkingConfig: _Thinking
    responseMimeType: str
    responseJsonSchema: JsonSchema
    responseLogprobs: bool
    logprobs: int


class _Content(TypedDict, total=False):
    """A message, or the instructions above all."""

    role: str
    parts: list[_Part]


class _Request(TypedDict):
    """What is asked; None is left out."""

    systemInstruction: _Content | None
    contents: list[_Content]
    generationConfig: _Config


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

    def body(self, prompt: Prompt, use: frozenset[str]) -> _Request:
        return {
            "systemInstruction": {"parts": [{"text": prompt.system}]} if prompt.system else None,
            "contents": [
                {
                    "role": "user",
                    "parts": api_model.parts_of(prompt, _text, _image),
                }
            ],
            "generationConfig": self._config(prompt, use),
        }

    def _config(self, prompt: Prompt, use: frozenset[str]) -> _Config:
        config: _Config = {}
        if (limit := self.max_output(prompt)) is not None:
            config["maxOutputTokens"] = limit
        if self.options.temperature is not None:
            config["temperature"] = self.options.temperature
        if self.options.top_p is not None:
            config["topP"] = self.options.top_p
        if api_model.SEED in use and (seed := self.seed(prompt)) is not None:
            config["seed"] = seed
        if self.options.effort:
            config["thinkingConfig"] = {"thinkingLevel": self.options.effort}
        if api_model.SCHEMA in use:
            config["responseMimeType"] = "application/json"
            config["responseJsonSchema"] = for_google(prompt.schema or {})
        if api_model.PROBABILITY in use:
            config["responseLogprobs"] = True
            config["logprobs"] = ALTERNATIVES
        return config

    def read(self, value: object) -> Completion:
        answer = record(value, _Answer)
        candidates = records(answer.get("candidates"), _Candidate)
        blocked = string(record(answer.get("promptFeedback"), _PromptFeedback).get("blockReason"))
        if not candidates and not blocked:
            raise api_model.no_reply("no candidates", self.model)
        first = candidates[0] if candidates else _Candidate()
        parts = records(record(first.get("content"), _AnswerContent).get("parts"), _AnswerPart)
        called = [
            record(part["functionCall"], api_model.WrittenCall)
            for part in parts
            if "functionCall" in part
        ]
        shown = [part for part in parts if not part.get("thought")]
        stop = string(first.get("finishReason")) or blocked
        detail: ReplyDetail = {} if stop in ("", "STOP") else {"stop": stop}
        if self.options.probability and "logprobsResult" in first:
            detail["probability"] = answers(google_tokens(first["logprobsResult"]))
        return Completion(
            text=json.dumps(shown)
            if called
            else "".join(string(part.get("text")) for part in shown),
            calls=api_model.calls_of(called, "args"),
            cut=stop == "MAX_TOKENS",
            usage=self.usage(value),
            model=string(answer.get("modelVersion")) or None,
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
