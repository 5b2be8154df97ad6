"""SQLite files that somebody else may have made: nothing in their schema runs, and what no version
of ours makes is named.
"""

from __future__ import annotations

import sqlite3
from typing import Final

# https://sqlite.org/security.html: no function of a schema that is not harmless, damaged pages are
# found when they are read, and none is taken from memory that another process could change.
_SETTINGS: Final = "pragma trusted_schema = off; pragma cell_size_check = on; pragma mmap_size = 0"
# Python 3.12 and later can set it: no statement of ours can be made to write into the schema.
_DEFENSIVE: Final = getattr(sqlite3, "SQLITE_DBCONFIG_DEFENSIVE", None)


def distrust(db: sqlite3.Connection) -> None:
    """SQLite's settings for files of strangers, on a connection that has read nothing yet."""
    if _DEFENSIVE is not None:
        db.setconfig(_DEFENSIVE, True)  # type: ignore[attr-defined,unused-ignore]
    for statement in _SETTINGS.split("; "):
        db.execute(statement)


def foreign_objects(db: sqlite3.Connection) -> tuple[str, ...]:
    """Triggers and views, by kind and name: ours have none."""
    found = db.execute(
        "select type || ' ' || name from sqlite_master where type in ('trigger', 'view') order by 1"
    )
    return tuple(str(name) for (name,) in found)
