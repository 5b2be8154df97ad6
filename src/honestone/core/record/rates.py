"""How fast a provider may be asked: a rate as a line of slots, each after the one before."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from honestone.core.judging.settings_tables import ModelTable

# Seconds' worth of a rate that may be asked at once.
BURST: Final = 1.0
_CHARACTERS_A_TOKEN: Final = 4


class RateLimits(Struct, frozen=True, kw_only=True):
    """What all calls of one `account` keep to together: requests and tokens a minute, and calls
    under way at once. None: without a limit.
    """

    account: str
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None

    def lines(self, tokens: int) -> dict[str, float]:
        """What a call with so many tokens takes of each line: seconds by its name."""
        rates = {}
        if self.requests_per_minute is not None:
            rates[f"{self.account} requests"] = 60 / self.requests_per_minute
        if self.tokens_per_minute is not None:
            rates[f"{self.account} tokens"] = 60 * tokens / self.tokens_per_minute
        return rates


def wait_of(ahead: float, taken: float) -> float:
    """Seconds to wait for a slot that begins in `ahead` seconds and takes so many."""
    return max(0.0, ahead - max(0.0, BURST - taken))


def tokens_of(text: str) -> int:
    """About how many tokens a prompt has, until the other side says it."""
    return len(text) // _CHARACTERS_A_TOKEN + 1


def rates_of(entry: ModelTable | None) -> RateLimits | None:
    """Those of a settings table. Without an `account` of its own, tables with equal provider,
    address and key variable (or command) share one. None where the table sets no rate.
    """
    if entry is None:
        return None
    requests, tokens, concurrency = (
        entry.get(key) for key in ("requests_per_minute", "tokens_per_minute", "concurrency")
    )
    if requests is None and tokens is None and concurrency is None:
        return None
    parts = (
        str(entry.get(key) or "") for key in ("provider", "base_url", "api_key_env", "command")
    )
    return RateLimits(
        account=str(entry.get("account") or " ".join(parts)),
        requests_per_minute=_as_float(requests),
        tokens_per_minute=_as_float(tokens),
        concurrency=concurrency if isinstance(concurrency, int) else None,
    )


def _as_float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
