"""Running a suite: every attempt at every case gets its folder, its target, its judges, and goes on record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import Ballot
from honestone.core.checks import visible
from honestone.core.errors import FileError
from honestone.core.events import AttemptJudged, CasePassedBy, Event, OutputProduced
from honestone.core.scorecard import Scorer
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.attempts import Attempt, CaseResult, Status, judge_attempt, result_of, skipped, target_failed
from honestone.core.suite.case import Case
from honestone.engine.judging import Evaluator
from honestone.engine.meter import Meter, Spend
from honestone.engine.versions import load_version, version_blobs
from honestone.ports import Observer, Output, Store, Target, Task
from honestone.system.workspace import Folder, make_folder, run_command

SETUP_TIMEOUT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How one case is judged: the evaluator asks, the scorer combines. Cases with equal rubrics share one."""

    evaluator: Evaluator
    scorer: Scorer


@dataclass(slots=True, kw_only=True)
class _Done:
    """What a run already holds of one attempt."""

    output: Output | None = None
    ballots: Sequence[Ballot] | None = None


@dataclass(kw_only=True)
class SuiteRun:
    """One run over some cases of a suite. `base` is the suite's folder; `isolated` runs get a fresh HOME, with `skill`.

    `log` are the events of this run so far (after a kill): judged attempts are not run again, outputs on record are
    judged without running the target. Cases that a budget does not reach are skipped with the reason.
    """

    run: str
    cases: Sequence[Case]
    judging: Callable[[Case], Judging]
    target: Target | None
    store: Store
    meter: Meter
    observer: Observer
    base: Path
    cwd: Path
    version: Version | None = None
    artifact: str = ""
    isolated: bool = False
    skill: Skill | None = None
    concurrency: int = 8
    log: Sequence[Event] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    _done: dict[tuple[str, int], _Done] = field(default_factory=dict)
    _attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    _results: dict[str, CaseResult] = field(default_factory=dict)
    _bad: int = 0
    _worked: int = 0
    _left: int = 0

    async def all(self) -> dict[str, CaseResult]:
        """Every case's result by id, in the order given. Each attempt is on record before the next step."""
        self._take_up(self.log)
        self._left = sum(case.attempts for case in self.cases if case.skip is None)
        waiting = iter([one for case in self.cases for one in _runs_of(case)])
        self._report()
        workers = [asyncio.create_task(self._work(waiting)) for _ in range(self._at_once())]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
        return {case.id: self._results[case.id] for case in self.cases}

    def _at_once(self) -> int:
        limit = getattr(self.target, "concurrency", None)
        return max(1, min(self.concurrency, limit or self.concurrency, sum(c.attempts for c in self.cases)))

    def _take_up(self, log: Sequence[Event]) -> None:
        for event in log:
            if isinstance(event, OutputProduced):
                self._known(event).output = output_from_event(event, self.store)
            elif isinstance(event, AttemptJudged):
                self._known(event).ballots = event.ballots

    def _known(self, event: OutputProduced | AttemptJudged) -> _Done:
        return self._done.setdefault((event.case, event.attempt), _Done())

    # -------------------------------------------------------------------------------------------- cases and attempts

    async def _work(self, waiting: Iterator[tuple[Case, Sequence[int]]]) -> None:
        for case, numbers in waiting:
            for number in numbers:
                if case.id in self._results:
                    break
                await self._run_one(case, number)

    async def _run_one(self, case: Case, number: int) -> None:
        if case.skip is not None:
            self._skip(case, case.skip)
            return
        known = self._done.get((case.id, number))
        refusal = None if known and known.ballots is not None else self._refusal(case)
        if refusal is not None:
            self._skip(case, f"the budget is used up: {refusal}")
            return
        attempt = await self._attempt(case, number, known or _Done())
        self._worked += known is None
        self._left -= 1
        self._finish(case, attempt)

    def _refusal(self, case: Case) -> str | None:
        """Why nothing more may be begun."""
        asks = case.rubric.asks_judges
        return self.meter.exhausted() or (self.meter.no_call_left() if asks else None)

    def _skip(self, case: Case, reason: str) -> None:
        if case.id not in self._results:
            self._end(case, skipped(reason))
            self._left -= 0 if case.skip is not None else case.attempts
            self.store.append(self.run, CasePassedBy(case=case.id, reason=reason))
            self._report()

    def _finish(self, case: Case, attempt: Attempt) -> None:
        made = self._attempts.setdefault(case.id, [])
        made.append(attempt)
        is_over = len(made) == case.attempts or (case.stops_at_pass and attempt.status is Status.PASSED)
        if is_over and case.id not in self._results:
            self._end(case, result_of(sorted(made, key=lambda a: a.number), case))
            del self._attempts[case.id]
        self._report()

    def _end(self, case: Case, result: CaseResult) -> None:
        self._results[case.id] = result
        self._bad += result.status not in (Status.PASSED, Status.SKIPPED)

    async def _attempt(self, case: Case, number: int, known: _Done) -> Attempt:
        judging = self.judging(case)
        if known.ballots is not None:
            return self._judged(case, number, judging, known.output, known.ballots)
        if known.output is not None or self.target is None:
            output = known.output
            if output is None or output.error is None:
                return await self._judge(case, number, judging, output)
            return target_failed(number, output.error)
        async with _InFolder(self, case, number) as place:
            if place.wrong is not None:
                output = Output(text="", error=place.wrong)
            else:
                output = await self._produce(self.target, case, number, place)
            self._keep(case, number, output)
            if output.error is not None:
                return target_failed(number, output.error)
            return await self._judge(case, number, judging, output)

    async def _produce(self, target: Target, case: Case, number: int, place: _InFolder) -> Output:
        task = Task(
            messages=case.messages,
            version=self.version,
            case=case.id,
            attempt=number,
            timeout=case.timeout,
            folder=place.path,
            isolated=self.isolated,
            skill=self.skill,
        )
        self.meter.spent.target_calls += 1
        try:
            output = await target.run(task)
        except Exception as error:  # a full disk, a fault in somebody's target: this case's, not the suite's
            why = visible(str(error), 200)
            output = Output(text="", error=f"it could not be run: {type(error).__name__}: {why}".rstrip(": "))
        self.meter.spent.add(output.usage)
        if place.folder is None:
            return output
        return await asyncio.to_thread(_with_changes, output, place.folder, case.rubric.has_checks)

    def _keep(self, case: Case, number: int, output: Output) -> None:
        """On record before it is judged: a target's run may have cost an hour."""
        blobs = version_blobs(output.files) if output.files is not None else None
        self.store.append(self.run, produced_event(case.id, number, output), blobs)

    async def _judge(self, case: Case, number: int, judging: Judging, output: Output | None) -> Attempt:
        artifact = self._subject(output)
        judged = await judging.evaluator.judge(
            artifact, input=case.input or None, reference=case.reference, output=output, case=case.id, attempt=number
        )
        self.store.append(
            self.run, AttemptJudged(case=case.id, attempt=number, ballots=judged.ballots, spend=judged.spend)
        )
        return judge_attempt(number, judging.scorer.card(judged.ballots), case)

    def _subject(self, output: Output | None) -> Artifact:
        """What is judged. Of an output, only it: judges are told nothing about what made it, and equal ones cost nothing."""
        if output is not None:
            return Artifact("output.txt", Version.of_text(output.text, "output.txt"))
        assert self.version is not None, "without a target the artifact itself is judged"
        return Artifact(self.artifact, self.version)

    def _judged(
        self, case: Case, number: int, judging: Judging, output: Output | None, ballots: Sequence[Ballot]
    ) -> Attempt:
        if output is not None and output.error is not None:
            return target_failed(number, output.error)
        return judge_attempt(number, judging.scorer.card(ballots), case)

    # ------------------------------------------------------------------------------------------------------ progress

    def _report(self) -> None:
        done = len(self._results)
        spent = self.meter.spent
        words = ["running"]
        if self._bad:
            words.append(f"{self._bad} not passing")
        if spent.usd:
            words.append(f"${spent.usd:.2f}")
        if self._worked and self._left > 0:  # what was on record already took no time
            left = (self.meter.seconds - self.meter.seconds_before) / self._worked * self._left
            words.append(f"{left / 60:.0f} min left" if left >= 90 else f"{left:.0f} s left")
        self.observer.progress(done, len(self.cases), ", ".join(words))


