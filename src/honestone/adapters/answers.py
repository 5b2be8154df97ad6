"""What a server answered, read without any call: its JSON, its events, or why there is none. A key
that a server sends back is taken out of it.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict

from msgspec import Struct

from honestone.adapters.endpoint import (
    Endpoint,
    EndpointAnswer,
    HttpRefused,
    host_of,
)
from honestone.core.json_value import Json, late_pattern, parsed_json
from honestone.ports import CallFailed
from honestone.system.loose_json import one_line, record, tables

# How much of a server's error text is shown.
MAX_WORDS: Final = 300

_RETRYABLE_BELOW_500: Final = frozenset({408, 409, 425, 429})
_HOPELESS_ABOVE_500: Final = frozenset({501, 505})

_NO_CREDIT: Final = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
)

_CREDIT_WORDS: Final = late_pattern(
    r"insufficient[_ ](?:quota|credit|balance|funds)|credit balance|billing|(?:out of|no|more|purchase|add|buy) credits?\b"
    r"|top[- ]up|\bquota\b",
    re.I,
)

# A limit that passes by itself.
_A_WINDOW: Final = late_pattern(
    r"\bper[ -_](?:second|minute|hour|day)|\b[rt]p[md]\b|(?:try|retry)[\w ]{0,20} in [\d.]+ ?m?s",
    re.I,
)

_OVERFLOW: Final = late_pattern(
    r"context[_ ](?:length|window|size|limit)|maximum context|(?:prompt|input|request) (?:is )?too (?:long|large)|too many (?:input )?tokens"
    r"|(?:input|prompt)[\w ]{0,12} token[\w ]{0,12} exceed|exceeds? the (?:maximum|model'?s?|available) (?:number of )?(?:input )?(?:tokens|context)",
    re.I,
)

_FILTERED: Final = late_pattern(
    r"content[_ ]?(?:filter|management policy)|responsible_?ai_?policy", re.I
)

SHOW_PARTS: Final = "show it parts with --pack head or --pack outline, or leave files out"
OTHER_ACCOUNT: Final = "add credit to that account, or name another judge (--judge NAME)"

# A key at least this long cannot be an ordinary word, so it is taken out of replies as well as
# errors.
LONG_KEY: Final = 12


class StreamedAnswer(Struct, frozen=True):
    """The events of a streamed answer: JSON objects in the order in which they came."""

    events: Sequence[Json]


class _ServerError(TypedDict, total=False):
    """What servers write of a call that failed."""

    code: Json


class _Failed(TypedDict, total=False):
    """An answer, or an event, that may hold an error."""

    error: Json


def read_answer(
    answer: EndpointAnswer, endpoint: Endpoint, *, model: str, variable: str, key: str
) -> Json | StreamedAnswer | CallFailed:
    """An answer's JSON object, its events where it is a stream, or why it is neither. Pure."""
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
    try:
        found = events_of(answer)
    except DamagedEvent:
        return CallFailed(f"{where} sent a damaged event in its stream", retryable=True)
    value = None if found else decode(answer.body)
    if not found and not isinstance(value, dict):
        words = clean(answer.body[:2000].decode(errors="replace"), key, limit=80)
        return CallFailed(
            f"{where} answered with something that is not a whole JSON object: {words}",
            retryable=True,
        )
    # Some gateways send the error of the provider behind them with status 200.
    errors = ((one, record(one, _Failed).get("error")) for one in found or [value])
    failed, error = next(
        ((one, error) for one, error in errors if isinstance(error, dict) and error), (None, None)
    )
    if error is not None:
        code = str(record(error, _ServerError).get("code"))
        status = int(code) if re.fullmatch("[45][0-9]{2}", code) else 500
        body = encode(failed) if found else answer.body
        return failure_of(
            EndpointAnswer(status, answer.headers, body),
            endpoint,
            model=model,
            variable=variable,
            key=key,
        )
    return StreamedAnswer(found) if found else value


# A line ends with any of these, an event with an empty line. Taken as a whole: the two characters
# of CRLF are one end.
_EVENT_END: Final = late_pattern(rb"(?>\r\n|\r|\n){2,}+")


class DamagedEvent(Exception):
    """An event in a stream that is not whole JSON: what it held is missing from the reply."""


def events_of(answer: EndpointAnswer) -> list[Json]:
    """The events of a streamed answer (`data:` lines), JSON objects; empty where it is not one. The line `[DONE]`
    is the event {}. An event that the end of the answer cuts is left out. Raises DamagedEvent.
    """
    body = answer.body.removeprefix(b"\xef\xbb\xbf")
    if not re.match(rb"\s*(?:(?:event|data|id|retry):|:)", body[:200]):
        return []
    *ended, rest = _EVENT_END.split(body)
    found: list[Json] = []
    for event in ended:
        found += _data_of(event)
    with contextlib.suppress(DamagedEvent):
        found += _data_of(rest)
    return found


