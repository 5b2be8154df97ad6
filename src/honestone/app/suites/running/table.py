"""One suite with several targets, prompts or artifacts: a run for each of these columns, at work
together under one allowance, and a run that names them. Killed anywhere, the same command resumes
every column where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.doors.quiet import Quiet
from honestone.app.doors.results import DocumentResult
from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import BATCH_AT_ONCE, make_panel
from honestone.app.suites.costs import suite_cost
from honestone.app.suites.plan import (
    SuitePlan,
    SuiteRequest,
    as_column,
    calls_at_once,
    unread_artifact,
)
from honestone.app.suites.planning import plan_columns
from honestone.app.suites.running.run import SuiteResult, judge_again, run_suite
from honestone.app.suites.running.side_run import SideRun, unfinished
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import (
    ColumnPicked,
    Event,
    RunFinished,
    StartedColumn,
    StartedSuite,
    TableStarted,
    judged_by,
)
from honestone.core.judging.contract import digest_json
from honestone.core.judging.spend import Meter
from honestone.core.record.runs import COLUMN, TABLE
from honestone.core.record.table import TableRecord, set_apart
from honestone.core.skill.sides import SidesComparison
from honestone.engine.journal import reserve_in
from honestone.engine.live import Live
from honestone.ports import HasCapacity, Observer, Store
from honestone.report.building.table import table_document
from honestone.report.documents.suite_case import text_of
from honestone.report.documents.table import ColumnDoc, TableCaseDoc, TableDoc
from honestone.report.misses import why
from honestone.system.drawing import count, cut_middle, line
from honestone.system.files import printable

LONGEST_NAME = 40


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableResult(DocumentResult):
    """A table that came to its end. Its document is `honestone.table/1`."""

    heads = ("case", "column", "status", "score", "output", "reason")
    record: TableRecord

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`: the worst column's."""
        return str(self.record.verdict)

    @property
    def run(self) -> str:
        return self.report.run

    @property
    def columns(self) -> Sequence[ColumnDoc]:
        """Each target with each artifact: a run of its own."""
        return tuple(self.report.columns)

    @property
    def cases(self) -> Sequence[TableCaseDoc]:
        """The cases in the order of the suite, each with a cell for every column."""
        return tuple(self.report.cases)

    @property
    def pick(self) -> str | None:
        """The name of the cheapest column that passes, where `pick` was asked for."""
        return self.report.pick

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (case.id, cell.column, cell.status, cell.score, cell.output, "; ".join(why(cell)))
            for case in self.cases
            for cell in case.cells
        ]

    @property
    def is_low_confidence(self) -> bool:
        return any(one.low_confidence_cases for one in self.columns)

    @property
    def headline(self) -> str:
        size = f"{count(len(self.cases), 'case')} in {count(len(self.columns), 'column')}"
        return f"{self.stated_verdict}, {size}: {self.report.name}, run {self.run}"

    def _repr_html_(self) -> str:
        """Cell by cell side by side."""
        from honestone.report.pages.notebook import fragment

        heads = [
            "case",
            *(f"{column.title}: {column.verdict_words}" for column in self.columns),
        ]
        rows = [
            [case.id, *(f"{cell.status}: {text_of(cell.output)}" for cell in case.cells)]
            for case in self.cases
        ]
        return fragment(self.headline, heads, rows)

    @property
    def streamed(self) -> TableDoc:
        return self.report

    @cached_property
    def report(self) -> TableDoc:
        """`honestone.table/1`."""
        return table_document(self.record)

    def _as_struct(self) -> TableDoc:
        return self.report


def evaluate_columns(
    workspace: Workspace, request: SuiteRequest, observer: Observer
) -> SuiteResult | TableResult:
    """Plans a suite and runs it: a table where it has several targets or artifacts, or where one is
    to be picked.

    Raises as `plan_suite` and `run_suite` do, and UsageError for what a table does not take.
    """
    return run_columns(plan_columns(workspace, request, observer), observer)


def run_columns(plans: Sequence[SuitePlan], observer: Observer) -> SuiteResult | TableResult:
    """The same with plans that are at hand."""
    request, workspace = plans[0].request, plans[0].workspace
    if len(plans) == 1 and not request.pick:
        return run_suite(plans[0], observer)
    _refuse_baselines(request, len(plans))
    with workspace.open_store() as store:
        table = TableRun.open(plans, store, observer)
        table.work_to_end()
        return TableResult(record=table.finish())


