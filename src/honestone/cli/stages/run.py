"""`honestone skill run`: propose, rank, evaluate, apply, gate; again with what failed, until
something is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from honestone.app.judging.judging_options import (
    JudgeNames,
    JudgingOptions,
    MaxCalls,
    MaxMinutes,
    MaxUsd,
    Seconds,
)
from honestone.app.options import Argument, Option
from honestone.app.suites.options import PromptNames
from honestone.cli import options as shared
from honestone.cli.stages import group
from honestone.cli.terminal import Progress, dump, write
from honestone.core.numbers import percent, rate_change_words

if TYPE_CHECKING:
    from honestone.app.stages.run import PipelineRun
    from honestone.formats.stage_files import Pipeline


@click.command("run", short_help="Run all stages, with up to three attempts.")
@shared.from_parameters
def run_command(
    *,
    skill: Annotated[Path, Argument()],
    task_suite: Annotated[
        Path,
        Option(
            "Task suite that decides.", name="--suite", old_names=("--task-suite",), metavar="SUITE"
        ),
    ],
    worker: group.WorkerName,
    candidates: group.Candidates = 1,
    sources: group.Sources = (),
    worker_timeout: Seconds = None,
    target: group.TaskTarget = None,
    prompts: PromptNames = (),
    pass_k: group.PassK = 1,
    judges: JudgeNames = (),
    judge_timeout: Seconds = None,
    retries: Annotated[
        int, Option("Candidates that are tried at most.", min=1, max=50, show_default=True)
    ] = 3,
    mock: Annotated[bool, Option("Run no agent and ask no judge; then nothing is kept.")] = False,
    fresh: Annotated[bool, Option("Start over, and run the baseline again.")] = False,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    max_minutes: MaxMinutes = None,
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Improve a skill by what real tasks show. A candidate is tried on the tasks and kept only if
    the gate lets it; the worker is shown each that was rejected, with what failed. Every try starts
    from the original bytes.

    The same command resumes a run that was stopped, also with higher limits.

    \b
    Exit codes: 0 keep, 1 revert or reject, 3 pending_promote or error, 2 usage.
    """
    from honestone.app.stages.run import StageRunRequest, run_all_stages

    request = StageRunRequest(
        judging=JudgingOptions(
            judges=judges,
            judge_timeout=judge_timeout,
            fresh=fresh,
            max_calls=max_calls,
            max_usd=max_usd,
            max_minutes=max_minutes,
        ),
        skill=skill,
        task_suite=task_suite,
        worker=worker,
        candidates=candidates,
        sources=sources,
        worker_timeout=worker_timeout,
        target=target,
        prompts=prompts,
        pass_k=pass_k,
        retries=retries,
        mock=mock,
    )
    with Progress(quiet=quiet) as progress:
        done = run_all_stages(request, group.stage_files(state_root, output), progress)
    if as_json:
        write(dump(done.document) + "\n")
    else:
        group.show_lines(pipeline_lines(done))
    return done.exit_code


def pipeline_lines(done: PipelineRun) -> list[str]:
    """Each try, the decision, both pass rates, the edit that was kept, and what to type next."""
    lines = []
    for number, one in enumerate(done.body.tries, start=1):
        lines.append(
            f"try {number}: {one.candidate_id or 'no candidate'}: {one.decision}, {one.reason}"
        )
    lines.append(f"{done.decision}: {done.body.reason}")
    if done.approve is not None:
        lines.append(f"approve it with: {done.approve}")
    lines += _rates(done.body)
    lines += ["", *done.diff.splitlines()] if done.diff else []
    lines += ["", f"spent   {', '.join(done.spent)}", f"again   honestone show {done.body.run}"]
    lines += [f"undo    honestone undo {done.body.run}"] if done.can_be_undone else []
    return [*lines, f"file    {done.body.truth_anchor}"]


def _rates(body: Pipeline) -> list[str]:
    if body.baseline_pass_rate is None or body.execution_pass_rate is None:
        return []
    inside = f"{rate_change_words(body.delta)} points"
    if body.interval is not None:
        low, high = map(rate_change_words, body.interval)
        inside += f", 95% from {low} to {high}"
    before, after = percent(body.baseline_pass_rate), percent(body.execution_pass_rate)
    return [f"tasks passed: {before} → {after} ({inside})"]
