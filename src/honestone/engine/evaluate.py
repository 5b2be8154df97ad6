"""Evaluating artifacts: each is judged, recorded, and handed on in the order given.

Many that text checks alone judge go by the same rules, without a task or a transaction each: what
the checks said of some bytes is kept like a reply, by contract and digest, so that the same command
again reads it back. Answers repeat from file to file; equal ones share their objects, and what they
add up to is known already.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import cached_property
from itertools import groupby, islice
from operator import length_hint
from pathlib import Path
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Struct, field

from honestone.core.artifact import Artifact, Version
from honestone.core.checking.checks import CheckAnswer, TextCheck
from honestone.core.events import ArtifactJudged, ArtifactsChecked, CheckedArtifact
from honestone.core.judging.ballot import (
    CHECK,
    NO_FURTHER_LOOK,
    Ballot,
    Mark,
    Question,
    marks_of_checks,
)
from honestone.core.judging.packing import PlainPacked
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.suite.case import Message
from honestone.engine.journal import OutOfTime, in_time
from honestone.engine.judging.evaluator import Evaluator, Judged
from honestone.engine.judging.seats import Seat
from honestone.engine.live import Live
from honestone.engine.place import version_blobs
from honestone.engine.traced import run_target, tell_scores
from honestone.ports import Checker, Observer, Output, SizedJudge, Store, Target, Task
from honestone.system import late_asyncio as asyncio
from honestone.system.files import Loaded, load_artifact, load_file, printable
from honestone.system.telemetry import is_traced, part_under_way

# Artifacts read, looked up and recorded together. Nothing is paid for here, so a kill may cost a
# chunk.
CHUNK = 200

_REMEMBERED = 4096


class BulkJudged(NamedTuple):
    """One artifact: its ballot, and the marks as recorded."""

    path: str
    version: Version
    ballot: Ballot
    recorded: msgspec.Raw


class JudgedSubject(Struct, frozen=True, kw_only=True):
    """One thing to judge that is at hand: an artifact that was read, or a row of a table.

    `name` is what it is called on record, `asked_as` what judges read as its name. `problem` says why there
    is nothing to judge: the verdict is then inconclusive. `group` is the row's group.
    """

    name: str
    loaded: Loaded
    asked_as: str
    input: str | None = None
    reference: str | None = None
    group: str = ""
    problem: str | None = None


class _Part(Struct, frozen=True):
    """One criterion's marks on some text and the same as JSON, shared by all artifacts that got
    them.
    """

    marks: Mapping[Key, Mark]
    abstained: Mapping[Key, str]
    json: bytes


class _Criterion(Struct, frozen=True):
    """One criterion's checks. `seen` knows the parts by what the checks said, `recorded` by their
    JSON.
    """

    name: bytes
    keys: tuple[Key, ...]
    checks: tuple[TextCheck, ...]
    seen: dict[tuple[CheckAnswer, ...], _Part]
    recorded: dict[bytes, _Part]

    def of(self, answers: tuple[CheckAnswer, ...]) -> _Part:
        part = self.seen.get(answers)
        if part is None:
            part = _part(self.keys, answers)
            if len(self.seen) < _REMEMBERED:
                self.seen[answers] = part
        return part

    def from_record(self, stored: bytes) -> _Part:
        part = self.recorded.get(stored)
        if part is None:
            plain = msgspec.json.decode(stored, type=dict[str, tuple[bool | None, str | None]])
            part = _part(self.keys, tuple(plain[item] for _, item in self.keys))
            if len(self.recorded) < _REMEMBERED:
                self.recorded[stored] = part
        return part


def _part(keys: tuple[Key, ...], answers: tuple[CheckAnswer, ...]) -> _Part:
    plain = {item: list(answer) for (_, item), answer in zip(keys, answers, strict=True)}
    return _Part(*marks_of_checks(zip(keys, answers, strict=True)), msgspec.json.encode(plain))


class TextEvaluator:
    """All checks of a rubric that only text checks judge: what judges every artifact that is a
    text, awaiting nothing.
    """

    def __init__(self, criteria: Sequence[_Criterion], checker: Checker) -> None:
        self._criteria = criteria
        self._checker = checker
        self._checks = [check for criterion in criteria for check in criterion.checks]
        guards = [check.guard_from for check in self._checks if check.guard_from is not None]
        self._guard_from = min(guards, default=None)
        self._decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

    @classmethod
    def of(cls, rubric: Rubric, checker: Checker) -> TextEvaluator | None:
        """None where anything but a text check is asked."""
        criteria: list[_Criterion] = []
        for criterion, _ in rubric.walk():
            checks: list[TextCheck] = []
            for item in criterion.items:
                compiled = checker.compile(item.check) if item.check is not None else None
                if compiled is None:
                    return None
                checks.append(compiled)
            if checks:
                keys = tuple((criterion.id, item.id) for item in criterion.items)
                name = msgspec.json.encode(criterion.id) + b":"
                criteria.append(_Criterion(name, keys, tuple(checks), {}, {}))
        return cls(criteria, checker)

    def judge_all(
        self, loaded: Iterable[tuple[str, Version]], store: Store, contract: str, *, fresh: bool
    ) -> Iterator[list[BulkJudged]]:
        """Chunk by chunk, in order; what is new has been kept when its chunk is handed out."""
        waiting = iter(loaded)
        while chunk := list(islice(waiting, CHUNK)):
            keys = [f"checks:{contract[7:39]}:{version.digest[7:]}" for _, version in chunk]
            replies = {} if fresh else store.replies(keys)
            out: list[BulkJudged] = []
            new: dict[str, msgspec.Raw] = {}
            for (path, version), key in zip(chunk, keys, strict=True):
                stored = replies.get(key)
                parts = None if stored is None else self._recorded(stored)
                if stored is None or parts is None:
                    parts = self._look(version.text)
                    raw = msgspec.Raw(
                        _joined(
                            c.name + part.json
                            for c, part in zip(self._criteria, parts, strict=True)
                        )
                    )
                    new[key] = raw
                else:
                    raw = msgspec.Raw(stored)
                out.append(BulkJudged(path, version, _ballot(parts), raw))
            if new:
                store.keep_replies(new, CHECK)
            yield out

    def _look(self, text: str) -> list[_Part]:
        if self._guard_from is None or len(text) < self._guard_from:
            return [
                one.of(tuple([check.evaluate(text) for check in one.checks]))
                for one in self._criteria
            ]
        answers = iter(self._checker.run_texts(self._checks, text))
        return [one.of(tuple(islice(answers, len(one.checks)))) for one in self._criteria]

    def _recorded(self, stored: bytes) -> list[_Part] | None:
        """What is on record; None where it cannot be read, and is found out again."""
        try:
            rows = self._decode(stored)
            return [c.from_record(bytes(rows[c.keys[0][0]])) for c in self._criteria]
        except (ValueError, KeyError, TypeError):
            return None


def _joined(members: Iterable[bytes]) -> bytes:
    return b"{" + b",".join(members) + b"}"


def _ballot(parts: Sequence[_Part]) -> Ballot:
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for part in parts:
        marks.update(part.marks)
        if part.abstained:
            abstained.update(part.abstained)
    return Ballot(judge=CHECK, marks=marks, abstained=abstained)


def checked_event(chunk: Sequence[BulkJudged], groups: Sequence[str] = ()) -> ArtifactsChecked:
    """One event for a chunk: each artifact with what the checks said, as it was recorded. `groups`
    are those of the rows of a table, in the same order.
    """
    return ArtifactsChecked(
        artifacts=[CheckedArtifact(j.path, j.version.digest, j.recorded) for j in chunk],
        groups=tuple(groups) if any(groups) else (),
    )


class JudgedArtifact(NamedTuple):
    """What was made of one artifact. `text` is what quotes are looked up in."""

    event: ArtifactJudged
    text: str | None = None


def _not_judged(subject: JudgedSubject) -> JudgedArtifact:
    """A row with nothing to judge in it: on record with the reason, and never passed."""
    return JudgedArtifact(
        ArtifactJudged(
            path=subject.name,
            digest="",
            spend=_NOTHING,
            error=subject.problem,
            group=subject.group,
        )
    )


def _spent_on(output: Output) -> Spend:
    """What a target's run cost."""
    spend = Spend(target_calls=int(output.was_run))
    spend.add(output.usage)
    return spend