def _refuse_baselines(request: SuiteRequest, columns: int) -> None:
    asked = {
        "--baseline": request.baseline or request.against,
        "--update-baseline": request.update_baseline,
        "--fail-on": request.fail_on,
        "--require-improvement": request.require_improvement,
        "--across-contracts": request.across_contracts,
    }
    for option, value in asked.items():
        if value:
            raise UsageError(
                f"{option} compares one run with a baseline, but this is a table of {count(columns, 'column')}",
                hint="its pairs compare the columns; choose one for a baseline with --target NAME, --prompt NAME and --artifact PATH",
            )


def name_columns(plans: Sequence[SuitePlan]) -> dict[str, SuitePlan]:
    """The plans by short names: what sets their targets, prompts and artifacts apart. Recorded
    columns keep their names.
    """
    recorded = [plan.outputs.column or "" for plan in plans if plan.outputs is not None]
    if any(recorded):
        return dict(zip(recorded, plans, strict=True))
    targets = list(dict.fromkeys((plan.label, plan.target_name) for plan in plans))
    prompts = list(dict.fromkeys(plan.prompt or "" for plan in plans))
    artifacts = list(dict.fromkeys(plan.subject.path for plan in plans))
    of_target = dict(zip(targets, set_apart([name for _, name in targets]), strict=True))
    of_artifact = dict(zip(artifacts, set_apart(artifacts), strict=True))
    named: dict[str, SuitePlan] = {}
    for plan in plans:
        target = plan.label or of_target[plan.label, plan.target_name]
        artifact = of_artifact[plan.subject.path]
        sides = ((target, targets), (plan.prompt or "", prompts), (artifact, artifacts))
        parts = [one for one, several in sides if len(several) > 1] or [target]
        name = " / ".join(cut_middle(line(part), LONGEST_NAME) for part in parts)
        same = sum(1 for one in named if one == name or one.startswith(f"{name}#"))
        named[f"{name}#{same + 1}" if same else name] = plan
    return named


class TableRun(Struct, kw_only=True, eq=False):
    """`columns` are its runs by name, in order. `meter` holds their limits, for all together."""

    run: str
    started: TableStarted
    columns: Mapping[str, SideRun]
    store: Store
    meter: Meter
    observer: Observer

    @classmethod
    def open(cls, plans: Sequence[SuitePlan], store: Store, observer: Observer) -> TableRun:
        """The unfinished table of the same columns, or a new one. Raises UsageError while one of
        them is being run.
        """
        plan = plans[0]
        named = {name: as_column(one, name) for name, one in name_columns(plans).items()}
        who = ", ".join(dict.fromkeys(one.target_name for one in plans))
        for note in (
            suite_cost(plan, len(plans), each="column", of=line(who, 120)),
            *_notes(plans),
            *judge_again(named, store),
        ):
            observer.note(note)
        identity = digest_json(
            [[name, one.identity(one.subject, one.chosen)] for name, one in named.items()]
        )
        old = unfinished(plan, store, identity)
        started = next(store.iter_events(old.id)) if old is not None else None
        assert started is None or isinstance(started, TableStarted)
        runs = {one.name: one.run for one in started.columns} if started is not None else {}
        meter = plan.meter(len(plans) * plan.judge_calls(plan.chosen))
        columns = {
            name: SideRun.open(
                one,
                store,
                Quiet(),
                one.subject,
                one.chosen,
                meter,
                kind=COLUMN,
                named=runs.get(name),
            )
            for name, one in named.items()
        }
        if old is not None and started is not None:
            run = old.id
            observer.note(
                f"resuming run {run}: {count(_judged(columns), 'attempt')} judged already"
            )
        else:
            started = _started(plan, columns, meter)
            run = store.start_run(
                kind=TABLE,
                subject=plan.suite_name.subject,
                identity=identity,
                contract=plan.contract.id,
                first=started,
            )
        reserve_in(store, run, meter)
        return cls(
            run=run, started=started, columns=columns, store=store, meter=meter, observer=observer
        )

    def work_to_end(self) -> None:
        """Runs every case in every column; the runs are left open. Raises Interrupted."""
        then = f"the same command resumes run {self.run} and repeats nothing on record"
        run_interruptibly(self._work, self._close, then)

    async def _work(self) -> None:
        plan = next(iter(self.columns.values())).plan
        panel = make_panel(
            plan.seats, self.store, self.meter, plan.judging, concurrency=calls_at_once(plan)
        )
        everyone = asyncio.Semaphore(max(_under_way(side.plan) for side in self.columns.values()))
        of_target = {
            side.plan.target_name: asyncio.Semaphore(_at_target(side.plan))
            for side in self.columns.values()
        }
        parts: dict[str, tuple[int, int]] = {}
        tasks = []
        journal = self.store.journal
        with Live(
            kind="table",
            run=self.run,
            journal=journal,
            meter=self.meter,
            observer=self.observer,
            is_sum=True,
        ).here():
            for name, side in self.columns.items():
                side.observer = _OfColumn(self.observer, name, parts)
                if not side.is_finished:
                    slots = _Both(of_target[side.plan.target_name], everyone)
                    tasks.append(asyncio.create_task(side.work(panel, slots)))
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _close(self) -> None:
        closed = []
        for plan in (side.plan for side in self.columns.values()):
            if plan.target not in closed:
                closed.append(plan.target)
                await (plan if len(closed) == 1 else replace(plan, seats=())).close()

    def finish(self) -> TableRecord:
        """Closes the columns, then the table: killed in between, the same command finds each as it
        is.
        """
        for side in self.columns.values():
            if not side.is_finished:
                side.finish(_of_skill(side) if side.subject.is_isolated else None)
        columns = {name: side.record for name, side in self.columns.items()}
        record = TableRecord(run=self.run, started=self.started, columns=columns)
        if next(iter(self.columns.values())).plan.request.pick:
            self._put(record, ColumnPicked(column=record.cheapest))
        finished = RunFinished(result=str(record.verdict), seconds=round(self.meter.seconds, 3))
        self.store.finish_run(self.run, finished.result, finished)
        record.add(finished)
        return record

    def _put(self, record: TableRecord, event: Event) -> None:
        self.store.append(self.run, event)
        record.add(event)


