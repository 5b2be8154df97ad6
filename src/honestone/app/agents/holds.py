"""How often the stop hook held a session at a run: counted in the run's folder of the store, never
reset.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from honestone.app.agents.run_folder import HOLDS, read_json
from honestone.system.files import write_atomically

# Holds over a whole loop.
MOST: Final = 15

# Holds with nothing new on record between them.
MOST_IN_A_ROW: Final = 5


class Holds(Struct, frozen=True, kw_only=True):
    """`recorded` is what was on record at the last hold; `in_a_row` counts those that found the
    same.
    """

    total: int = 0
    in_a_row: int = 0
    recorded: str = ""

    def one_more(self, recorded: str) -> Holds | None:
        """The count with another hold; None where no further hold is allowed."""
        in_a_row = self.in_a_row if recorded == self.recorded else 0
        if self.total >= MOST or in_a_row >= MOST_IN_A_ROW:
            return None
        return Holds(total=self.total + 1, in_a_row=in_a_row + 1, recorded=recorded)


def read_holds(folder: Path) -> Holds:
    """Raises ValueError for a count that is damaged."""
    try:
        plain = read_json(folder / HOLDS)
    except FileNotFoundError:
        return Holds()
    match plain:
        case {"total": int(total), "in_a_row": int(in_a_row), "recorded": str(recorded)} if (
            0 <= in_a_row <= total
        ):
            return Holds(total=total, in_a_row=in_a_row, recorded=recorded)
    raise ValueError(f"{folder / HOLDS} holds no count")


def count_hold(folder: Path, recorded: str) -> Holds | None:
    """Another hold, on disk before it is made; None where there were enough. Raises OSError and
    ValueError.
    """
    with alone_in(folder):
        holds = read_holds(folder).one_more(recorded)
        if holds is not None:
            write_atomically(folder / HOLDS, json.dumps(asdict(holds)).encode(), private=True)
        return holds


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One process at a time with a folder: hosts may run several hooks, and people several
    installations.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
