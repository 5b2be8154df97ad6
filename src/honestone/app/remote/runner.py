"""A runner: it accepts the orders that it can carry out as they were meant, and works on their
cases.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import msgspec
from msgspec.structs import replace

from honestone.adapters.machine import ThisMachine
from honestone.adapters.registry import open_queue
from honestone.app.judging.judging_options import make_panel
from honestone.app.remote.order import code_here, described
from honestone.app.remote.record import started_of
from honestone.app.remote.request import OrderedHead, OrderedSuite
from honestone.app.suites.cases import case_work
from honestone.app.suites.plan import SuitePlan, calls_at_once, run_concurrency
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.running.side_run import SideRun
from honestone.app.workspace import Workspace, this_person
from honestone.core.errors import FileError, HonestoneError, NoStoreError, RunCancelled
from honestone.core.events import AttemptJudged, CasePassedBy, Event, OutputProduced, SuiteStarted
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.spend import Spend
from honestone.core.record.plan import Plan
from honestone.core.record.queue import MISSED, QueuedCase, RunnerCard, SeenRunner
from honestone.core.record.rates import RateLimits
from honestone.core.record.record import CaseRecord, SuiteRecord, read_record
from honestone.core.suite.each import Each
from honestone.engine.cases import CaseWork, produced_event, used_up
from honestone.engine.journal import OutOfTime, give_back, reserve_in, turn
from honestone.engine.runner import ENDS_WITHIN, Heartbeat, RunnerLoop, RunRefused
from honestone.engine.suites import CANCELLED
from honestone.formats.settings import find_settings
from honestone.ports import Journal, Observer, Output, SharedStore, Store
from honestone.system.bundles import lay_out
from honestone.system.processes.private import private_folder

_SAME_CODE: Final = (
    "install the same version of honestone here, with the same packages that add to it"
)
_SAME_MACHINE: Final = (
    "order the run again, or start a runner where its files and programs are the same"
)


class RunnerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`only`: cases of this run alone. `drain`: until nothing is left. `grace` and `heartbeat` are
    in
        seconds.
    """

    concurrency: int = 8
    only: str | None = None
    drain: bool = False
    grace: float = 60.0
    heartbeat: float


def run_runner(workspace: Workspace, options: RunnerOptions, observer: Observer) -> bool:
    """Works until it is stopped or everything is done; False where it drains and refused all there
    was. Raises StoreError, and StoreAway when the store was away for too long.
    """
    place = workspace.store_place()
    with (
        workspace.open_store() as store,
        closing(open_queue(place)) as queue,
        private_folder("runner") as folder,
    ):
        run = None if options.only is None else store.find_run(options.only).id
        card = RunnerCard(
            host=os.uname().nodename,
            person=this_person(),
            version=version("honestone"),
            concurrency=options.concurrency,
            pid=os.getpid(),
            silence=MISSED * options.heartbeat,
        )
        heartbeat = Heartbeat(open_queue(place), card, options.heartbeat)
        sessions = Sessions(
            workspace=workspace, store=store, folder=folder, options=options, observer=observer
        )
        loop = RunnerLoop(
            queue=queue,
            heartbeat=heartbeat,
            accept=sessions.accept,
            say=observer.note,
            concurrency=options.concurrency,
            only=run,
            drain=options.drain,
            grace=options.grace,
        )
        observer.note(
            f"waits for cases of {place.shown}, {options.concurrency} at a time; Ctrl-C or SIGTERM stops it"
        )
        heartbeat.start()
        try:
            asyncio.run(_until_stopped(loop))
        finally:
            heartbeat.stop()
        return not (options.drain and loop.has_refused_all)


async def _until_stopped(runner: RunnerLoop) -> None:
    """SIGTERM and Ctrl-C: it takes no more, and finishes what it has in hand within its grace, also
    where the server does not answer; a second Ctrl-C gives that back at once.
    """
    loop, here = asyncio.get_running_loop(), asyncio.current_task()
    assert here is not None

    def stopped() -> None:
        runner.stop()
        loop.call_later(runner.grace + ENDS_WITHIN, here.cancel)

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        loop.add_signal_handler(signal.SIGINT, here.cancel)
        stopped()

    loop.add_signal_handler(signal.SIGTERM, stopped)
    loop.add_signal_handler(signal.SIGINT, interrupted)
    with suppress(asyncio.CancelledError):
        await runner.work()


def list_runners(workspace: Workspace) -> Sequence[SeenRunner]:
    """Those that have not ended in order, and were not given up. Raises StoreError."""
    try:
        with (
            workspace.open_store(readonly=True),
            closing(open_queue(workspace.store_place())) as queue,
        ):
            return queue.runners()
    except NoStoreError:  # nothing was ordered yet
        return ()


