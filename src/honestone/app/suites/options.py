"""The options of a suite's run."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Struct, field

from honestone.app.judging.judging_options import AcceptLoss, Locked, RequireImprovement, Seconds
from honestone.app.options import BY_COMMAND, Option, require_valid
from honestone.app.suites.choice import CaseChoice
from honestone.core.errors import UsageError
from honestone.core.numbers import exact
from honestone.core.suite.case import AttemptRule
from honestone.core.suite.comparison import GATES
from honestone.ports import Function, Target

Targets: TypeAlias = Annotated[
    tuple[str | Target | Function, ...],
    Option(
        "What makes the output that is judged; of a suite repeat it: a column each."
        " [the suite's, else identity]",
        name="--target",
        short="-t",
    ),
]
PromptNames: TypeAlias = Annotated[
    tuple[str, ...],
    Option(
        "Run a suite of several prompts with this one only; `eval` takes several.",
        name="--prompt",
        metavar="NAME",
    ),
]
Concurrency: TypeAlias = Annotated[
    int | None,
    Option(
        "Cases at a time, on all machines together, and calls of a judge that does not say how many it takes. [8; with --remote as many as runners take]",
        min=1,
        max=1000,
    ),
]


class SuiteOptions(Struct, frozen=True, kw_only=True):
    """The options of `eval SUITE` besides those of judging."""

    artifacts: Annotated[
        tuple[Path, ...],
        Option(
            "What a suite is run on, instead of the one it names; repeat it: a column each.",
            name="--artifact",
        ),
    ] = ()
    prompts: PromptNames = ()
    pick: Annotated[bool, Option("Name the cheapest column that passes; pass if there is one.")] = (
        False
    )
    outputs: Annotated[
        str | None,
        Option(
            "Judge the outputs of a run, of `last`, or of a file, and run no target.",
            metavar="RUN|FILE",
        ),
    ] = None
    choice: CaseChoice = field(default_factory=CaseChoice)
    attempts: Annotated[
        int | None, Option("Runs of each case, instead of the suite's.", min=1, max=100)
    ] = None
    attempt_rule: Annotated[
        str | None,
        Option("What several attempts at a case come to.", choices=tuple(map(str, AttemptRule))),
    ] = None
    target_timeout: Seconds = None
    min_pass_rate: Annotated[
        float | Fraction | None,
        Option("Share of cases that has to pass. [1]", min=0, max=1, metavar="0-1"),
    ] = None
    # Other skills, which are installed next to the one that is tried and are there without it too.
    with_skills: Annotated[
        tuple[Path, ...],
        Option(
            "Another skill to install next to the one that is tried; repeat for several.",
            name="--with-skill",
        ),
    ] = ()
    baseline: Annotated[
        str | None,
        Option(
            "Compare with a run, a saved report, another artifact, the artifact at a git ref, or a"
            " skill with `without`.",
            metavar="RUN|PATH|GIT-REF",
        ),
    ] = None
    fail_on: Annotated[
        tuple[str, ...],
        Option("regression, missing or delta<0. [delta<0 and missing]", metavar="GATE"),
    ] = ()
    require_improvement: RequireImprovement = False
    across_contracts: Annotated[
        bool, Option("Compare runs even if they were judged differently.")
    ] = False
    update_baseline: Annotated[bool, Option("Save this run's report as the baseline's file.")] = (
        False
    )
    all_cases: Annotated[
        bool,
        Option("With --sure: give every case a look, also those that cannot turn the verdict."),
    ] = False
    # Several instead of one: each target with each artifact is a column of a table. None is twice.
    targets: Annotated[Targets, BY_COMMAND] = ()
    concurrency: Annotated[Concurrency, BY_COMMAND] = None
    accept_loss: Annotated[AcceptLoss, BY_COMMAND] = False
    locked: Annotated[Locked, BY_COMMAND] = False

    def __post_init__(self) -> None:
        """Raises UsageError for what no command line would accept."""
        require_valid(self, SuiteOptions)
        require_gates(self.fail_on)

    @property
    def least_pass_rate(self) -> Fraction | None:
        """The share of cases that has to pass, as the decimal that was written."""
        return None if self.min_pass_rate is None else exact(self.min_pass_rate)


def require_gates(gates: Sequence[str]) -> tuple[str, ...]:
    for gate in gates:
        if gate not in GATES:
            raise UsageError(
                f"--fail-on `{gate}` is not known",
                hint=f"known: {', '.join(GATES)}; repeat it for several",
            )
    return tuple(gates)
