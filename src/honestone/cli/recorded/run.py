"""`honestone runs cancel`; and `honestone run`, the group that it was in before."""

from __future__ import annotations

from typing import Annotated

import click

from honestone.app.options import Argument
from honestone.cli import options as shared
from honestone.cli.main import LazyGroup
from honestone.cli.terminal import dump, here, write
from honestone.system.drawing import line


@click.group("run", cls=LazyGroup, table="run", short_help="Cancel a run that is not finished.")
def run() -> None:
    """Act on one recorded run. `honestone runs` lists them."""


@click.command("cancel", short_help="End a run, so that it is not resumed.")
@shared.from_parameters
def cancel(
    *,
    run_name: Annotated[str, Argument(metavar="RUN")],
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """End a run that is not finished: its id, the beginning of it, or `last`. It is recorded as
    `interrupted`, and the same command starts a new one. Whoever works on a suite's run stops
    within seconds, on any machine that shares the store; what is on record is kept. Exits 2 for a
    run that has ended.
    """
    from honestone.app.runs.cancelling import cancel_run

    info = cancel_run(here(), run_name)
    if as_json:
        write(dump({"run": info.id, "result": info.result}) + "\n")
    else:
        write(f"run {info.id} ({info.kind} {line(info.subject)}) is cancelled\n")
    return 0
