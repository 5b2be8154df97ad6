"""What a server answers with: pages, JSON, and the few files that pages need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from honestone.report.pages.html_page import page_part
from honestone.report.pages.view_html import lines_html

HTML: Final = "text/html; charset=utf-8"
JSON: Final = "application/json; charset=utf-8"

_STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "view.js": "text/javascript; charset=utf-8",
    "live.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "label.css": "text/css; charset=utf-8",
    "label.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_REFUSED: Final = {
    400: "This request cannot be read",
    401: "This server asks for its token: open the address that the command printed",
    403: "Another site asked for this",
    404: "There is nothing at this address",
    405: "This server takes no such request",
    413: "This is more than an answer",
    415: "This server reads JSON",
    421: "This server does not answer to that name",
    500: "An error in honestone itself; the terminal of the command names it",
}

Query: TypeAlias = Mapping[str, str]


class Served(Struct, frozen=True, kw_only=True):
    body: bytes
    status: int = 200
    kind: str = HTML


class Site(Protocol):
    """What a server shows, and takes. Called from several threads."""

    @property
    def posts(self) -> tuple[str, ...]:
        """The paths that take an answer."""
        ...

    def answer(self, path: str, query: Query) -> Served: ...

    def take(self, path: str, sent: bytes) -> Served: ...


def whole_number(text: str) -> int | None:
    """A number in an address; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None


def page(text: str, status: int = 200) -> Served:
    return Served(body=text.encode("utf-8", "backslashreplace"), status=status)


def as_json(document: object, status: int = 200) -> Served:
    values = msgspec.to_builtins(document, enc_hook=lambda raw: json.loads(bytes(raw)))
    return Served(body=json.dumps(values, allow_nan=False).encode(), status=status, kind=JSON)


def refused(status: int) -> Served:
    """A page without a word of what is shown elsewhere."""
    return page(
        lines_html(f"{status}: {_REFUSED.get(status, 'This request is refused')}", ()), status
    )


def static(name: str) -> Served:
    """A file that pages load."""
    if name not in _STATIC:
        return refused(404)
    return Served(body=page_part(name).encode(), kind=_STATIC[name])
