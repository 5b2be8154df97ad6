"""What a pipeline remembers below STATE_ROOT, besides its artifacts; written whole, by one process at a time.

pending_promote.json   candidates that wait for a person
veto.json              candidates that a person turned down
current_state.json     where the pipeline stands; last_run.json: the same of the last run
memory.json            what helped and what did not (`stage learn`)
running.json           a `stage run` that is not finished
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from honestone.app.stages.files import StageFiles, read_json, stamp, write_json
from honestone.core.errors import FileError, UsageError
from honestone.system.files import printable

PENDING, VETO, MEMORY, RUNNING = "pending_promote.json", "veto.json", "memory.json", "running.json"
CURRENT, LAST = "current_state.json", "last_run.json"
_LOCK = ".lock"


# --------------------------------------------------------------------------------------------------------------- locks


@contextlib.contextmanager
def only_one(skill: Path) -> Iterator[None]:
    """Nobody else's pipeline works on this skill meanwhile, wherever it keeps its files. Raises UsageError.

    The lock is on the folder itself, leaves nothing in it, and ends with the process.
    """
    try:
        handle = os.open(skill, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise FileError(
            f"there is no skill folder `{printable(skill)}`: {error.strerror}",
            hint="paths in artifacts are meant from the folder that the pipeline was run in",
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise UsageError(
                    f"another process is working on the skill `{printable(skill)}`", hint="wait for it, or stop it"
                ) from None
            # A file system without locks: the stages still look at the bytes before they write.
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Changes of the state are made one after another."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise FileError(f"cannot write below `{printable(root)}`: {error.strerror or error}") from None
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# ---------------------------------------------------------------------------------------------------------- the lists


def pending(files: StageFiles) -> list[dict[str, Any]]:
    """The candidates that wait for a person, oldest first."""
    return _list(files, PENDING, "pending")


def vetoes(files: StageFiles) -> list[dict[str, Any]]:
    return _list(files, VETO, "vetoes")


def park(files: StageFiles, entry: Mapping[str, Any]) -> None:
    """Add a candidate that waits for a person; the same one again takes the place of the earlier entry."""

    def change(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*(one for one in entries if _key(one) != _key(entry)), dict(entry)]

    _change(files, PENDING, "pending", change)


def unpark(files: StageFiles, entry: Mapping[str, Any]) -> None:
    def change(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [one for one in entries if _key(one) != _key(entry)]

    _change(files, PENDING, "pending", change)


def veto(files: StageFiles, entry: Mapping[str, Any]) -> None:
    def change(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [*(one for one in entries if _key(one) != _key(entry)), dict(entry)]

    _change(files, VETO, "vetoes", change)


def _key(entry: Mapping[str, Any]) -> tuple[Any, Any]:
    return entry.get("run_id"), entry.get("candidate_id")


def _list(files: StageFiles, name: str, key: str) -> list[dict[str, Any]]:
    """Raises UsageError where the file is damaged: it is never written over then."""
    path = files.root / name
    if not path.exists():
        return []
    marked = read_json(path)
    entries = marked.value.get(key)
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise UsageError(
            f"`{key}` is no list of objects", place=marked.at((key,)), hint=f"mend {printable(path)}, or move it away"
        )
    return list(entries)


def _change(
    files: StageFiles, name: str, key: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    with _locked(files.root):
        entries = change(_list(files, name, key))
        write_json(files.root / name, {key: entries, "last_updated": stamp()})


# ------------------------------------------------------------------------------------------------ where things stand


def note_state(files: StageFiles, receipt: Mapping[str, Any], *, target_path: str) -> None:
    """current_state.json and last_run.json after a decision, of its receipt."""
    decision, anchor = receipt["decision"], receipt["truth_anchor"]
    reached, when = f"{receipt['stage']}_{decision}", stamp()
    common = {
        "target_path": target_path,
        "candidate_id": receipt["candidate_id"],
        "decision": decision,
        "receipt_path": anchor,
    }
    with _locked(files.root):
        write_json(
            files.root / CURRENT,
            {
                "lane": receipt["lane"],
                "current_run_id": receipt["run_id"],
                "stage": reached,
                "status": decision,
                "next_step": receipt["next_step"],
                "next_owner": receipt["next_owner"],
                "truth_anchor": anchor,
                "updated_at": when,
                **common,
            },
        )
        write_json(
            files.root / LAST,
            {
                "lane": receipt["lane"],
                "last_run_id": receipt["run_id"],
                "last_stage": reached,
                "last_status": decision,
                "last_updated": when,
                "truth_anchor": anchor,
                **common,
            },
        )


def remembered(files: StageFiles) -> list[Any]:
    """The entries of memory.json: our own and what another program left there."""
    from honestone.formats.marked import read_marked

    path = files.root / MEMORY
    if not path.exists():
        return []
    marked = read_marked(path)
    entries = marked.value if isinstance(marked.value, list) else None
    if entries is None:
        raise UsageError("this memory is no list", place=marked.at(), hint=f"mend {printable(path)}, or move it away")
    return entries


def write_memory(files: StageFiles, entries: list[dict[str, Any]]) -> None:
    with _locked(files.root):
        write_json(files.root / MEMORY, entries)
