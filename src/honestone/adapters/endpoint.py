"""A server as one provider speaks it, the variable with its key, and what comes back over the wire."""

from __future__ import annotations

import ipaddress
import urllib.parse
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from msgspec import Struct, field

from honestone.adapters.machine import key_in
from honestone.core.judging.needs import NO_NEEDS, KeyNeed, MachineNeeds
from honestone.ports import CallFailed

# Far above any reply that a length limit allows, far below what could fill the memory.
MAX_REPLY_BYTES: Final = 16_000_000


class KeyVariable(Struct, frozen=True):
    """Where a key comes from: the first of these environment variables that is set. No names: no
    key is sent.
    """

    names: tuple[str, ...] = ()
    required: bool = True

    def read(self) -> tuple[str, str]:
        """The variable's name and the key; two empty texts when none is set and none is needed.
        Raises CallFailed.
        """
        for name in self.names:
            if key := key_in(name):
                return name, key
        if self.names and self.required:
            raise CallFailed(f"{self.words} is not set", missing=True)
        return "", ""

    @property
    def words(self) -> str:
        return " or ".join(self.names)

    @property
    def needs(self) -> MachineNeeds:
        return (
            MachineNeeds(keys=(KeyNeed(variables=self.names),))
            if self.names and self.required
            else NO_NEEDS
        )


class Endpoint(Struct, frozen=True, kw_only=True):
    """One server as one provider speaks it. `timeout` is for a whole call, from the first byte out
    to
    the last byte in.

    `concurrency` is how many calls to it may be in the air at a time; waiting for a turn is not
    part of the call. `is_found_out`: a server on this machine is given fewer until it is seen to
    answer more together.
    `is_own`: a server of one's own or one that many run, not that of a large provider. `auth` is
        the header that carries the key ("authorization" has the word Bearer before it).
    """

    provider: str
    base_url: str
    key: KeyVariable = field(default_factory=KeyVariable)
    auth: str = "authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    concurrency: int = 32
    is_found_out: bool = False
    is_own: bool = False
    max_bytes: int = MAX_REPLY_BYTES


class EndpointAnswer(Struct, frozen=True):
    """What came back over the wire, unread. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TimedOut(CallFailed):
    """The server was reached and did not answer in time."""


class HttpRefused(CallFailed):
    """The server understood the call and would not do it as asked (400, 422). `words` is its own
    reason.
    """

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(reason)
        self.words = words


def host_of(base_url: str) -> str:
    return urllib.parse.urlsplit(base_url).netloc or base_url


@lru_cache(maxsize=64)
def is_loopback(base_url: str) -> bool:
    host = urllib.parse.urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def key_header(auth: str, key: str) -> dict[str, str]:
    if not key:
        return {}
    return {auth: f"Bearer {key}" if auth == "authorization" else key}
