"""Running a suite here: its cases side by side, each attempt in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Final

from honestone.core.errors import RunCancelled
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.core.suite.attempts import Status
from honestone.core.suite.dependencies import in_order
from honestone.engine.cases import CaseWork, used_up
from honestone.engine.journal import NotAsked, OutOfTime
from honestone.engine.live import Live

# The result of a run that a person ended: it is not resumed.
CANCELLED: Final = "interrupted"
_LOOK_SECONDS: Final = 2.0


@dataclass(kw_only=True)
class SuiteRun:
    """The rest of one run of a suite. `record` is the run so far, and is filled by `work` while it
    goes by: attempts on record are not run again. Cases that a budget does not reach are skipped
    with the reason.

    `slot_of` gives what is entered for an attempt of a case, by id and number: it may be shared
    with other runs. As many attempts are under way as `work` runs at a time, and `judged_at_once`
    where that is more: their judges answer all of them together. `is_asked_on`: an attempt begins
    when those that decide whom to ask let it, whatever came of the others.
    """

    record: SuiteRecord
    work: CaseWork
    judged_at_once: int = 0
    slot_of: Callable[[str, int], AbstractAsyncContextManager[object]] = lambda *_: nullcontext()
    is_asked_on: bool = False
    _over: set[str] = field(default_factory=set)
    _ended: set[str] = field(default_factory=set)
    _ends: dict[str, asyncio.Event] = field(default_factory=dict)
    _bad: int = 0
    _worked: int = 0
    _left: int = 0
    _live: Live = field(init=False)

    def __post_init__(self) -> None:
        work = self.work
        self._live = Live(
            kind="suite",
            run=work.run,
            journal=work.journal,
            meter=work.meter,
            observer=work.observer,
        )

    async def all(self) -> None:
        """Every case to its end. Each step of an attempt is on record before the next.

        Raises CouldNotJudge when a file that judges changed meanwhile, RunCancelled when another
        process has ended the run.
        """
        cases = list(self.record.cases.values())
        for case in cases:
            if case.is_complete or (case.case.skip is not None and case.passed_by is not None):
                self._end(case)
            elif self.is_asked_on and case.produced:
                # An earlier process ran its target: its attempts that ended are not taken again.
                self.has_output(case.case.id)
        self._left = sum(
            one.case.attempts - len(one.attempts) for one in cases if one.case.skip is None
        )
        ordered = list(cases)
        if any(case.case.depends_on for case in cases):
            waits_for = {case.case.id: case.case.depends_on for case in cases}
            ordered = [self.record.cases[id] for id in in_order(waits_for, waits_for)]
        waiting = iter([one for case in ordered for one in self._runs_of(case)])
        with self._live.here():
            self._report()
            await self._all(waiting, self._at_once(cases))

    async def _all(self, waiting: Iterator[tuple[CaseRecord, Sequence[int]]], at_once: int) -> None:
        workers = [asyncio.create_task(self._take(waiting)) for _ in range(at_once)]
        watcher, all_done = (
            asyncio.create_task(self._until_cancelled()),
            asyncio.create_task(_each(workers)),
        )
        try:
            await asyncio.wait({all_done, watcher}, return_when=asyncio.FIRST_COMPLETED)
            await (watcher if watcher.done() else all_done)
        finally:
            for task in (*workers, watcher, all_done):
                task.cancel()
            await asyncio.gather(*workers, watcher, all_done, return_exceptions=True)

    async def _until_cancelled(self) -> None:
        """Raises RunCancelled when another process has ended this run."""
        work = self.work
        while await work.journal.result_of(work.run) != CANCELLED:
            await asyncio.sleep(_LOOK_SECONDS)
        raise RunCancelled(
            f"run {work.run} was cancelled", hint="what is on record is kept: honestone show RUN"
        )

    def _at_once(self, cases: Sequence[CaseRecord]) -> int:
        """Attempts under way: as many as the target runs, and those whose judges are waited for
        together.
        """
        most = max(self.work.targets_at_once, self.judged_at_once)
        return max(1, min(most, sum(one.case.attempts for one in cases)))

    # --------------------------------------------------------------------------------------------
    # cases and attempts

    async def _take(self, waiting: Iterator[tuple[CaseRecord, Sequence[int]]]) -> None:
        for case, numbers in waiting:
            if case.case.skip is None:
                await self._wait_for_others(case)
            for number in numbers:
                if case.case.id not in self._over and not case.has_ended(number):
                    async with self.slot_of(case.case.id, number):
                        await self._run_one(case, number)

    def _runs_of(self, case: CaseRecord) -> list[tuple[CaseRecord, Sequence[int]]]:
        """What one worker takes at a time: an attempt, or all of a case where a pass ends them."""
        numbers = range(1, case.case.attempts + 1)
        if case.case.stops_at_pass and not self.is_asked_on:
            return [(case, numbers)]
        return [(case, (number,)) for number in numbers]

    async def _wait_for_others(self, case: CaseRecord) -> None:
        """Those that it depends on were taken before it, so each of them ends."""
        for id in case.case.depends_on:
            if id in self.record.cases and id not in self._ended:
                await self._ends.setdefault(id, asyncio.Event()).wait()

    def has_output(self, id: str) -> None:
        """Let cases run that depend on this one, before its judges are done."""
        self._ended.add(id)
        if id in self._ends:
            self._ends[id].set()

    def _blocked_by(self, case: CaseRecord) -> str | None:
        """Why a case that depends on others is not run: the target failed in one of them, or that
        one was not run itself. One whose judges were not asked has run, and one with an output was
        let run before.
        """
        for id in () if case.produced else case.case.depends_on:
            other = self.record.cases.get(id)
            if other is not None and (
                other.result.status is Status.TARGET_ERROR
                or (other.is_cut_short and not other.produced)
            ):
                return f"the case `{id}` that it depends on could not be run"
        return None

    async def _run_one(self, case: CaseRecord, number: int) -> None:
        reason = self.work.reason_to_skip(case) or self._blocked_by(case)
        if reason is not None:
            await self._skip(case, reason)
            return
        self._worked += case.output_of(number) is None
        try:
            await self.work.attempt(case, number)
        except OutOfTime as ended:
            await self._skip(case, used_up(str(ended)))
            return
        except NotAsked as why:
            await self._skip(case, str(why))
            return
        self._left -= 1
        if case.is_complete and case.case.id not in self._over:
            self._end(case)
        self._report()

    async def _skip(self, case: CaseRecord, reason: str) -> None:
        if case.case.id in self._over:
            return
        # Before anything is awaited: another attempt of it may be taken meanwhile.
        self._over.add(case.case.id)
        await self.work.skip(case, reason)
        self._left -= 0 if case.case.skip is not None else case.case.attempts
        self._end(case)
        self._report()

    def _end(self, case: CaseRecord) -> None:
        self._over.add(case.case.id)
        self.has_output(case.case.id)
        self._bad += case.result.status not in (Status.PASSED, Status.SKIPPED)

    # ------------------------------------------------------------------------------------------------------
    # progress

    def _report(self) -> None:
        done = len(self._over)
        spent = self.work.meter.spent
        words, left = ["running"], None
        if self._bad:
            words.append(f"{self._bad} not passing")
        if spent.usd:
            words.append(f"${spent.usd:.2f}")
        if self._worked and self._left > 0:  # what was on record already took no time
            left = (
                (self.work.meter.seconds - self.work.meter.seconds_before)
                / self._worked
                * self._left
            )
            words.append(f"{left / 60:.0f} min left" if left >= 90 else f"{left:.0f} s left")
        self._live.failing = self._bad
        self._live.progress(
            done, len(self.record.cases), words[0], left=left, shown=", ".join(words)
        )


async def _each(tasks: Sequence[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks)
