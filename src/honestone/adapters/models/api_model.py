"""What the model APIs have in common: one call, what a server may decline, and careful reading of
what it sent.

Images of a prompt become parts of a message, each API's own kind. They come before the prompt, each
after its number, so that our words are last.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, Protocol, TypedDict, TypeVar

from msgspec.structs import replace

from honestone.adapters.answers import StreamedAnswer, is_too_deep, whole_characters
from honestone.adapters.endpoint import Endpoint, HttpRefused, host_of
from honestone.adapters.models.options import Options, merged
from honestone.adapters.transport import hold, let_go
from honestone.core.errors import SettingsError
from honestone.core.json_value import Json, late_pattern
from honestone.core.judging.needs import MachineNeeds
from honestone.core.suite.trace import ToolCall
from honestone.ports import CallFailed, Completion, Image, Prompt, Usage
from honestone.system.loose_json import count, down, string, table, total

SCHEMA: Final = "a JSON schema for the reply"
SEED: Final = "a seed"
PROBABILITY: Final = "token probabilities"

# How a server's refusal names the feature that it does not have.
_NAMED_BY: Final = {
    SCHEMA: late_pattern(
        r"response_?format|schema|structured[ _]output|output_(config|format)|text\.format|response_?mime|json[ _]mode|grammar",
        re.I,
    ),
    PROBABILITY: late_pattern(r"log_?prob", re.I),
    SEED: late_pattern(r"\bseed\b", re.I),
}

# (base URL, model, feature) that a server has refused in this process: not asked for again.
_declined: set[tuple[str, str, str]] = set()


# (base URL, model) that has said in this process that it answers only in a stream.
_streams: set[tuple[str, str]] = set()

_WANTS_STREAM: Final = late_pattern(
    r"\bnon-?stream|\b(?:only|must|requires?|set|enable|needs?)\b[^.;]{0,60}\bstream|\bstream\w*\W{0,3}(?:[^.;]{0,40}\b(?:true|required|only|enabled))",
    re.I,
)


class TextPart(TypedDict):
    """A part of a message that is text. `type` differs from API to API."""

    type: str
    text: str


P = TypeVar("P")
Q = TypeVar("Q")


class Sender(Protocol):
    """Another way for a request to its server than a call of its own."""

    async def send(self, body: object, draw: int) -> Json | StreamedAnswer:
        """What a call would have been answered with. Requests of another draw are
        never one and the same.

        Raises CallFailed, and HttpRefused for a request that the server would not do as asked.
        """
        ...

    async def close(self) -> None: ...


class ApiModel(ABC):
    """A model behind an HTTP API. A subclass says how a request is written and how an answer is
    read, both pure.
    """

    api: ClassVar[str]
    can_stream: ClassVar[bool] = True
    # The options beyond the common ones that this API has.
    offers: ClassVar[frozenset[str]] = frozenset()
    default_max_output: ClassVar[int | None] = None
    # Where an answer has its tokens: the table, the keys in it of those of the prompt and of the
    # reply, and the way to cached ones.
    tokens_at: ClassVar[tuple[str, tuple[str, ...], tuple[str, ...], tuple[str, ...]]]

    def __init__(self, *, endpoint: Endpoint, model: str, options: Options | None = None) -> None:
        self.endpoint = endpoint
        self.model = model
        self.options = options or Options()
        self.sender: Sender | None = None
        for name in self.options.plain():
            if name in ("seed", "probability", "effort") and name not in self.offers:
                raise SettingsError(
                    f"`{name}` is set for {model!r}, but {self.api} does not offer it"
                )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r} at {host_of(self.endpoint.base_url)})"

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "provider": self.endpoint.provider,
            "api": self.api,
            "base_url": self.endpoint.base_url,
            "model": self.model,
            "parameters": self.options.plain(),
        }

    async def complete(self, prompt: Prompt) -> Completion:
        asked = self._asked_for(prompt)
        use = frozenset(feature for feature in asked if (*self._place, feature) not in _declined)
        body = merged(without_nones(self.body(prompt, use)), self.options.extra)
        if self.sender is None and self._place in _streams:
            body["stream"] = True
        try:
            answer = await self._sent(body, prompt.draw)
        except HttpRefused as refusal:
            # By what this call was: others that were under way with the first one were refused like
            # it.
            may_stream = self.can_stream and self.sender is None and not body.get("stream")
            if may_stream and _WANTS_STREAM.search(refusal.words):
                _streams.add(self._place)
                raise CallFailed(
                    f"{self.model} answers only in a stream", retryable=True, retry_after=0.0
                ) from None
            feature = next(
                (f for f, named in _NAMED_BY.items() if f in use and named.search(refusal.words)),
                None,
            )
            if feature is None:
                raise
            _declined.add((*self._place, feature))
        else:
            value: object = answer
            if isinstance(answer, StreamedAnswer):
                value = self.assembled(answer.events)
            return self.completion(value, prompt, use)
        # Not asked again here: the engine counts every call, this one too.
        raise CallFailed(
            f"{self.model} does not take {feature}; asking without", retryable=True, retry_after=0.0
        )

    async def _sent(self, body: object, draw: int) -> Json | StreamedAnswer:
        if self.sender is not None:
            return await self.sender.send(body, draw)
        return await hold(self).post(self.endpoint, self.path(), body, model=self.model)

    @property
    def takes_exact_schemas(self) -> bool:
        """A batch is sent by a large provider's own service, which compiles each schema that is new
        to it.
        """
        return self.endpoint.is_own and self.sender is None

    @property
    def needs(self) -> MachineNeeds:
        return self.endpoint.key.needs

    async def close(self) -> None:
        if self.sender is not None:
            await self.sender.close()
        await let_go(self)

    # -------------------------------------------------------------------------------------- what a
    # subclass says

    @abstractmethod
    def path(self) -> str: ...

    @abstractmethod
    def body(self, prompt: Prompt, use: frozenset[str]) -> Mapping[str, object]:
        """The request, of the API's own shape; what is None in it is left out. `use` are the declinable features that are
        wanted and have not been declined."""

    @abstractmethod
    def read(self, value: object) -> Completion:
        """The answer of a server. Raises CallFailed (retryable) when it holds no reply at all."""

    def assembled(self, events: Sequence[Json]) -> object:
        """The events of a stream as the answer that would have come without one. Raises CallFailed
        where it is not whole.
        """
        raise CallFailed(f"{self.model} answered in a stream, which is not read from this API")

    # -------------------------------------------------------------------------------------- for
    # subclasses

    def completion(self, value: object, prompt: Prompt, use: frozenset[str]) -> Completion:
        """The answer, with a note when a schema was wanted and the server does not take one."""
        read = self.read(value)
        detail = dict(read.detail)
        if prompt.schema is not None and SCHEMA not in use:
            detail["schema"] = "declined"
        # A lone surrogate cannot be written down anywhere.
        text = read.text.encode(errors="replace").decode()
        return replace(read, text=text, model=read.model or self.model, detail=detail)

    def usage(self, value: object) -> Usage:
        name, input, output, cached = self.tokens_at
        used = table(down(value, name))
        return usage(
            total(*map(used.get, input)), total(*map(used.get, output)), count(down(used, *cached))
        )

    def max_output(self, prompt: Prompt) -> int | None:
        return prompt.max_output_tokens or self.options.max_output_tokens or self.default_max_output

    def seed(self, prompt: Prompt) -> int | None:
        """Each draw has its own; the first has none unless one was set."""
        if self.options.seed is None and not prompt.draw:
            return None
        return (self.options.seed or 0) + prompt.draw

    @property
    def _place(self) -> tuple[str, str]:
        return self.endpoint.base_url, self.model

    def _asked_for(self, prompt: Prompt) -> list[str]:
        asked = [SCHEMA] if prompt.schema is not None else []
        if "seed" in self.offers and self.seed(prompt) is not None:
            asked.append(SEED)
        if self.options.probability:
            asked.append(PROBABILITY)
        return asked


def usage(input: int | None, output: int | None, cached: int | None) -> Usage:
    return Usage(input_tokens=input, output_tokens=output, cached_tokens=cached)


def no_reply(what: str, model: str) -> CallFailed:
    return CallFailed(f"{model}: the answer holds {what}", retryable=True)


def ended_early(model: str) -> CallFailed:
    return CallFailed(f"{model}: its stream ended before the answer was whole", retryable=True)


class WrittenCall(TypedDict, total=False):
    """A call of a tool as APIs write it: its arguments under a name of each API's own."""

    name: Json
    arguments: Json
    input: Json
    args: Json


