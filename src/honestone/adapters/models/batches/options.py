"""What a run says about its batches, and what holds for all of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct

# What a call in a batch costs, as a share of the price of the same call by itself: at OpenAI and at
# Anthropic.
PRICE_SHARE: Final = 0.5

# Requests in one batch. Both providers take at least 50,000; but each holds a claim in the store
# until it is answered, and a shared store has room for a few thousand.
MOST: Final = 2_000

# Whose models can be asked in batches. A server of one's own (ollama, vllm) answers at once and at
# no price.
PROVIDERS: Final = ("openai", "compatible", "anthropic")


class BatchOptions(Struct, frozen=True, kw_only=True):
    """`folder` is where batches under way are kept. `say` hears what was sent and taken up.
    `minutes`: how long replies are waited for. `fresh`: take up only what was asked with `--fresh`
    too.
    """

    folder: Path
    say: Callable[[str], None]
    minutes: float
    fresh: bool = False
