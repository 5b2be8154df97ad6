"""What a person trusts outside of any checkout: settings files by digest, and hosts that may get a
key.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from honestone.core.errors import SettingsError
from honestone.system.files import write_atomically
from honestone.system.trust.person_folder import person_folder

HOSTS_VARIABLE: Final = "HONESTONE_ALLOW_HOSTS"


class Trust:
    """Whether a settings file, with the files next to it that its commands name (`words`), is as it
    was when a person trusted it.
    """

    def __init__(self, file: Path, words: Iterable[str], here: Path = Path("/")) -> None:
        self.file = file.resolve()
        self._words = tuple(words)
        self._here = here
        self._record = (
            person_folder("XDG_STATE_HOME", ".local/state")
            / hashlib.sha256(os.fsencode(self.file)).hexdigest()
        )

    @property
    def named(self) -> list[Path]:
        """A relative name is looked up from the folder that is worked in when it is run, so one
        that is there counts too.
        """
        places = dict.fromkeys((self.file.parent, self._here))
        paths = [place / os.path.expanduser(word) for place in places for word in self._words]
        return sorted({path.resolve() for path in paths if os.path.isfile(path)})

    @property
    def digest(self) -> str:
        digest = hashlib.sha256()
        for path in (self.file, *self.named):
            digest.update(os.fsencode(path) + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    @property
    def holds(self) -> bool:
        try:
            return self._record.read_text(encoding="utf-8") == self.digest
        except (OSError, ValueError):
            return False

    @property
    def is_on_record(self) -> bool:
        """Whether it was trusted, as it is now or as it was."""
        return self._record.is_file()

    def grant(self) -> None:
        self._record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(self._record, self.digest.encode())

    def revoke(self) -> bool:
        """Whether it had been trusted."""
        existed = self._record.exists()
        self._record.unlink(missing_ok=True)
        return existed


def host_of(url: str) -> str:
    """`name:port` of an address; empty when it has none."""
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.hostname}:{port}" if parts.hostname and port else ""


def is_same_server(url: str, other: str) -> bool:
    """Whether two addresses are one server, reached in one way: their schemes, names and ports are
    equal. What goes to a port by http is not encrypted, whatever port it is.
    """
    schemes = {urllib.parse.urlsplit(one).scheme for one in (url, other)}
    return len(schemes) == 1 and bool(host_of(url)) and host_of(url) == host_of(other)


def is_allowed(url: str, given: Sequence[str]) -> bool:
    """Whether a person named the host of this address: by --allow-host (`given`), in the
    environment, or in the settings of their own. A name without a port allows every port.
    """
    host = host_of(url)
    allowed = {
        one.strip().lower()
        for one in (*given, *os.environ.get(HOSTS_VARIABLE, "").split(","), *_own_hosts())
    }
    return bool(host) and (host in allowed or host.rpartition(":")[0] in allowed)


def _own_hosts() -> Iterator[str]:
    """`allow_hosts` and every `base_url` of `honestone.toml` in the person's configuration folder."""
    path = person_folder("XDG_CONFIG_HOME", ".config") / "honestone.toml"
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise SettingsError(f"your own settings cannot be read: {error}", place=str(path)) from None
    hosts = plain.get("allow_hosts", [])
    yield from (one for one in hosts if isinstance(one, str)) if isinstance(hosts, list) else ()
    for table in ("judges", "workers", "targets"):
        entries = plain.get(table)
        for entry in entries.values() if isinstance(entries, dict) else ():
            url = entry.get("base_url") if isinstance(entry, dict) else None
            if isinstance(url, str):
                yield host_of(url)