def _with_changes(output: Output, folder: Folder, needs_files: bool) -> Output:
    """An output with what the target changed in its workspace, and the workspace itself where checks look at it."""
    try:
        files = folder.left() if needs_files else None
        return replace(output, diff=folder.diff(), files=files, folder=str(folder.path))
    except OSError as error:
        why = error.strerror or str(error)
        return replace(output, text="", error=output.error or f"its workspace cannot be read back: {why}")


def _runs_of(case: Case) -> list[tuple[Case, Sequence[int]]]:
    """What one worker takes at a time: an attempt, or all of a case where a pass ends them."""
    numbers = range(1, case.attempts + 1)
    return [(case, numbers)] if case.stops_at_pass else [(case, (number,)) for number in numbers]


class _InFolder:
    """A case's workspace for one attempt: made, set up, torn down whatever happened. `wrong` says why it cannot be used."""

    def __init__(self, run: SuiteRun, case: Case, number: int) -> None:
        self._run = run
        self._case = case
        self._number = number
        self.folder: Folder | None = None
        self.wrong: str | None = None

    @property
    def path(self) -> Path | None:
        return self.folder.path if self.folder is not None else None

    async def __aenter__(self) -> _InFolder:
        try:
            await self._make()
        except OSError as error:
            self.wrong = f"the workspace cannot be made: {error.strerror or error}"
        except BaseException:  # it is being stopped: what is there already is torn down all the same
            await self._leave()
            raise
        return self

    async def _make(self) -> None:
        case = self._case
        if case.workspace is not None:
            try:
                self.folder = await asyncio.to_thread(make_folder, case.workspace, self._run.base)
            except FileError as error:
                self.wrong = f"the workspace cannot be made: {error.message}"
                return
        for line in case.setup:
            why = await self._command(line)
            if why is not None:
                self.wrong = f"setup failed ({line}): {why}"
                return
        if self.folder is not None:
            await asyncio.to_thread(self.folder.start)

    async def __aexit__(self, *_: object) -> None:
        await self._leave()

    async def _leave(self) -> None:
        try:
            for line in self._case.teardown:
                why = await self._command(line)
                if why is not None:
                    self._run.observer.note(f"teardown of case `{self._case.id}` failed ({line}): {why}")
        finally:
            if self.folder is not None:
                await asyncio.to_thread(self.folder.close)

    async def _command(self, line: str) -> str | None:
        return await run_command(line, cwd=self.path or self._run.cwd, env=self._env(), timeout=SETUP_TIMEOUT)

    def _env(self) -> dict[str, str]:
        return {**self._run.env, "HONESTONE_CASE": self._case.id, "HONESTONE_ATTEMPT": str(self._number)}


# ------------------------------------------------------------------------------------------------------------ events


def produced_event(case: str, attempt: int, output: Output) -> OutputProduced:
    spend = Spend(target_calls=1)
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
    )


def output_from_event(event: OutputProduced, store: Store) -> Output:
    return Output(
        text=event.output,
        error=event.error,
        duration_ms=event.duration_ms,
        diff=event.diff,
        trace=event.trace,
        files=None if event.files is None else load_version(store, event.files),
    )
