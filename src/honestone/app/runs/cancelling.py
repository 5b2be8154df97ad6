"""Ending a run that no one wants any more, whichever machine works on it."""

from __future__ import annotations

from honestone.app.history import find_run
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import RunFinished, TableStarted
from honestone.core.record.runs import SUITES, TABLE
from honestone.engine.suites import CANCELLED
from honestone.ports import RunInfo, Store


def cancel_run(workspace: Workspace, name: str) -> RunInfo:
    """The run, ended as `interrupted`: who works on it stops within seconds, and the same command
    starts another one. A table's columns end with it. Raises UsageError for a run that has ended,
    and for one of another kind that is under way.
    """
    with workspace.open_store() as store:
        info = find_run(store, name)
        if info.finished is not None:
            raise UsageError(
                f"run {info.id} has ended already: {info.result}",
                hint="`honestone runs --verdict unfinished` lists others",
            )
        if info.kind not in (*SUITES, TABLE):
            _require_idle(store, info)
        started = next(store.iter_events(info.id), None)
        columns = [one.run for one in started.columns] if isinstance(started, TableStarted) else []
        why = f"cancelled by {workspace.store_place().origin.person or 'a person'}"
        for run in (*(column for column in columns if store.result_of(column) is None), info.id):
            store.finish_run(run, CANCELLED, RunFinished(result=CANCELLED, reason=why))
        return store.find_run(info.id)


def _require_idle(store: Store, info: RunInfo) -> None:
    if not store.lock(info.identity):
        raise UsageError(
            f"run {info.id} is being worked on by another process, and runs of `{info.kind}` do not look whether they are cancelled",
            hint="interrupt that process first (Ctrl-C)",
        )
