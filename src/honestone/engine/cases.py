"""One case of a suite, wherever it is run: every attempt gets its folder, its target, its judges,
and its place on record.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from msgspec.structs import replace

from honestone.core.artifact import Artifact, Version
from honestone.core.checking.checks import visible
from honestone.core.errors import CouldNotJudge, FileError, StoreError
from honestone.core.events import AttemptJudged, CasePassedBy, DuplicateWork, Event, OutputProduced
from honestone.core.judging.spend import Meter, Spend
from honestone.core.record.rates import RateLimits, tokens_of
from honestone.core.record.record import CaseRecord
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Case
from honestone.engine.journal import OutOfTime, in_time, settle, turn
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.place import recall_version, version_blobs
from honestone.engine.traced import run_target, tell_scores
from honestone.ports import HasCapacity, Journal, Observer, Output, Target, Task
from honestone.system.telemetry import is_traced, part_under_way

if TYPE_CHECKING:
    from honestone.system.workspace import Folder

SETUP_TIMEOUT = 600.0
_CHANGED = "a target that changes it may not be judged by it; what was judged before is on record"


class KnownOutputs(Protocol):
    """Outputs that are there already. What `find` gives is put on record; `keep` hears of every
    output on record.
    """

    async def find(self, case: Case, attempt: int) -> OutputProduced | None: ...

    async def keep(self, output: OutputProduced) -> None: ...


@dataclass(kw_only=True)
class CaseWork:
    """How the cases of one run are worked on. `base` is the suite's folder; `isolated` runs get a
    fresh HOME, with `skill` and `more_skills`.

    Each step of an attempt is on record before the next, and `add` hears of every event that is put
    there. Outputs on record are judged without running the target; where another process put its
    own there first, this one continues with that. `is_free`: what the target gives is recorded
    already, so it is put on record together with what is said of it. The target runs `concurrency`
    attempts at a time, or fewer where it takes fewer. `evaluator` gives what judges a case; cases
    with equal rubrics may share one. `changed` names the files that judge it and are not what they
    were. An attempt with an output among `known` is judged without running the target. `rates` are
    those of the target's account.
    """

    run: str
    add: Callable[[Event], None]
    evaluator: Callable[[CaseRecord], Evaluator]
    changed: Callable[[CaseRecord], Sequence[str]]
    target: Target | None
    journal: Journal
    meter: Meter
    observer: Observer
    base: Path
    cwd: Path
    version: Version | None = None
    artifact: str = ""
    isolated: bool = False
    skill: Skill | None = None
    more_skills: tuple[Skill, ...] = ()
    concurrency: int = 8
    is_free: bool = False
    known: KnownOutputs | None = None
    rates: RateLimits | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    _at_work: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._at_work = asyncio.Semaphore(self.targets_at_once)

    @property
    def targets_at_once(self) -> int:
        limit = self.target.concurrency if isinstance(self.target, HasCapacity) else None
        return max(1, min(self.concurrency, limit or self.concurrency))

    def reason_to_skip(self, case: CaseRecord) -> str | None:
        """Why the case is not run (any further): the suite says so, or a limit is used up."""
        if case.case.skip is not None:
            return case.case.skip
        asks = case.scorer.asks_judges and not self.meter.is_by_record
        refusal = self.meter.exhausted() or (self.meter.no_call_left() if asks else None)
        return None if refusal is None else used_up(refusal)

    async def skip(self, case: CaseRecord, reason: str) -> None:
        await self._put(CasePassedBy(case=case.case.id, reason=reason))

    async def attempt(self, case: CaseRecord, number: int) -> None:
        """One attempt to its end: an output, on record before it is judged, then what is said of
        it. Raises OutOfTime where the minutes end the target's run: nothing is on record of it.
        """
        if not is_traced():
            await self._attempt(case, number)
            return
        with part_under_way("attempt", case.case.id, number) as span:
            await self._attempt(case, number)
            tell_scores(span, case.scorer, case.ballots_of(number) or ())

    async def _attempt(self, case: CaseRecord, number: int) -> None:
        event = case.output_of(number)
        found = await self._find(case.case, number) if event is None else None
        if found is not None:
            await self._record_and_judge(
                case, found, await recall_output(found, self.journal), is_free=True
            )
        elif event is not None:
            await self._keep(event)  # the process that recorded it may have been killed before that
            if event.error is None:
                await self._judge(case, number, await recall_output(event, self.journal))
        elif self.target is not None:
            await self._run_and_judge(self.target, case, number)
        else:
            await self._judge(case, number, None)

    async def _find(self, case: Case, number: int) -> OutputProduced | None:
        event = None if self.known is None else await self.known.find(case, number)
        if event is not None:
            self.meter.spent.join(event.spend)
        return event

    async def _keep(self, event: OutputProduced) -> None:
        if self.known is not None:
            await self.known.keep(event)

    async def _run_and_judge(self, target: Target, case: CaseRecord, number: int) -> None:
        async with self._place_of(case.case, number) as place:
            if place.wrong is not None:
                output = Output(text="", error=place.wrong, was_run=False)
            else:
                output = await self._produce(target, case.case, number, place)
            event = produced_event(case.case.id, number, output)
            await self._record_and_judge(case, event, output, is_free=self.is_free)

    def _place_of(self, case: Case, number: int) -> AbstractAsyncContextManager[_Place]:
        if case.workspace is None and not case.setup and not case.teardown:
            return _NO_PLACE
        return _in_folder(self, case, number)

    async def _record_and_judge(
        self, case: CaseRecord, event: OutputProduced, output: Output, *, is_free: bool
    ) -> None:
        """A target's run may have cost an hour, so it is on record before it is judged; what is
        free may wait.
        """
        if event.error is None and is_free and output.files is None:
            await self._judge(case, event.attempt, output, event)
            return
        on_record = await self._put(event, output.files, output.start)
        if on_record is not event:
            assert isinstance(on_record, OutputProduced)
            event, output = on_record, await recall_output(on_record, self.journal)
        await self._keep(event)
        if event.error is None:
            await self._judge(case, event.attempt, output)

    async def _produce(self, target: Target, case: Case, number: int, place: _Place) -> Output:
        task = Task(
            messages=case.messages,
            version=self.version,
            case=case.id,
            attempt=number,
            timeout=case.timeout,
            folder=place.path,
            isolated=self.isolated,
            skill=self.skill,
            more_skills=self.more_skills,
        )
        try:
            async with self._at_work:
                tokens = 0 if self.rates is None else tokens_of(task.prompt)
                async with in_time(self.meter), turn(self.journal, self.rates, tokens):
                    self.meter.spent.target_calls += 1
                    output = await run_target(target, task)
                await settle(self.journal, self.rates, tokens, output.usage)
        # Not the target's fault, and the output of this case may be produced again.
        except (StoreError, OutOfTime):
            raise
        except (
            Exception
        ) as error:  # a full disk, a fault in somebody's target: this case's, not the suite's
            why = visible(str(error), 200)
            output = Output(
                text="", error=f"it could not be run: {type(error).__name__}: {why}".rstrip(": ")
            )
        if not output.was_run:
            self.meter.spent.target_calls -= 1
        self.meter.spent.add(output.usage)
        if self.meter.account is not None:
            await self.meter.account.tell()
        if place.folder is None:
            return output
        return await asyncio.to_thread(_with_changes, output, place.folder, case.rubric.has_checks)

    async def _judge(
        self,
        record: CaseRecord,
        number: int,
        output: Output | None,
        free: OutputProduced | None = None,
    ) -> None:
        """Judges an output, and puts on record what was said of it; with it the output itself,
        where it was `free`.
        """
        case = record.case
        evaluator = self.evaluator(record)
        question = evaluator.question(
            self._judged(output),
            input=case.input or None,
            images=case.images,
            reference=case.reference,
            output=output,
            case=case.id,
            attempt=number,
        )
        judged = await evaluator.judge(question, output)
        if changed := self.changed(record):
            raise CouldNotJudge(
                f"what judges changed while the suite ran: {', '.join(changed[:5])}", hint=_CHANGED
            )
        judgement = AttemptJudged(
            case=case.id,
            attempt=number,
            ballots=judged.ballots,
            spend=judged.spend,
            by_judge=judged.by_judge,
            refused=judged.refused,
        )
        events: tuple[Event, ...] = (judgement,) if free is None else (free, judgement)
        lost = await self.journal.append_many(self.run, events)
        recorded = [
            await self._added(event, lost.get(place))
            for place, event in enumerate(events)
            if lost.get(place, event) is not None
        ]
        if not recorded:  # this process may add nothing to the case any more: another one has it
            return
        if isinstance(recorded[0], OutputProduced):
            await self._keep(recorded[0])
            if recorded[0] is not free:  # what was said is not about the output that is on record
                await self._judge(record, number, await recall_output(recorded[0], self.journal))

    async def _put(self, event: Event, *versions: Version | None) -> Event:
        """An event into the store, with the files that it speaks of, and into the record; what is
        on record of it.
        """
        blobs: dict[str, bytes] = {}
        for version in versions:
            blobs |= {} if version is None else version_blobs(version)
        return await self._added(event, await self.journal.append(self.run, event, blobs or None))

    async def _added(self, event: Event, other: Event | None) -> Event:
        """Into the record what is on record: an event, or the `other` that another process had put
        there before. Then what this one cost is recorded all the same.
        """
        if other is None:
            self.add(event)
            return event
        self.add(other)
        if isinstance(event, OutputProduced | AttemptJudged) and event.spend != Spend():
            late = DuplicateWork(case=event.case, attempt=event.attempt, spend=event.spend)
            await self.journal.append(self.run, late)
            self.add(late)
        return other

    def _judged(self, output: Output | None) -> Artifact:
        """What is judged. Of an output, only it: judges see nothing of what made it, and equal ones
        cost nothing.
        """
        if output is not None:
            return Artifact("output.txt", Version.of_text(output.text, "output.txt"))
        assert self.version is not None, "without a target the artifact itself is judged"
        return Artifact(self.artifact, self.version)


def _with_changes(output: Output, folder: Folder, needs_files: bool) -> Output:
    """An output with what the target changed in its workspace, and the workspace itself where
    checks look at it.
    """
    try:
        files = folder.left() if needs_files else None
        start = None if files is None else folder.started(files)
        return replace(
            output, diff=folder.diff(), files=files, start=start, folder=str(folder.path)
        )
    except OSError as error:
        why = error.strerror or str(error)
        return replace(
            output, text="", error=output.error or f"its workspace cannot be read back: {why}"
        )


class _Place(msgspec.Struct):
    """A case's workspace for one attempt, where it has one. `wrong` says why it cannot be used."""

    folder: Folder | None = None
    wrong: str | None = None

    @property
    def path(self) -> Path | None:
        return self.folder.path if self.folder is not None else None


