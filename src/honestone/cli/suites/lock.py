"""`honestone suite lock`: write the contract next to the suite, or check it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import AcceptLoss, JudgingOptions
from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.helping import Grouped
from honestone.cli.rubrics.lock import print_lock


@click.command("lock", cls=Grouped, short_help="Lock cases, rubrics, prompt, judges and bars.")
@shared.from_parameters
def lock(
    *,
    path: Annotated[Path, Argument(metavar="SUITE")],
    only_check: shared.OnlyCheck = False,
    accept_loss: AcceptLoss = False,
    target: Annotated[
        str | None, Option("What will answer the cases; not part of the lock.", short="-t")
    ] = None,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Write SUITE.lock: the contract that `eval SUITE` with the same options has.

    With several `prompts`, it holds the variables that fill them and not their texts: prompts can be
    edited and compared, as targets can.
    """
    from honestone.app.judging.lock import lock_file
    from honestone.app.judging.trusting import read_to_lock
    from honestone.app.suites.plan import SuiteRequest
    from honestone.app.suites.planning import plan_columns
    from honestone.cli.terminal import Progress, here

    judging, workspace = judging, here()
    source = read_to_lock(workspace.path(path), judging, judging.outside(workspace.path))
    asked = SuiteRequest(
        suite=path,
        source=source,
        judging=judging,
        target=target or "mock",
        accept_loss=accept_loss,
    )
    with Progress(quiet=quiet) as progress:
        plan, *_ = plan_columns(workspace, asked, progress)  # all have the same contract
    locked = lock_file(path, plan.whole_contract, plan.files_that_judge, only_check=only_check)
    print_lock(locked, as_json=as_json)
    return 0
