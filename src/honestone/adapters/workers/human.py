"""`human`: a person as the worker. They read the brief, edit a copy in their own editor, and hand
it in or give up.
"""

from __future__ import annotations

import atexit
from pathlib import Path
from typing import Final, Protocol

from honestone.adapters.workers.persistent_copy import PersistentCopy, keep_copy, work_key
from honestone.ports import Brief, CallFailed, EagerWorker, WorkDone


class Person(Protocol):
    """Somebody who can edit. `drafts` is a folder for unfinished work."""

    @property
    def drafts(self) -> Path: ...

    async def edit(self, brief: str, place: Path, brief_file: Path) -> bool:
        """False when they give it up. Raises CallFailed when no one is there."""
        ...


class HumanWorker(EagerWorker):
    """The copy is in the folder of the store, not in a temporary one: after Ctrl-C or a kill the
    same command resumes it.

    `--worker-timeout` does not hold: a person takes the time it takes.
    """

    def __init__(self, id: str, person: Person) -> None:
        self.id = id
        self._person = person
        self._handed_in: list[PersistentCopy] = []
        atexit.register(self._tidy)

    identity: Final = {"kind": "human"}

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        self._tidy()
        copy = keep_copy(self._person.drafts / f"work-{work_key(brief, place)}", brief, place)
        try:
            is_handed_in = await self._person.edit(copy.brief, copy.place, copy.brief_file)
        except CallFailed as absent:
            return WorkDone(ended="crashed", message=absent.reason)
        if is_handed_in:
            copy.hand_over(place)
            self._handed_in.append(copy)
        else:
            copy.remove()
        return WorkDone(
            ended="exited", exit=0, message="" if is_handed_in else "the person gave this round up"
        )

    async def close(self) -> None:
        self._tidy()

    def _tidy(self) -> None:
        """What was handed in before this moment is on record; until then a kill may have come
        between.
        """
        for copy in self._handed_in:
            copy.remove()
        self._handed_in.clear()
