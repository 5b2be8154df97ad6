"""A contract written next to its rubric or suite, and held against it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.checking.checks import checks_of, is_of_text_alone
from honestone.core.judging.contract import Contract, Identity
from honestone.core.judging.rubric import Check
from honestone.formats.lock_file import (
    FilesThatJudge,
    dump_lock,
    lock_path,
    read_lock,
    require_covered,
    require_locked,
    require_locked_files,
)
from honestone.system.files import printable, write_atomically
from honestone.system.trust.judging_files import JudgingFiles, described_files, files_named

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner


class LockState(Struct, frozen=True, kw_only=True):
    """Where a lock is and what became of it: `written`, `unchanged`, or `holds` when it was only
    checked.
    """

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
    """Locks the contract that an evaluation with the same rubric, options and judges has, or checks
    it.

    A judge need not be installed here. Raises the errors of `check_lock`.
    """
    plan = RubricPlan.read(
        workspace, rubric, judging, artifacts, accept_loss=accept_loss, note=note
    )
    plan.preflight()
    seats = plan.seats()
    path = workspace.path(rubric)
    judges = [seat.identity for seat in seats]
    files = files_that_judge(path, workspace, plan.checker, checks_of(plan.rubric), judges)
    files = files.with_artifacts((artifact, plan.load(artifact).version) for artifact in artifacts)
    return lock_file(path, plan.contract(seats), files, only_check=only_check)


class LockedFiles(Struct, frozen=True, kw_only=True):
    """The files that judge, by their names as seen from the lock. `contracted`: those whose digests
    are in the contract. `inside` gives for each artifact its folder and which of its own files
    judge it.
    """

    base: Path
    workspace: Workspace
    checker: CheckRunner
    checks: Sequence[Check]
    digests: Mapping[str, str]
    contracted: frozenset[str]
    inside: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def with_artifacts(self, artifacts: Iterable[tuple[Path, Version]]) -> LockedFiles:
        """The same with what each artifact holds of the files that judge it."""
        inside: dict[str, Mapping[str, str]] = {}
        for artifact, version in artifacts:
            root = _name(self.workspace.path(artifact), self.base)
            names = self.checker.judging_names(self.checks, version) if version.is_folder else []
            inside[root] = {
                name: hashlib.sha256(version.files[name].data).hexdigest() for name in names
            }
        return replace(self, inside=inside)

    @property
    def as_locked(self) -> FilesThatJudge:
        """What is written down."""
        return FilesThatJudge(outside=self._outside(self.digests), artifacts=self.inside)

    def require(self, locked: FilesThatJudge | None, lock: Path) -> None:
        """Raises ContractMismatch where a file is not as it was locked. An artifact of which
        nothing is locked is not compared.
        """
        now = self._outside(self.digests)
        if locked is None:
            require_covered(now, self.contracted, lock)
            return
        then = dict(self._outside(locked.outside))
        for root, files in locked.artifacts.items():
            if root in self.inside:
                now |= {f"{root}/{name}": digest for name, digest in self.inside[root].items()}
                then |= {f"{root}/{name}": digest for name, digest in files.items()}
        require_locked_files(then, now, lock)

    def _outside(self, files: Mapping[str, str]) -> dict[str, str]:
        """Leave out files of the artifact, which an import of a test can find: they are judged, and
        do not judge.
        """
        return {
            name: digest
            for name, digest in files.items()
            if name in self.contracted or not _is_inside(name, self.inside)
        }


def _is_inside(name: str, roots: Iterable[str]) -> bool:
    return any(name == root or name.startswith(f"{root}/") for root in roots)


def _name(path: Path, base: Path) -> str:
    return printable(os.path.relpath(os.path.realpath(path), os.path.realpath(base)))


def files_that_judge(
    path: Path,
    workspace: Workspace,
    checker: CheckRunner,
    checks: Sequence[Check],
    identities: Sequence[Identity],
) -> LockedFiles:
    """The files that judge by the rubric or suite at `path`: of its checks and judges, with the
    modules that they import. Programs that are installed on the machine are left out.
    """
    code = [check for check in checks if not is_of_text_alone(check)]
    of_checks = checker.judging_files(code)
    watched = JudgingFiles(
        lambda: [*of_checks, *files_named(identities, workspace.folder)], base=path.parent.resolve()
    )
    described = [
        workspace.folder / name for identity in identities for name in described_files(identity)
    ]
    contracted = {_name(file, path.parent) for file in (*of_checks, *described)}
    near = {
        name: digest
        for name, digest in watched.digests.items()
        if not _is_installed(path.parent / name)
    }
    return LockedFiles(
        base=path.parent,
        workspace=workspace,
        checker=checker,
        checks=code,
        digests=near,
        contracted=frozenset(contracted),
    )


def _is_installed(path: Path) -> bool:
    real = Path(os.path.realpath(path))
    places = {sys.prefix, sys.base_prefix, "/usr", "/bin", "/sbin", "/lib", "/opt", "/nix"}
    return any(real.is_relative_to(os.path.realpath(place)) for place in places)


def lock_file(path: Path, contract: Contract, files: LockedFiles, *, only_check: bool) -> LockState:
    """The lock of a rubric or suite file, checked or written."""
    if only_check:
        return LockState(place=check_lock(path, contract, files), contract=contract, state="holds")
    place, state = write_lock(path, contract, files)
    return LockState(place=place, contract=contract, state=state)


def write_lock(path: Path, contract: Contract, files: LockedFiles) -> tuple[Path, str]:
    """Writes the lock of a rubric or suite. Returns its place, and whether it was `written` or
    `unchanged`.
    """
    place, text = lock_path(path), dump_lock(contract, files.as_locked).encode()
    if place.exists() and place.read_bytes() == text:
        return place, "unchanged"
    write_atomically(place, text)
    return place, "written"


def check_lock(
    path: Path, contract: Contract, files: LockedFiles, *, allows_higher_bar: bool = False
) -> Path:
    """The lock's place, where the contract is what it holds and so is every file that judges; it
    may ask for a higher `sure` where `allows_higher_bar`. Raises ContractMismatch (exit 2) with the difference in words when it is not, and FileError when
    it does not exist.
    """
    place = lock_path(path)
    lock = read_lock(place)
    require_locked(lock.contract, contract, place, allows_higher_bar=allows_higher_bar)
    files.require(lock.files, place)
    return place
