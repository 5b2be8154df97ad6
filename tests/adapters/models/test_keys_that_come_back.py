"""A key that a server sends back is taken out of what it said, in whatever way it is written; a
proxy's login is never shown.
"""

from __future__ import annotations

import base64
import html
import json
import string
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.answers import clean, without_key
from honestone.adapters.transport import _proxy_for
from honestone.core.errors import UsageError
from honestone.ports import CallFailed

KEY = 'sk-Zq7/Zq7+Zq7"Zq7SECRETKEY'


def escaped(text: str, mask: int, form: str) -> str:
    """Some of the characters written as `form` says."""
    return "".join(form.format(ord(c)) if mask >> place & 1 else c for place, c in enumerate(text))


@given(
    st.text(string.ascii_letters + string.digits + '-_/+=."', min_size=12, max_size=40),
    st.integers(0, 2**40 - 1),
    st.sampled_from(["\\u{:04x}", "\\u{:04X}", "\\\\u{:04x}", "%{:02X}", "%{:02x}", "&#x{:x};"]),
)
def test_a_key_is_found_however_it_is_escaped(key: str, mask: int, form: str) -> None:
    """Each character as it is or escaped; in JSON, in JSON inside JSON, in an address and in HTML."""
    for way in (escaped(key, mask, form), escaped(key.upper(), mask, form)):
        found = without_key(f"a {way} b".encode(), key)
        assert found == b"a [key] b", found
        assert clean(f"a {way} b", key) == "a [key] b"


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        json.dumps(KEY)[1:-1],
        json.dumps(json.dumps(KEY))[3:-3],
        urllib.parse.quote(KEY, safe=""),
        KEY.replace("/", "\\/"),
        base64.b64encode(KEY[:27].encode()).decode(),
        html.escape(KEY).replace("&quot;", '"'),
    ],
)
def test_other_ways_to_write_a_key(written: str) -> None:
    """What a server's library makes of it."""
    assert b"[key]" in without_key(written.encode(), KEY) and KEY[3:20].encode() not in without_key(
        written.encode(), KEY
    )


@given(st.binary(max_size=200))
def test_what_holds_no_key_stays_as_it_is(body: bytes) -> None:
    """Byte for byte, also with escapes in it."""
    assert (
        without_key(body + b'{"a": "\\u0041\\u00e9 %41"}', KEY)
        == body + b'{"a": "\\u0041\\u00e9 %41"}'
    )


@pytest.mark.parametrize(
    "named",
    [
        "http://u:pgS3cretPw77@[bad",
        "http://u:pgS3cretPw77@127.0.0.1:port",
        "http://u:pgS3cretPw77@127.0.0.1:99999999",
        "http://u:pgS3cretPw77@",
        "u:pgS3cretPw77@[::1",
        "http://u:pgS3cretPw77@h ost:1",
        "http://u:pgS3cretPw77]@[:1",
    ],
)
def test_a_proxy_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    """Is a mistake of the person who set it, and said without a word of the address."""
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", named)
    with pytest.raises(UsageError, match="proxy") as raised:
        _proxy_for("http://example.invalid/v1")
    assert "pgS3cretPw77" not in f"{raised.value} {raised.value.hint}"


def test_a_proxy_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kind is said, and not its login."""
    monkeypatch.setenv("http_proxy", "socks5://u:pgS3cretPw77@127.0.0.1:1")
    with pytest.raises(CallFailed, match="socks5") as raised:
        _proxy_for("http://example.invalid/v1")
    assert "pgS3cretPw77" not in raised.value.reason