def _data_of(event: bytes) -> list[Json]:
    """The object that the `data:` lines of an event are, or one for each line where a server leaves
    the empty line between two events out. What is not meant as an object is left out.
    """
    lines = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
    if isinstance(value := _event_value(b"\n".join(lines)), dict):
        return [value]
    values = [(line, _event_value(line)) for line in lines]
    if any(line.startswith(b"{") and not isinstance(value, dict) for line, value in values):
        raise DamagedEvent
    return [value for _, value in values if isinstance(value, dict)]


def _event_value(data: bytes) -> Json:
    return {} if data == b"[DONE]" else decode(data)


def failure_of(
    answer: EndpointAnswer, endpoint: Endpoint, *, model: str, variable: str, key: str
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
        from honestone.adapters.judges.stops import ANOTHER_JUDGE

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


class ErrorDetails(Struct, frozen=True):
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


def error_details(answer: EndpointAnswer) -> ErrorDetails:
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
    millis = _not_negative(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    header = headers.get("retry-after")
    seconds = _not_negative(header)
    if seconds is not None or header is None:
        return seconds
    from email.utils import parsedate_to_datetime

    try:
        # The server's own clock decides how far away its date is, when it tells it.
        start = parsedate_to_datetime(headers["date"]).timestamp() if "date" in headers else now
        return max(0.0, parsedate_to_datetime(header).timestamp() - start)
    except (ValueError, TypeError, OverflowError):
        return None


def is_html(answer: EndpointAnswer) -> bool:
    return (
        "text/html" in answer.headers.get("content-type", "").lower()
        or answer.body[:300].lstrip()[:1] == b"<"
    )


def decode(body: bytes) -> Json:
    """The JSON value of a body; None when it is not JSON (a bare null does not count either), names
    a key twice, or is nested more deeply than MOST_NESTED.
    """
    try:
        text = body.decode(json.detect_encoding(body), "surrogatepass")
    except UnicodeDecodeError:
        return None
    value = parsed_json(whole_characters(text))
    return None if is_too_deep(value, text) else value


# How deeply a value may be nested that is read, written and stored by functions that call
# themselves.
MOST_NESTED: Final = 200


def is_too_deep(value: Json, text: str) -> bool:
    """Whether the JSON value of a text is nested more deeply than MOST_NESTED."""
    if text.count("[") + text.count("{") <= MOST_NESTED:
        return False
    level: list[Json] = [value]
    for _ in range(MOST_NESTED + 1):
        level = [inner for one in level for inner in _inside(one)]
    return bool(level)


def _inside(value: Json) -> Iterable[Json]:
    """What an object or a list holds; nothing for another value."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


_HALF_ESCAPED: Final = late_pattern(r"\\u[dD][89a-fA-F]")

# The escapes of JSON in their order, so that the second of two backslashes begins none.
_ESCAPES: Final = late_pattern(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\."
)


def whole_characters(text: str) -> str:
    """The text of JSON with `?` for each half of a character (a lone surrogate, also as an escape),
    which no file, store or request can hold.
    """
    if not _may_hold_halves(text):
        return text
    return _ESCAPES.sub(
        lambda match: "?" if match[2] else match[0], text.encode(errors="replace").decode()
    )


def _may_hold_halves(text: str) -> bool:
    try:
        text.encode()  # a search for each of them takes ten times as long
    except UnicodeEncodeError:
        return True
    return _HALF_ESCAPED.search(text) is not None


def encode(payload: object) -> bytes:
    """The JSON of a request's body."""
    import msgspec

    return msgspec.json.encode(payload)


def clean(text: str, key: str, *, limit: int = MAX_WORDS) -> str:
    """A server's words as one printable line: no key, no control characters, clipped."""
    if key:
        text = without_key(text.encode("utf-8", "surrogatepass"), key).decode(
            "utf-8", "surrogatepass"
        )
    return one_line(text, limit)


# One character of ASCII in the escapes of JSON (also of JSON in a text of JSON), of an address, or
# of HTML.
_ESCAPED: Final = late_pattern(
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
    coded = _in_base64(plain) if len(plain) >= LONG_KEY else plain
    for form in {
        plain,
        coded,
        urllib.parse.quote(plain, safe="").encode(),
        json.dumps(key)[1:-1].encode(),
    }:
        text = text.replace(form, _HIDDEN_KEY)
    return text


def _in_base64(data: bytes) -> bytes:
    """The base64 form of data, as far as it does not depend on what follows the data."""
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


def _not_negative(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and 0 <= value < 1e9 else None


def _google_wait(text: object) -> float | None:
    return _not_negative(text.removesuffix("s")) if isinstance(text, str) else None
