"""The store itself: whether it answers and what it holds, its newest format, and its runs copied
into another store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.registry import open_queue, open_store
from honestone.adapters.stores.place import StorePlace
from honestone.app.store_origin import require_own
from honestone.app.workspace import Workspace
from honestone.core.errors import StoreError, UsageError
from honestone.core.record.store_address import POSTGRESQL, store_address
from honestone.ports import PortableStore, SharedStore, StoreState

# In the order of a copy: a run that is listed is whole.
_AS_ANOTHER: Final = "a user who may make roles, such as `postgres`, can do it: honestone runs store roles --sql | sudo -u postgres psql DATABASE"
TABLES: Final = ("blobs", "replies", "cases", "events", "runs")


class CopiedStore(Struct, frozen=True, kw_only=True):
    """How many rows a copy added to each table; those that were there already are not counted."""

    source: str
    destination: str
    added: dict[str, int]


def check_store(workspace: Workspace) -> StoreState:
    """What it holds. Raises StoreError where it does not answer, is missing or is damaged."""
    place = workspace.store_place(is_shown=True)
    with _opened(place, readonly=True) as store:
        return store.state()


def migrate_store(workspace: Workspace) -> StoreState:
    """Makes the tables where there are none, and gives a shared store the newest format. Raises
    StoreError.
    """
    place = workspace.store_place()
    with _opened(place, migrates=True) as store:
        if place.address is not None and place.address.kind == POSTGRESQL:
            open_queue(
                place
            ).close()  # by whoever owns the tables: those who order and runners may have no right to make some
        return store.state()


def store_roles(workspace: Workspace) -> str:
    """The SQL that makes the roles of a shared store, for a person who runs it as somebody else."""
    from honestone.adapters.stores.postgres import roles_sql

    _require_shared(workspace.store_place())
    return roles_sql()


def make_roles(workspace: Workspace) -> str:
    """Makes the roles of a shared store, or gives them the rights of this version; the store, for a
    person. Raises StoreError where this role may not, or the store is older.
    """
    place = workspace.store_place()
    _require_shared(place)
    with _opened(place) as store:
        open_queue(place, store)  # the roles are for its tables too
        assert isinstance(store, SharedStore)
        try:
            store.make_roles()
        except StoreError as error:
            raise StoreError(error.message, hint=_AS_ANOTHER) from None
        return place.shown


def _require_shared(place: StorePlace) -> None:
    if place.address is None or place.address.kind != POSTGRESQL:
        raise UsageError(
            f"only a shared store has roles, and {place.shown} is a folder",
            hint="name one with HONESTONE_STORE=postgresql://USER@HOST/DATABASE, or with --store",
        )


def copy_store(
    workspace: Workspace, source: str, destination: str, report: Callable[[str], None]
) -> CopiedStore:
    """Every run, reply and version of `source`, added to `destination`: folders, or addresses of
    shared stores.

    A second copy adds what is new since. Runs of no known project get that of the workspace. Raises
    StoreError, and UsageError where both are the same store.
    """
    places = [_place(workspace, name) for name in (source, destination)]
    if places[0].shown == places[1].shown:
        raise UsageError(
            f"`{places[0].shown}` would be copied into itself",
            hint="honestone runs store copy FROM TO",
        )
    with _opened(places[0], readonly=True) as old, _opened(places[1]) as new:
        added = {}
        for table in TABLES:
            report(f"copying {table}")
            added[table] = new.add_rows(table, old.rows_of(table))
    return CopiedStore(source=places[0].shown, destination=places[1].shown, added=added)


def _place(workspace: Workspace, name: str) -> StorePlace:
    address = store_address(name)
    if address is not None:
        return replace(workspace, shared=address, shared_by_settings=False).store_place()
    folder = (workspace.folder / Path(name)).resolve()
    require_own(folder)
    return replace(workspace, shared=None, store_folder=folder, store_is_named=True).store_place()


@contextmanager
def _opened(
    place: StorePlace, *, readonly: bool = False, migrates: bool = False
) -> Iterator[PortableStore]:
    with closing(open_store(place, readonly=readonly, migrates=migrates)) as store:
        if not isinstance(store, PortableStore):
            raise UsageError(
                f"the store {place.shown} comes from another package and cannot be checked or copied",
                hint="name a folder or a postgresql:// address",
            )
        yield store
