"""A rubric with all that judges by it: read and checked before the first call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.app.checking import checks_of, contract_for, make_checker, never_judged
from honestone.app.judging_options import JudgingOptions, max_bytes
from honestone.app.rubrics.loading import load_rubric, with_bars
from honestone.app.seats import choose_judges, make_context, make_seats
from honestone.app.workspace import Workspace
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Scorer
from honestone.system.files import Loaded, load_artifact, printable

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.core.artifact import Version
    from honestone.core.contract import Contract
    from honestone.engine.panel import Seat


@dataclass(frozen=True, kw_only=True)
class RubricPlan:
    """`path` is the rubric's file, None for one made in Python; `exclude` are files that judge and so are not judged."""

    workspace: Workspace
    options: JudgingOptions
    rubric: Rubric
    scorer: Scorer
    path: Path | None
    name: str | None
    checker: CheckRunner
    exclude: frozenset[Path]

    @classmethod
    def read(
        cls,
        workspace: Workspace,
        rubric: Path | Rubric,
        options: JudgingOptions,
        artifacts: Sequence[Path],
        *,
        accept_loss: bool = False,
        note: Callable[[str], None] | None = None,
    ) -> RubricPlan:
        """`artifacts` are what is judged, as far as they are files. Raises UsageError and its kinds."""
        path = rubric if isinstance(rubric, Path) else None
        found = (
            load_rubric(workspace.path(rubric), accept_loss=accept_loss, note=note)
            if isinstance(rubric, Path)
            else rubric
        )
        return cls.of(workspace, found, path, options, artifacts)

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        rubric: Rubric,
        named: Path | None,
        options: JudgingOptions,
        artifacts: Sequence[Path],
    ) -> RubricPlan:
        """The same for a rubric that was read already, from the file `named`."""
        path = None if named is None else workspace.path(named)
        found = with_bars(rubric, threshold=options.threshold, floor=options.floor)
        place = path or workspace.folder / "rubric"  # of one without a file: only its folder counts
        checker = make_checker(found, place, options, [workspace.path(artifact) for artifact in artifacts])
        return cls(
            workspace=workspace,
            options=options,
            rubric=found,
            scorer=Scorer(found, options.rule),
            path=path,
            name=None if named is None else printable(named),
            checker=checker,
            exclude=never_judged(found, place, checker),
        )

    @cached_property
    def max_bytes(self) -> int:
        return max_bytes(self.options, self.workspace.settings)

    def load(self, artifact: Path) -> Loaded:
        """Raises FileError for what cannot be read."""
        return load_artifact(self.workspace.path(artifact), exclude=self.exclude, max_bytes=self.max_bytes)

    def preflight(self, version: Version | None = None) -> None:
        """Raises UsageError for a check that cannot be started. `version` is what is judged, where there is only one."""
        self.checker.preflight(checks_of(self.rubric), version)

    def seats(self) -> tuple[Seat, ...]:
        """The panel that these options ask for. Raises CouldNotJudge when a judge is needed and none is found."""
        judges = choose_judges(self.options, self.rubric, self.workspace)
        return make_seats(judges, make_context(self.options, self.workspace), looks=self.options.looks)

    def contract(self, seats: Sequence[Seat]) -> Contract:
        return contract_for(self.rubric, seats, self.checker, self.options)
