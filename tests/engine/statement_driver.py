"""Runs tasks that pay for replies on one store, and ends the process at one statement of SQLite, as
`kill -9` does; then runs them again. Prints what each attempt paid for and read, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from honestone.adapters.stores.sqlite import SqliteStore
from honestone.engine.journal import claimed

TURNS = (("a", "b", "c"), ("d",), ("e", "f"))
"""Requests whose replies come in the same turn of the event loop."""


class Connection:
    """A connection to SQLite that ends this process before or after its statement `number`."""

    def __init__(self, db: Any, number: int, when: str) -> None:
        self._db, self._number, self._when, self._count = db, number, when, 0

    def execute(self, *arguments: Any) -> Any:
        self._count += 1
        is_last = self._count == self._number
        if is_last and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = self._db.execute(*arguments)
        if is_last:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def log(folder: Path, line: str) -> None:
    with (folder / "log").open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


async def ask(store: SqliteStore, folder: Path, key: str) -> None:
    """As a panel does."""
    journal = store.journal
    if not await journal.recall(key):
        async with claimed(journal, key):
            if not await journal.recall(key):
                log(folder, f"paid {key}")
                await asyncio.sleep(0)
                await journal.keep_reply(key, "judge", {"to": key}, 0)
    log(folder, f"read {key}")


async def work(store: SqliteStore, folder: Path) -> None:
    for turn in TURNS:
        await asyncio.gather(*(ask(store, folder, key) for key in turn))


def attempt(folder: Path, number: int, when: str) -> bool:
    """Whether it was killed at the statement; it never is with number 0."""
    child = os.fork()
    if child == 0:
        store = SqliteStore(folder / "store")
        store._db = Connection(store._db, number, when)  # type: ignore[assignment]
        asyncio.run(work(store, folder))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0
    return os.WIFSIGNALED(status)


def lines(folder: Path) -> list[str]:
    path = folder / "log"
    found = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return found


def main(folder: Path) -> None:
    SqliteStore(folder / "first" / "store").close()  # What loads late is loaded before the forks.
    trials = []
    for when in ("before", "after"):
        number = 1
        while True:
            here = folder / f"{when}-{number}"
            here.mkdir()
            is_killed = attempt(here, number, when)
            first = lines(here)
            assert not attempt(here, 0, when)
            trials.append({"killed": is_killed, "first": first, "second": lines(here)})
            if not is_killed:
                break
            number += 1
    print(json.dumps(trials))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
