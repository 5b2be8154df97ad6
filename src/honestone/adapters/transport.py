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
import ipaddress
import json
import os
import re
import time
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from honestone import __version__
from honestone.adapters.machine import key_in
from honestone.adapters.turns import Turns
from honestone.core.errors import UsageError
from honestone.core.json_value import parsed_json
from honestone.core.judging.needs import NO_NEEDS, KeyNeed, MachineNeeds
from honestone.ports import CallFailed
from honestone.system.loose_json import Table, one_line, tables

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")

# Far above any reply that a length limit allows, far below what could fill the memory.
MAX_REPLY_BYTES: Final = 16_000_000

# How much of a server's error text is shown.
MAX_WORDS: Final = 300

CONNECT_SECONDS: Final = 10.0

_RETRYABLE_BELOW_500: Final = frozenset({408, 409, 425, 429})
_HOPELESS_ABOVE_500: Final = frozenset({501, 505})
_NO_CREDIT: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
)
_CREDIT_WORDS: Final = re.compile(
    r"insufficient[_ ](?:quota|credit|balance|funds)|credit balance|billing|(?:out of|no|more|purchase|add|buy) credits?\b"
    r"|top[- ]up|\bquota\b",
    re.I,
)
# A limit that passes by itself.
_A_WINDOW: Final = re.compile(
    r"\bper[ -_](?:second|minute|hour|day)|\b[rt]p[md]\b|(?:try|retry)[\w ]{0,20} in [\d.]+ ?m?s",
    re.I,
)

_OVERFLOW: Final = re.compile(
    r"context[_ ](?:length|window|size|limit)|maximum context|(?:prompt|input|request) (?:is )?too (?:long|large)|too many (?:input )?tokens"
    r"|(?:input|prompt)[\w ]{0,12} token[\w ]{0,12} exceed|exceeds? the (?:maximum|model'?s?|available) (?:number of )?(?:input )?(?:tokens|context)",
    re.I,
)
_FILTERED: Final = re.compile(
    r"content[_ ]?(?:filter|management policy)|responsible_?ai_?policy", re.I
)
SHOW_PARTS: Final = "show it parts with --pack head or --pack outline, or leave files out"
OTHER_ACCOUNT: Final = "add credit to that account, or name another judge (--judge NAME)"
# A key at least this long cannot be an ordinary word, so it is taken out of replies as well as
# errors.
_LONG_KEY: Final = 12


@dataclass(frozen=True, slots=True)
class KeyVariable:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One server as one provider speaks it. `timeout` is for a whole call, from the first byte out
    to
    the last byte in.

    `concurrency` is how many calls to it may be in the air at a time; waiting for a turn is not
    part of the call.
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
    is_own: bool = False
    max_bytes: int = MAX_REPLY_BYTES


@dataclass(frozen=True, slots=True)
class Answer:
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


