"""Which batches are under way, one small file each. No prompt and no reply is in it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from honestone.core.errors import StoreError
from honestone.system.files import write_below

# Replies of a batch can be fetched for 29 days (Anthropic) or 30 (OpenAI).
RETENTION_DAYS: Final = 28


class OpenBatch(Struct, frozen=True, kw_only=True):
    """A batch that is about to be sent, or has been (`id`), and whose replies have not all been
    handed on.

    `place` says whose it is: server, API and model. `mark` is our name of it, `since` its time in
    seconds since 1970, `size` how many requests it had, `asked` the digests of those that are still
    needed.
    """

    place: str
    mark: str
    since: float
    size: int
    asked: tuple[str, ...]
    id: str | None = None
    fresh: bool = False


class BatchLedger:
    """The files of `folder`, which is made with the first. Safe for several processes: each batch
    has its own file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self, place: str) -> list[OpenBatch]:
        """Those of one place, oldest first. What cannot be read is left out; what no server keeps
        any more is removed.
        """
        found = []
        for path in self.folder.glob("*.json"):
            try:
                batch = msgspec.json.decode(path.read_bytes(), type=OpenBatch)
            except (OSError, ValueError):  # msgspec's own errors are ValueErrors
                continue
            if batch.since < time.time() - RETENTION_DAYS * 86_400:
                self.forget(batch)
            elif batch.place == place:
                found.append(batch)
        return sorted(found, key=lambda one: (one.since, one.mark))

    def keep(self, batch: OpenBatch) -> None:
        """Raises StoreError when it cannot be written."""
        try:
            write_below(
                self.folder.parent,
                f"{self.folder.name}/{self._path(batch).name}",
                msgspec.json.encode(batch),
            )
        except OSError as error:
            raise StoreError(
                f"cannot write down a batch in {str(self.folder)!r}: {error.strerror or error}",
                hint="make the folder writable, or set HONESTONE_HOME to another one",
            ) from None

    def forget(self, batch: OpenBatch) -> None:
        with suppress(OSError):
            self._path(batch).unlink(missing_ok=True)

    def _path(self, batch: OpenBatch) -> Path:
        return self.folder / f"{batch.mark}.json"
