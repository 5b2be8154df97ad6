"""What the cases of a suite are judged by, and the contract id that follows from it for each.

Many cases share one rubric. So what follows from a rubric (its plain form, its key, the identities
of its checks) is worked out once for each rubric object, and found again by the object's identity:
comparing rubrics by value would cost more than it saves in suites of 10,000 cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from honestone.core.checking.checks import checks_of
from honestone.core.judging.contract import (
    Contract,
    ContractDocument,
    Identity,
    canonical,
    digest_with,
)
from honestone.core.judging.rubric import Check, Rubric, to_plain
from honestone.core.record.record import rubric_key
from honestone.core.suite.case import Case, CaseWorkspace, case_document
from honestone.core.suite.outline import outline_of
from honestone.system.files import load_artifact

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner


class RubricIdentity(NamedTuple):
    """A rubric and the identities of its checks, as plain values. `meant`: what of the rubric
    decides what a score means; `written`: of that and of the checks, as contracts have them.
    """

    rubric: ContractDocument
    checks: Sequence[Identity]
    meant: ContractDocument
    written: Mapping[str, str]

    @classmethod
    def of(cls, rubric: ContractDocument, checks: Sequence[Identity]) -> RubricIdentity:
        meant = {name: one for name, one in rubric.items() if name != "max_looks"}
        written = {"rubric": canonical(meant), "checks": canonical(checks)}
        return cls(rubric, checks, meant, written)


class CaseContracts(Struct, frozen=True, kw_only=True, dict=True):
    """The contracts of `cases`. `base` is the suite's folder; `workspaces` are the digests of the
    files that cases copy, by case.
    """

    cases: Sequence[Case]
    checker: CheckRunner
    base: Path
    max_bytes: int
    workspaces: Mapping[str, str]

    @cached_property
    def ids(self) -> Mapping[str, str]:
        """Contract ids by case."""
        workspaces = self.workspaces
        return {case.id: self._id(case, workspaces.get(case.id)) for case in self.cases}

    def of(self, case: Case) -> Contract:
        return self._contract(case, self.workspaces.get(case.id))

    def id_here(self, case: Case, known: dict[Path, str]) -> str:
        """The contract id, on this machine, of a case that has its rubric of `rubrics` and need not
        be one of `cases`. `known` are the digests of folders that were read already. Raises
        FileError where the files that it copies are not there.
        """
        workspace = case.workspace
        digest = (
            None
            if workspace is None
            else workspace_digest(workspace, self.base, self.max_bytes, known)
        )
        return self._id(case, digest)

    def id_of(self, case: Case) -> str:
        """The contract id of one of `cases`, which is not remembered."""
        return self._id(case, self.workspaces.get(case.id))

    def _id(self, case: Case, workspace: str | None) -> str:
        judged_by = self._judged_by[id(case.rubric)]
        document = {**case_document(case, workspace=workspace, rubric=judged_by.meant)}
        del document["rubric"]
        return digest_with(document, judged_by.written)

    def _contract(self, case: Case, workspace: str | None) -> Contract:
        judged_by = self._judged_by[id(case.rubric)]
        document = case_document(case, workspace=workspace, rubric=judged_by.meant)
        return Contract(document={**document, "checks": judged_by.checks})

    def with_shared(self, shared: Contract) -> Contract:
        """What `suite lock` writes down: what the cases share and what each of them asks."""
        cases = [{"id": case.id, **self.of(case).document} for case in self.cases]
        return Contract(document={**shared.document, "cases": cases})

    @property
    def checks(self) -> list[Check]:
        """The checks of all rubrics."""
        return [check for rubric in self.rubrics.values() for check in checks_of(rubric)]

    def check_identities(self, cases: Sequence[Case]) -> Sequence[Identity]:
        """The identities of all checks of these cases."""
        return [
            check for rubric in self._rubrics_of(cases) for check in self._judged_by[rubric].checks
        ]

    @cached_property
    def rubrics(self) -> Mapping[str, Rubric]:
        """The rubrics of the cases, by their keys."""
        return self.rubrics_by_key(self.cases)

    def rubrics_by_key(self, cases: Sequence[Case]) -> Mapping[str, Rubric]:
        return {self._keys[id]: rubric for id, rubric in self._rubrics_of(cases).items()}

    def rubric_key(self, rubric: Rubric) -> str:
        """The key of the rubric of a case, which equal rubrics share."""
        return self._keys[id(rubric)]

    @cached_property
    def _keys(self) -> Mapping[int, str]:
        return {id: rubric_key(judged_by.rubric) for id, judged_by in self._judged_by.items()}

    @cached_property
    def _judged_by(self) -> Mapping[int, RubricIdentity]:
        return {
            id: RubricIdentity.of(
                to_plain(rubric), [dict(self.checker.identity(one)) for one in checks_of(rubric)]
            )
            for id, rubric in self._rubrics.items()
        }

    @cached_property
    def _rubrics(self) -> Mapping[int, Rubric]:
        return outline_of(self.cases).rubrics

    def _rubrics_of(self, cases: Sequence[Case]) -> Mapping[int, Rubric]:
        """Those of some of the cases, by their identity."""
        return self._rubrics if len(cases) == len(self.cases) else outline_of(cases).rubrics


def workspace_digest(
    workspace: CaseWorkspace, base: Path, size: int, known: dict[Path, str]
) -> str | None:
    """The digest of the files that a case copies. `known` are those of folders that were read
    already. Raises FileError where the files are not there.
    """
    from honestone.system.workspace import require_workspace

    require_workspace(workspace, base)
    if workspace.copy is None:
        return None
    folder = base / workspace.copy
    if folder not in known:
        known[folder] = load_artifact(folder, max_bytes=size).version.digest
    return known[folder]