def calls_of(
    written: Iterable[WrittenCall],
    arguments: Literal["arguments", "input", "args"] = "arguments",
) -> tuple[ToolCall, ...]:
    """Calls of tools. Arguments that are not an object, or the JSON of one, are none."""
    return tuple(
        ToolCall(name=string(one.get("name")), arguments=dict(table(from_json(one.get(arguments)))))
        for one in written
    )


def from_json(value: Any) -> Any:
    """What a text is the JSON of; anything else as it is, and a text that is nested too deeply."""
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(whole_characters(value))
    except (ValueError, RecursionError):
        return value
    return value if is_too_deep(read, value) else read


def without_nones(body: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def base64_of(image: Image) -> str:
    return b64encode(image.data).decode("ascii")


def data_url(image: Image) -> str:
    """The address of an image on a server, or its content as an address."""
    return f"data:{image.media_type};base64,{base64_of(image)}" if image.data else image.path


def content_of(
    prompt: Prompt, kind: str, as_image: Callable[[Image], P]
) -> str | list[P | TextPart]:
    """The content of a message: the prompt's text, or parts where it has images, those with text of
    this `kind`.
    """
    return (
        parts_of(prompt, lambda words: TextPart(type=kind, text=words), as_image)
        if prompt.images
        else prompt.text
    )


def parts_of(
    prompt: Prompt,
    as_text: Callable[[str], Q],
    as_image: Callable[[Image], P],
) -> list[P | Q]:
    """`Image 1:`, the image, ..., and the prompt's text at the end."""
    parts: list[P | Q] = []
    for number, image in enumerate(prompt.images, start=1):
        parts += [as_text(f"Image {number}:"), as_image(image)]
    return [*parts, as_text(prompt.text)]
