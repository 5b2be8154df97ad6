"""One run of a suite's cases with one subject: opened or resumed, worked on, closed; and known from a run before."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import msgspec

from honestone.app.judging_options import make_panel
from honestone.app.loop import run_to_end
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.subject import SuiteSubject
from honestone.core.errors import FileError, Interrupted, UsageError
from honestone.core.events import AttemptJudged, CasePassedBy, Event, RunFinished, SidesCompared, total_spend
from honestone.core.json_value import JsonObject
from honestone.core.skill.evaluation import TaskResult, rate
from honestone.core.spend import Meter
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.core.suite.record import CaseRecord, SuiteRecord, read_record, summary_of
from honestone.engine.panel import Evaluator, Panel
from honestone.engine.suites import SuiteRun
from honestone.ports import Observer, Store
from honestone.system.files import printable, write_atomically


class CutShort(Exception):
    """A run was cut short by a limit, which the message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMeter:
    """The limits that a loop leaves for the runs of one version, and the runs that were made under them."""

    meter: Meter
    runs: list[str] = field(default_factory=list)


@dataclass(kw_only=True)
class SideRun:
    """`record` is the run as far as it got; `meter` holds its limits."""

    plan: SuitePlan
    store: Store
    observer: Observer
    subject: SuiteSubject
    meter: Meter
    run: str
    record: SuiteRecord
    _evaluators: dict[str, Evaluator] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        plan: SuitePlan,
        store: Store,
        observer: Observer,
        subject: SuiteSubject,
        cases: Sequence[Case],
        meter: Meter,
        *,
        is_shared: bool = False,
    ) -> SideRun:
        """The unfinished run of the same identity, or a new one. Raises UsageError while another one is at it.

        What it has spent counts against the meter, unless that is shared: then whoever shares it knows of that.
        """
        identity = plan.identity(subject, cases)
        if not store.lock(identity):
            raise UsageError(
                "this suite is being run with the same target and judges already", hint="wait for that run, or stop it"
            )
        resumed = _unfinished(plan, store, observer, identity, None if is_shared else meter)
        if resumed is not None:
            run, log = resumed
        else:
            log = [plan.started(subject, cases, meter)]
            run = store.start_run(
                kind="suite", subject=plan.suite_name, identity=identity, contract=plan.contract.id, first=log[0]
            )
        record = read_record(log, run=run)
        return cls(plan=plan, store=store, observer=observer, subject=subject, meter=meter, run=run, record=record)

    def work_to_end(self) -> None:
        """Runs every case; the run is left open. Raises Interrupted."""
        try:
            run_to_end(self.work, self.plan.close)
        except KeyboardInterrupt:
            message = f"interrupted; the same command resumes run {self.run} and repeats nothing on record"
            raise Interrupted(message) from None

    async def work(self) -> None:
        """The same inside an event loop. Whoever calls it closes the plan."""
        plan = self.plan
        panel = make_panel(plan.seats, self.store, self.meter, plan.judging)
        await SuiteRun(
            run=self.run,
            record=self.record,
            evaluator=lambda case: self._evaluator(case, panel),
            target=plan.target,
            store=self.store,
            meter=self.meter,
            observer=self.observer,
            base=plan.source.base,
            cwd=plan.workspace.folder,
            version=self.subject.version,
            artifact=self.subject.path,
            isolated=self.subject.is_isolated,
            skill=self.subject.skill,
            concurrency=plan.at_once,
        ).all()

    def _evaluator(self, case: CaseRecord, panel: Panel) -> Evaluator:
        """Cases with equal rubrics share one."""
        found = self._evaluators.get(case.rubric)
        if found is None:
            found = Evaluator(self.plan.rubrics[case.rubric], self.plan.checker, panel)
            self._evaluators[case.rubric] = found
        return found

    def require_whole(self) -> None:
        """Raises CutShort where a limit came before every case had its result. The run stays open: when it is resumed,
        what is on record is not run again."""
        reason = self.meter.exhausted() or self.meter.no_call_left()
        wanted = (one.result.status for one in self.record.cases.values() if one.case.skip is None)
        if reason is not None and any(status in (Status.SKIPPED, Status.INCONCLUSIVE) for status in wanted):
            raise CutShort(reason)

    def pass_by(self, reason: str) -> None:
        """None of the cases is worth a call."""
        log = [CasePassedBy(case=id, reason=reason) for id in self.record.cases]
        self.store.append_many(self.run, log)
        for event in log:
            self.record.add(event)

    def finish(self, compared: JsonObject | None = None) -> SuiteRecord:
        """Closes the run. `compared` is what its report says of a baseline: only a complete run passes."""
        if compared is not None:
            if compared.get("verdict") == "pass" and self.record.is_cut_short:
                compared = {**compared, "verdict": "inconclusive", "reasons": ["not every case was reached"]}
            event = SidesCompared(fields=compared)
            self.store.append(self.run, event)
            self.record.add(event)
        verdict = self.record.verdict
        finished = RunFinished(result=verdict, seconds=round(self.meter.seconds, 3))
        self.store.finish_run(self.run, verdict, finished)
        self.record.add(finished)
        return self.record


