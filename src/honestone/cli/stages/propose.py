"""`honestone stage propose`: candidates that are real edits, each made by a worker in a private copy of the skill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.group import judging_of, show_artifact, stage_files, stage_options, worker_options


@click.command("propose", short_help="Candidates: real edits by a worker.")
@click.argument("skill", type=shared.PATH)
@worker_options
@click.option(
    "--trace",
    "traces",
    type=shared.PATH,
    multiple=True,
    metavar="FILE",
    help="A traces file of an edit that was put back; repeat it.",
)
@click.option(
    "--task-suite",
    type=shared.PATH,
    metavar="SUITE",
    help="Show the worker the tasks of this suite that failed last; never those of the test split.",
)
@shared.limit_options
@stage_options
def propose_command(state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, **asked: Any) -> int:
    """Ask a worker for edits of a skill. Each is made in a private copy; the skill itself is not touched.

    Proposals that change nothing, leave the skill or repeat an earlier one are reported and are not candidates.
    """
    from honestone.app.stages.candidates import ProposeRequest, propose
    from honestone.cli.terminal import Progress

    request = ProposeRequest(judging=judging_of(asked), **asked)
    with Progress(quiet=quiet) as progress:
        done = propose(request, stage_files(state_root, output), progress)
    found = [f"{one.id}: {one.title} ({one.category}, {one.risk_level} risk)" for one in done.body.candidates]
    left = [f"not a candidate: {one.outcome}: {one.detail}" for one in done.body.rejected_proposals]
    show_artifact(done.document, [*found, *left], as_json=as_json)
    return 0 if done.body.status == "success" else 1
