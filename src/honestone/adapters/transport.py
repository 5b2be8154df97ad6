"""The one way to a server, a model API or a target: JSON out, JSON in, and every way that can fail
kept apart.

One connection pool serves all models of a process (one per event loop). Nothing is retried here and
nothing is followed: a redirect, a page of HTML or half a reply is a failure with a reason, never
something to read a verdict from. A key is read from its variable when a call is made and is kept
nowhere; what a server says is cleaned of it.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import time
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from honestone import __version__
from honestone.adapters.answers import (
    LONG_KEY,
    StreamedAnswer,
    encode,
    read_answer,
    without_key,
)
from honestone.adapters.endpoint import (
    Endpoint,
    EndpointAnswer,
    TimedOut,
    host_of,
    is_loopback,
    key_header,
)
from honestone.adapters.turns import Turns
from honestone.core.errors import UsageError
from honestone.core.json_value import Json
from honestone.ports import CallFailed

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
CONNECT_SECONDS: Final = 10.0
MOST_READ: Final = 65_536
# What a server answers that takes no more calls now.
_TOO_BUSY: Final = frozenset({429, 503})


class _Socket(socket.socket):
    """Without TLS, asyncio asks for 256 KiB a read. Python has to get so large a buffer from the
    system each time and gives it back, which costs more than reading a reply of a model.
    """

    def recv(self, size: int, flags: int = 0) -> bytes:
        return super().recv(min(size, MOST_READ), flags)


def _socket_for(address: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, *_ = address
    return _Socket(family, kind, protocol)


class Transport:
    """A pool of connections for one event loop. `holders` are the models that use it; the last one
    closes it.
    """

    def __init__(self) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, socket_factory=_socket_for),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            # Proxies are looked up here: aiohttp's `trust_env` would also send logins from
            # ~/.netrc.
            trust_env=False,
            auto_decompress=False,
            headers={
                "User-Agent": f"honestone/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "identity",
            },
        )
        self._turns: dict[tuple[str, str, int], Turns] = {}
        self._proxies: dict[str, _Proxy | None] = {}
        self._answered: set[str] = set()
        self.holders: WeakSet[object] = WeakSet()

    async def post(
        self, endpoint: Endpoint, path: str, payload: object, *, model: str
    ) -> Json | StreamedAnswer:
        """The JSON object that the server answered with, or its events. Raises CallFailed; HttpRefused for a 400
        or 422.
        """
        variable, key = endpoint.key.read()
        turns = self._turns_at(endpoint)
        async with turns.turn(
            endpoint.concurrency, endpoint.timeout, is_found_out=endpoint.is_found_out
        ) as turn:
            began = time.monotonic()
            try:
                got = await self.call("POST", endpoint, path, encode(payload))
            except TimedOut as failed:
                if not turns.timed_out(turn):
                    raise
                raise CallFailed(
                    f"{failed.reason}, with others under way", retryable=True, retry_after=0.0
                ) from None
            if got.status == 200:
                turns.answered(turn, time.monotonic() - began)
            elif got.status in _TOO_BUSY:
                turns.refused(turn)
        read = read_answer(got, endpoint, model=model, variable=variable, key=key)
        if isinstance(read, CallFailed):
            raise read
        return read

    async def call(
        self,
        method: str,
        endpoint: Endpoint,
        path: str,
        body: bytes | None = None,
        *,
        kind: str = "application/json",
    ) -> EndpointAnswer:
        """What came back, whatever its status, without the key that was sent. `kind` is the body's
        media type.

        Raises CallFailed where nothing came back.
        """
        _, key = endpoint.key.read()
        headers = {**endpoint.headers, **key_header(endpoint.auth, key)}
        if body is not None:
            headers = {"Content-Type": kind, **headers}
        got = await self.exchange(method, endpoint, path, headers, body)
        if isinstance(got, CallFailed):
            raise got
        if len(key) >= LONG_KEY:
            return EndpointAnswer(got.status, got.headers, without_key(got.body, key))
        return got

    async def get(self, endpoint: Endpoint, path: str) -> EndpointAnswer | None:
        """A look without a key and without cost; None when no answer comes in time."""
        got = await self.exchange("GET", endpoint, path, {}, None)
        return None if isinstance(got, CallFailed) else got

    async def close(self) -> None:
        await self._session.close()
        # One turn of the loop lets TLS connections say goodbye before a program ends its loop.
        await asyncio.sleep(0)

    @property
    def closed(self) -> bool:
        return self._session.closed

    def rest(self) -> None:
        """Its connections stay open for the next holder; what it knows of servers and proxies is
        found out again.
        """
        self._answered.clear()
        self._proxies.clear()

    def _turns_at(self, endpoint: Endpoint) -> Turns:
        """All calls to a server on this machine take turns together, whatever they are for;
        elsewhere those of a table.
        """
        is_local = is_loopback(endpoint.base_url)
        name = (endpoint.provider, endpoint.base_url, endpoint.concurrency)
        if is_local:
            name = ("", host_of(endpoint.base_url).rpartition(":")[2], 0)
        if name not in self._turns:
            self._turns[name] = Turns(is_local=is_local)
        return self._turns[name]

    async def exchange(
        self,
        method: str,
        endpoint: Endpoint,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> EndpointAnswer | CallFailed:
        """Failures are returned, so that none of them drags the library's own error, which holds
        the headers, along.
        """
        import aiohttp

        where = host_of(endpoint.base_url)
        try:
            async with asyncio.timeout(endpoint.timeout):
                return await self._send(method, endpoint, path, headers, body)
        except TimeoutError as error:
            if isinstance(error, aiohttp.ServerTimeoutError):
                return CallFailed(
                    f"could not connect to {where} within {CONNECT_SECONDS:g} s",
                    retryable=True,
                    unsent=True,
                )
            return TimedOut(f"no complete reply from {where} within {endpoint.timeout:g} s")
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError):
            return CallFailed(
                f"the certificate of {where} could not be verified, so nothing was sent",
                unsent=True,
            )
        except aiohttp.ClientConnectorDNSError:
            return CallFailed(
                f"the name of {where} was not found; is `base_url` right, is there a network?",
                retryable=True,
                unsent=True,
            )
        except aiohttp.ClientConnectorError as error:
            # Refused before anything was ever answered there: nothing listens, and waiting would
            # not change that.
            may_return = (
                error.os_error.errno != errno.ECONNREFUSED or endpoint.base_url in self._answered
            )
            why = f"could not connect to {where}: {_os_words(error.os_error)}"
            return CallFailed(why, retryable=may_return, unsent=True)
        except aiohttp.ClientHttpProxyError as error:
            return CallFailed(
                f"the proxy on the way to {where} answered {error.status}",
                retryable=error.status >= 500,
            )
        except aiohttp.ClientResponseError:
            return CallFailed(f"{where} does not speak HTTP", retryable=True)
        except (aiohttp.ClientError, OSError):
            return CallFailed(
                f"{where} dropped the connection before its reply was complete", retryable=True
            )

    async def _send(
        self,
        method: str,
        endpoint: Endpoint,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> EndpointAnswer | CallFailed:
        proxy = self._proxy(endpoint.base_url)
        async with self._session.request(
            method,
            endpoint.base_url + path,
            data=body,
            headers=headers,
            allow_redirects=False,
            proxy=proxy.url if proxy else None,
            proxy_headers=proxy.headers if proxy else None,
        ) as response:
            self._answered.add(endpoint.base_url)
            whole = await _read_body(response, endpoint.max_bytes)
            if whole is None:
                where, size = host_of(endpoint.base_url), endpoint.max_bytes / 1e6
                return CallFailed(f"{where} sent more than {size:g} MB; the rest was not read")
            return EndpointAnswer(
                response.status, {k.lower(): v for k, v in response.headers.items()}, whole
            )

    def _proxy(self, base_url: str) -> _Proxy | None:
        if base_url not in self._proxies:
            self._proxies[base_url] = _proxy_for(base_url)
        return self._proxies[base_url]


# ------------------------------------------------------------------------------------------------------
# one per loop

_transports: WeakKeyDictionary[asyncio.AbstractEventLoop, Transport] = WeakKeyDictionary()
_keeping: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


def hold(holder: object) -> Transport:
    """The running loop's transport, kept open until `holder` and all others let go of it."""
    loop = asyncio.get_running_loop()
    transport = _transports.get(loop)
    if transport is None or transport.closed:
        transport = _transports[loop] = Transport()
    transport.holders.add(holder)
    return transport


