"""Who may ask the server: by which name, with which token, and from which page.

A browser sends a request to this machine for whatever page it shows. So the name that was asked for has to be ours (a foreign name
that was pointed to this machine is refused), everything needs the token, and a page of another site may lead here but load nothing.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from secrets import compare_digest
from typing import Final

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The rule. `names` are those that the server answers to, `token` is None where none is needed. Answers may be sent to `posts`."""

    token: str | None
    port: int
    names: tuple[str, ...]
    posts: tuple[str, ...] = ()

    @property
    def cookie(self) -> str:
        """Named by port, because browsers give the cookies of one port to all of them."""
        return f"honestone-{self.port}"

    def refusal(
        self, method: str, headers: Mapping[str, str], cookies: Mapping[str, str], named: str, path: str = "/"
    ) -> int | None:
        """The status that refuses a request, or None. `headers` by name in small letters; `named`: the token in its address."""
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
        """Only our own page sends an answer: from our origin, with our cookie, in a form that other pages cannot send."""
        if headers.get("origin", "").lower() != f"http://{headers.get('host', '').lower()}":
            return 403
        if not self.is_token(cookies.get(self.cookie, "")):
            return 401
        return None if headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json" else 415

    @property
    def _addresses(self) -> set[str]:
        names = {in_address(name).lower() for name in (*LOCAL_NAMES, *self.names)}
        return {f"{name}:{self.port}" for name in names} | (names if self.port == 80 else set())

    def _has_token(self, headers: Mapping[str, str], cookies: Mapping[str, str], named: str) -> bool:
        kind, _, carried = headers.get("authorization", "").partition(" ")
        given = (named, cookies.get(self.cookie, ""), carried.strip() if kind.lower() == "bearer" else "")
        return any(self.is_token(one) for one in given)

    def is_token(self, given: str) -> bool:
        return self.token is not None and compare_digest(given.encode("utf-8", "replace"), self.token.encode())


def _may_load(headers: Mapping[str, str]) -> bool:
    """Our own pages load what they need, and a person may come from anywhere; a program without a browser says nothing."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"