class Transport:
    """A pool of connections for one event loop. `holders` are the models that use it; the last one
    closes it.
    """

    def __init__(self) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300),
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
        self, endpoint: Endpoint, path: str, payload: Table, *, model: str
    ) -> dict[str, Any]:
        """The JSON object that the server answered with. Raises CallFailed; HttpRefused for a 400
        or 422.
        """
        variable, key = endpoint.key.read()
        turns = self._turns_at(endpoint)
        async with turns.turn(endpoint.concurrency, endpoint.timeout) as turn:
            began = time.monotonic()
            try:
                got = await self.call("POST", endpoint, path, _encode(payload))
            except TimedOut as failed:
                if not turns.timed_out(turn):
                    raise
                raise CallFailed(
                    f"{failed.reason}, with others under way", retryable=True, retry_after=0.0
                ) from None
            if got.status == 200:
                turns.answered(turn, time.monotonic() - began)
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
    ) -> Answer:
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
        if len(key) >= _LONG_KEY:
            return Answer(got.status, got.headers, without_key(got.body, key))
        return got

    async def get(self, endpoint: Endpoint, path: str) -> Answer | None:
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
    ) -> Answer | CallFailed:
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
    ) -> Answer | CallFailed:
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
            return Answer(
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
    """From now on what this loop's last holder lets go of stays open, until `close_kept`."""
    _keeping.add(loop)


async def close_lingering() -> None:
    loop = asyncio.get_running_loop()
    _keeping.discard(loop)
    transport = _transports.pop(loop, None)
    if transport is not None and not transport.closed:
        await transport.close()


# ------------------------------------------------------------------------------------------------------
# reading answers


def read_answer(
    answer: Answer, endpoint: Endpoint, *, model: str, variable: str, key: str
) -> dict[str, Any] | CallFailed:
    """An answer's JSON object, or why it is none. Pure."""
    if answer.status != 200:
        return failure_of(answer, endpoint, model=model, variable=variable, key=key)
    where = host_of(endpoint.base_url)
    if not answer.body.strip():
        return CallFailed(f"{where} answered with nothing at all", retryable=True)
    if is_html(answer):
        return CallFailed(
            f"{where} answered with a web page instead of JSON; is `base_url` right?",
            retryable=True,
        )
    found = events_of(answer)
    value = {EVENTS: found} if found else decode(answer.body)
    if not isinstance(value, dict):
        words = clean(answer.body[:2000].decode(errors="replace"), key, limit=80)
        return CallFailed(
            f"{where} answered with something that is not a whole JSON object: {words}",
            retryable=True,
        )
    # Some gateways send the error of the provider behind them with status 200.
    failed = next(
        (one for one in (value, *found) if isinstance(one.get("error"), dict) and one["error"]),
        None,
    )
    if failed is not None:
        code = failed["error"].get("code")
        status = int(code) if str(code).isdigit() and 400 <= int(code) < 600 else 500
        body = _encode(failed) if found else answer.body
        return failure_of(
            Answer(status, answer.headers, body), endpoint, model=model, variable=variable, key=key
        )
    return value


# The key under which a streamed answer has its events: JSON objects in the order in which they
# came.
EVENTS: Final = "honestone.events"


def events_of(answer: Answer) -> list[dict[str, Any]]:
    """The events of a streamed answer (`data:` lines); empty where it is not one. The line `[DONE]`
    is the event {}.
    """
    if not re.match(rb"\s*(?:(?:event|data|id|retry):|:)", answer.body[:200]):
        return []
    found = []
    for event in re.split(rb"\r?\n\r?\n", answer.body):
        lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
        if not lines:
            continue
        value = {} if lines == [b"[DONE]"] else decode(b"\n".join(lines))
        if isinstance(value, dict):
            found.append(value)
    return found


def failure_of(
    answer: Answer, endpoint: Endpoint, *, model: str, variable: str, key: str
) -> CallFailed:
    """What an answer other than 200 means, in words that say what to do. Pure but for the clock of
    an HTTP date.
    """
    status, where = answer.status, host_of(endpoint.base_url)
    details = error_details(answer)
    words = clean(details.message, key) or "no reason given"
    if 300 <= status < 400:
        target = clean(answer.headers.get("location", "elsewhere"), key, limit=120)
        return CallFailed(
            f"{where} redirects to {target}; redirects are not followed, so set `base_url` to where it leads"
        )
    known = _known_trouble(details, words, status, variable or where, model)
    if known is not None:
        return known
    if status in (401, 403) or (status == 400 and details.is_about_the_key):
        if variable:
            return CallFailed(f"{variable} was refused ({status}): {words}")
        return CallFailed(
            f"{where} wants a key ({status}): {words}; name its variable with `api_key_env`"
        )
    if status == 407:
        return CallFailed(f"the proxy on the way to {where} wants a login ({status})")
    if status in (400, 404, 422) and details.is_about_the_model(model, status):
        return CallFailed(
            f"no such model: {clean(model, key, limit=100)} at {where} ({status}): {words}"
        )
    if status == 404:
        return CallFailed(f"{where} has no such address ({status}): {words}; is `base_url` right?")
    if status == 413:
        return CallFailed(
            f"the prompt is too large for {where} ({status}): {words}", hint=SHOW_PARTS
        )
    if status in (400, 422):
        return HttpRefused(
            f"{where} refused the request ({status}): {words}", f"{details.param} {words}"
        )
    if status in _RETRYABLE_BELOW_500 or (status >= 500 and status not in _HOPELESS_ABOVE_500):
        kind = "is in trouble" if status >= 500 else "gave up"
        if status == 429:
            kind = "asks to slow down"
        wait = retry_after(answer.headers, time.time())
        return CallFailed(
            f"{where} {kind} ({status}): {words}",
            retryable=True,
            retry_after=details.wait if wait is None else wait,
        )
    return CallFailed(f"{where} answered {status}: {words}")


def _known_trouble(
    details: ErrorDetails, words: str, status: int, account: str, model: str
) -> CallFailed | None:
    """What has an answer of its own, whatever gateway it came through: no credit, a prompt that is
    too long, a filter.
    """
    # A limit by the minute uses the same words; it comes with a wait, or names its window.
    passes = details.wait is not None or _A_WINDOW.search(details.message)
    is_broke = status == 402 or details.code in _NO_CREDIT
    may_be_broke = status == 429 or (
        status in (400, 403) and "credit balance" in details.message.casefold()
    )
    if is_broke or (
        may_be_broke and not passes and _CREDIT_WORDS.search(f"{details.code} {details.message}")
    ):
        return CallFailed(
            f"the account behind {account} has no credit left ({status}): {words}",
            hint=OTHER_ACCOUNT,
        )
    if status not in (400, 413, 422):
        return None
    if _FILTERED.search(f"{details.code} {details.message}"):
        from honestone.core.reading.stops import ANOTHER_JUDGE

        return CallFailed(f"content filter: {words}", hint=ANOTHER_JUDGE)
    return _overflow(details, words, status, model)


def _overflow(details: ErrorDetails, words: str, status: int, model: str) -> CallFailed | None:
    """A prompt that is longer than the model's context, with both sizes where the server names
    them.
    """
    if not _OVERFLOW.search(f"{details.code} {details.message}"):
        return None
    # Names of models hold dates and sizes of their own.
    plain = re.sub(r"\b\w[\w.]*(?:-[\w.]+)+", "", details.message).replace(",", "")
    sizes = sorted({int(number) for number in re.findall(r"\b\d{3,9}\b", plain)})
    if len(sizes) < 2:
        reason = f"the prompt does not fit into the context of {model} ({status}): {words}"
        return None if status == 413 else CallFailed(reason, hint=SHOW_PARTS)
    most, sent = sizes[-2:]
    return CallFailed(
        f"the prompt does not fit into the context of {model}: {sent} tokens, its limit is {most} ({status}): {words}",
        hint=f"{SHOW_PARTS}, and set max_input_tokens = {most} for this judge in honestone.toml",
    )


@dataclass(frozen=True, slots=True)
class ErrorDetails:
    """A server's own words about what went wrong, in whichever of the usual shapes they came."""

    message: str = ""
    code: str = ""
    param: str = ""
    is_json: bool = False
    wait: float | None = None

    @property
    def is_about_the_key(self) -> bool:
        return (
            "api_key_invalid" in self.code.casefold()
            or "api key not valid" in self.message.casefold()
        )

    def is_about_the_model(self, model: str, status: int) -> bool:
        if not self.is_json:
            return False
        text = self.message.casefold()
        if self.code in ("model_not_found", "invalid_model", "unknown_model"):
            return True
        names_it = "model" in text or model.casefold() in text
        if status == 404:
            return names_it
        return names_it and bool(
            re.search(
                r"not exist|not found|no such|unknown model|not a valid model|invalid model", text
            )
        )


def error_details(answer: Answer) -> ErrorDetails:
    value = None if is_html(answer) else decode(answer.body)
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, dict):
        page = is_html(answer)
        return ErrorDetails(
            message="a web page" if page else answer.body[:2000].decode(errors="replace")
        )
    error = value.get("error", value)
    if not isinstance(error, dict):
        return ErrorDetails(message=str(error), is_json=True)
    message = (
        error.get("message")
        or error.get("detail")
        or value.get("detail")
        or value.get("message")
        or ""
    )
    details = tables(error.get("details"))
    reasons = [str(d["reason"]) for d in details if "reason" in d]
    waits = [w for w in (_google_wait(d.get("retryDelay")) for d in details) if w is not None]
    return ErrorDetails(
        message=message if isinstance(message, str) else json.dumps(message)[:2000],
        code=(reasons or [str(error.get("code") or error.get("type") or "")])[0],
        param=str(error.get("param") or ""),
        is_json=bool(message) or "error" in value,
        wait=max(waits, default=None),
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """How long the server asks to wait: milliseconds, seconds or a date. None when it does not say,
    or not sensibly.
    """
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    header = headers.get("retry-after")
    seconds = _number(header)
    if seconds is not None or header is None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        # The server's own clock decides how far away its date is, when it tells it.
        start = parsedate_to_datetime(headers["date"]).timestamp() if "date" in headers else now
        return max(0.0, parsedate_to_datetime(header).timestamp() - start)
    except (ValueError, TypeError, OverflowError):
        return None


def is_html(answer: Answer) -> bool:
    return (
        "text/html" in answer.headers.get("content-type", "").lower()
        or answer.body[:300].lstrip()[:1] == b"<"
    )


def decode(body: bytes) -> Any:
    """The JSON value of a body; None when it is not JSON (a bare null does not count either), or
    names a key twice.
    """
    return parsed_json(body)


def clean(text: str, key: str, *, limit: int = MAX_WORDS) -> str:
    """A server's words as one printable line: no key, no control characters, clipped."""
    if key:
        text = without_key(text.encode("utf-8", "surrogatepass"), key).decode(
            "utf-8", "surrogatepass"
        )
    return one_line(text, limit)


# One character of ASCII in the escapes of JSON (also of JSON in a text of JSON), of an address, or
# of HTML.
_ESCAPED: Final = re.compile(
    rb"\\+u00([0-7][0-9a-f])|%([0-7][0-9a-f])|&#x0{0,4}([0-7][0-9a-f]);|\\+([\"/])", re.IGNORECASE
)
_HIDDEN_KEY: Final = b"[key]"
# Of a longer key only the key itself is looked for, and not each way of writing it.
_LONGEST_KEY: Final = 4_000


def without_key(text: bytes, key: str) -> bytes:
    """What a server sent, without the key that it was sent: in whatever case, and with each
    character as it is or escaped.
    """
    plain = key.encode("utf-8", "surrogatepass")
    if len(plain) <= _LONGEST_KEY and plain.lower() in _ESCAPED.sub(_character, text).lower():
        ways = (_ways_of(byte) for byte in plain)
        text = re.sub(b"".join(ways), _HIDDEN_KEY, text, flags=re.IGNORECASE)
    coded = _in_base64(plain) if len(plain) >= _LONG_KEY else plain
    for form in {
        plain,
        coded,
        urllib.parse.quote(plain, safe="").encode(),
        json.dumps(key)[1:-1].encode(),
    }:
        text = text.replace(form, _HIDDEN_KEY)
    return text


def _in_base64(data: bytes) -> bytes:
    """As far as it does not depend on what comes after it."""
    import base64

    return base64.b64encode(data[: len(data) // 3 * 3])


def _character(escaped: re.Match[bytes]) -> bytes:
    return escaped[4] or bytes([int(escaped[1] or escaped[2] or escaped[3], 16)])


def _ways_of(byte: int) -> bytes:
    if byte > 0x7F:
        return re.escape(bytes([byte]))
    both = {ord(chr(byte).lower()), ord(chr(byte).upper())}
    codes = b"|".join(f"{one:02x}".encode() for one in sorted(both))
    return rb"(?:\\+u00(?:%b)|%%(?:%b)|&#x0{0,4}(?:%b);|\\*%b)" % (
        codes,
        codes,
        codes,
        re.escape(bytes([byte])),
    )


def host_of(base_url: str) -> str:
    return urllib.parse.urlsplit(base_url).netloc or base_url


def is_loopback(base_url: str) -> bool:
    host = urllib.parse.urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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


def _encode(payload: Table) -> bytes:
    import msgspec

    return msgspec.json.encode(payload)


def key_header(auth: str, key: str) -> dict[str, str]:
    if not key:
        return {}
    return {auth: f"Bearer {key}" if auth == "authorization" else key}


def _os_words(error: OSError) -> str:
    return (
        os.strerror(error.errno).lower() if error.errno and error.errno > 0 else "connection failed"
    )


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e9 else None


def _google_wait(text: Any) -> float | None:
    return _number(text.removesuffix("s")) if isinstance(text, str) else None
