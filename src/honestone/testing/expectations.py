"""What every check of a port uses: a promise that is required, and the time that a call may take."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable
from typing import Any, TypeVar

from honestone import ports
from honestone.core.judging.needs import MachineNeeds

T = TypeVar("T")

# Seconds that a check gives one call before it says that the adapter hangs.
PATIENCE = 300.0


def require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


async def within(work: Awaitable[T]) -> T:
    try:
        return await asyncio.wait_for(work, PATIENCE)
    except TimeoutError:
        raise AssertionError(
            f"it did not return within {PATIENCE:g} s: an adapter owns its time limits"
        ) from None


def check_identity(thing: Any) -> None:
    identity = thing.identity
    try:
        text = json.dumps(dict(identity), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"`identity` must be plain JSON values: {error}") from None
    require(
        json.dumps(dict(thing.identity), sort_keys=True) == text,
        "`identity` must not change from one look to the next",
    )
    needs = ports.needs_of(thing)
    require(
        isinstance(needs, MachineNeeds),
        "`needs` must be a MachineNeeds of honestone.core.judging.needs",
    )
    texts = {"identity": text, "needs": json.dumps(needs.to_plain())}
    for name, value in os.environ.items():
        secret = len(value) >= 8 and any(
            word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSWORD")
        )
        for what, text_shown in texts.items():
            require(
                not secret or value not in text_shown,
                f"`{what}` holds the value of ${name}: it goes into files and reports",
            )


def check_failure(failed: ports.CallFailed) -> None:
    require(bool(failed.reason.strip()), "a CallFailed must say why")
    require(
        failed.retry_after is None or failed.retry_after >= 0, "`retry_after` must not be negative"
    )


def check_usage(usage: ports.Usage) -> None:
    for name in ("input_tokens", "output_tokens", "cached_tokens", "usd"):
        value = getattr(usage, name)
        require(
            value is None or value >= 0,
            f"`{name}` is {value!r}: it is a number from 0, or None when it is not known",
        )
