"""A person at a browser as judge or worker: the same sheet and drafts as at the terminal, shown by
a server.

What is asked waits at a desk, which the server reads from its own threads. Whatever is said is in
the draft on disk before the page moves, so it may be begun at the terminal and handed in here, or
the other way round.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from honestone.adapters.people.form import read_draft
from honestone.adapters.people.sheet import Sheet, draft_of, new_sheet, restore, say
from honestone.core.artifact import digest_of
from honestone.core.judging.ballot import Answer, Mark, Question
from honestone.core.judging.rubric import Key
from honestone.system.files import write_atomically


class AskedSheet(Struct, frozen=True, kw_only=True, eq=False):
    """A judge's sheet that waits for answers; `id` tells it from others."""

    id: str
    sheet: Sheet
    question: Question
    draft: Path
    done: Future[bool] = field(default_factory=Future)

    def say(self, place: int, answer: Answer | None, evidence: str, suggestion: str) -> None:
        """Answer an item, or skip it, and keep that on disk."""
        say(self.sheet, place, answer, evidence, suggestion)
        self._keep()

    def remark(self, place: int, evidence: str, suggestion: str) -> None:
        entry = self.sheet.entries[place]
        entry.evidence, entry.suggestion = evidence, suggestion
        self._keep()

    def _keep(self) -> None:
        write_atomically(self.draft, json.dumps(draft_of(self.sheet)).encode())


class AskedEdit(Struct, frozen=True, kw_only=True, eq=False):
    """A worker's copy that waits to be edited. True hands it in, False gives it up."""

    id: str
    brief: str
    place: Path
    done: Future[bool] = field(default_factory=Future)

    @property
    def text(self) -> str | None:
        """The text of a file, with line feeds as its only line ends; None for a folder, and for
        bytes that are not text.
        """
        if self.place.is_dir():
            return None
        try:
            text = self.place.read_bytes().decode()
        except ValueError:
            return None
        return None if "\0" in text else text.replace("\r\n", "\n")

    def write(self, text: str) -> None:
        """Write the text with the line ends of the file."""
        ends = b"\r\n" if b"\r\n" in self.place.read_bytes() else b"\n"
        write_atomically(self.place, text.replace("\r\n", "\n").encode().replace(b"\n", ends))


class PersonDesk:
    """What waits for the person, first come first shown. `announce` is called when something waits
    for the first time.
    """

    def __init__(self, announce: Callable[[], None]) -> None:
        self.lock = threading.RLock()
        self._announce: Callable[[], None] | None = announce
        self._waiting: list[AskedSheet | AskedEdit] = []

    @property
    def asked(self) -> AskedSheet | AskedEdit | None:
        """Hold the lock as long as it is used."""
        return self._waiting[0] if self._waiting else None

    def hand_in(self, asked: AskedSheet | AskedEdit, *, wanted: bool = True) -> None:
        """The person is done with it; `wanted` False gives an edit up."""
        if asked in self._waiting:
            self._waiting.remove(asked)
        if not asked.done.done():
            asked.done.set_result(wanted)

    async def wait(self, asked: AskedSheet | AskedEdit) -> bool:
        with self._at_desk(asked):
            return await asyncio.wrap_future(asked.done)

    @contextmanager
    def _at_desk(self, asked: AskedSheet | AskedEdit) -> Iterator[None]:
        with self.lock:
            self._waiting.append(asked)
            announce, self._announce = self._announce, None
        if announce is not None:
            announce()
        try:
            yield
        finally:
            with self.lock:
                if asked in self._waiting:
                    self._waiting.remove(asked)


class BrowserPerson:
    """Whoever sits at the browser. `drafts` is the folder of drafts."""

    def __init__(self, drafts: Path, desk: PersonDesk) -> None:
        self.drafts = drafts
        self._desk = desk

    async def answer(self, question: Question, key: str, name: str) -> Mapping[Key, Mark | None]:
        sheet, draft = new_sheet(question), self.drafts / f"{key}.json"
        restore(sheet, read_draft(draft))
        sheet.typing, sheet.text = None, ""
        await self._desk.wait(
            AskedSheet(id=_id(key, name), sheet=sheet, question=question, draft=draft)
        )
        return sheet.marks()

    def forget(self, key: str) -> None:
        (self.drafts / f"{key}.json").unlink(missing_ok=True)

    async def edit(self, brief: str, place: Path, brief_file: Path) -> bool:
        return await self._desk.wait(AskedEdit(id=_id(str(place), brief), brief=brief, place=place))


def _id(*words: str) -> str:
    return digest_of("\0".join(words).encode("utf-8", "surrogatepass"))[7:23]
