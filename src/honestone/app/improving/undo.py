"""`undo`: what a run of `improve` or `skill run` changed, as it was before the run. Only over bytes
that the run itself left.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.app.improving.loop import claimed
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import DeliveryBegun, DeliveryDone, Event, LoopStarted, StagesStarted
from honestone.core.record.runs import LAST, UNDOABLE
from honestone.engine.place import Place, is_mix, load_version, sweep
from honestone.ports import RunInfo, Store
from honestone.system.drawing import clean, count
from honestone.system.files import deliver

# Runs of a file that a hint names.
_MOST: Final = 6


class _Delivered(Struct, kw_only=True):
    """What a run did to the person's file: the version that it found, the one that it left, and one
    that it was writing when its last event was recorded. None of it where it wrote to `output`.
    """

    named: str
    output: str | None
    original: str
    left: str
    writing: str | None = None
    is_undone: bool = False

    @classmethod
    def of(cls, log: Sequence[Event]) -> _Delivered | None:
        """None for a run of another kind."""
        started = log[0]
        if not isinstance(started, LoopStarted | StagesStarted):
            return None
        output = started.output if isinstance(started, LoopStarted) else None
        artifact = started.artifact
        known = cls(
            named=artifact.path, output=output, original=artifact.digest, left=artifact.digest
        )
        for event in log:
            if isinstance(event, DeliveryBegun):
                known.writing = event.version
            elif isinstance(event, DeliveryDone):
                known.left, known.writing, known.is_undone = event.version, None, event.undone
        return known

    @property
    def has_changed(self) -> bool:
        return self.writing is not None or self.left != self.original


def undo(workspace: Workspace, name: str) -> str:
    """Put back what a run found; returns what was done, in words. A second call with its id does
    nothing.

    Raises UsageError, with nothing touched, where the artifact was changed since, or the run
    changed none.
    """
    with workspace.open_store() as store:
        info, passed_over = _find(workspace, store, name)
        log = store.events(info.id)
        known = _Delivered.of(log)
        if known is None:
            raise _changes_no_file(store, info)
        if known.output is not None:
            raise UsageError(
                f"run {info.id} wrote to {known.output!r}; {known.named!r} was not touched",
                hint=f"remove {known.output!r} if you do not want it",
            )
        with claimed(store, info.subject, known.named):
            return _put_back(store, info, known, log) + passed_over


def _find(workspace: Workspace, store: Store, name: str) -> tuple[RunInfo, str]:
    """`last` is the newest run that changed the person's file and is not undone; where there is
    none, the newest one that could have. The text says that newer ones are passed over.
    """
    if name not in LAST:
        return _find_loop(workspace, store, name), ""
    loops = [info for info in store.runs(own=True) if info.kind in UNDOABLE]
    newer, newest = next(
        ((n, one) for n, one in enumerate(loops) if _changed_its_file(store, one)), (0, None)
    )
    hint = f"\n  {count(newer, 'newer run')} left nothing to undo" if newer else ""
    return newest or next(iter(loops), None) or store.find_run(name), hint


def _find_loop(workspace: Workspace, store: Store, name: str) -> RunInfo:
    """Raises UsageError with its runs for the name of a file, StoreError for what is neither."""
    try:
        return store.find_run(name)
    except StoreError:
        path = (workspace.folder / name).resolve()
        of_it = [one for one in store.runs() if one.kind in UNDOABLE and one.subject == str(path)]
        if not of_it and not path.exists():
            raise
    undoable = [one.id for one in of_it if _changed_its_file(store, one)]
    hint = f"honestone undo {undoable[0]}" if undoable else "no run changed it, or all are undone"
    if undoable[1:]:
        hint += f"; before it: {', '.join(undoable[1:_MOST])}"
    raise UsageError(f"{clean(name)!r} is a file or folder, and `undo` takes a run", hint=hint)


def _changed_its_file(store: Store, info: RunInfo) -> bool:
    known = _Delivered.of(store.events(info.id))
    return known is not None and known.output is None and known.has_changed


def _changes_no_file(store: Store, info: RunInfo) -> UsageError:
    loops = (one for one in store.runs(own=True) if one.kind in UNDOABLE)
    newest = next((one for one in loops if _changed_its_file(store, one)), None)
    return UsageError(
        f"run {info.id} ({info.kind}) changed no file of yours",
        hint=f"honestone undo {newest.id} puts {clean(newest.subject)} back"
        if newest
        else "no run of `improve` or `skill run` changed a file, or all are undone",
    )


def _put_back(store: Store, info: RunInfo, known: _Delivered, log: list[Event]) -> str:
    named, path = clean(known.named), Path(info.subject)
    if not known.has_changed:
        if known.is_undone:
            return f"run {info.id} is undone already: {named} was put back"
        return f"nothing to undo: run {info.id} left {named} as it was"
    before, after = load_version(store, known.original), load_version(store, known.left)
    half = after if known.writing is None else load_version(store, known.writing)
    if half is not after:
        sweep(path, after, half)
    place = Place(path=path, named=named, max_bytes=sys.maxsize)
    on_disk = place.delivered(before, Version({**after.files, **half.files}, is_folder=True))
    is_ours = on_disk.digest == after.digest or (half is not after and is_mix(on_disk, after, half))
    if path.resolve() != path or not is_ours:
        raise _changed(store, info, on_disk, named)
    if on_disk.digest != before.digest:
        first_last = [event.modes for event in reversed(log) if isinstance(event, DeliveryBegun)]
        modes = {
            file: mode for one in first_last for file, mode in one.items() if file in before.files
        }
        store.append(info.id, DeliveryBegun(version=known.original))
        deliver(path, on_disk, before, modes, home=place.home)
    store.append(info.id, DeliveryDone(version=known.original, undone=True))
    return (
        f"{named} is as it was before run {info.id}\n"
        f"  what the run made is kept: {_shown(info, 'best')}"
    )


def _shown(info: RunInfo, version: str) -> str:
    """The command that shows a version of a run; of a run of stages it shows the edit."""
    words = f"honestone show {info.id}"
    return words if info.kind == StagesStarted.kind else f"{words} --version {version}"


def _changed(store: Store, info: RunInfo, on_disk: Version, named: str) -> UsageError:
    what = "what the run changed" if info.kind == StagesStarted.kind else "what it held before"
    hint = f"{what}: {_shown(info, 'original')}"
    same = [
        one
        for one in store.runs()
        if one.subject == info.subject and one.kind in UNDOABLE and one.id > info.id
    ]
    newest = _Delivered.of(store.events(same[0].id)) if same else None
    if newest is not None and newest.left == on_disk.digest:
        hint = f"a later run changed it: honestone undo {same[0].id}"
    return UsageError(f"{named!r} was changed since run {info.id}; it is left as it is", hint=hint)
