"""`undo`: what a run of `improve` changed, as it was before the run. Only over bytes that the run
itself left.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from honestone.app.history import started_of, state_of
from honestone.app.improving.loop import claimed
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import DeliveryBegun, DeliveryDone, Event, LoopStarted, StagesStarted
from honestone.engine.place import Place, is_mix, load_version, sweep
from honestone.ports import RunInfo, Store
from honestone.system.drawing import clean, count
from honestone.system.files import deliver

# Runs of a file that a hint names.
_MOST: Final = 6


def undo(workspace: Workspace, name: str) -> str:
    """Put back what a run found; returns what was done, in words. A second call with its id does
    nothing.

    Raises UsageError, with nothing touched, where the artifact was changed since, or the run
    changed none.
    """
    with workspace.open_store() as store:
        info, passed_over = _find(workspace, store, name)
        log = store.events(info.id)
        started = log[0]
        if not isinstance(started, LoopStarted):
            raise _not_a_loop(info, started)
        named = started.artifact.path
        if started.output is not None:
            raise UsageError(
                f"run {info.id} wrote to {started.output!r}; {named!r} was not touched",
                hint=f"remove {started.output!r} if you do not want it",
            )
        with claimed(store, info.subject, named):
            return _put_back(store, info, log, clean(named)) + passed_over


def _find(workspace: Workspace, store: Store, name: str) -> tuple[RunInfo, str]:
    """`last` is the newest run that changed the person's file and is not undone; where there is
    none, the newest one that could have. The text says that newer ones are passed over.
    """
    if name not in ("last", "latest"):
        return _find_loop(workspace, store, name), ""
    loops = [info for info in store.runs(own=True) if info.kind == LoopStarted.kind]
    newer, found = next(
        ((n, one) for n, one in enumerate(loops) if _changed_its_file(store, one)), (0, None)
    )
    hint = f"\n  {count(newer, 'newer run')} of improve left nothing to undo" if newer else ""
    return found or next(iter(loops), None) or store.find_run(name), hint


def _find_loop(workspace: Workspace, store: Store, name: str) -> RunInfo:
    """Raises UsageError with its runs for the name of a file, StoreError for what is neither."""
    try:
        return store.find_run(name)
    except StoreError:
        path = (workspace.folder / name).resolve()
        of_it = [
            one for one in store.runs() if one.kind == LoopStarted.kind and one.subject == str(path)
        ]
        if not of_it and not path.exists():
            raise
    undoable = [one.id for one in of_it if _changed_its_file(store, one)]
    hint = (
        f"honestone undo {undoable[0]}"
        if undoable
        else "no run of improve changed it, or all are undone"
    )
    if undoable[1:]:
        hint += f"; before it: {', '.join(undoable[1:_MOST])}"
    raise UsageError(f"{clean(name)!r} is a file or folder, and `undo` takes a run", hint=hint)


def _changed_its_file(store: Store, info: RunInfo) -> bool:
    log = store.events(info.id)
    state = state_of(log)
    in_place = started_of(log).output is None
    return in_place and (state.delivering is not None or state.delivered != state.original)


def _not_a_loop(info: RunInfo, started: Event) -> UsageError:
    if isinstance(started, StagesStarted):
        return UsageError(
            f"run {info.id} is a run of stages, which `undo` does not undo",
            hint="copy back what it keeps under executions/backups/ in its state folder",
        )
    return UsageError(
        f"run {info.id} ({info.kind}) changed no file of yours",
        hint="honestone runs --kind improve lists those that can",
    )


def _put_back(store: Store, info: RunInfo, log: list[Event], named: str) -> str:
    state, path = state_of(log), Path(info.subject)
    if state.delivering is None and state.delivered == state.original:
        if state.undone:
            return f"run {info.id} is undone already: {named} was put back"
        return f"nothing to undo: run {info.id} left {named} as it was"
    before, after = load_version(store, state.original), load_version(store, state.delivered)
    half = after if state.delivering is None else load_version(store, state.delivering)
    if half is not after:
        sweep(path, after, half)
    place = Place(path=path, named=named, max_bytes=sys.maxsize)
    found = place.delivered(before, Version({**after.files, **half.files}, is_folder=True))
    is_ours = found.digest == after.digest or (half is not after and is_mix(found, after, half))
    if path.resolve() != path or not is_ours:
        raise _changed(store, info, found, named)
    if found.digest != before.digest:
        first_last = [event.modes for event in reversed(log) if isinstance(event, DeliveryBegun)]
        modes = {
            file: mode for one in first_last for file, mode in one.items() if file in before.files
        }
        store.append(info.id, DeliveryBegun(version=state.original))
        deliver(path, found, before, modes, home=place.home)
    store.append(info.id, DeliveryDone(version=state.original, undone=True))
    return (
        f"{named} is as it was before run {info.id}\n"
        f"  what the run made is kept: honestone show {info.id} --version best"
    )


def _changed(store: Store, info: RunInfo, found: Version, named: str) -> UsageError:
    hint = f"what it held before: honestone show {info.id} --version original"
    same = [
        one
        for one in store.runs()
        if (one.subject, one.kind) == (info.subject, info.kind) and one.id > info.id
    ]
    if same and state_of(store.events(same[0].id)).delivered == found.digest:
        hint = f"a later run changed it: honestone undo {same[0].id}"
    return UsageError(f"{named!r} was changed since run {info.id}; it is left as it is", hint=hint)
