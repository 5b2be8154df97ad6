"""A contract written next to its rubric or suite, and held against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from honestone.app.judging_options import JudgingOptions
from honestone.app.rubric_plan import RubricPlan
from honestone.app.workspace import Workspace
from honestone.core.contract import Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class LockState:
    """Where a lock is and what became of it: `written`, `unchanged`, or `holds` when it was only checked."""

    place: Path
    contract: Contract
    state: str


def lock_rubric(
    workspace: Workspace,
    rubric: Path,
    artifacts: tuple[Path, ...],
    judging: JudgingOptions,
    *,
    only_check: bool = False,
    accept_loss: bool = False,
    note: Callable[[str], None] | None = None,
) -> LockState:
    """Locks the contract that an evaluation with the same rubric, options and judges has, or checks it.

    A judge need not be installed here. Raises the errors of `check_lock`.
    """
    plan = RubricPlan.read(workspace, rubric, judging, artifacts, accept_loss=accept_loss, note=note)
    plan.preflight()
    return lock_file(workspace.path(rubric), plan.contract(plan.seats()), only_check=only_check)


def lock_file(path: Path, contract: Contract, *, only_check: bool) -> LockState:
    """The lock of a rubric or suite file, checked or written."""
    if only_check:
        return LockState(place=check_lock(path, contract), contract=contract, state="holds")
    place, state = write_lock(path, contract)
    return LockState(place=place, contract=contract, state=state)


def write_lock(path: Path, contract: Contract) -> tuple[Path, str]:
    """Writes the lock of a rubric or suite. Returns its place, and whether it was `written` or `unchanged`."""
    from honestone.formats.lock_file import dump_lock, lock_path
    from honestone.system.files import write_atomically

    place, text = lock_path(path), dump_lock(contract).encode()
    if place.exists() and place.read_bytes() == text:
        return place, "unchanged"
    write_atomically(place, text)
    return place, "written"


def check_lock(path: Path, contract: Contract) -> Path:
    """The lock's place, where the contract is what it holds. Raises ContractMismatch (exit 2) with the difference in words
    when it is not, and FileError when it does not exist."""
    from honestone.formats.lock_file import lock_path, read_lock, require_locked

    place = lock_path(path)
    require_locked(read_lock(place), contract, place)
    return place
