"""Where a use case works: a folder, its settings, its store. Passed in, so that several can work in one process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from honestone.core.errors import StoreError, UsageError
from honestone.formats.settings import Settings, find_settings

if TYPE_CHECKING:
    from honestone.adapters.people.browser import BrowserPerson
    from honestone.adapters.people.form import TerminalPerson
    from honestone.ports import Store

Person: TypeAlias = "TerminalPerson | BrowserPerson"
"""Who is asked where a judge or worker is called `human`."""

STORE = ".honestone"
_WRITTEN: Final = ("*", "*/*", "step/*/*", "step/*/*/*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a door that works for somebody else keeps to: the real folders that paths are in, and whether `commands` that
    the workspace names may run."""

    roots: tuple[Path, ...]
    commands: bool = False

    def require(self, path: Path) -> Path:
        """The path. Raises UsageError where it leads out of the roots, links followed."""
        try:
            real = path.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"`{path}` is not a path: {error}") from None
        if not any(real.is_relative_to(root) for root in self.roots):
            raise UsageError(
                f"`{path}` is outside of what may be used here: {', '.join(map(str, self.roots)) or 'nothing'}",
                hint="a person allows a folder by starting the server with: honestone mcp --root DIR",
            )
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """`folder` is where relative paths and commands start (absolute); `store` is the folder of the store.

    `named` is the folder as the door named it: empty for the current one, where paths keep the form they were given in.
    `person` makes whoever sits at the terminal or a browser, from the folder of unfinished forms; None without a terminal. `bounds`
    are None for a person's own commands: those may use every path and program.
    """

    folder: Path
    settings: Settings
    store: Path
    named: Path = Path()
    person: Callable[[Path], Person] | None = None
    bounds: Bounds | None = None

    @classmethod
    def at(
        cls,
        folder: Path,
        *,
        store: Path | None = None,
        person: Callable[[Path], Person] | None = None,
        bounds: Bounds | None = None,
    ) -> Workspace:
        """The settings that hold in a folder, and its store: `.honestone/` next to the nearest settings file, else in
        the folder itself. `store` (relative to the folder) moves it, else the variable HONESTONE_HOME.

        Raises SettingsError for settings that cannot be read, UsageError for a folder that is out of bounds.
        """
        named, folder = folder, (folder if bounds is None else bounds.require(folder)).resolve()
        settings = find_settings(folder)
        moved = store if store is not None else os.environ.get("HONESTONE_HOME")
        place = folder / moved if moved else (settings.folder or folder) / STORE
        return cls(folder=folder, settings=settings, store=place, named=named, person=person, bounds=bounds)

    def path(self, named: Path | str) -> Path:
        """Where to read or write what a person named. In the current folder it keeps the form it was given in.

        Raises UsageError for what is out of bounds.
        """
        if self.bounds is not None:
            return self.bounds.require(self.named / named)
        # Joining paths is a tenth of what looking at a small file costs, and most are named from the current folder.
        return named if isinstance(named, Path) and not self.named.parts else self.named / named

    @property
    def allows_commands(self) -> bool:
        return self.bounds is None or self.bounds.commands

    def shown(self, path: Path) -> str:
        """Relative to the folder, for messages; the path itself where it has no relative form."""
        try:
            return os.path.relpath(path, self.folder)
        except ValueError:
            return str(path)

    @property
    def closed(self) -> tuple[Path, ...]:
        """What the code of a check does not see: the project but for the rubric's folder, and the store."""
        return (self.store, self.folder if self.settings.folder is None else self.settings.folder)

    @property
    def ask_person(self) -> Callable[[], Person] | None:
        """Makes the person at the terminal, where there is one."""
        make = self.person
        return None if make is None else lambda: make(self.store / "drafts")

    def open_store(self, *, readonly: bool = False) -> closing[Store]:
        """The store for the length of a use case. Raises StoreError when it cannot be opened.

        Under bounds it holds no link where something is written: that would be written wherever the link leads.
        """
        from honestone.adapters.registry import open_store
        from honestone.system.private import sweep

        if self.bounds is not None:
            below = (path for pattern in _WRITTEN for path in self.store.glob(pattern))
            for path in (self.store, *below):
                if path.is_symlink():
                    raise StoreError(f"`{path}` is a link, and a store is not written through links", hint="remove it")
        if not readonly:
            sweep()
        return closing(open_store(self.store, readonly=readonly))


def terminal_person(drafts: Path) -> TerminalPerson:
    """Asked only when a judge or worker is called `human`. `drafts` is the folder of unfinished forms."""
    from honestone.adapters.people.form import TerminalPerson

    return TerminalPerson(drafts)