async def let_go(holder: object) -> None:
    """Closes the running loop's transport when it was the last holder, or lets it rest where
    connections are kept.
    """
    loop = asyncio.get_running_loop()
    transport = _transports.get(loop)
    if transport is None:
        return
    transport.holders.discard(holder)
    if transport.holders or transport.closed:
        return
    if loop in _keeping:
        transport.rest()
    else:
        await transport.close()


def keep_connections(loop: asyncio.AbstractEventLoop) -> None:
    """Keep connections open from now on when the last holder in this event loop releases them,
    until `close_kept`.
    """
    _keeping.add(loop)


async def close_lingering() -> None:
    loop = asyncio.get_running_loop()
    _keeping.discard(loop)
    transport = _transports.pop(loop, None)
    if transport is not None and not transport.closed:
        await transport.close()


# ------------------------------------------------------------------------------------------------------
# small parts


@dataclass(frozen=True, slots=True, repr=False)
class _Proxy:
    """A proxy's address without its login, and the login as a header."""

    url: str
    headers: Mapping[str, str]


def _proxy_for(base_url: str) -> _Proxy | None:
    """The proxy that the environment names for this address. No proxy leads to this machine itself."""
    if is_loopback(base_url):
        return None
    import urllib.request

    parts = urllib.parse.urlsplit(base_url)
    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    proxies = urllib.request.getproxies()
    named = proxies.get(parts.scheme) or proxies.get("all")
    if not named:
        return None
    proxy = _read_proxy(named)
    if proxy.scheme not in ("http", "https"):
        raise CallFailed(
            f"the environment names a proxy of the kind {proxy.scheme!r}, which is not supported; use http"
        )
    headers = {}
    if proxy.username is not None:
        import base64

        login = (
            f"{urllib.parse.unquote(proxy.username)}:{urllib.parse.unquote(proxy.password or '')}"
        )
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
    return _Proxy(f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}", headers)


