"""Where runs are kept, as a person names it: a folder, or the address of a store that several
machines share.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from honestone.core.errors import StoreError
from honestone.core.json_value import late_pattern

POSTGRESQL: Final = "postgresql"
# Seconds that a command under way waits for a store that does not answer.
PATIENCE: Final = 600.0
# Seconds between two signs of life of a runner.
HEARTBEAT: Final = 10.0
SHORTEST_HEARTBEAT: Final = 0.5
_HINT: Final = "a shared store is named postgresql://USER@HOST:PORT/DATABASE; the password comes from PGPASSWORD or ~/.pgpass"
_KIND: Final = late_pattern(r"([A-Za-z][A-Za-z0-9+.-]+):(.*)", re.DOTALL)
# What PostgreSQL's own tools take too, and nobody calls a folder: `host=db password=...`,
# `//user:password@db/runs`.
_PARAMETERS: Final = late_pattern(
    r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service|connect_timeout|application_name|options|ssl\w+)\s*=",
    re.IGNORECASE,
)
_LOGIN: Final = late_pattern(r":[^/@]*@")
_SECRET: Final = ("password", "sslpassword", "passfile")


class StoreAddress(Struct, frozen=True, kw_only=True):
    """The address of a store that is not a folder. `kind` is `postgresql`, or the name of a store
    that a package adds.

    Only `shown` may be printed: `url` may hold a password.
    """

    kind: str
    url: str

    def __repr__(self) -> str:
        return f"StoreAddress(kind={self.kind!r})"

    @property
    def rest(self) -> str:
        """What comes after the name of the kind."""
        return self.url.partition(":")[2]

    @property
    def has_password(self) -> bool:
        return bool(self._secrets)

    @property
    def shown(self) -> str:
        """The address without its password, for messages."""
        if "://" not in self.url:
            return f"{self.kind}:..."
        scheme, user, _, host, query = _parts(self.url)
        pairs = [
            pair
            for pair in query.split("&")
            if pair and pair.partition("=")[0].lower() not in _SECRET
        ]
        return (
            f"{scheme}://{user}{'@' if user else ''}{host}{'?' if pairs else ''}{'&'.join(pairs)}"
        )

    def without_secrets(self, text: str) -> str:
        """The text with every form of the password replaced."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    @property
    def _secrets(self) -> list[str]:
        _, _, password, _, query = _parts(self.url)
        pairs = [pair.partition("=") for pair in query.split("&")]
        secrets = [password, *(value for key, _, value in pairs if key.lower() in _SECRET)]
        every = {one for secret in secrets for one in (secret, unquote(secret)) if one}
        return sorted(every, key=len, reverse=True)


def store_address(text: str) -> StoreAddress | None:
    """The address that a text is; None for the path of a folder. Raises StoreError for an address
    that cannot be one.
    """
    match = _KIND.fullmatch(text)
    if match is None:
        if _PARAMETERS.search(text) or _LOGIN.search(text):  # not printed: it may hold a password
            raise StoreError(
                "the address of the store cannot be read: it must begin with postgresql://",
                hint=_HINT,
            )
        return None
    kind = "postgresql" if match[1].lower() in ("postgres", POSTGRESQL) else match[1]
    address = StoreAddress(kind=kind, url=text)
    if kind == POSTGRESQL and not (match[2].startswith("//") and _has_good_port(text)):
        raise StoreError(
            "the address of the store cannot be read: it must begin with postgresql://", hint=_HINT
        )
    return address


def _parts(url: str) -> tuple[str, str, str, str, str]:
    """Scheme, user, password, host with path, and query. All before the last `@` may be a password
    that was not encoded.
    """
    scheme, _, rest = url.partition("://")
    before, _, after = rest.rpartition("@")
    user, _, password = before.partition(":")
    host, _, query = after.partition("?")
    return scheme, user, password, host, query


def _has_good_port(url: str) -> bool:
    """Several hosts, each with a port, are separated by commas."""
    hosts = _parts(url)[3].partition("/")[0].split(",")
    ports = [host.rpartition(":")[2] for host in hosts if ":" in host and not host.endswith("]")]
    return all(
        not port or (port.isdecimal() and port.isascii() and 0 < int(port) < 65536)
        for port in ports
    )
