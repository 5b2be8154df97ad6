"""One run of a suite's cases with one subject: opened or resumed, worked to its end, and closed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import BATCH_AT_ONCE, make_panel
from honestone.app.run_figures import RunFigures
from honestone.app.suites.cases import case_work
from honestone.app.suites.plan import SuitePlan, calls_at_once
from honestone.app.suites.subject import SuiteSubject
from honestone.app.suites.sure import asked_by_need, asking_of
from honestone.core.errors import UsageError
from honestone.core.events import (
    AttemptJudged,
    CasePassedBy,
    Event,
    RunFinished,
    SidesCompared,
    SuiteStarted,
    total_spend,
)
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.contract import digest_json
from honestone.core.judging.scorecard import Outcome
from honestone.core.judging.spend import Meter, Spend
from honestone.core.numbers import to_points
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.runs import COLUMN
from honestone.core.skill.sides import (
    SidesComparison,
)
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.engine.cases import KnownOutputs
from honestone.engine.journal import give_back, reserve_in
from honestone.engine.judging.panel import Panel
from honestone.engine.suites import SuiteRun
from honestone.ports import Observer, RunInfo, Store

if TYPE_CHECKING:
    from honestone.core.loop.suite_loop import ByNeed
    from honestone.engine.sure_suites import SuiteAsking


class CutShort(Exception):
    """A run was cut short by a limit, which the message names."""


class SideRun(Struct, kw_only=True, eq=False):
    """`record` is the run as far as it got; `meter` holds its limits."""

    plan: SuitePlan
    store: Store
    observer: Observer
    subject: SuiteSubject
    meter: Meter
    run: str
    record: SuiteRecord
    is_finished: bool = False

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
        kind: str = "suite",
        named: str | None = None,
        is_brief: bool = False,
    ) -> SideRun:
        """The run that is `named`, else the unfinished one of the same identity, else a new one of
        that `kind`. Raises UsageError while another one is at it.

        What it has spent counts against the meter, unless that is shared: then whoever shares it
        knows of that.
        """
        identity = claimed_identity(plan, store, subject, cases)
        old = store.find_run(named) if named is not None else unfinished(plan, store, identity)
        if old is not None:
            run, log = old.id, _resumed(store, observer, old.id, None if is_shared else meter)
        else:
            log = [plan.started(subject, cases, meter)]
            run = begin(plan, store, identity, log[0], kind)
        if not is_shared and kind != COLUMN:  # the limits of a column are those of its table
            reserve_in(store, run, meter)
        record = read_record(log, run=run, is_brief=is_brief)
        for case in record.cases.values():
            case.ask_again()
        if record.is_brief:
            # Its cases as they were recorded are on disk: from here on they are read there.
            record.started = _first_event(store, run)
        return cls(
            plan=plan,
            store=store,
            observer=observer,
            subject=subject,
            meter=meter,
            run=run,
            record=record,
            is_finished=old is not None and old.finished is not None,
        )

    @classmethod
    def of_chosen(
        cls,
        plan: SuitePlan,
        store: Store,
        observer: Observer,
        subject: SuiteSubject,
        *,
        sides: int = 1,
        before: Spend | None = None,
        is_brief: bool = False,
    ) -> SideRun:
        """A run of the chosen cases under the limits of the command, which hold for all of its
        `sides` together: the side that was run before this one spent `before`.
        """
        meter = plan.meter(sides * plan.judge_calls(plan.chosen), before=before)
        return cls.open(plan, store, observer, subject, plan.chosen, meter, is_brief=is_brief)

    def work_to_end(self) -> None:
        """Runs every case; the run is left open. Raises Interrupted."""
        then = f"the same command resumes run {self.run} and repeats nothing on record"
        run_interruptibly(self.work, self.plan.close, then)

    async def work(
        self,
        panel: Panel | None = None,
        slots: AbstractAsyncContextManager[object] | None = None,
        by_need: ByNeed | None = None,
        asked: Mapping[str, str] | None = None,
        known: KnownOutputs | None = None,
    ) -> None:
        """The same inside an event loop. Whoever calls it closes the plan. `panel` and `slots` are
        shared with other runs: what they ask is asked once, and `slots` lets so many attempts of
        all of them be at work. `by_need`: what a loop knows of its judges and asks of them. `asked`
        and `known` are those of `case_work`.
        """
        plan = self.plan
        panel = panel or make_panel(
            plan.seats, self.store, self.meter, plan.judging, concurrency=calls_at_once(plan)
        )
        work = case_work(
            plan,
            self.store,
            self.meter,
            self.observer,
            run=self.run,
            subject=self.subject,
            panel=panel,
            add=self.record.add,
            asked=asked,
            known=known,
        )
        paid = self.meter.before.judge_calls + self.meter.lost
        began = self.store.find_run(self.run).started
        asking = asking_of(plan, self.record, panel, by_need, paid, began)
        if asking is not None:
            work = asked_by_need(work, plan, asking)

        def shared(case: str, attempt: int) -> AbstractAsyncContextManager[object]:
            return slots or nullcontext()

        at_once = BATCH_AT_ONCE if plan.judging.batch is not None else 0
        if asking is not None:
            # An attempt waits for its judges until the suite is decided.
            at_once = sum(one.case.attempts for one in self.record.cases.values())
        suite = SuiteRun(
            record=self.record,
            work=work,
            judged_at_once=at_once,
            slot_of=shared if asking is None else asking.slot,
            is_asked_on=asking is not None,
        )
        if asking is not None:
            asking.has_output = suite.has_output
        try:
            await _together(suite, asking)
        finally:
            await give_back(self.meter)

    def require_whole(self) -> None:
        """Raises CutShort where a limit came before every case had its result. The run stays open:
        when it is resumed, what is on record is not run again.
        """
        reason = self.meter.exhausted() or self.meter.no_call_left()
        wanted = (one.result.status for one in self.record.cases.values() if one.case.skip is None)
        if reason is not None and any(
            status in (Status.SKIPPED, Status.INCONCLUSIVE) for status in wanted
        ):
            raise CutShort(reason)

    def pass_by(self, reason: str) -> None:
        """Record that no case is worth a call, with the reason."""
        log = [CasePassedBy(case=id, reason=reason) for id in self.record.cases]
        self.store.append_many(self.run, log)
        for event in log:
            self.record.add(event)

    def finish(self, sides: SidesComparison | None = None) -> SuiteRecord:
        """Closes the run. `sides` compare it with its baseline: only a complete run passes."""
        if sides is not None:
            if sides.verdict == "pass" and self.record.tally.is_cut_short:
                reasons = ("not every case was reached",)
                sides = replace(sides, verdict=str(Outcome.INCONCLUSIVE), reasons=reasons)
            event = SidesCompared(sides=sides)
            self.store.append(self.run, event)
            self.record.add(event)
        return finish_run(self.store, self.record, self.meter)


def finish_run(store: Store, record: SuiteRecord, meter: Meter) -> SuiteRecord:
    """Closes a run with the verdict of its record."""
    assert record.run is not None
    seconds = round(meter.seconds, 3)
    figures = asdict(figures_of_suite(record, seconds=seconds))
    finished = RunFinished(result=record.verdict, seconds=seconds, figures=figures)
    store.finish_run(record.run, finished.result, finished)
    record.add(finished)
    return record


def claimed_identity(
    plan: SuitePlan, store: Store, subject: SuiteSubject, cases: Sequence[Case]
) -> str:
    """What a run of these cases is known by, claimed for this process. Raises UsageError while
    another one is at it.
    """
    identity = plan.identity(subject, cases)
    if not store.lock(identity):
        raise UsageError(
            "another command is running this suite already, with the same target and judges",
            hint="wait for that run, or stop it",
        )
    return identity


def begin(plan: SuitePlan, store: Store, identity: str, first: Event, kind: str = "suite") -> str:
    """Starts a run; its id."""
    return store.start_run(
        kind=kind,
        subject=plan.suite_name.subject,
        identity=identity,
        contract=plan.contract.id,
        first=first,
    )


def unfinished(plan: SuitePlan, store: Store, identity: str) -> RunInfo | None:
    """The run to resume. `--fresh` closes it instead."""
    old = store.unfinished(identity)
    if old is not None and plan.judging.fresh:
        store.finish_run(
            old.id,
            "interrupted",
            RunFinished(result="interrupted", reason="started over with --fresh"),
        )
        return None
    return old


def _first_event(store: Store, run: str) -> SuiteStarted:
    first = next(store.iter_events(run))
    assert isinstance(first, SuiteStarted)
    return first


def _resumed(store: Store, observer: Observer, run: str, meter: Meter | None) -> list[Event]:
    """What a run that is resumed holds; what it spent is counted."""
    log = store.events(run)
    if meter is not None:
        meter.before.join(total_spend(log))
    done = sum(1 for event in log if isinstance(event, AttemptJudged) and not event.refused)
    observer.note(
        f"resuming run {run}: {done} attempt{'s are' if done != 1 else ' is'} judged already"
    )
    return log


def figures_of_suite(record: SuiteRecord, *, seconds: float) -> RunFigures:
    """What a suite's run came to that has ended, or got so far."""
    started, rates, spend = record.started, record.tally.rates, record.spend
    return RunFigures(
        side=started.side or None,
        title=started.suite.title or started.suite.path or None,
        score=None if rates.mean_score is None else to_points(rates.mean_score),
        pass_rate=None if rates.pass_rate is None else float(rates.pass_rate),
        probability=None if record.belief is None else record.belief.probability,
        is_undecided=record.is_undecided,
        usd=spend.usd,
        target_calls=spend.target_calls,
        judge_calls=spend.judge_calls,
        duration_ms=round(seconds * 1000) if seconds else None,
        judges=tuple(dict.fromkeys(judge for judge in started.panel if judge != CHECK)),
        low_confidence=bool(record.tally.lonely),
        left_out=len(started.left_out),
        compared_by=_compared_by(started),
    )


def _compared_by(started: SuiteStarted) -> str:
    artifact = None if started.artifact is None else started.artifact.path
    cases = [[one.id, one.plain.get("contract")] for one in started.cases]
    return digest_json([started.target, artifact, cases])


async def _together(suite: SuiteRun, asking: SuiteAsking | None) -> None:
    """A run and, where it asks by need, what decides whom to ask. Raises what either of them ended
    with.
    """
    if asking is None:
        await suite.all()
        return
    try:
        async with asyncio.TaskGroup() as tasks:
            driver = tasks.create_task(asking.drive())
            await suite.all()
            driver.cancel()
    except BaseExceptionGroup as found:
        # Callers know the errors of a run, and no groups of them.
        raise found.exceptions[0] from None
