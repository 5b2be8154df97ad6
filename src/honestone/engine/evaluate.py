"""Evaluating artifacts: each is judged, recorded, and handed on in the order given."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from honestone.core.artifact import Artifact
from honestone.core.ballot import Ballot, Question
from honestone.core.events import ArtifactJudged
from honestone.core.json_value import JsonObject
from honestone.core.spend import Spend
from honestone.core.suite.case import Message
from honestone.engine.bulk import TextEvaluator, checked_event
from honestone.engine.panel import Evaluator, Seat
from honestone.engine.place import version_blobs
from honestone.ports import Observer, Output, SizedJudge, Store, Target, Task
from honestone.system.files import Loaded, load_artifact, load_file, printable


@dataclass(slots=True, kw_only=True)
class JudgedArtifact:
    """What was made of one artifact. `text` is what quotes are looked up in; `error` says why nothing was judged.

    `packed`: what a judge was shown (by its id) of a text that is too big for it.
    """

    path: str
    digest: str
    ballots: Sequence[Ballot]
    spend: Spend
    text: str | None = None
    output: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    packed: Mapping[str, JsonObject] = field(default_factory=dict)

    def event(self) -> ArtifactJudged:
        return ArtifactJudged(
            path=self.path,
            digest=self.digest,
            ballots=tuple(self.ballots),
            spend=self.spend,
            output=self.output,
            error=self.error,
            notes=self.notes,
            packed=self.packed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One `eval` run over artifacts, whose paths start at `base`. `exclude` are real paths (rubric, suite) that do not belong
    to a folder; `looked_at` holds artifacts already read, dropped once they are judged; `changed` names the files that judge
    and are no longer what they were: nothing that was judged after that counts."""

    run: str
    evaluator: Evaluator
    store: Store
    contract: str
    observer: Observer
    base: Path = Path()
    target: Target | None = None
    input: str | None = None
    reference: str | None = None
    exclude: Collection[Path] = frozenset()
    max_bytes: int
    concurrency: int = 8
    fresh: bool = False
    has_folders: bool = True
    looked_at: dict[Path, Loaded] = field(default_factory=dict)
    changed: Callable[[], Sequence[str]] = tuple
    _asks_judges: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_asks_judges", self.evaluator.rubric.asks_judges)

    async def judge_all(self, paths: Sequence[Path]) -> AsyncIterator[JudgedArtifact]:
        """Judgements in the order of the paths, some at a time. Each is on record before it is handed on."""
        texts = TextEvaluator.of(self.evaluator.rubric, self.evaluator.checker) if self.target is None else None
        if texts is not None and not self.has_folders:
            for judgement in self._judge_texts(texts, paths):
                yield judgement
            return
        work = _InOrder(paths, self._judge, at_once=self.concurrency)
        done = 0
        try:
            self.observer.progress(done, len(paths), "judging")
            while ready := await work.ready():
                self._record(ready)
                for judgement, _ in ready:
                    yield judgement
                done += len(ready)
                self.observer.progress(done, len(paths), "judging")
        finally:
            await work.stop()

    def _record(self, found: Sequence[_Found]) -> None:
        """All that is ready at a time in one go: a commit each would cost more than the judging."""
        blobs = {name: data for _, contents in found for name, data in contents.items()}
        if len(found) == 1:
            self.store.append(self.run, found[0][0].event(), blobs)
            return
        if blobs:
            self.store.keep_blobs(blobs)
        self.store.append_many(self.run, [judgement.event() for judgement, _ in found])

    def _load(self, path: Path) -> Loaded:
        found = self.looked_at.pop(path, None)
        return found or load_artifact(self.base / path, exclude=self.exclude, max_bytes=self.max_bytes)

    async def _judge(self, path: Path) -> _Found:
        loaded = self._load(path)
        version, name = loaded.version, printable(path)
        made: Output | None = None
        if self.target is not None:
            messages = (Message("user", version.text if self.input is None else self.input),)
            made = await self.target.run(Task(messages=messages, version=version, case=name))
            if made.error is not None:
                failed = JudgedArtifact(
                    path=name,
                    digest=version.digest,
                    ballots=(),
                    spend=Spend(target_calls=1),
                    notes=loaded.notes,
                    error=f"the target failed: {made.error}",
                )
                return failed, {}
        artifact = Artifact(name, version)
        blobs = version_blobs(version) if self._asks_judges else {}
        judged = await self.evaluator.judge(artifact, input=self.input, reference=self.reference, output=made)
        packed = self._packed(artifact, made)
        output = None if made is None else made.text
        judged.spend.target_calls += self.target is not None
        changed = self.changed()
        judgement = JudgedArtifact(
            path=name,
            digest=version.digest,
            ballots=judged.ballots,
            spend=judged.spend,
            output=output,
            text=output if output is not None else version.text,
            notes=(*loaded.notes, *packing_notes(packed)),
            packed=packed,
            error=f"what judges changed while it was judged: {', '.join(changed[:5])}" if changed else None,
        )
        return judgement, blobs

    def _packed(self, artifact: Artifact, output: Output | None) -> dict[str, JsonObject]:
        """What each judge is shown of a text that is too big for it."""
        packing = [seat for seat in self.evaluator.panel.seats if isinstance(seat.judge, SizedJudge)]
        if not packing:
            return {}
        question = self.evaluator.question(artifact, input=self.input, reference=self.reference, output=output)
        return shown_in_part(packing, question)

    def _judge_texts(self, texts: TextEvaluator, paths: Sequence[Path]) -> Iterator[JudgedArtifact]:
        loaded = ((printable(path), load_file(self.base / path, max_bytes=self.max_bytes)) for path in paths)
        done = 0
        for chunk in texts.judge_all(loaded, self.store, self.contract, fresh=self.fresh):
            self.store.append(self.run, checked_event(chunk))
            self.observer.progress(done, len(paths), "checking")
            for judged in chunk:
                yield JudgedArtifact(
                    path=judged.path, digest=judged.version.digest, ballots=(judged.ballot,), spend=_NOTHING
                )
            done += len(chunk)