class Sessions(msgspec.Struct, kw_only=True):
    """Accepts runs. `folder` is where their files are laid out, those of each bundle once."""

    workspace: Workspace
    store: Store
    folder: Path
    options: RunnerOptions
    observer: Observer
    _code: str = msgspec.field(default_factory=code_here)

    async def accept(self, run: str) -> SuiteSession:
        """Raises RunRefused."""
        try:
            plan = await asyncio.to_thread(self._plan, run)
        except HonestoneError as error:
            raise RunRefused(error.message, error.hint or _SAME_MACHINE) from None
        at_a_time = self.options.concurrency
        store = self.store.in_run(run) if isinstance(self.store, SharedStore) else self.store
        return await asyncio.to_thread(
            SuiteSession.open, run, plan, store, self.observer, at_a_time
        )

    def _plan(self, run: str) -> SuitePlan:
        """What the order means on this machine: the same, else it is refused. In a thread: it may
        read large files.
        """
        with self.workspace.open_store() as store:
            order = self._order(run, store)
            if order.code != self._code:
                here = version("honestone")
                differs = (
                    "though the version is the same"
                    if here == order.version
                    else f"and its version {order.version}"
                )
                raise RunRefused(
                    f"its code is not that of this runner (version {here}), {differs}", _SAME_CODE
                )
            _require(order)
            asked = OrderedSuite.from_plain(order.request)
            started, workspace = started_of(store, run), self._workspace(order, store)
            source = OrderedHead.from_plain(order.head).source(workspace.folder, started.rubrics)
            request = replace(
                asked.request(),
                source=source,
                is_ordered=True,
                runner_concurrency=self.options.concurrency,
            )
            plan = plan_suite(workspace, request, self.observer)
            if found := order.differences(described(plan, asked, self._code)):
                raise RunRefused("; ".join(found), _SAME_MACHINE)
            if plan.contracts.rubrics.keys() != started.rubrics.keys():
                raise RunRefused("its rubrics are not the same here", _SAME_MACHINE)
            if plan.target is not None:
                plan.target.refuse(
                    Each(
                        started.cases,
                        lambda recorded: recorded.case(started.rubrics[recorded.rubric]),
                    )
                )
            return plan

    def _order(self, run: str, store: Store) -> Plan:
        queue = open_queue(self.workspace.store_place(), store)
        data = queue.plan_of(run)
        try:
            return Plan.from_plain(json.loads(data or b"{}"))
        except ValueError as error:
            raise RunRefused(f"its order cannot be read: {error}", _SAME_CODE) from None

    def _workspace(self, order: Plan, store: Store) -> Workspace:
        place = self.folder / order.bundle.digest.removeprefix("sha256:")[:32]
        if not place.exists():
            part = Path(
                mkdtemp(dir=self.folder)
            )  # a bundle that cannot be laid out is not taken for one that was
            lay_out(order.bundle, store.blob, part)
            part.rename(place)
        folder = (place / order.at).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        settings = find_settings(folder)
        if order.is_trusted:  # a person trusts them where the order was made, and they came with it
            settings = replace(settings, file=None)
        return replace(self.workspace, folder=folder, named=folder, settings=settings)


def _require(order: Plan) -> None:
    """Raises RunRefused where this machine does not have what the judges and the target of an order
    need.
    """
    machine = ThisMachine()
    found = [(who, one) for who, needs in order.needs.items() for one in needs.missing(machine)]
    if found:
        remedies = dict.fromkeys(one.remedy for _, one in found)
        raise RunRefused(
            "; ".join(f"{who} cannot work here: {one.what}" for who, one in found),
            f"{' and '.join(remedies)}, then start the runner again",
        )


