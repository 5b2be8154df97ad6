"""The port of a server and the address that leads to it. Nothing of what serves is loaded here, so that
a person has the address at once.
"""

from __future__ import annotations

import errno
import socket
from secrets import token_urlsafe
from typing import Final

from msgspec import Struct

from honestone.core.errors import UsageError
from honestone.view.access import Access, PageSessions, in_address, is_loopback

PORT: Final = 7410
_TRIED: Final = 100  # ports after the usual one


class ViewOptions(Struct, frozen=True, kw_only=True):
    """`port` None is the usual one, or the next that is free; 0 is any. `names`: further names that
    the server answers to.
    """

    host: str = "127.0.0.1"
    port: int | None = None
    names: tuple[str, ...] = ()
    needs_token: bool = True


class Address(Struct, frozen=True, kw_only=True):
    """Where the server is; `url` holds the token. `opens` is the same for a browser that this
    program starts, with a token that works once.
    """

    url: str
    opens: str
    host: str
    port: int
    token: str | None


class Listening:
    """A port that listens from now on: a browser that connects before the server runs waits for it.
    The `url` of the `address` is that of the path `start`.

    Raises UsageError for an address that cannot be used, and for one beyond this machine without a
    token.
    """

    def __init__(self, options: ViewOptions, start: str = "/") -> None:
        if not options.needs_token and not is_loopback(options.host):
            raise UsageError(
                f"--no-token with --host {options.host}: anybody in the network could read the store without a token",
                hint="leave --no-token out, or serve on 127.0.0.1 and reach it through ssh -L",
            )
        self.socket = _listen(options)
        port = int(self.socket.getsockname()[1])
        token = token_urlsafe(24) if options.needs_token else None
        base = f"http://{in_address(_reached(options.host))}:{port}{start}"
        self._once = token_urlsafe(24) if options.needs_token else None
        self._names = (options.host, *options.names)
        url, opens = (base if one is None else f"{base}?token={one}" for one in (token, self._once))
        self.address = Address(url=url, opens=opens, host=options.host, port=port, token=token)

    def access(self, posts: tuple[str, ...]) -> Access:
        """Who may ask at this address, and send answers to `posts`."""
        return Access(
            token=self.address.token,
            port=self.address.port,
            names=self._names,
            posts=posts,
            sessions=PageSessions(self._once),
        )


def _reached(host: str) -> str:
    """Every address of this machine is none that a browser can open."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


def _listen(options: ViewOptions) -> socket.socket:
    first = PORT if options.port is None else options.port
    if not 0 <= first <= 65535:
        raise UsageError(f"`port` must be 0 to 65535, not {first}")
    for port in range(first, first + (_TRIED if options.port is None else 1)):
        try:
            return _bound(options.host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise UsageError(
                    f"cannot listen on {options.host}:{port}: {error.strerror or error}"
                ) from None
    raise UsageError(
        f"port {first} is in use", hint="name another port, or none: then one is chosen"
    )


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
        made.listen(128)
    except BaseException:
        made.close()
        raise
    return made