class Evaluation(Struct, frozen=True, kw_only=True, dict=True):
    """One `eval` run over artifacts, whose paths start at `base`. `exclude` are real paths (rubric,
    suite) that do not belong to a folder; `looked_at` holds artifacts already read, dropped once
    they are judged; `asked_as` is what judges hear for the names of some; `changed` names the files
    that judge and are no longer what they were: nothing that was judged after that counts.
    """

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
    looked_at: dict[Path, Loaded] = field(default_factory=dict)
    asked_as: Mapping[Path, str] = field(default_factory=dict)
    changed: Callable[[], Sequence[str]] = tuple
    # What telemetry hears the scores of; None tells it none.
    scorer: Scorer | None = None

    @cached_property
    def live(self) -> Live:
        return Live(
            kind="eval",
            run=self.run,
            journal=self.store.journal,
            meter=self.evaluator.panel.meter,
            observer=self.observer,
        )

    @cached_property
    def _asks_judges(self) -> bool:
        return self.evaluator.rubric.asks_judges

    @cached_property
    def _packing(self) -> Sequence[Seat]:
        return packing_seats(self.evaluator.panel.seats)

    def judge_all(self, paths: Sequence[Path]) -> AsyncIterator[JudgedArtifact]:
        """Judgements in the order of the paths, some at a time. Each is on record before it is
        handed on.
        """
        return self._judge_in_order(paths, self._judge_path, len(paths))

    def judge_subjects(
        self, subjects: Iterable[JudgedSubject], total: int
    ) -> AsyncIterator[JudgedArtifact]:
        """The same of what is at hand already, taken from `subjects` as its turn comes. `total` is
        for progress, 0 where it is not known.
        """
        return self._judge_in_order(subjects, self._judge, total)

    async def _judge_in_order(
        self, things: Iterable[_T], judge: Callable[[_T], Awaitable[_Found]], total: int
    ) -> AsyncIterator[JudgedArtifact]:
        with self.live.here(lasts=True):
            work = _InOrder(things, judge, at_once=self.concurrency)
        done = 0
        try:
            self._report(done, total, "judging")
            while ready := await work.ready():
                await self._record(ready)
                for judgement, _ in ready:
                    yield judgement
                done += len(ready)
                self._report(done, total, "judging")
        finally:
            await work.stop()
            self.live.end()

    def _report(self, done: int, total: int, doing: str) -> None:
        self.live.progress(done, total, doing, left=self.live.time_left(done, total))

    async def _record(self, found: Sequence[_Found]) -> None:
        """All that is ready at a time in one go: a commit each would cost more than the judging."""
        blobs = {name: data for _, contents in found for name, data in contents.items()}
        journal = self.store.journal
        if len(found) == 1:
            await journal.append(self.run, found[0][0].event, blobs)
            return
        if blobs:
            await journal.keep_blobs(blobs)
        await journal.append_many(self.run, [judgement.event for judgement, _ in found])

    def _load(self, path: Path) -> Loaded:
        loaded = self.looked_at.pop(path, None)
        return loaded or load_artifact(
            self.base / path, exclude=self.exclude, max_bytes=self.max_bytes
        )

    async def _judge_path(self, path: Path) -> _Found:
        name = printable(path)
        return await self._judge(
            JudgedSubject(
                name=name,
                loaded=self._load(path),
                asked_as=self.asked_as.get(path, name),
                input=self.input,
                reference=self.reference,
            )
        )

    async def _judge(self, subject: JudgedSubject) -> _Found:
        if subject.problem is not None:
            return _not_judged(subject), {}
        if not is_traced():
            return await self._judged(subject)
        with part_under_way("artifact", subject.name) as span:
            found = await self._judged(subject)
            tell_scores(span, self.scorer, found[0].event.ballots)
            return found

    async def _judged(self, subject: JudgedSubject) -> _Found:
        loaded, name = subject.loaded, subject.name
        version = loaded.version
        made: Output | None = None
        if self.target is not None:
            messages = (Message("user", version.text if subject.input is None else subject.input),)
            task = Task(messages=messages, version=version, case=name)
            try:
                async with in_time(self.evaluator.panel.meter):
                    made = await run_target(self.target, task)
            except OutOfTime as ended:
                made = Output(text="", error=f"no output in time: {ended}")
            if made.error is not None:
                failed = ArtifactJudged(
                    path=name,
                    digest=version.digest,
                    spend=_spent_on(made),
                    notes=loaded.notes,
                    error=f"the target failed: {made.error}",
                    group=subject.group,
                )
                return JudgedArtifact(failed), {}
        artifact = Artifact(subject.asked_as, version)
        blobs = version_blobs(version) if self._asks_judges else {}
        question = self.evaluator.question(
            artifact, input=subject.input, reference=subject.reference, output=made
        )
        judged = await self.evaluator.judge(question, made)
        packed = shown_in_part(self._packing, question)
        output = None if made is None else made.text
        by_judge = judged.by_judge
        if made is not None:
            # What the target used is not the judge's.
            asked = [ballot.judge for ballot in judged.ballots if ballot.judge != CHECK]
            by_judge = by_judge or {judge: Spend.of([judged.spend]) for judge in asked}
            judged.spend.join(_spent_on(made))
        changed = self.changed()
        event = ArtifactJudged(
            path=name,
            digest=version.digest,
            ballots=judged.ballots,
            spend=judged.spend,
            by_judge=by_judge,
            output=output,
            notes=(*loaded.notes, *packing_notes(packed), *_why_no_further(judged)),
            packed=packed,
            group=subject.group,
            error=f"what judges changed while it was judged: {', '.join(changed[:5])}"
            if changed
            else None,
        )
        return JudgedArtifact(event, output if output is not None else version.text), blobs

    def _load_text(self, path: Path) -> Version:
        loaded = self.looked_at.pop(path, None)
        if loaded:
            return loaded.version
        return load_file(self.base / path if self.base.parts else path, max_bytes=self.max_bytes)

    def judge_text_subjects(
        self, texts: TextEvaluator, subjects: Iterable[JudgedSubject], total: int
    ) -> Iterator[JudgedArtifact]:
        """`judge_subjects` where `texts` judge."""
        with self.live.here(lasts=True):
            pass
        waiting, done = iter(subjects), 0
        while chunk := list(islice(waiting, CHUNK)):
            yield from self._text_chunk(texts, chunk)
            done += len(chunk)
            self._report(done, total, "checking")
        self.live.end()

    def _text_chunk(
        self, texts: TextEvaluator, chunk: Sequence[JudgedSubject]
    ) -> Iterator[JudgedArtifact]:
        """Some rows, on record in their order."""
        for has_text, rows in groupby(chunk, lambda one: one.problem is None):
            if has_text:
                yield from self._whole_texts(texts, list(rows))
                continue
            for row in rows:
                judgement = _not_judged(row)
                self.store.append(self.run, judgement.event)
                yield judgement

    def _whole_texts(
        self, texts: TextEvaluator, rows: Sequence[JudgedSubject]
    ) -> Iterator[JudgedArtifact]:
        loaded = ((one.name, one.loaded.version) for one in rows)
        found = [
            judged
            for part in texts.judge_all(loaded, self.store, self.contract, fresh=self.fresh)
            for judged in part
        ]
        self.store.append(self.run, checked_event(found, [one.group for one in rows]))
        for one, judged in zip(rows, found, strict=True):
            event = ArtifactJudged(
                path=judged.path,
                digest=judged.version.digest,
                ballots=(judged.ballot,),
                spend=_NOTHING,
                group=one.group,
            )
            yield JudgedArtifact(event, judged.version.text)

    def judge_texts(self, texts: TextEvaluator, paths: Sequence[Path]) -> Iterator[JudgedArtifact]:
        """The same where none is a folder and `texts` judge."""
        loaded = ((printable(path), self._load_text(path)) for path in paths)
        done = 0
        with self.live.here(lasts=True):
            pass
        for chunk in texts.judge_all(loaded, self.store, self.contract, fresh=self.fresh):
            self.store.append(self.run, checked_event(chunk))
            self._report(done, len(paths), "checking")
            for judged in chunk:
                digest, ballots = judged.version.digest, (judged.ballot,)
                yield JudgedArtifact(
                    ArtifactJudged(path=judged.path, digest=digest, ballots=ballots, spend=_NOTHING)
                )
            done += len(chunk)
        self.live.end()


