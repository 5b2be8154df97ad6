"""Where a use case works: a folder, its settings, its store. Passed in, so that several can work in
one process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from honestone.core.errors import StoreError, UsageError
from honestone.core.record.store_address import StoreAddress, store_address
from honestone.formats.settings import Settings, find_settings
from honestone.ports import RunOrigin

if TYPE_CHECKING:
    from honestone.adapters.people.browser import BrowserPerson
    from honestone.adapters.people.form import TerminalPerson
    from honestone.adapters.stores.place import StorePlace
    from honestone.ports import Store

# Who is asked where a judge or worker is called `human`.
Person: TypeAlias = "TerminalPerson | BrowserPerson"

STORE = ".honestone"
_WRITTEN: Final = ("*", "*/*", "step/*/*", "step/*/*/*")


class Bounds(Struct, frozen=True, kw_only=True):
    """What a door that works for somebody else keeps to: the real folders that paths are in, and
    whether `commands` that the workspace names may run.
    """

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
                hint="a person allows a folder by starting the server with: honestone agent mcp --root DIR",
            )
        return path


class Workspace(Struct, frozen=True, kw_only=True):
    """`folder` is where relative paths and commands start (absolute); `store` is the folder of this
    account's store. Where runs are kept in a `shared` store, that folder holds only what belongs to
    this machine: drafts, steps, reports.

    `store_folder` is where the store is looked for: it may hold somebody else's records.
    `store_is_named` is whether the person named it. `say` prints a sentence for the person.

    `named` is the folder as the door named it: empty for the current one, where paths keep the form
    they were given in. `person` makes whoever sits at the terminal or a browser, from the folder of
    unfinished forms; None without a terminal. `bounds` are None for a person's own commands: those
    may use every path and program.
    """

    folder: Path
    settings: Settings
    store_folder: Path
    store_is_named: bool = False
    shared: StoreAddress | None = None
    shared_by_settings: bool = False
    named: Path = Path()
    person: Callable[[Path], Person] | None = None
    bounds: Bounds | None = None
    say: Callable[[str], None] | None = None

    @classmethod
    def at(
        cls,
        folder: Path,
        *,
        store: Path | str | None = None,
        person: Callable[[Path], Person] | None = None,
        bounds: Bounds | None = None,
        say: Callable[[str], None] | None = None,
    ) -> Workspace:
        """The settings that hold in a folder, and its store: what `store` names, else the variable
        HONESTONE_STORE, else `url` in `[store]` of the settings: a folder (relative to this one),
        or the address of a shared store. Else it is `.honestone/` next to the nearest settings
        file, or in the folder itself; the variable HONESTONE_HOME moves that.

        Raises SettingsError for settings that cannot be read, UsageError for a folder that is out
        of bounds, StoreError for an address that cannot be one.
        """
        named, folder = folder, (folder if bounds is None else bounds.require(folder)).resolve()
        settings = find_settings(folder, partial(_allows_settings, say))
        by_person = store if store is not None else os.environ.get("HONESTONE_STORE") or None
        given = settings.store.url if by_person is None else by_person
        shared = store_address(given) if isinstance(given, str) else None
        moved = given if given is not None and shared is None else os.environ.get("HONESTONE_HOME")
        place = folder / moved if moved else (settings.folder or folder) / STORE
        return cls(
            folder=folder,
            settings=settings,
            store_folder=place,
            store_is_named=bool(moved),
            shared=shared,
            shared_by_settings=shared is not None and by_person is None,
            named=named,
            person=person,
            bounds=bounds,
            say=say,
        )

    @property
    def store(self) -> Path:
        """The folder of this account's records. Where the store holds somebody else's, it is a
        folder of the person's own, and a sentence says so. Raises StoreError for a store that git
        tracks, or that is a link.
        """
        from honestone.app.store_origin import own_store_folder

        return own_store_folder(self.store_folder, is_named=self.store_is_named, say=self.say)

    def path(self, named: Path | str) -> Path:
        """Where to read or write what a person named. In the current folder it keeps the form it
        was given in.

        Raises UsageError for what is out of bounds.
        """
        if self.bounds is not None:
            return self.bounds.require(self.named / named)
        # Joining paths is a tenth of what looking at a small file costs, and most are named from
        # the current folder.
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
        """What the code of a check does not see: the project but for the rubric's folder, and the
        store.
        """
        return (
            self.store_folder,
            self.folder if self.settings.folder is None else self.settings.folder,
        )

    @property
    def ask_person(self) -> Callable[[], Person] | None:
        """Makes the person at the terminal, where there is one."""
        make = self.person
        return None if make is None else lambda: make(self.claimed_store() / "drafts")

    def claimed_store(self) -> Path:
        """The same as `store`, signed as this account's: for what is written there before a store
        is opened.
        """
        from honestone.system.trust.own_stores import Origin, claim_new, origin_of

        place = self.store
        if origin_of(place) is Origin.NEW:
            with suppress(OSError):  # whatever is written there next says what is wrong
                claim_new(place)
        return place

    @property
    def has_store(self) -> bool:
        """Whether a store may be there. A shared one is asked only when it is opened."""
        from honestone.adapters.stores.unfinished import FILE

        return self.shared is not None or (self.store / FILE).exists()

    @property
    def named_store(self) -> Path | str:
        """What `at` takes for the same store; it may hold a password."""
        return self.store_folder if self.shared is None else self.shared.url

    @property
    def shown_store(self) -> str:
        """The store as people are shown it: a folder relative to this one, or an address without
        its password.
        """
        return self.shown(self.store_folder) if self.shared is None else self.shared.shown

    @property
    def project(self) -> str:
        """The name that runs in a shared store are kept under: the settings' own, else that of
        their folder.
        """
        folder = self.settings.folder
        return self.settings.store.project or ("" if folder is None else folder.resolve().name)

    def open_store(self, *, readonly: bool = False, is_shown: bool = False) -> closing[Store]:
        """The store for the length of a use case. Raises StoreError when it cannot be opened. Runs
        that are only to be shown may be somebody else's, as long as this account has none.

        Under bounds it holds no link where something is written: that would be written wherever the
        link leads.
        """
        from honestone.adapters.registry import open_store

        if self.bounds is not None:
            below = (path for pattern in _WRITTEN for path in self.store.glob(pattern))
            for path in (self.store, *below):
                if path.is_symlink():
                    raise StoreError(
                        f"`{path}` is a link, and a store is not written through links",
                        hint="remove it",
                    )
        if not readonly:
            from honestone.system.processes.private import sweep

            sweep()
            self.claimed_store()
        return closing(open_store(self.store_place(is_shown=is_shown), readonly=readonly))

    def store_place(self, *, is_shown: bool = False) -> StorePlace:
        """Raises StoreError where the settings alone name a shared store, and no person has trusted
        them.
        """
        from honestone.adapters.stores.place import StorePlace

        if self.shared is None:
            from honestone.system.trust.own_stores import DATABASE

            own = self.store
            shows_other = is_shown and not (own / DATABASE).exists()
            return StorePlace(
                folder=self.store_folder if shows_other else own,
                origin=RunOrigin(project=self.project),
            )
        if self.shared_by_settings and not self.trusts_settings:
            raise StoreError(
                f"the settings name the shared store {self.shared.shown}, and they are not trusted",
                place=str(self.settings.file),
                hint="read them, then: honestone trust; or name the store yourself with --store or HONESTONE_STORE",
            )
        return StorePlace(
            folder=self.store,
            address=self.shared,
            origin=RunOrigin(project=self.project, person=this_person()),
            patience=self.settings.store.patience,
        )

    @property
    def trusts_settings(self) -> bool:
        """Whether a person trusts what they name: programs, addresses, the store."""
        from honestone.adapters.keys import is_trusted

        return is_trusted(self.settings)


def _allows_settings(say: Callable[[str], None] | None, path: Path) -> bool:
    """Whether settings of another owner are used: where a person trusted them once."""
    from honestone.app.store_origin import allows_settings

    return allows_settings(path, say)


def this_person() -> str:
    """Who works here, and on which machine: NAME@HOST."""
    import getpass
    import socket

    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in some containers
        name = str(os.getuid())
    return f"{name}@{socket.gethostname()}"


def terminal_person(drafts: Path) -> TerminalPerson:
    """Asked only when a judge or worker is called `human`. `drafts` is the folder of unfinished
    forms.
    """
    from honestone.adapters.people.form import TerminalPerson

    return TerminalPerson(drafts)
