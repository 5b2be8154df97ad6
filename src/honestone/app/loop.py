"""One run of a loop, from its plan to its last event: claimed, started or resumed, worked under its limits.

`improve`, `improve --suite`, `step` and `stage run` each make a LoopPlan; what differs is in its policy and judgement.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.contract import differences, digest_json
from honestone.core.errors import ContractMismatch, Interrupted, UsageError
from honestone.core.events import Event, LoopStarted, RunFinished, total_spend
from honestone.core.loop.actions import Result
from honestone.core.loop.state import Policy, S, fold
from honestone.core.spend import Meter, Spend
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.engine.place import Place, require_resumable, version_blobs
from honestone.ports import Observer, RunInfo, Store, Worker
from honestone.system.drawing import count
from honestone.system.files import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPlan(Generic[S]):
    """A loop, read and checked; nothing has been spent. `version` is the artifact as it was read.

    `started` is the first event of a new run. `belongs_to` tells its runs from others on the same artifact: only a run
    with an equal one is resumed. `state` makes the state from the first event, `judgement` what judges versions in a
    run. `notes` are said when a run starts, not when it resumes. `fresh` closes unfinished runs first.
    """

    workspace: Workspace
    place: Place
    version: Version
    worker: Worker
    policy: Policy
    started: LoopStarted
    belongs_to: Mapping[str, object]
    state: Callable[[Event], S]
    judgement: Callable[[str, Store, Meter], Judgement[S]]
    notes: Sequence[str] = ()
    fresh: bool = False

    @property
    def kind(self) -> str:
        return self.started.kind or ""

    @property
    def subject(self) -> str:
        return printable(self.place.path)

    @property
    def identity(self) -> str:
        """A run belongs to artifact, contract, worker, limits and policy, and to what else the plan names."""
        return digest_json(
            {
                "kind": self.kind,
                "path": self.subject,
                "contract": self.started.contract_id,
                "worker": dict(self.worker.identity),
                "limits": dict(self.started.limits),
                "policy": self.policy.name,
                **self.belongs_to,
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRun(Generic[S]):
    """A run as this process leaves it. `state.finished` is None when it was interrupted. `spent`: by this process."""

    id: str
    state: S
    log: Sequence[Event]
    resumed: bool
    spent: Spend


def run_loop(
    plan: LoopPlan[S], store: Store, observer: Observer, *, begun: Callable[[str, S], Observer] | None = None
) -> LoopRun[S]:
    """Start the plan's run, or resume the unfinished one, and work until it ends or is interrupted (Ctrl-C, SIGTERM).

    `begun` is called with the run's id and state before it works; what it returns observes instead of `observer`.
    Raises UsageError where another run works on the artifact or the artifact was edited since, ContractMismatch where
    the unfinished run was judged under another contract.
    """
    claim = digest_json({"path": plan.subject})
    if not store.lock(claim):
        raise UsageError(
            f"another honestone is improving {plan.place.named!r} right now", hint="wait for it, or stop it first"
        )
    try:
        run, state, log = _resume(plan, store, observer) or _start(plan, store, observer)
        limits = state.limits
        meter = Meter(
            calls=limits.calls,
            minutes=limits.minutes,
            usd=limits.usd,
            clock=time.monotonic,
            before=total_spend(log),
            seconds_before=max(event.seconds or 0.0 for event in log),
        )
        loop = LoopRunner(
            run=run,
            state=state,
            policy=plan.policy,
            judgement=plan.judgement(run, store, meter),
            place=plan.place,
            worker=plan.worker,
            store=store,
            meter=meter,
            observer=begun(run, state) if begun is not None else observer,
        )
        with suppress(KeyboardInterrupt):
            run_to_end(loop.work, loop.close)
        return LoopRun(id=run, state=state, log=store.events(run), resumed=len(log) > 1, spent=meter.spent)
    finally:
        store.unlock(claim)


def _start(plan: LoopPlan[S], store: Store, observer: Observer) -> tuple[str, S, list[Event]]:
    for note in plan.notes:
        observer.note(note)
    store.keep_blobs(version_blobs(plan.version))
    run = store.start_run(
        kind=plan.kind,
        subject=plan.subject,
        identity=plan.identity,
        contract=plan.started.contract_id,
        first=plan.started,
    )
    return run, plan.state(plan.started), [plan.started]


def _resume(plan: LoopPlan[S], store: Store, observer: Observer) -> tuple[str, S, list[Event]] | None:
    """The unfinished run of this identity. Another contract on the same artifact is refused, with the differences."""
    unfinished = [r for r in store.runs() if (r.kind, r.subject, r.finished) == (plan.kind, plan.subject, None)]
    if plan.fresh:
        for old in unfinished:
            result, reason = str(Result.INTERRUPTED), "started over with --fresh"
            store.finish_run(old.id, result, RunFinished(result=result, reason=reason))
        return None
    same = next((r for r in unfinished if r.identity == plan.identity), None)
    if same is None:
        for old in unfinished:
            _require_same_contract(plan, store, old)
        return None
    log = store.events(same.id)
    state = fold(plan.state(log[0]), log[1:])
    require_resumable(plan.place, state, store, same.id)
    observer.note(f"resuming run {same.id} ({count(len(state.rounds), 'round')} done)")
    return same.id, state, log


def _require_same_contract(plan: LoopPlan[S], store: Store, old: RunInfo) -> None:
    first = next(store.iter_events(old.id))
    if old.contract == plan.started.contract_id or not isinstance(first, LoopStarted):
        return
    changed = differences(first.contract, plan.started.contract)
    raise ContractMismatch(
        f"run {old.id} on {plan.place.named!r} is unfinished and was judged under another contract:\n  "
        + "\n  ".join(changed[:12]),
        hint="undo that to resume the run, or start over under the new contract with --fresh",
    )


T = TypeVar("T")


def run_to_end(
    work: Callable[[], Coroutine[object, object, T]], close: Callable[[], Coroutine[object, object, None]]
) -> T:
    """Run `work`, then `close`. SIGTERM stops as Ctrl-C does: children are ended and nothing half-written stays.

    Raises KeyboardInterrupt for both.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(work())
        if threading.current_thread() is threading.main_thread():  # only it may handle signals
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
        try:
            return runner.run(asyncio.wait_for(task, None))
        except asyncio.CancelledError:
            raise KeyboardInterrupt from None
        finally:
            runner.run(close())


def run_interruptibly(
    work: Callable[[], Coroutine[object, object, T]], close: Callable[[], Coroutine[object, object, None]]
) -> T:
    """The same, for work whose calls are all on record. Raises Interrupted when it is stopped."""
    try:
        return run_to_end(work, close)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; run the same command to resume: no call on record is repeated") from None


def outside_a_loop(work: Callable[[], T]) -> T:
    """Run to the end, from a place with a running event loop (a notebook, an async test) or without one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        return elsewhere.submit(work).result()
