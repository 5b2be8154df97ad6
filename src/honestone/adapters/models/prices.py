"""What calls cost. An unknown price is None, and so is every sum that would need it: unknown is
never 0.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.models.batches.options import MOST, PRICE_SHARE
from honestone.core.errors import SettingsError
from honestone.core.json_value import is_number
from honestone.ports import Completion, Model, Prompt, Usage, needs_of, takes_exact_schemas

CHARS_PER_TOKEN: Final = 4
# A call of a judge, as far as its size is known before it is made.
_USUAL: Final = Usage(input_tokens=2_000, output_tokens=400)
_MILLION: Final = 1_000_000


class Price(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens. `cached` None: what a cached token costs is not known, so it
    counts in full.
    """

    input: float
    output: float
    cached: float | None = None
    source: str = "settings"


def price(provider: str, model: str, settings: Mapping[str, Any] | None = None) -> Price | None:
    """From `[prices."MODEL"]` or `[prices."PROVIDER:MODEL"]`, else from the library genai-prices
    when it is there.

    Raises SettingsError for a price that is none.
    """
    for name in (f"{provider}:{model}", model):
        if settings and name in settings:
            return _from_settings(name, settings[name])
    return _from_library(provider, model)


def usd(usage: Usage, price: Price | None) -> float | None:
    """What a call cost: what the other side said, else tokens times price; None when either is
    unknown.
    """
    if usage.usd is not None:
        return usage.usd
    if price is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = min(usage.cached_tokens or 0, usage.input_tokens) if price.cached is not None else 0
    fresh = usage.input_tokens - cached
    return (
        fresh * price.input + cached * (price.cached or 0) + usage.output_tokens * price.output
    ) / _MILLION


def estimate_tokens(text: str) -> int:
    """An estimate, and to be called one wherever it is shown: four characters a token, rounded up."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def _from_settings(name: str, entry: Any) -> Price:
    if not isinstance(entry, Mapping):
        raise SettingsError(
            f"[prices.{name!r}] must be a table", hint="write input = ... and output = ..."
        )
    for key in entry:
        if key not in ("input", "output", "cached"):
            raise SettingsError(
                f"`{key}` of [prices.{name!r}] is not known",
                hint="there are input, output and cached",
            )
    for key in ("input", "output"):
        if key not in entry:
            raise SettingsError(
                f"[prices.{name!r}] has no `{key}`", hint="in US dollars for a million tokens"
            )
    cached = entry.get("cached")
    return Price(
        input=_amount(name, "input", entry["input"]),
        output=_amount(name, "output", entry["output"]),
        cached=None if cached is None else _amount(name, "cached", cached),
    )


def _amount(name: str, key: str, value: Any) -> float:
    good = is_number(value) and math.isfinite(value) and value >= 0
    if not good:
        raise SettingsError(
            f"`{key}` of [prices.{name!r}] is {value!r}, but must be a number from 0"
        )
    return float(value)


# Tokens priced to learn a rate: few enough to stay in the lowest step of prices that grow with the
# prompt.
_SAMPLE: Final = 1_000


def _from_library(provider: str, model: str) -> Price | None:
    """None when the library is not installed, does not know the model, or fails in any other way."""
    if "genai_prices" not in sys.modules and not _is_installed():
        return None
    try:
        genai_prices = import_module("genai_prices")
    except ImportError:
        return None

    def rate(**tokens: int) -> float:
        cost = genai_prices.calc_price(
            genai_prices.Usage(**tokens), model_ref=model, provider_id=provider
        )
        return float(cost.total_price) * _MILLION / _SAMPLE

    try:
        return Price(
            input=rate(input_tokens=_SAMPLE, output_tokens=0),
            output=rate(input_tokens=0, output_tokens=_SAMPLE),
            cached=rate(input_tokens=_SAMPLE, cache_read_tokens=_SAMPLE, output_tokens=0),
            source="genai-prices",
        )
    except Exception:
        # A library of prices must never end a run: whatever it raises, the price is unknown.
        return None


@lru_cache(maxsize=1)
def _is_installed() -> bool:
    """Looked up once: what is not there is looked for in every folder of the path, for each judge
    that is made.
    """
    return find_spec("genai_prices") is not None


class PricedModel:
    """`prices` is the settings' table; a price does not change what a model says, so the identity
    leaves it out.

    `batched`: its calls go in batches, which hold many of them and cost a share of the price.
    """

    def __init__(
        self,
        model: Model,
        provider: str,
        name: str,
        prices: Mapping[str, Any],
        *,
        batched: bool = False,
    ) -> None:
        self.model = model
        self.is_batched = batched
        # The transport bounds the calls of each provider; a second gate would only queue them.
        self.concurrency = MOST if batched else 1024
        self._share = PRICE_SHARE if batched else 1.0
        self._price = price(provider, name, prices)
        self.identity = model.identity
        self.needs = needs_of(model)

    @property
    def usd_a_call(self) -> float | None:
        """A usual call of a judge. Calls of models are compared by it."""
        cost = usd(_USUAL, self._price)
        return None if cost is None else cost * self._share

    @property
    def takes_exact_schemas(self) -> bool:
        return takes_exact_schemas(self.model)

    async def complete(self, prompt: Prompt) -> Completion:
        completion = await self.model.complete(prompt)
        if completion.usage.usd is not None:
            return completion
        cost = usd(completion.usage, self._price)
        if cost is None:
            return completion
        return replace(completion, usage=replace(completion.usage, usd=cost * self._share))

    async def close(self) -> None:
        await self.model.close()