def shown_in_part(seats: Sequence[Seat], question: Question) -> dict[str, JsonObject]:
    """By seat what its judge is shown of a text that is too big for it; judges that see the whole are left out."""
    shown = {seat.id: seat.judge.packed(question) for seat in seats if isinstance(seat.judge, SizedJudge)}
    return {id: part for id, part in shown.items() if part}


def packing_notes(packed: Mapping[str, JsonObject]) -> list[str]:
    return [f"{judge} was shown a part (--pack {part['strategy']}): {part['shown']}" for judge, part in packed.items()]


_NOTHING = Spend()

_Found: TypeAlias = tuple[JudgedArtifact, Mapping[str, bytes]]
"""A judgement, and the content it speaks of, to be kept with it."""

_TOGETHER, _MOMENT = 64, 0.05
"""Fewer results than this wait so many seconds for more to be recorded with them; what was paid for is on record already."""

_LEAD = 4
"""How far the quick may be ahead of the slowest, in times of what is under way at once."""


class _InOrder:
    """Works on some paths at a time and hands out what was made of them in the order given.

    A slow one holds up none behind it, up to a bound that keeps memory flat. When one fails nothing new is begun, and
    its error is raised in its turn.
    """

    def __init__(self, paths: Sequence[Path], judge: Callable[[Path], Awaitable[_Found]], *, at_once: int) -> None:
        self._waiting = enumerate(paths)
        self._judge = judge
        self._lead = _LEAD * at_once
        self._made: dict[int, _Found | Exception] = {}
        self._next = 0
        self._has_failed = False
        self._news, self._room = asyncio.Event(), asyncio.Event()
        self._workers = [asyncio.create_task(self._work()) for _ in range(min(at_once, len(paths)))]

    async def _work(self) -> None:
        for number, path in self._waiting:
            while number >= self._next + self._lead:
                self._room.clear()
                await self._room.wait()
            if self._has_failed:
                return
            try:
                self._made[number] = await self._judge(path)
            except Exception as error:
                self._made[number] = error
                self._has_failed = True
            self._news.set()

    async def ready(self) -> list[_Found]:
        """What can be handed out by now, at least one; nothing when all have been."""
        out: list[_Found] = []
        waited = False
        while True:
            while (found := self._made.get(self._next)) is not None:
                if isinstance(found, Exception):
                    if out:
                        break
                    raise found
                del self._made[self._next]
                out.append(found)
                self._next += 1
            self._room.set()
            is_over = all(worker.done() for worker in self._workers)
            if out and not is_over and not waited and len(out) < _TOGETHER:
                waited = True  # More may be ready in a moment: one commit for all of them costs far less than many.
                await asyncio.wait(self._workers, timeout=_MOMENT)
            elif out or is_over:
                return out
            else:
                self._news.clear()
                await self._news.wait()

    async def stop(self) -> None:
        for worker in self._workers:
            worker.cancel()
        await asyncio.gather(*self._workers, return_exceptions=True)
