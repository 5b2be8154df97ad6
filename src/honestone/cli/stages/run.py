"""`honestone stage run`: propose, rank, evaluate, apply, gate; again with what failed, until
something is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages import group
from honestone.cli.terminal import Progress, dump, write

if TYPE_CHECKING:
    from honestone.app.stages.run import PipelineRun


@click.command("run", short_help="Run all stages, with up to three attempts.")
@shared.options("stage run")
def run_command(
    state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, **asked: Any
) -> int:
    """Improve a skill by what real tasks show. A candidate is tried on the tasks and kept only if
    the gate lets it; the worker is shown each that was rejected, with what failed. Every try starts
    from the original bytes.

    The same command resumes a run that was stopped, also with higher limits.

    \b
    Exit codes: 0 keep, 1 revert or reject, 3 pending_promote or error, 2 usage.
    """
    from honestone.app.stages.run import StageRunRequest, run_all_stages

    request = StageRunRequest(judging=group.judging_of(asked), **asked)
    with Progress(quiet=quiet) as progress:
        done = run_all_stages(request, group.stage_files(state_root, output), progress)
    if as_json:
        write(dump(done.document) + "\n")
    else:
        group.show_lines(pipeline_lines(done))
    return done.exit_code


def pipeline_lines(done: PipelineRun) -> list[str]:
    lines = []
    for number, one in enumerate(done.body.tries, start=1):
        lines.append(
            f"try {number}: {one.candidate_id or 'no candidate'}: {one.decision}, {one.reason}"
        )
    lines.append(f"{done.decision}: {done.body.reason}")
    if done.approve is not None:
        lines.append(f"approve it with: {done.approve}")
    return [*lines, done.body.truth_anchor]
