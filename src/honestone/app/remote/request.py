"""What `eval SUITE` was asked, as plain JSON, so that a runner on another machine asks the same of
the same files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final

import msgspec

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.keywords import JudgingKeywords
from honestone.app.options import declared
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.suite.case import Case, Suite, TargetSpec
from honestone.core.suite.outline import outline_of
from honestone.formats.source import SuiteSource


class OrderedSuite(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The options of `SuiteRequest` that are plain values. Paths are from the folder that the order
    was made in. Which cases are chosen is not among them: those of the run are rows of the store.
    """

    suite: str
    judging: JudgingKeywords
    judges: tuple[str, ...] = ()
    target: str | None = None
    artifact: str | None = None
    attempts: int | None = None
    attempt_rule: str | None = None
    concurrency: int | None = None
    target_timeout: float | None = None
    min_pass_rate: str | None = None
    accept_loss: bool = False
    all_cases: bool = False

    @classmethod
    def from_plain(cls, plain: object) -> OrderedSuite:
        """Raises ValueError for what is not the JSON of one."""
        return msgspec.convert(plain, cls)

    def request(self) -> SuiteRequest:
        return SuiteRequest(
            suite=Path(self.suite),
            judging=JudgingOptions(judges=self.judges, **self.judging),
            target=self.target,
            artifact=None if self.artifact is None else Path(self.artifact),
            attempts=self.attempts,
            attempt_rule=self.attempt_rule,
            concurrency=self.concurrency,
            target_timeout=self.target_timeout,
            min_pass_rate=None if self.min_pass_rate is None else Fraction(self.min_pass_rate),
            accept_loss=self.accept_loss,
            all_cases=self.all_cases,
        )


class OrderedHead(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a suite says besides its cases. Paths are from the folder that the order was made in;
    `files` are those that the suite was read from. `unused`: keys of rubrics that only cases have
    which are skipped. `sure` (0-1) and `max_looks` are those of the run, whether the suite or the
    command said them.
    """

    dialect: str
    base: str
    title: str = ""
    files: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    targets: tuple[TargetSpec, ...] = ()
    concurrency: int | None = None
    unused: tuple[str, ...] = ()
    sure: str | None = None
    max_looks: int | None = None

    @classmethod
    def of(cls, plan: SuitePlan) -> OrderedHead:
        source = plan.source
        outline, key_of = outline_of(plan.chosen), plan.contracts.rubric_key
        every, used = (
            set(map(key_of, of)) for of in (outline.rubrics.values(), outline.asked.values())
        )
        return cls(
            dialect=source.dialect,
            base=_from(plan.workspace, source.base),
            title=source.suite.title,
            files=tuple(sorted(_from(plan.workspace, file) for file in source.files)),
            artifacts=source.suite.artifacts,
            targets=source.suite.targets,
            concurrency=source.suite.concurrency,
            unused=tuple(sorted(every - used)),
            sure=None if plan.sure is None else str(plan.sure),
            max_looks=plan.max_looks,
        )

    @classmethod
    def from_plain(cls, plain: object) -> OrderedHead:
        """Raises ValueError for what is not the JSON of one."""
        return msgspec.convert(plain, cls)

    def source(self, folder: Path, rubrics: Mapping[str, Rubric]) -> SuiteSource:
        """The suite below `folder`, with one case in the place of all that share a rubric: a runner
        reads a case when it takes it. `rubrics` are those of the run, by key.
        """
        first, *more = self.artifacts or (None,)
        target, *targets = self.targets or (TargetSpec(),)
        cases = [
            Case(id=key, rubric=one, skip="no case is run" if key in self.unused else None)
            for key, one in rubrics.items()
        ]
        suite = Suite(
            cases=tuple(cases),
            title=self.title,
            artifact=first,
            more_artifacts=tuple(one for one in more if one is not None),
            target=target,
            more_targets=tuple(targets),
            concurrency=self.concurrency,
            sure=None if self.sure is None else Fraction(self.sure),
            max_looks=self.max_looks,
        )
        files = tuple(folder / file for file in self.files)
        return SuiteSource(suite=suite, dialect=self.dialect, base=folder / self.base, files=files)


# Options of judging that do not travel: judges are named besides, and the folders that may be read
# and what vouches for judges are asked for on this machine.
_STAYS: Final = (
    "judges",
    "allow_outside",
    "require_calibration",
    "require_tier",
    "sure",
    "max_looks",
)
_NOT_REMOTE: Final = {
    "pick": "--pick",
    "outputs": "--outputs",
    "baseline": "--baseline",
    "fail_on": "--fail-on",
    "update_baseline": "--update-baseline",
    "require_improvement": "--require-improvement",
    "across_contracts": "--across-contracts",
    "mock": "--mock",
    "with_skills": "--with-skill",
}


def ordered(workspace: Workspace, request: SuiteRequest) -> OrderedSuite:
    """Raises UsageError for what only a run on this machine can do."""
    for name, option in _NOT_REMOTE.items():
        if getattr(request, name):
            refuse(f"{option} is for runs on this machine")
    if len(request.targets) > 1 or len(request.artifacts) > 1:
        refuse("a table of several targets or artifacts is run on this machine")
    judging = request.judging
    if judging.batch is not None or judging.allow_outside:
        refuse("--batch and --allow-outside are for runs on this machine")
    target = request.target or next(iter(request.targets), None)
    named = [one for one in (*judging.judges, target) if one is not None]
    texts = [one for one in named if isinstance(one, str)]
    if len(texts) < len(named) or "human" in texts:
        refuse(
            "a judge or target that is a person, a function or an object of this process cannot travel"
        )
    artifact = request.artifact or next(iter(request.artifacts), None)
    # The code of another tool's file was permitted here, or this machine would not have read it.
    asked = {one.field: getattr(judging, one.field) for one in declared(JudgingOptions)}
    travels = {name: value for name, value in asked.items() if name not in _STAYS}
    return OrderedSuite(
        suite=_from(workspace, request.suite),
        judging=msgspec.convert(travels | {"allow_code": True}, JudgingKeywords),
        judges=tuple(one for one in judging.judges if isinstance(one, str)),
        target=target if isinstance(target, str) else None,
        artifact=None if artifact is None else _from(workspace, artifact),
        attempts=request.attempts,
        attempt_rule=request.attempt_rule,
        concurrency=request.concurrency,
        target_timeout=request.target_timeout,
        min_pass_rate=None if request.min_pass_rate is None else str(request.least_pass_rate),
        accept_loss=request.accept_loss,
        all_cases=request.all_cases,
    )


def refuse(why: str, hint: str = "leave out --remote, or that") -> None:
    raise UsageError(f"{why}, but --remote has the cases run on other machines", hint=hint)


def _from(workspace: Workspace, path: Path) -> str:
    """The path relative to the folder of the workspace, in whatever form it was written."""
    return os.path.relpath(workspace.path(path).resolve(), workspace.folder)