def _read_proxy(named: str) -> urllib.parse.SplitResult:
    """Raises UsageError, without a word of the address: it may hold a login."""
    try:
        proxy = urllib.parse.urlsplit(named if "://" in named else f"http://{named}")
        if (
            proxy.hostname
            and proxy.port != 0
            and proxy.netloc.rpartition("@")[2].isascii()
            and not re.search(r"\s", named)
        ):
            return proxy
    except ValueError:  # brackets that do not close, a port that is not a number
        pass
    raise UsageError(
        "the address of the proxy in the environment (http_proxy, https_proxy or all_proxy) cannot be read",
        hint="write it as http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT with odd characters as %XX",
    )


def in_parts(rows: Iterable[tuple[T, int]], most: int, largest: int) -> Iterator[list[T]]:
    """Rows, each with its size, in requests that a server takes: at most so many and so many bytes,
    at least one row each.
    """
    part: list[T] = []
    size = 0
    for row, length in rows:
        if part and (len(part) >= most or size + length > largest):
            yield part
            part, size = [], 0
        part.append(row)
        size += length
    if part:
        yield part


async def _read_body(response: aiohttp.ClientResponse, limit: int) -> bytes | None:
    """The whole body; None when it is larger than the limit."""
    pieces, size = [], 0
    while piece := await response.content.readany():
        size += len(piece)
        if size > limit:
            return None
        pieces.append(piece)
    body = b"".join(pieces)
    # Asked for as is; a gateway that packs it all the same must not be able to unpack into more
    # than the limit.
    if response.headers.get("Content-Encoding", "identity").lower() in (
        "gzip",
        "deflate",
        "x-gzip",
    ):
        unpacker = zlib.decompressobj(wbits=47)
        try:
            body = unpacker.decompress(body, limit)
        except zlib.error:
            return b""
        if unpacker.unconsumed_tail:
            return None
    return body


def _os_words(error: OSError) -> str:
    return (
        os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "connection failed"
    )
