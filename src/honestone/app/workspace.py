"""Where a use case works: a folder, its settings, its store. Passed in, so that several can work in one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.formats.settings import Settings, find_settings

if TYPE_CHECKING:
    from honestone.adapters.stores.sqlite import SqliteStore

STORE = ".honestone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """`folder` is where relative paths and commands start (absolute); `store` is the folder of the store."""

    folder: Path
    settings: Settings
    store: Path

    @classmethod
    def at(cls, folder: Path, *, store: Path | None = None) -> Workspace:
        """The settings that hold in a folder, and its store: `.honestone/` next to the nearest settings file, else in
        the folder itself. `store` (relative to the folder) moves it, else the variable HONESTONE_HOME.

        Raises SettingsError for settings that cannot be read.
        """
        folder = folder.resolve()
        settings = find_settings(folder)
        moved = store if store is not None else os.environ.get("HONESTONE_HOME")
        return cls(
            folder=folder, settings=settings, store=folder / moved if moved else (settings.folder or folder) / STORE
        )

    def path(self, named: Path | str) -> Path:
        """A path as a person wrote it, made absolute. The name that is shown stays the one written."""
        return self.folder / named

    def shown(self, path: Path) -> str:
        """Relative to the folder, for messages; the path itself where it has no relative form."""
        try:
            return os.path.relpath(path, self.folder)
        except ValueError:
            return str(path)

    @contextmanager
    def open_store(self, *, readonly: bool = False) -> Iterator[SqliteStore]:
        """The store for the length of a use case. Raises StoreError when it cannot be opened."""
        from honestone.adapters.stores.sqlite import SqliteStore

        store = SqliteStore(self.store, readonly=readonly)
        try:
            yield store
        finally:
            store.close()
