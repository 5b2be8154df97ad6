"""Whether the checks of a file can be run at all: `check` asks the same as `eval`, and says it with
the place of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.core.checking.checks import KINDS, checks_of
from honestone.core.errors import ProgramMissing, UsageError
from honestone.core.judging.rubric import Rubric

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.app.judging.judging_options import JudgingOptions
    from honestone.app.workspace import Workspace
    from honestone.core.suite.case import Case
    from honestone.formats.source import SuiteSource


def require_checks_of_cases(
    source: SuiteSource,
    cases: Sequence[Case],
    checker: CheckRunner,
    *,
    asks_embeddings: bool = True,
    notes: list[str] | None = None,
) -> None:
    """Raises SourceErrors for each check that cannot be run, at the first case that has it. With
    `notes`, a program that is not installed here is a note: the file may be meant for another
    machine.
    """
    from honestone.core.suite.outline import outline_of

    outline = outline_of(cases)
    problems: list[UsageError] = []
    for key, rubric in outline.rubrics.items():
        case = outline.first[key]
        errors = [
            _placed(error, source.places.get(case), case)
            for error in refused(rubric, checker, asks_embeddings=asks_embeddings)
        ]
        problems += _without_missing_programs(errors, notes)
    _raise(problems)


def require_checks_of_rubric(
    rubric: Rubric, place: str, checker: CheckRunner, notes: list[str]
) -> None:
    """The same of a rubric in a file of its own."""
    errors = [_placed(error, place) for error in refused(rubric, checker, asks_embeddings=False)]
    _raise(_without_missing_programs(errors, notes))


def _without_missing_programs(
    errors: Iterable[UsageError], notes: list[str] | None
) -> list[UsageError]:
    if notes is None:
        return list(errors)
    left = []
    for error in errors:
        if isinstance(error, ProgramMissing):
            notes.append(f"not here: {error.message}; `eval` needs it")
        else:
            left.append(error)
    return left


def checker_for(base: Path, workspace: Workspace, judging: JudgingOptions) -> CheckRunner:
    """What a `check` command asks whether checks of a file in `base` can be run; it runs none."""
    from honestone.adapters.checks import CheckRunner

    return CheckRunner(
        base.resolve(),
        sandbox=judging.sandbox,
        pass_env=judging.pass_env,
        folder=workspace.folder,
        closed=workspace.closed,
        allowed=judging.outside(workspace.path),
    )


def refused(
    rubric: Rubric, checker: CheckRunner, *, asks_embeddings: bool = True
) -> Iterator[UsageError]:
    """Why checks of a rubric cannot be run here, one after the other. What makes embeddings is
    named by an option of `eval`, so a command without that option does not ask for it.
    """
    for check in checks_of(rubric):
        if KINDS[check.kind].family == "embeddings" and not asks_embeddings:
            continue
        try:
            checker.preflight([check])
        except UsageError as error:
            yield error


def _placed(error: UsageError, place: str | None, case: str | None = None) -> UsageError:
    message = error.message if case is None else f"case `{case}`: {error.message}"
    kind = ProgramMissing if isinstance(error, ProgramMissing) else UsageError
    return kind(message, place=error.place or place, hint=error.hint)


def _raise(problems: list[UsageError]) -> None:
    from honestone.formats.source import SourceErrors

    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise SourceErrors(problems)
