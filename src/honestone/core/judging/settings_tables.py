"""The tables of `honestone.toml` that name models, as they are written there.
`formats/settings_keys.toml` says what each key takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from honestone.core.json_value import Json


class EmbeddingsTable(TypedDict, total=False):
    """A table of `[embeddings]`. `timeout` is in seconds."""

    provider: str
    model: str
    base_url: str
    api_key_env: str
    timeout: float
    concurrency: int
    dimensions: int


class ModelTable(EmbeddingsTable, total=False):
    """A table of `[judges]`, `[workers]` or `[targets]`: what answers, and how it is reached. Every
    key may be left out.
    """

    auth: str
    command: str | Sequence[str]
    parameters: Mapping[str, Json]
    pass_env: Sequence[str]
    family: str
    output: str
    requests_per_minute: float
    tokens_per_minute: float
    account: str
    probability: bool
    max_input_tokens: int
    max_tokens: int
    images: bool
    reasks: int


class LimitsTable(TypedDict, total=False):
    """The table `[limits]`."""

    max_calls: int
    max_usd: float
    max_minutes: float
    rounds: int
    max_diff: int
    max_growth: float
    max_size: float
    concurrency: int


LimitName: TypeAlias = Literal["max_calls", "max_minutes", "rounds", "max_diff", "max_growth"]
"""The limits that an option of the same name can override."""