def packing_seats(seats: Sequence[Seat]) -> list[Seat]:
    """Those whose judges may be shown a part of a text."""
    return [
        seat
        for seat in seats
        if isinstance(seat.judge, SizedJudge) and seat.judge.budget.pack != "none"
    ]


def shown_in_part(seats: Sequence[Seat], question: Question) -> dict[str, PlainPacked]:
    """What each seat's judge is shown of a text that is too big for it; judges that see the whole
    are left out.
    """
    shown = {
        seat.id: cast(PlainPacked | None, seat.judge.packed(question))
        for seat in seats
        if isinstance(seat.judge, SizedJudge)
    }
    return {id: part for id, part in shown.items() if part}


def _why_no_further(judged: Judged) -> list[str]:
    """Which limit ended the looks, where no judge that was not asked says so."""
    limit = judged.refused
    is_said = any(limit in (ballot.reason or "") for ballot in judged.ballots) if limit else True
    return [] if is_said else [f"{NO_FURTHER_LOOK}{limit}"]


def packing_notes(packed: Mapping[str, PlainPacked]) -> list[str]:
    return [
        f"{judge} was shown a part (--pack {part['strategy']}): {part['shown']}"
        for judge, part in packed.items()
    ]


_NOTHING = Spend()

# A judgement, and the content it speaks of, to be kept with it.
_Found: TypeAlias = tuple[JudgedArtifact, Mapping[str, bytes]]

