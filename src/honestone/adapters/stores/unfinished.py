"""The unfinished loops of a store, by one query and without an event: for hooks, which must answer
at once.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from honestone.adapters.stores.sqlite_file.still_file import StillFile

FILE: Final = "store.db"

_QUERY: Final = """
select id, (select max(seq) from events where run = runs.id) from runs
where finished is null and kind = 'improve' order by id desc
"""


def unfinished_loops(store: Path) -> list[tuple[str, int]]:
    """Each run and the number of its last event, newest first. `store` is absolute.

    Raises sqlite3.Error for a store that is missing or damaged.
    """
    from honestone.adapters.stores.sqlite_file.hostile_files import distrust

    mode = "mode=ro" if StillFile.of(store / FILE) is None else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"{(store / FILE).as_uri()}?{mode}", uri=True, timeout=1)) as db:
        distrust(db)
        return [(str(run), int(last or 0)) for run, last in db.execute(_QUERY)]