def _unfinished(
    plan: SuitePlan, store: Store, observer: Observer, identity: str, meter: Meter | None
) -> tuple[str, list[Event]] | None:
    """The run that is resumed with what it holds; what it spent is counted. `--fresh` closes it instead."""
    old = store.unfinished(identity)
    if old is None:
        return None
    if plan.judging.fresh:
        store.finish_run(old.id, "interrupted", RunFinished(result="interrupted", reason="started over with --fresh"))
        return None
    # What a judge was not asked because of a limit is asked now.
    log = [one for one in store.events(old.id) if not (isinstance(one, AttemptJudged) and one.refused)]
    if meter is not None:
        meter.before.join(total_spend(log))
    done = sum(1 for event in log if isinstance(event, AttemptJudged))
    observer.note(f"resuming run {old.id}: {done} attempt{'s are' if done != 1 else ' is'} judged already")
    return old.id, log


BASELINE_LIFE: Final = timedelta(days=7)
MAX_BYTES: Final = 64_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBaseline:
    """A baseline that was run: every task decided, and the run it can be recomputed from, where that is known."""

    results: tuple[TaskResult, ...]
    run: str | None = None


class BaselineCache(Protocol):
    """Where baselines are remembered, by what decides their results and never by a path."""

    def find(self, key: str) -> KnownBaseline | None: ...

    def keep(self, key: str, known: KnownBaseline) -> None: ...


class RunsAsCache:
    """The runs in the store: a finished one with the same key, not older than seven days, without an open task."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, key: str) -> KnownBaseline | None:
        oldest = (datetime.now(UTC) - BASELINE_LIFE).isoformat()
        for info in self._store.runs():
            if info.started < oldest:
                return None
            if info.kind == "suite" and info.identity == key and info.finished is not None:
                results = summary_of(read_record(self._store.events(info.id))).tasks
                if results and all(result.passed is not None for result in results):
                    return KnownBaseline(results=tuple(results), run=info.id)
        return None

    def keep(self, key: str, known: KnownBaseline) -> None:
        """Nothing to do: the run is in the store."""


class _Kept(msgspec.Struct, kw_only=True):
    created_at: datetime
    pass_rate: float
    results: tuple[TaskResult, ...]
    key: str
    run: str | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class BaselineFiles:
    """A BaselineCache in a folder. Raises FileError when it is made where it cannot write.

    `note` gets a line when a baseline could not be kept: that is not a reason to lose what was paid for.
    """

    def __init__(self, folder: Path, *, note: Callable[[str], None], clock: Callable[[], datetime] = _now) -> None:
        self._folder = folder
        self._note = note
        self._clock = clock
        _require_writable(folder)

    def find(self, key: str) -> KnownBaseline | None:
        path = self._file(key)
        try:
            if path.stat().st_size > MAX_BYTES:
                return None
            kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        except (OSError, ValueError, RecursionError):
            return None
        share = rate(kept.results)
        is_good = kept.key == key and self._is_fresh(kept.created_at) and all(map(_is_decided, kept.results))
        if not is_good or share is None or kept.pass_rate != float(share):
            return None
        return KnownBaseline(results=kept.results, run=kept.run)

    def keep(self, key: str, known: KnownBaseline) -> None:
        share = rate(known.results)
        plain = {
            "created_at": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "pass_rate": None if share is None else float(share),
            "results": [result.to_plain() for result in known.results],
            "key": key,
            "run": known.run,
        }
        path = self._file(key)
        text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            write_atomically(path, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            why = error.strerror or error
            self._note(f"the baseline could not be kept in {printable(path)}: {why}; the next command runs it again")

    def _file(self, key: str) -> Path:
        """A fixed length, whatever the key looks like."""
        return self._folder / f"baseline_{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _is_fresh(self, made: datetime) -> bool:
        if made.tzinfo is None:
            return False
        return timedelta(0) <= self._clock() - made <= BASELINE_LIFE


def _is_decided(result: TaskResult) -> bool:
    """Whether it is the result of a task that passed or failed, with figures that can be."""
    counts = (result.duration_ms, result.attempts, result.passes)
    in_range = result.score is None or 0 <= result.score <= 1
    return result.passed is not None and min(counts) >= 0 and result.passes <= result.attempts and in_range


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"the baseline cache `{printable(folder)}` cannot be made: {error.strerror or error}",
            hint="name a folder that can be written: --baseline-cache-dir DIR",
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(
            f"the baseline cache `{printable(folder)}` cannot be written",
            hint="name a folder that can be written: --baseline-cache-dir DIR",
        )
