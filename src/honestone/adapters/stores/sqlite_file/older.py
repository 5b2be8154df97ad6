"""A look into the store of a folder whose maker is not known: what it holds, and whether an older
version made it here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.adapters.stores.sqlite_file.hostile_files import distrust, foreign_objects
from honestone.core.errors import NoStoreError, StoreError
from honestone.system.trust.own_stores import DATABASE, first_use

# Between the making of a store and its first record; and before the first use of a version that
# signs stores.
_SECONDS: Final = 10
_A_DAY: Final = 86400


class Contents(Struct, frozen=True, kw_only=True):
    kinds: dict[str, int]
    replies: int
    judges: tuple[str, ...]
    newest: str | None
    odd: tuple[str, ...]


def contents_of(folder: Path) -> Contents:
    """Raises StoreError for a store that is missing or cannot be read."""
    if not (folder / DATABASE).exists():
        raise NoStoreError(
            f"no store has been made in {str(folder)!r} yet", hint="there is nothing to trust"
        )
    try:
        with _opened(folder) as db:
            return Contents(
                odd=foreign_objects(db),
                kinds={
                    str(kind): int(n)
                    for kind, n in db.execute("select kind, count(*) from runs group by kind")
                },
                replies=int(db.execute("select count(*) from replies").fetchone()[0]),
                judges=tuple(
                    str(one) for (one,) in db.execute("select distinct judge from replies limit 20")
                ),
                newest=db.execute("select max(started) from runs").fetchone()[0],
            )
    except sqlite3.Error as error:
        raise StoreError(
            f"the store {str(folder)!r} cannot be read: {error}", hint="it may be damaged"
        ) from None


def was_made_here(folder: Path) -> bool:
    """Whether a store without a mark was made in this place by an older version.

    The time of change of a file is the kernel's: no program sets it. `.gitignore` is written when a
    store is made and never again, so it is as old as the first record; in a checkout, an archive or
    a copy it is as old as that. And it must be older by a day than the first use of a version that
    signs stores, so that a fresh account takes nothing in.
    """
    try:
        made = os.lstat(folder / ".gitignore").st_ctime
        since = first_use()
        if since is None or made > since - _A_DAY or os.lstat(folder).st_uid != os.geteuid():
            return False
        with _opened(folder) as db:
            first = db.execute(
                "select min(at) from (select min(started) as at from runs union all select min(at) from replies)"
            ).fetchone()[0]
        return abs(datetime.fromisoformat(str(first)).timestamp() - made) <= _SECONDS
    except (OSError, ValueError, sqlite3.Error):
        return False


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the file as one from a stranger, so that nothing in its schema runs. Raises
    sqlite3.Error.
    """
    where = f"{(folder / DATABASE).resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(where, uri=True, timeout=1)) as db:
        distrust(db)
        yield db
