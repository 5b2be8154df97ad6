"""`honestone suite lock`: write the contract next to the suite, or check it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.cli import options as shared
from honestone.cli.rubrics.lock import print_lock


@click.command("lock", short_help="Lock cases, rubrics, prompt, judges and bars.")
@shared.options("suite lock")
def lock(
    path: Path,
    only_check: bool,
    accept_loss: bool,
    target: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Write SUITE.lock: the contract that `eval SUITE` with the same options has."""
    from honestone.app.rubrics.lock import lock_file
    from honestone.app.suites.plan import SuiteRequest
    from honestone.app.suites.planning import plan_suite
    from honestone.app.trusting import read_to_lock
    from honestone.cli.terminal import Progress, here

    judging, workspace = shared.take_judging(options), here()
    source = read_to_lock(workspace.path(path), judging, judging.outside(workspace.path))
    asked = SuiteRequest(
        suite=path, source=source, judging=judging, target=target or "mock", accept_loss=accept_loss
    )
    with Progress(quiet=quiet) as progress:
        plan = plan_suite(workspace, asked, progress)
    locked = lock_file(path, plan.whole_contract, plan.files_that_judge, only_check=only_check)
    print_lock(locked, as_json=as_json)
    return 0
