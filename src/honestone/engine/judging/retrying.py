"""When a call that failed is tried again, and after how long."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from honestone import ports
from honestone.system import late_asyncio as asyncio

T = TypeVar("T")

FIRST_WAIT: Final = 0.5
LONGEST_WAIT: Final = 30.0
# A wait that the server asked for is lengthened by up to this share (a second at most), so that
# calls that were turned away together do not come back together.
SPREAD: Final = 0.1


def next_wait(
    failure: ports.CallFailed,
    attempt: int,
    spent: float,
    *,
    attempts: int = 5,
    total_seconds: float = 120.0,
    jitter: Callable[[], float] = random.random,
) -> float | None:
    """Seconds to wait before the next attempt; None to give up. `attempt` counts from 1, `spent` is
    seconds so far.

    What the server asks for is obeyed; when that does not fit into the total, coming sooner does
    not help. `jitter` gives numbers from 0 to 1.
    """
    if not failure.retryable or attempt >= attempts:
        return None
    if failure.retry_after is not None:
        wait = failure.retry_after + jitter() * min(failure.retry_after * SPREAD, 1.0)
    else:
        # The exponent is cut before it can overflow.
        full = min(FIRST_WAIT * 2.0 ** min(attempt - 1, 16), LONGEST_WAIT)
        wait = full * (0.5 + 0.5 * jitter())
    return wait if spent + wait <= total_seconds else None


async def with_retries(
    call: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    total_seconds: float = 120.0,
    sleep: Callable[[float], Awaitable[None]] | None = None,
    jitter: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """What `call` returns, tried again while that is worth it. Raises the last CallFailed."""
    start = clock()
    attempt = 1
    while True:
        try:
            return await call()
        except ports.CallFailed as failure:
            wait = next_wait(
                failure,
                attempt,
                clock() - start,
                attempts=attempts,
                total_seconds=total_seconds,
                jitter=jitter,
            )
            if wait is None:
                raise
        if wait > 0:
            await (sleep or asyncio.sleep)(wait)
        attempt += 1
