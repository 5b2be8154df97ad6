"""`eval SUITE --remote`: the suite is planned and ordered here, its cases are run by runners, and
the run is watched to its end.

Nothing is asked and no target is run here, so no key is needed. The order holds the digest of
everything a runner must find the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

import honestone
from honestone.adapters.registry import open_queue
from honestone.app.event_loop import each_interruptibly
from honestone.app.judging.measured.known_noise import noise_of_cases
from honestone.app.remote.record import WatchedRecord, started_of
from honestone.app.remote.request import OrderedHead, OrderedSuite, ordered, refuse
from honestone.app.suites.choice import those_of
from honestone.app.suites.costs import suite_cost
from honestone.app.suites.plan import SuitePlan, SuiteRequest, unread_artifact
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.running.run import SuiteResult
from honestone.app.suites.running.side_run import begin, claimed_identity, finish_run, unfinished
from honestone.app.workspace import Workspace
from honestone.core.errors import Interrupted, RunCancelled, StoreAway, StoreError, UsageError
from honestone.core.events import CasePassedBy
from honestone.core.judging.contract import Identity, digest_json
from honestone.core.judging.needs import NO_NEEDS, MachineNeeds
from honestone.core.judging.spend import Meter
from honestone.core.record.plan import Plan
from honestone.core.record.queue import MISSED, SeenRunner
from honestone.core.suite.each import Each
from honestone.core.suite.outline import outline_of
from honestone.engine.suites import CANCELLED
from honestone.ports import Judge, Observer, Queue, Store, Target, needs_of
from honestone.system.bundles import collect
from honestone.system.drawing import count
from honestone.system.processes.environment import needs_of_variables
from honestone.system.trust.code_digest import code_digest

# Seconds between two looks at the record of a run.
POLL: Final = 0.5
# After so many of them the queue is counted too.
LOOKS: Final = 10


def evaluate_remotely(
    workspace: Workspace,
    request: SuiteRequest,
    observer: Observer,
    *,
    priority: int,
    heartbeat: float,
) -> SuiteResult:
    """Raises UsageError where the store is not shared, for what cannot be ordered, and while
    another command watches the same run; Interrupted, and then the same command takes the run up;
    RunCancelled; StoreAway.
    """
    if workspace.shared is None:
        raise UsageError(
            f"--remote needs a store that runners share, but {workspace.shown_store} is a folder",
            hint="set HONESTONE_STORE=postgresql://USER@HOST/DATABASE, or name it with --store",
        )
    root = _root(workspace)
    asked = ordered(workspace, request)
    with workspace.open_store() as store:
        queue = open_queue(workspace.store_place(), store)
        plan = plan_suite(workspace, replace(request, is_ordered=True), observer)
        if plan.subject.is_isolated:
            refuse(
                "the tasks of a skill are run on this machine, with and without it",
                "leave out --remote",
            )
        if outline_of(plan.chosen).has_dependencies:
            refuse(
                "cases that depend on others are run on this machine, in their order",
                "leave out --remote",
            )
        if plan.seats and not asked.judges:
            refuse(
                "no judge is named, and which can be asked differs from machine to machine",
                "name one with --judge",
            )
        order = make_order(plan, asked, root, store)
        for note in (suite_cost(plan, 1), *plan.contacts, *unread_artifact(plan), *plan.notes):
            observer.note(note)
        run = RemoteRun.open(
            plan, order, store, queue, observer, priority=priority, heartbeat=heartbeat
        )
        del plan  # it holds every case of the suite
        record = run.to_end()
        return SuiteResult(record=record, noise=noise_of_cases(store, started_of(store, run.run)))


def _root(workspace: Workspace) -> Path:
    folder = workspace.settings.folder
    if folder is None:
        raise UsageError(
            "no settings were found, so it is not known which folder travels to the runners",
            hint="make a honestone.toml in the folder that holds the suite and what it needs; it may be empty",
        )
    return folder.resolve()


def make_order(plan: SuitePlan, asked: OrderedSuite, root: Path, store: Store) -> Plan:
    """What a runner is given, with the files of the suite in the store. Raises FileError for a file
    that cannot travel.
    """
    return replace(
        described(plan, asked, code_here()),
        head=msgspec.to_builtins(OrderedHead.of(plan)),
        at=os.path.relpath(plan.workspace.folder, root),
        bundle=collect(root, dict.fromkeys(_places(plan, root)), store.keep_blobs),
        is_trusted=plan.workspace.trusts_settings,
    )


def code_here() -> str:
    """The digest of the code that runs here. It reads every file of it, so ask once."""
    return code_digest(Path(honestone.__path__[0]))


def described(plan: SuitePlan, asked: OrderedSuite, code: str) -> Plan:
    """What must be the same here and there, as it is on this machine; `code` is its `code_here`."""
    made_by, artifact = plan.target, plan.subject.version
    asked_of = [
        *(seat.judge.identity for seat in plan.seats),
        {} if made_by is None else made_by.identity,
    ]
    return Plan(
        request=msgspec.to_builtins(asked),
        contract=plan.contract.id,
        code=code,
        version=version("honestone"),
        judges={seat.id: digest_json(dict(seat.judge.identity)) for seat in plan.seats},
        target=None
        if made_by is None
        else digest_json([dict(made_by.identity), dict(plan.program.digests)]),
        artifact=None if artifact is None else artifact.digest,
        sandbox=next(
            (
                str(one["sandbox"])
                for one in plan.contracts.check_identities(plan.chosen)
                if "sandbox" in one
            ),
            None,
        ),
        files=dict(
            pair
            for one in (*asked_of, *plan.contracts.check_identities(plan.chosen))
            for pair in _files(one)
        ),
        needs={who: needs for who, needs in _needs(plan) if needs != NO_NEEDS},
    )


def _files(identity: Identity) -> Iterator[tuple[str, str]]:
    """The files that an identity names, with their digests."""
    for name in ("files", "scripts"):
        files = identity.get(name)
        if isinstance(files, Mapping):
            yield from ((str(file), str(digest)) for file, digest in files.items())


def _needs(plan: SuitePlan) -> Iterator[tuple[str, MachineNeeds]]:
    """What each of those that are asked wants of a machine."""
    yield from ((f"the judge `{seat.id}`", needs_of(seat.judge)) for seat in plan.seats)
    yield f"the target `{plan.target_name}`", needs_of(plan.target)
    yield "the embeddings model", needs_of(plan.checker.embedder)
    if any("sandbox" in one for one in plan.contracts.check_identities(plan.chosen)):
        yield "a check", needs_of_variables(plan.judging.pass_env)


def _places(plan: SuitePlan, root: Path) -> Iterator[Path]:
    """The files and folders that a run needs. Programs of the machine, outside of the folder that
    travels, stay.
    """
    settings = plan.workspace.settings
    yield from plan.files
    yield from (root / name for name in settings.store.include)
    if settings.file is not None:
        yield settings.file.resolve()
    if plan.subject.place is not None:
        yield plan.subject.place
    base = plan.source.base
    workspaces = outline_of(plan.cases).workspaces.values()
    yield from (base / workspace.copy for workspace in workspaces if workspace.copy)
    judging = [
        path for watches in plan.watches.values() for watch in watches for path in watch.paths
    ]
    for path in (*plan.program_files, *plan.program.paths, *judging, *plan.judging_files()):
        if path.resolve().is_relative_to(root):
            yield path


@dataclass(kw_only=True)
class RemoteRun:
    """A run whose cases are in the queue. `record` is the run as far as it was read, `seen` how
    many of its events that is. `used` is what it was planned with. `as_whole`: the case that
    is queued for all of them, where each look is chosen by all cases, so that one runner at a
    time works on the run.
    """

    run: str
    record: WatchedRecord
    store: Store
    queue: Queue
    observer: Observer
    meter: Meter
    priority: int
    heartbeat: float
    used: Sequence[Judge | Target]
    is_resumed: bool
    as_whole: str | None = None
    seen: int = 1
    _reported: set[str] = field(default_factory=set)

    @classmethod
    def open(
        cls,
        plan: SuitePlan,
        order: Plan,
        store: Store,
        queue: Queue,
        observer: Observer,
        *,
        priority: int,
        heartbeat: float,
    ) -> RemoteRun:
        """The unfinished run of the same suite, taken up, else a new one, ordered with its cases in
        one transaction. The plan is needed no more. Raises UsageError while another command watches
        the run, and for one that was begun without --remote.
        """
        identity = claimed_identity(plan, store, plan.subject, plan.chosen)
        meter = plan.meter(plan.judge_calls(plan.chosen))
        old = unfinished(plan, store, identity)
        run = (
            _ordered(plan, order, store, queue, identity, meter, priority)
            if old is None
            else old.id
        )
        if queue.plan_of(run) is None:
            raise UsageError(
                f"run {run} of this suite was begun on one machine and is unfinished",
                hint="finish it without --remote, or start over with --fresh",
            )
        found = cls(
            run=run,
            record=WatchedRecord(run, store, partial(plan.workspace.open_store, readonly=True)),
            store=store,
            queue=queue,
            observer=observer,
            meter=meter,
            priority=priority,
            heartbeat=heartbeat,
            used=[
                *(seat.judge for seat in plan.seats),
                *(() if plan.target is None else (plan.target,)),
            ],
            is_resumed=old is not None,
            as_whole=next(iter(_queued(plan)), None) if plan.is_asked_on else None,
        )
        found._read_news()
        found.record.ask_again()
        if old is not None:
            observer.note(
                f"resuming run {run}: {found._done} of {count(found.record.count, 'case')} done"
            )
        return found

    @property
    def _done(self) -> int:
        return self.record.count - len(self.record.left)

    def to_end(self) -> WatchedRecord:
        then = f"runners take no more of its cases; the same command resumes run {self.run}"
        try:
            each_interruptibly(self._looks(), lambda _: self._report(), then)
        except Interrupted:
            try:
                self.queue.pause(self.run)
            except (StoreError, StoreAway):
                then = f"the store does not answer, so runners continue; the same command resumes run {self.run}"
                raise Interrupted(f"interrupted; {then}") from None
            raise
        finally:
            asyncio.run(self._close())
        finish_run(self.store, self.record, self.meter)
        self.queue.end(self.run)
        return self.record

    async def _close(self) -> None:
        for one in self.used:
            await one.close()

    def _looks(self) -> Iterator[None]:
        """At the record, until every case is there. The queue is counted seldom: it says only
        whether cases are missing there. Not in an event loop, in which Ctrl-C would wait for a
        server that does not answer.
        """
        self._pass_by_skipped()
        if self.is_resumed:  # else they were put there with the order
            self._queue_rest()
        looks = 0
        while self._is_open():
            is_empty = looks % LOOKS == 0 and not self.queue.waiting(self.run).left
            self._read_news()
            if is_empty:
                self.record.leave_out_passed_by()
                self._queue_rest()
            if self.store.result_of(self.run) == CANCELLED:
                self.queue.end(self.run)
                raise RunCancelled(
                    f"run {self.run} was cancelled", hint="what is on record is kept"
                )
            yield
            looks += 1
            if self._is_open():
                time.sleep(POLL)
        self._read_news()

    def _is_open(self) -> bool:
        """A runner that works on all cases says of some that they are not asked before it puts the
        others on record.
        """
        if self.record.left:
            return True
        is_done = self.as_whole is None or not self.queue.waiting(self.run).left
        return not is_done

    def _read_news(self) -> None:
        """What runners have put on record since."""
        for event in self.store.iter_events(self.run, self.seen):
            self.seen += 1
            self.record.add(event)

    def _pass_by_skipped(self) -> None:
        """A runner has nothing to do for cases that the suite itself skips."""
        skipped = [CasePassedBy(case=id, reason=reason) for id, reason in self.record.left.skipped]
        if skipped:
            self.store.append_many(self.run, skipped)
            self._read_news()

    def _queue_rest(self) -> None:
        """Puts every case into the queue that has no result."""
        if self.record.left:
            cases = list(self.record.left) if self.as_whole is None else [self.as_whole]
            self.queue.queue_again(self.run, cases, priority=self.priority)

    # ------------------------------------------------------------------------------------------------------
    # progress

    def _report(self) -> None:
        alive = [one for one in self.queue.runners() if one.age < MISSED * self.heartbeat]
        working = [one for one in alive if self.run in one.card.runs]
        in_hand = sum(
            name.startswith(f"{self.run} ") for one in working for name in one.card.in_hand
        )
        words = [f"{count(len(working), 'runner')}, {count(in_hand, 'case')} in hand"]
        words += [f"{self.record.bad} not passing"] if self.record.bad else []
        waits = sorted({" ".join(account.split()) for one in working for account in one.card.waits})
        words += [f"waiting for the rate of {', '.join(waits)}"] if waits else []
        self.observer.progress(self._done, self.record.count, ", ".join(words))
        if not working:
            self._say_why(alive)

    def _say_why(self, alive: Sequence[SeenRunner]) -> None:
        """Once each: that no runner is at work, the reasons of those that refuse the run, and that
        no one is left to take it.
        """
        run = self.run
        refused = [(one.card.host, no) for one in alive for no in one.card.refused if no.run == run]
        for host, no in refused:
            why = "; ".join(filter(None, (no.reason, no.remedy)))
            self._say_once(why, f"the runner on {host} refuses run {run}: {why}")
        if not alive:
            self._say_once(
                "none", "no runner is at work; start one on any machine: honestone remote runner"
            )
        elif len(refused) == len(alive):
            self._say_once(
                "all refuse",
                "no runner takes this run; it waits for one that does (all reasons: honestone remote runners)",
            )

    def _say_once(self, what: str, words: str) -> None:
        if what not in self._reported:
            self._reported.add(what)
            self.observer.note(words)


def _ordered(
    plan: SuitePlan,
    order: Plan,
    store: Store,
    queue: Queue,
    identity: str,
    meter: Meter,
    priority: int,
) -> str:
    """A new run with its cases in the queue."""
    data = json.dumps(order.to_plain()).encode()
    cases = _queued(plan)
    first = plan.started(plan.subject, plan.chosen, meter)
    return queue.order(lambda: begin(plan, store, identity, first), data, cases, priority=priority)


def _queued(plan: SuitePlan) -> Sequence[str]:
    """The ids that wait in the queue: of every case, or where judges are asked on of
    the first one, in place of all.
    """
    asked = plan.chosen
    if outline_of(asked).skipped:
        asked = those_of(asked, lambda case: case.skip is None)
    cases = Each(asked, lambda case: case.id)
    return list(islice(cases, 1)) if plan.is_asked_on else cases