@dataclass(kw_only=True)
class SuiteSession:
    """A run that was accepted. A case is read from the store when it is taken, with what is on
    record of it, and refused where its contract is another one here. `_asked` and `_open` are of
    the cases in hand.
    """

    run: str
    plan: SuitePlan
    store: Store
    empty: SuiteRecord
    work_on: CaseWork
    _asked: dict[str, str]
    _open: dict[str, CaseRecord]
    _folders: dict[Path, str] = field(default_factory=dict)

    @classmethod
    def open(
        cls, run: str, plan: SuitePlan, store: Store, observer: Observer, at_a_time: int
    ) -> SuiteSession:
        started = started_of(store, run)
        meter = plan.judging.meter(plan.workspace.settings, calls=started.limits.get("calls") or 0)
        reserve_in(store, run, meter, at_a_time=at_a_time, from_start=True)
        panel = make_panel(plan.seats, store, meter, plan.judging, concurrency=calls_at_once(plan))
        records, asked = dict[str, CaseRecord](), dict[str, str]()

        def add(event: Event) -> None:
            if isinstance(event, OutputProduced | AttemptJudged | CasePassedBy):
                records[event.case].add(event)

        work_on = case_work(
            plan,
            store,
            meter,
            observer,
            run=run,
            subject=plan.subject,
            panel=panel,
            add=add,
            asked=asked,
        )
        return cls(
            run=run,
            plan=plan,
            store=store,
            empty=SuiteRecord(replace(started, cases=(), rubrics=plan.contracts.rubrics)),
            work_on=work_on,
            _asked=asked,
            _open=records,
        )

    @property
    def journal(self) -> Journal:
        return self.store.journal

    @property
    def concurrency(self) -> int | None:
        return run_concurrency(self.plan)

    async def work(self, case: QueuedCase) -> None:
        """Every attempt at the case that is not on record, one after the other. Where judges are
        asked on the case stands for all of them.
        """
        if self.plan.is_asked_on:
            await self._work_on_all()
            return
        places = RateLimits(account=f"run {self.run}", concurrency=self.concurrency)
        async with turn(self.journal, places, is_of_run=True):
            await self._work_on(case)

    async def _work_on(self, case: QueuedCase) -> None:
        record = await self._record(case.case)
        try:
            self._require_same(record)
            for number in range(1, record.case.attempts + 1):
                if record.is_complete:
                    return
                if (
                    number > 1 and await self.is_cancelled()
                ):  # else it was just taken from the queue
                    return
                if record.has_ended(number):
                    continue
                reason = self.work_on.reason_to_skip(record)
                if reason is not None:
                    await self.work_on.skip(record, reason)
                    return
                try:
                    await self.work_on.attempt(record, number)
                except OutOfTime as ended:
                    await self.work_on.skip(record, used_up(str(ended)))
                    return
        finally:
            self._close(case.case)

    def has_begun(self, case: QueuedCase) -> bool:
        return self.plan.is_asked_on or case.case in self._open

    async def _work_on_all(self) -> None:
        """The rest of the run: each look is chosen by all cases. What another runner put on record
        is taken from there, so that this one chooses the same looks.
        """
        record = await asyncio.to_thread(self._whole)
        for case in record.cases.values():
            if case.case.skip is None:
                self._require_same(case)
            case.ask_again()
        side = SideRun(
            plan=self.plan,
            store=self.store,
            observer=self.work_on.observer,
            subject=self.plan.subject,
            meter=self.work_on.meter,
            run=self.run,
            record=record,
        )
        asked = {one.id: one.asked or "" for one in record.started.cases}
        with suppress(RunCancelled):
            await side.work(asked=asked)

    def _whole(self) -> SuiteRecord:
        """The run so far. Its rubrics are the plan's own, by which contracts are computed."""
        started, *rest = self.store.events(self.run)
        assert isinstance(started, SuiteStarted)
        first = replace(started, rubrics=self.plan.contracts.rubrics)
        return read_record([first, *rest], run=self.run)

    def _require_same(self, record: CaseRecord) -> None:
        """Raises RunRefused."""
        try:
            here = self.plan.contracts.id_here(record.case, self._folders)
        except FileError as error:
            raise RunRefused(
                f"case `{record.case.id}`: {error.message}", error.hint or _SAME_MACHINE
            ) from None
        if here != record.contract:
            raise RunRefused(
                f"the files or checks of case `{record.case.id}` are not the same here",
                _SAME_MACHINE,
            )

    async def is_cancelled(self) -> bool:
        return await self.journal.result_of(self.run) == CANCELLED

    async def _record(self, id: str) -> CaseRecord:
        found = await self.journal.case_of(self.run, id)
        assert found is not None, f"run {self.run} has no case {id!r}"
        recorded, events = found
        self._open[id] = record = self.empty.case_record(recorded)
        self._asked[id] = recorded.asked or ""
        for event in events:
            self.work_on.add(event)
        record.ask_again()
        return record

    async def give_up(self, case: QueuedCase, reason: str) -> None:
        """Every attempt that is not on record ends as an error of the target, with the reason; one
        whose output is on record has no answers, for that reason. Where judges are asked on the
        case stands for all that have no result. Then an attempt without an output was perhaps never
        wanted: its case is passed by.
        """
        if not self.plan.is_asked_on:
            await self._give_up_case(case.case, reason)
            return
        for one in (await asyncio.to_thread(self._whole)).cases.values():
            if not one.is_complete and one.case.skip is None and one.passed_by is None:
                await self._give_up_case(one.case.id, reason)

    async def _give_up_case(self, id: str, reason: str) -> None:
        record = await self._record(id)
        numbers = [one for one in range(1, record.case.attempts + 1) if not record.has_ended(one)]
        has_output = [one for one in numbers if record.output_of(one) is not None]
        unanswered = Ballot(
            judge=CHECK,
            marks={},
            abstained={key: reason for key, _ in record.scorer.rubric.questions()},
        )
        events: list[Event] = [
            AttemptJudged(case=id, attempt=number, ballots=(unanswered,), spend=Spend())
            for number in has_output
        ]
        if not self.plan.is_asked_on:
            for number in numbers:
                if number not in has_output:
                    output = produced_event(id, number, Output(text="", error=reason))
                    events.append(replace(output, spend=Spend()))
        elif len(has_output) < len(numbers):
            events.append(CasePassedBy(case=id, reason=reason))
        for event in events:
            await self.journal.append(self.run, event)
        self._close(id)

    def _close(self, case: str) -> None:
        self._open.pop(case, None)
        self._asked.pop(case, None)

    async def close(self) -> None:
        await give_back(self.work_on.meter)
        await self.plan.close()
        if isinstance(self.store, SharedStore):
            await asyncio.to_thread(self.store.end_view)
