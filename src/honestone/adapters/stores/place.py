"""Where a store is: in a folder of this machine, or at an address that several machines share."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.core.record.store_address import PATIENCE, StoreAddress
from honestone.ports import RunOrigin

_NO_ORIGIN: Final = RunOrigin()


class StorePlace(Struct, frozen=True, kw_only=True):
    """`folder` is this machine's, for files that belong to runs; without an `address` it holds the
    store too. `origin` is recorded with new runs; `patience` is in seconds.
    """

    folder: Path
    address: StoreAddress | None = None
    origin: RunOrigin = _NO_ORIGIN
    patience: float = PATIENCE

    @property
    def shown(self) -> str:
        """The address without its password, for messages."""
        return str(self.folder) if self.address is None else self.address.shown
