"""The checks of a rubric: who runs them, and the files that judge and so are never judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.core.artifact import Version
from honestone.core.checks import KINDS
from honestone.core.contract import Contract, make_contract
from honestone.core.rubric import Check, Rubric

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.app.judging_options import JudgingOptions
    from honestone.engine.panel import Seat


def make_checker(rubric: Rubric, rubric_path: Path, options: JudgingOptions, artifacts: Sequence[Path]) -> CheckRunner:
    """`artifacts` are what is judged: a program among their files is taken from the version, never from disk."""
    from honestone.adapters.checks import CheckRunner

    # Only checks that run programs look at an artifact's place; resolving thousands of paths for the others is waste.
    runs_code = any(KINDS[check.kind].family != "text" for check in checks_of(rubric))
    return CheckRunner(
        rubric_path.parent.resolve(),
        sandbox=options.sandbox,
        pass_env=tuple(options.pass_env),
        artifacts=[path.resolve() for path in artifacts] if runs_code else (),
    )


def never_judged(rubric: Rubric, rubric_path: Path, checker: CheckRunner) -> frozenset[Path]:
    """Files in a folder artifact that do not belong to it: the rubric, its lock, and the tests and schemas that judge."""
    files = checker.judging_files(checks_of(rubric))
    lock = rubric_path.with_name(f"{rubric_path.name}.lock")
    return frozenset({rubric_path.resolve(), lock.resolve(), *(path.resolve() for path in files)})


def checks_of(rubric: Rubric) -> list[Check]:
    return [item.check for _, item in rubric.questions() if item.check is not None]


def preflight_checks(rubric: Rubric, checker: CheckRunner, version: Version | None = None) -> None:
    """Raises UsageError for a check that cannot be started. `version` is what is judged, where there is only one."""
    checker.preflight(checks_of(rubric), version)


def contract_for(rubric: Rubric, seats: Sequence[Seat], checker: CheckRunner, options: JudgingOptions) -> Contract:
    """What decides what a score means: the same from every command and from Python."""
    return make_contract(
        rubric,
        judges=[seat.identity for seat in seats],
        checks=[dict(checker.identity(check)) for check in checks_of(rubric)],
        rule=str(options.rule),
        options={"evidence": options.evidence, "ask": options.ask, "pack": options.pack},
    )
