"""Embeddings over HTTP: OpenAI's API, which compatible servers and Ollama speak too, and Google's."""

from __future__ import annotations

import math
from typing import TypedDict, Unpack

from msgspec import Struct

from honestone.adapters.endpoint import Endpoint
from honestone.adapters.models.api_model import no_reply, usage
from honestone.adapters.models.catalog import EndpointSettings, find_provider, make_endpoint
from honestone.adapters.transport import hold, let_go
from honestone.core.errors import SettingsError
from honestone.core.json_value import Json
from honestone.core.judging.needs import MachineNeeds
from honestone.ports import CallFailed, Usage
from honestone.system.loose_json import Table, count, number, record, records

# Far above the length of any vector that a model makes.
MOST_NUMBERS = 100_000


class _Request(TypedDict, total=False):
    """What OpenAI's API is asked."""

    model: str
    input: list[str]
    dimensions: int


class _GoogleRequest(TypedDict, total=False):
    """What Google's API is asked."""

    model: str
    content: _Content
    outputDimensionality: int


class _Content(TypedDict):
    """A text as Google takes one."""

    parts: list[_TextPart]


class _TextPart(TypedDict):
    """A part of it."""

    text: str


class _Answer(TypedDict, total=False):
    """What either API answers: Google's has one `embedding`."""

    data: Json
    usage: Json
    embedding: Json


class _Embedding(TypedDict, total=False):
    """A vector: OpenAI's in `embedding`, Google's in `values`."""

    embedding: Json
    values: Json


class _Tokens(TypedDict, total=False):
    """What a request used."""

    prompt_tokens: Json


class _Call:
    """A call under way."""


class HttpEmbedder(Struct, frozen=True, eq=False):
    """Implements ports.Embedder. `dimensions`: the length of the vectors, where the model can
    shorten them.
    """

    endpoint: Endpoint
    model: str
    dimensions: int | None = None

    @property
    def identity(self) -> Table:
        more = {} if self.dimensions is None else {"dimensions": self.dimensions}
        return {
            "provider": self.endpoint.provider,
            "base_url": self.endpoint.base_url,
            "model": self.model,
            **more,
        }

    @property
    def needs(self) -> MachineNeeds:
        return self.endpoint.key.needs

    async def embed(self, text: str) -> tuple[list[float], Usage]:
        is_google = self.endpoint.provider == "google"
        path, body = self._google(text) if is_google else self._openai(text)
        # Each holds the connections for itself: one that ends closes them for no other.
        call = _Call()
        try:
            sent = await hold(call).post(self.endpoint, path, body, model=self.model)
        finally:
            await let_go(call)
        value = record(sent, _Answer)
        if is_google:
            vector = record(value.get("embedding"), _Embedding).get("values")
            return self._read_vector(vector), Usage()
        rows = records(value.get("data"), _Embedding)
        tokens = record(value.get("usage"), _Tokens).get("prompt_tokens")
        return self._read_vector(rows[0].get("embedding") if rows else None), usage(
            count(tokens), None, None
        )

    def _openai(self, text: str) -> tuple[str, _Request]:
        body: _Request = {"model": self.model, "input": [text]}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        return "/embeddings", body

    def _google(self, text: str) -> tuple[str, _GoogleRequest]:
        model = f"models/{self.model.removeprefix('models/')}"
        body: _GoogleRequest = {"model": model, "content": {"parts": [{"text": text}]}}
        if self.dimensions is not None:
            body["outputDimensionality"] = self.dimensions
        return f"/{model}:embedContent", body

    def _read_vector(self, numbers: object) -> list[float]:
        if not isinstance(numbers, list) or not numbers:
            raise no_reply("no embedding", self.model)
        if len(numbers) > MOST_NUMBERS or not all(_is_number(one) for one in numbers):
            raise CallFailed(f"{self.model}: its embedding is not a list of numbers")
        return [float(one) for one in numbers]


def _is_number(one: object) -> bool:
    read = number(one)
    return read is not None and math.isfinite(read)


def make_embedder(
    provider: str, model: str, *, dimensions: int | None = None, **server: Unpack[EndpointSettings]
) -> HttpEmbedder:
    """An embeddings model by provider and name. Raises SettingsError for what can be seen to be
    wrong without a call.
    """
    known = find_provider(provider)
    if known.api == "messages":
        raise SettingsError(
            f"{known.name} has no embeddings", hint="use openai, google, ollama, vllm or compatible"
        )
    if not model.strip() or not model.isprintable() or ".." in model:
        raise SettingsError(
            f"{model!r} is not the name of a model", hint=f"write it as {known.name}:MODEL"
        )
    return HttpEmbedder(make_endpoint(known, **server), model.strip(), dimensions)