_T = TypeVar("_T")

# Fewer results than this wait so many seconds for more to be recorded with them; what was paid for
# is on record already.
_TOGETHER, _MOMENT = 64, 0.05

# How far the quick may be ahead of the slowest, in times of what is under way at once.
_LEAD = 4


class _InOrder(Generic[_T]):
    """Works on some things at a time and hands out what was made of them in the order given.

    A slow one holds up none behind it, up to a bound that keeps memory flat. When one fails nothing
    new is begun, and its error is raised in its turn.
    """

    def __init__(
        self, things: Iterable[_T], judge: Callable[[_T], Awaitable[_Found]], *, at_once: int
    ) -> None:
        self._waiting = enumerate(things)
        self._judge = judge
        self._lead = _LEAD * at_once
        self._made: dict[int, _Found | Exception] = {}
        self._next = 0
        self._has_failed = False
        self._news, self._capacity = asyncio.Event(), asyncio.Event()
        workers = min(at_once, length_hint(things, at_once))
        self._workers = [asyncio.create_task(self._work()) for _ in range(workers)]

    async def _work(self) -> None:
        for number, thing in self._waiting:
            while number >= self._next + self._lead:
                self._capacity.clear()
                await self._capacity.wait()
            if self._has_failed:
                return
            try:
                self._made[number] = await self._judge(thing)
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
            self._capacity.set()
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
