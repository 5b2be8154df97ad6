"""Evaluating artifacts: each is judged, recorded, and handed on in the order given."""

from __future__ import annotations

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from honestone.core import events
from honestone.core.artifact import Artifact
from honestone.core.ballot import Ballot, ballot_to_plain
from honestone.core.events import Event
from honestone.engine.bulk import TextBench, checked_event
from honestone.engine.judging import Bench
from honestone.engine.meter import Spend
from honestone.engine.versions import version_blobs
from honestone.ports import Observer, Store, Target
from honestone.system.files import Loaded, load_artifact, load_file, printable


@dataclass(slots=True, kw_only=True)
class Judgement:
    """What was made of one artifact. `text` is what quotes are looked up in; `error` says why nothing was judged."""

    path: str
    digest: str
    ballots: Sequence[Ballot]
    spend: Spend
    text: str | None = None
    output: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()

    def event(self) -> Event:
        event: Event = {
            "type": events.JUDGED,
            "path": self.path,
            "digest": self.digest,
            "ballots": [ballot_to_plain(ballot) for ballot in self.ballots],
            "spend": self.spend.to_plain(),
        }
        for name in ("output", "error"):
            if getattr(self, name) is not None:
                event[name] = getattr(self, name)
        if self.notes:
            event["notes"] = list(self.notes)
        return event


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One `eval` run over artifacts. `exclude` are real paths (rubric, suite) that are no part of a folder."""

    run: str
    bench: Bench
    store: Store
    contract: str
    observer: Observer
    target: Target | None = None
    input: str | None = None
    reference: str | None = None
    exclude: Collection[Path] = frozenset()
    max_bytes: int
    concurrency: int = 8
    fresh: bool = False
    has_folders: bool = True

    async def judge_all(self, paths: Sequence[Path]) -> AsyncIterator[Judgement]:
        """Judgements in the order of the paths, some at a time. Each is on record before it is handed on."""
        texts = TextBench.of(self.bench.rubric, self.bench.checker) if self.target is None else None
        if texts is not None and not self.has_folders:
            for judgement in self._judge_texts(texts, paths):
                yield judgement
            return
        window: deque[asyncio.Task[Judgement]] = deque()
        waiting = iter(paths)
        done = 0
        try:
            while True:
                while len(window) < self.concurrency and (path := next(waiting, None)) is not None:
                    window.append(asyncio.create_task(self._judge(path)))
                if not window:
                    return
                self.observer.progress(done, len(paths), "judging")
                judgement = await window.popleft()
                self.store.append(self.run, judgement.event())
                done += 1
                yield judgement
        finally:
            for task in window:
                task.cancel()
            await asyncio.gather(*window, return_exceptions=True)

    def _load(self, path: Path) -> Loaded:
        return load_artifact(path, exclude=self.exclude, max_bytes=self.max_bytes)

    async def _judge(self, path: Path) -> Judgement:
        loaded = self._load(path)
        version, name = loaded.version, printable(path)
        output: str | None = None
        if self.target is not None:
            made = await self.target.run(version, self.input)
            if made.error is not None:
                return Judgement(
                    path=name, digest=version.digest, ballots=(), spend=Spend(target_calls=1), notes=loaded.notes,
                    error=f"the target failed: {made.error}",
                )  # fmt: skip
            output = made.text
        judged = await self.bench.judge(
            Artifact(name, version), input=self.input, reference=self.reference, output=output
        )
        if self.bench.rubric.asks_judges:
            self.store.keep_blobs(version_blobs(version))
        judged.spend.target_calls += self.target is not None
        return Judgement(
            path=name, digest=version.digest, ballots=judged.ballots, spend=judged.spend, output=output,
            text=output if output is not None else version.text, notes=loaded.notes,
        )  # fmt: skip

    def _judge_texts(self, texts: TextBench, paths: Sequence[Path]) -> Iterator[Judgement]:
        gc.freeze()  # What lives now stays to the end of the command; looking through it again and again is waste.
        loaded = ((printable(path), load_file(path, max_bytes=self.max_bytes)) for path in paths)
        done = 0
        for chunk in texts.judge_all(loaded, self.store, self.contract, fresh=self.fresh):
            self.store.append(self.run, checked_event(chunk))
            self.observer.progress(done, len(paths), "checking")
            for judged in chunk:
                yield Judgement(
                    path=judged.path, digest=judged.version.digest, ballots=(judged.ballot,), spend=_NOTHING
                )
            done += len(chunk)


_NOTHING = Spend()
