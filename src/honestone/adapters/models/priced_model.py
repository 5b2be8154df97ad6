"""A model that knows what its calls cost. Where no price is known the cost stays unknown, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from honestone.adapters.models.prices import price, usd
from honestone.ports import Completion, Model, Prompt


class PricedModel:
    """`prices` is the settings' table; a price does not change what a model says, so the identity leaves it out."""

    def __init__(self, model: Model, provider: str, name: str, prices: Mapping[str, Any]) -> None:
        self.model = model
        self.concurrency = 1024  # the transport bounds the calls of each provider; a second gate would only queue them
        self._price = price(provider, name, prices)

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.model.identity

    async def complete(self, prompt: Prompt) -> Completion:
        completion = await self.model.complete(prompt)
        if completion.usage.usd is not None:
            return completion
        cost = usd(completion.usage, self._price)
        return completion if cost is None else replace(completion, usage=replace(completion.usage, usd=cost))

    async def close(self) -> None:
        await self.model.close()