# Of a case without a workspace, and without commands before or after it. No one changes it.
_NO_PLACE: Final = nullcontext(_Place())


@asynccontextmanager
async def _in_folder(work: CaseWork, case: Case, number: int) -> AsyncIterator[_Place]:
    """The workspace made and set up, and torn down whatever happens, also when it is being stopped."""
    place, base = _Place(), work.base

    async def run(line: str) -> str | None:
        env = {
            **work.env,
            "HONESTONE_CASE": case.id,
            "HONESTONE_ATTEMPT": str(number),
            "HONESTONE_SUITE": str(base.resolve()),
        }
        from honestone.system.workspace import run_command

        return await run_command(line, cwd=place.path or work.cwd, env=env, timeout=SETUP_TIMEOUT)

    try:
        try:
            if case.workspace is not None:
                from honestone.system.workspace import make_folder

                place.folder = await asyncio.to_thread(make_folder, case.workspace, base)
            for line in case.setup:
                if place.wrong is None and (why := await run(line)) is not None:
                    place.wrong = f"setup failed ({line}): {why}"
            if place.folder is not None and place.wrong is None:
                await asyncio.to_thread(place.folder.start)
        except FileError as error:
            place.wrong = f"the workspace cannot be made: {error.message}"
        except OSError as error:
            place.wrong = f"the workspace cannot be made: {error.strerror or error}"
        yield place
    finally:
        try:
            for line in case.teardown:
                if (why := await run(line)) is not None:
                    work.observer.note(f"teardown of case `{case.id}` failed ({line}): {why}")
        finally:
            if place.folder is not None:
                await asyncio.to_thread(place.folder.close)


def used_up(limit: str) -> str:
    """Why a case is not run (any further), as it is put on record."""
    return f"the budget is used up: {limit}"


# ------------------------------------------------------------------------------------------------------------
# events


def produced_event(case: str, attempt: int, output: Output) -> OutputProduced:
    spend = Spend(target_calls=int(output.was_run))
    spend.add(output.usage)
    return OutputProduced(
        case=case,
        attempt=attempt,
        output=output.text,
        duration_ms=output.duration_ms,
        spend=spend,
        error=output.error,
        trace=output.trace,
        diff=output.diff,
        files=None if output.files is None else output.files.digest,
        start=None if output.start is None else output.start.digest,
    )


async def recall_output(event: OutputProduced, journal: Journal) -> Output:
    """What a target produced, with the workspace as it left it."""
    return Output(
        text=event.output,
        error=event.error,
        duration_ms=event.duration_ms,
        diff=event.diff,
        trace=event.trace,
        files=None if event.files is None else await recall_version(journal, event.files),
        start=None if event.start is None else await recall_version(journal, event.start),
    )
