"""Who may ask the server: by which name, with which token, and from which page.

A browser sends a request to this machine for whatever page it shows. So the name that was asked for
has to be ours (a foreign name that was pointed to this machine is refused), everything needs the
token, and a page of another site may lead here but load nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from secrets import compare_digest, token_urlsafe
from typing import Final

from msgspec import Struct, field

LOCAL_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)

# Of every answer, errors too.
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def in_address(host: str) -> str:
    """A host as it is written in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


class PageSessions:
    """Browsers that came with a token. Each gets a cookie of its own: cookies of one port go to
    every server on this machine, so the token is in none. `once` is the token in the address that
    we open in a browser, where other programs of this machine may see it (as words of the browser's
    command): it works a single time.
    """

    def __init__(self, once: str | None = None) -> None:
        self._once = once
        self._cookies: set[str] = set()

    def takes(self, named: str) -> bool:
        """Whether this is the token that works once, and was not used."""
        return self._once is not None and _is_same(named, self._once)

    def knows(self, cookie: str) -> bool:
        return any(_is_same(cookie, known) for known in self._cookies)

    def begin(self, named: str) -> str:
        """The cookie of a browser that came with this token."""
        if self.takes(named):
            self._once = None
        cookie = token_urlsafe(24)
        self._cookies.add(cookie)
        return cookie


class Access(Struct, frozen=True, kw_only=True):
    """The rule. `names` are those that the server answers to, `token` is None where none is needed.
    Answers may be sent to `posts`.
    """

    token: str | None
    port: int
    names: tuple[str, ...]
    posts: tuple[str, ...] = ()
    sessions: PageSessions = field(default_factory=PageSessions)

    @property
    def cookie(self) -> str:
        """Named by port, because browsers give the cookies of one port to all of them."""
        return f"honestone-{self.port}"

    def refusal(
        self,
        method: str,
        headers: Mapping[str, str],
        cookies: Mapping[str, str],
        named: str,
        path: str = "/",
    ) -> int | None:
        """The status that refuses a request, or None. `headers` by name in small letters; `named`:
        the token in its address.
        """
        if headers.get("host", "").lower() not in self._addresses:
            return 421
        if self.token is not None and not self._has_token(headers, cookies, named):
            return 401
        if not _may_load(headers):
            return 403
        if method == "POST" and path in self.posts:
            return self._post_refusal(headers, cookies)
        return None if method in ("GET", "HEAD") else 405

    def _post_refusal(self, headers: Mapping[str, str], cookies: Mapping[str, str]) -> int | None:
        """Only our own page sends an answer: from our origin, with our cookie, in a form that other
        pages cannot send.
        """
        if headers.get("origin", "").lower() != f"http://{headers.get('host', '').lower()}":
            return 403
        if not self.has_cookie(cookies):
            return 401
        return (
            None
            if headers.get("content-type", "").partition(";")[0].strip().lower()
            == "application/json"
            else 415
        )

    @property
    def _addresses(self) -> set[str]:
        names = {in_address(name).lower() for name in (*LOCAL_NAMES, *self.names)}
        return {f"{name}:{self.port}" for name in names} | (names if self.port == 80 else set())

    def _has_token(
        self, headers: Mapping[str, str], cookies: Mapping[str, str], named: str
    ) -> bool:
        kind, _, carried = headers.get("authorization", "").partition(" ")
        is_bearer = kind.lower() == "bearer" and self.is_token(carried.strip())
        return is_bearer or self.opens(named) or self.has_cookie(cookies)

    def has_cookie(self, cookies: Mapping[str, str]) -> bool:
        """Of a browser that came with a token; a program may put the token itself there."""
        given = cookies.get(self.cookie, "")
        return self.is_token(given) or self.sessions.knows(given)

    def opens(self, named: str) -> bool:
        """Whether an address with this token leads in."""
        return self.is_token(named) or self.sessions.takes(named)

    def is_token(self, given: str) -> bool:
        return self.token is not None and _is_same(given, self.token)


def _is_same(given: str, known: str) -> bool:
    return compare_digest(given.encode("utf-8", "replace"), known.encode())


def _may_load(headers: Mapping[str, str]) -> bool:
    """Our own pages load what they need, and a person may come from anywhere; a program without a
    browser says nothing.
    """
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    return (
        headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest", "document") == "document"
    )