def _started(plan: SuitePlan, columns: Mapping[str, SideRun], meter: Meter) -> TableStarted:
    suite = plan.source.suite
    return TableStarted(
        suite=StartedSuite(
            path=printable(plan.request.suite), title=suite.title, dialect=plan.source.dialect
        ),
        columns=tuple(StartedColumn(name=name, run=side.run) for name, side in columns.items()),
        **judged_by(
            plan.contract, plan.judging.rule, (seat.id for seat in plan.seats), meter.limits
        ),
    )


def _judged(columns: Mapping[str, SideRun]) -> int:
    return sum(
        len(case.attempts) for side in columns.values() for case in side.record.cases.values()
    )


def _notes(plans: Sequence[SuitePlan]) -> list[str]:
    """What is to be said of the plans, each once."""
    return list(
        dict.fromkeys(
            note for plan in plans for note in (*plan.contacts, *unread_artifact(plan), *plan.notes)
        )
    )


def _under_way(plan: SuitePlan) -> int:
    return plan.at_once if plan.judging.batch is None else BATCH_AT_ONCE


def _at_target(plan: SuitePlan) -> int:
    """Attempts at one target; where judges answer in batches each column bounds its own."""
    most = _under_way(plan)
    own = (
        plan.target.concurrency
        if isinstance(plan.target, HasCapacity) and plan.judging.batch is None
        else None
    )
    return max(1, min(most, own or most))


class _Both(AbstractAsyncContextManager[None]):
    """Holds a slot of one target and one of the whole table at once; the scarcer is taken first."""

    def __init__(self, *slots: asyncio.Semaphore) -> None:
        self._slots = slots

    async def __aenter__(self) -> None:
        async with AsyncExitStack() as taken:
            for slot in self._slots:
                await taken.enter_async_context(slot)
            taken.pop_all()

    async def __aexit__(self, *_: object) -> None:
        for slot in self._slots:
            slot.release()


class _OfColumn(Struct, eq=False):
    """One column's observer: its progress is added to that of the others in `parts`."""

    observer: Observer
    column: str
    parts: dict[str, tuple[int, int]]

    def note(self, text: str) -> None:
        self.observer.note(f"{self.column}: {text}")

    def progress(self, done: int, total: int, doing: str) -> None:
        self.parts[self.column] = (done, total)
        every = self.parts.values()
        self.observer.progress(
            sum(one for one, _ in every), sum(one for _, one in every), f"{self.column}: {doing}"
        )

    def event(self, event: Event) -> None:
        self.observer.event(event)


def _of_skill(side: SideRun) -> SidesComparison:
    """What a run of a skill alone came to, by code that few tables need."""
    from honestone.app.suites.comparing.skill_run import skill_alone

    return skill_alone(side.plan, side.record)
