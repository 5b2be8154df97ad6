"""Texts at an address, for suites whose tests are on a server. They are fetched with a person's
permission only.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin, urlsplit

from honestone.adapters.answers import clean
from honestone.adapters.endpoint import Endpoint, is_loopback
from honestone.adapters.transport import Transport
from honestone.core.errors import UsageError
from honestone.ports import CallFailed
from honestone.system.event_loop import run_coroutine

SECONDS: Final = 60.0
MAX_BYTES: Final = 50_000_000
_MOST_REDIRECTS: Final = 4


def fetch(url: str) -> str:
    """The text at an `https` address, or one of this machine. No key and no cookie is sent. Raises
    UsageError.
    """
    return run_coroutine(_fetched(url))


async def _fetched(url: str) -> str:
    transport = Transport()
    try:
        for _ in range(_MOST_REDIRECTS + 1):
            parts = urlsplit(url)
            base = f"{parts.scheme}://{parts.netloc}"
            if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(base)):
                raise UsageError(f"`{clean(url, '')}` is not fetched: only https addresses are")
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            endpoint = Endpoint(
                provider="fetch", base_url=base, timeout=SECONDS, max_bytes=MAX_BYTES
            )
            answer = await transport.exchange("GET", endpoint, path, {}, None)
            if isinstance(answer, CallFailed):
                raise UsageError(f"`{clean(url, '')}` could not be fetched: {answer.reason}")
            if 300 <= answer.status < 400 and "location" in answer.headers:
                url = urljoin(url, answer.headers["location"])
                continue
            if answer.status != 200:
                raise UsageError(
                    f"`{clean(url, '')}` could not be fetched: {parts.netloc} answered {answer.status}",
                    hint="is it public? Else save the tests next to the file",
                )
            return answer.body.decode("utf-8", "replace")
        raise UsageError(
            f"`{clean(url, '')}` could not be fetched: it leads from one address to the next"
        )
    finally:
        await transport.close()
