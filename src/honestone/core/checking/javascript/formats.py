"""The formats of JSON Schema as ajv-formats, the library that promptfoo uses, decides them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from math import isfinite
from typing import Final, TypeGuard

from honestone.core.json_value import is_number, late_pattern

_DATE: Final = late_pattern(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = late_pattern(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?)(?:(z)|([+-])([0-9]{2})(?::?([0-9]{2}))?)?", re.I
)
# JavaScript's white space, and the letter between a date and its time.
_BETWEEN: Final = late_pattern(
    "[tT\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]"
)
_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP_DAYS: Final = 29
_INT32: Final = 2**31


def _is_date(text: str) -> bool:
    match = _DATE.fullmatch(text)
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    if not 1 <= month <= len(_DAYS):
        return False
    is_leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= (_LEAP_DAYS if is_leap else _DAYS[month - 1])


def _is_time(text: str, *, needs_zone: bool = True) -> bool:
    """Second 60 is one at the end of a day in UTC only."""
    match = _TIME.fullmatch(text)
    if match is None:
        return False
    hour, minute, second = int(match[1]), int(match[2]), float(match[3])
    sign = -1 if match[5] == "-" else 1
    zone_hour, zone_minute = int(match[6] or 0), int(match[7] or 0)
    has_zone = match[4] is not None or match[5] is not None
    if zone_hour > 23 or zone_minute > 59 or (needs_zone and not has_zone):
        return False
    if hour <= 23 and minute <= 59 and second < 60:
        return True
    utc_minute = minute - zone_minute * sign
    utc_hour = hour - zone_hour * sign - (utc_minute < 0)
    return utc_hour in (23, -1) and utc_minute in (59, -1) and second < 61


def _is_date_time(text: str, *, needs_zone: bool = True) -> bool:
    parts = _BETWEEN.split(text)
    return len(parts) == 2 and _is_date(parts[0]) and _is_time(parts[1], needs_zone=needs_zone)


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True


def _is_ipv6(text: str) -> bool:
    if "%" in text:
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _rfc_3986(quote: str, *, is_reference: bool) -> re.Pattern[str]:
    """A URI, or a reference to one. The library lets a `quote` through in names and paths, and one
    slash before a host.
    """
    escaped, plain = "%[0-9a-f]{2}", r"a-z0-9\-._~!$&'()*+,;="
    segment = f"(?:[{plain}{quote}:@]|{escaped})"
    tail = f"(?:[{plain}{quote}:@/?]|{escaped})*"
    literal = rf"\[(?:(?P<six>[0-9a-f:.]+)|v[0-9a-f]+\.[{plain}:]+)\]"
    host = f"(?:{literal}|(?:[{plain}{quote}]|{escaped})*)"
    authority = f"/?/(?:(?:[{plain}:]|{escaped})*@)?{host}(?::[0-9]*)?(?:/{segment}*)*"
    path = f"/(?:{segment}+(?:/{segment}*)*)?|{segment}+(?:/{segment}*)*"
    begins, may_miss = r"[a-z][a-z0-9+\-.]*:", "?" if is_reference else ""
    whole = rf"(?:{begins}){may_miss}(?:{authority}|{path}){may_miss}(?:\?{tail})?(?:#{tail})?"
    return re.compile(whole, re.IGNORECASE | re.ASCII)


_URI: Final = _rfc_3986("", is_reference=False)
_REFERENCE: Final = _rfc_3986('"', is_reference=True)


def _is_reference(text: str, form: re.Pattern[str]) -> bool:
    match = form.fullmatch(text)
    return match is not None and (match["six"] is None or _is_ipv6(match["six"]))


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


_ATOM: Final = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_SHORT_LABEL: Final = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_POINTER: Final = "(?:/(?:[^~/]|~0|~1)*)*"
_BASE64: Final = late_pattern(
    "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?(?![^\n\r\u2028\u2029])"
)
_LINE_ENDS: Final = late_pattern("[\n\r\u2028\u2029]")


def _is_base64(text: str) -> bool:
    """One line of the text is enough for the library."""
    return any(_BASE64.match(line) for line in _LINE_ENDS.split(text))


_DURATION: Final = late_pattern(
    "P([0-9]+Y)?([0-9]+M)?([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+S)?)?|P[0-9]+W"
)


def _is_duration(text: str) -> bool:
    return _DURATION.fullmatch(text) is not None and text[-1] not in "PT"


# What a text of each format must be; formats that say nothing are always met.
OF_TEXTS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date": _is_date,
    "time": _is_time,
    "date-time": _is_date_time,
    "iso-time": lambda text: _is_time(text, needs_zone=False),
    "iso-date-time": lambda text: _is_date_time(text, needs_zone=False),
    "duration": _is_duration,
    "uri": lambda text: ("/" in text or ":" in text) and _is_reference(text, _URI),
    "uri-reference": lambda text: _is_reference(text, _REFERENCE),
    "email": _matches(rf"{_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+{_LABEL}"),
    "hostname": _matches(rf"(?=.{{1,253}}\.?\Z){_SHORT_LABEL}(?:\.{_SHORT_LABEL})*\.?"),
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "uuid": _matches("(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    "json-pointer": _matches(_POINTER),
    "relative-json-pointer": _matches(f"(?:0|[1-9][0-9]*)(?:#|{_POINTER})"),
    "byte": _is_base64,
    "password": lambda text: True,
    "binary": lambda text: True,
}
OF_NUMBERS: Final[Mapping[str, Callable[[float], bool]]] = {
    "int32": lambda value: value == int(value) and -_INT32 <= value < _INT32,
    "int64": lambda value: value == int(value),
    "float": lambda value: True,
    "double": lambda value: True,
}


def is_javascript_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number for the library: neither infinite nor beyond what JavaScript
    holds.
    """
    if not is_number(value):
        return False
    try:
        return isfinite(value)
    except OverflowError:
        return False


def meets(value: object, name: str) -> bool:
    """Whether a value is of the format, which says nothing of values of other kinds."""
    if isinstance(value, str):
        return name not in OF_TEXTS or bool(OF_TEXTS[name](value))
    if is_javascript_number(value):
        return name not in OF_NUMBERS or OF_NUMBERS[name](value)
    return True
