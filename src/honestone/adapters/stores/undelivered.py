"""Replies that were paid for while a shared store was away: on this machine's disk until the store
has them.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.adapters.stores.stored import ReplyRow
from honestone.system.files import write_atomically

_SUFFIX: Final = ".json"


class _Waiting(Struct):
    """Rows that a write is waiting with, the run that they are for, and the file that holds them
    meanwhile.
    """

    file: Path
    rows: Sequence[ReplyRow]
    run: str | None
    is_written: bool = False

    def write(self) -> None:
        plain = [
            [key, judge, at, base64.b64encode(data).decode(), self.run]
            for key, judge, at, data in self.rows
        ]
        with suppress(OSError):  # a full disk: they wait in memory alone
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(self.file, json.dumps(plain).encode(), private=True)
            self.is_written = True

    def remove(self) -> None:
        if self.is_written:
            self.file.unlink(missing_ok=True)


class Undelivered:
    """Those of one store, in `folder`, a file for each write."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, rows: Sequence[ReplyRow], run: str | None) -> _Waiting:
        """Rows of `replies`. Nothing is written until it is asked for."""
        return _Waiting(self._folder / f"{secrets.token_hex(8)}{_SUFFIX}", rows, run)

    def deliver(self, add: Callable[[Sequence[ReplyRow], str | None], None]) -> None:
        """Adds what a process that ended left here. A file that cannot be read is left where it is."""
        for file in sorted(self._folder.glob(f"*{_SUFFIX}")) if self._folder.is_dir() else ():
            with suppress(OSError, ValueError):
                plain = json.loads(file.read_bytes())
                rows = [
                    (key, judge, at, base64.b64decode(data)) for key, judge, at, data, *_ in plain
                ]
                add(rows, next((row[4] for row in plain if len(row) > 4), None))
                file.unlink(missing_ok=True)
