"""`honestone skill propose` and `rank`: candidates that are real edits, each made in a private
copy, and a panel's scores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
from honestone.app.stages.propose import ProposeRequest, propose
from honestone.app.stages.rank import RankRequest, rank
from honestone.cli import options as shared
from honestone.cli.stages import group
from honestone.cli.terminal import Progress
from honestone.formats.stage_files import ScoredCandidate


@click.command("propose", short_help="Candidates: real edits by a worker.")
@shared.from_parameters
def propose_command(
    *,
    skill: Annotated[Path, Argument()],
    worker: group.WorkerName,
    candidates: group.Candidates = 1,
    sources: group.Sources = (),
    worker_timeout: Seconds = None,
    traces: Annotated[
        tuple[Path, ...],
        Option(
            "A traces file of an edit that was put back; repeat it.", name="--trace", metavar="FILE"
        ),
    ] = (),
    task_suite: Annotated[
        Path | None,
        Option(
            "Show the worker the tasks of this suite that failed last; never those of the test split.",
            name="--suite",
            old_names=("--task-suite",),
            metavar="SUITE",
        ),
    ] = None,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    max_minutes: MaxMinutes = None,
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Ask a worker for edits of a skill. Each is made in a private copy; the skill itself is not
    touched.

    Proposals that change nothing, leave the skill or repeat an earlier one are reported and are not
    candidates.
    """

    request = ProposeRequest(
        judging=JudgingOptions(max_calls=max_calls, max_usd=max_usd, max_minutes=max_minutes),
        skill=skill,
        worker=worker,
        candidates=candidates,
        sources=sources,
        worker_timeout=worker_timeout,
        traces=traces,
        task_suite=task_suite,
    )
    with Progress(quiet=quiet) as progress:
        done = propose(request, group.stage_files(state_root, output), progress)
    found = [
        f"{one.id}: {one.title} ({one.category}, {one.risk_level} risk)"
        for one in done.body.candidates
    ]
    left = [f"not a candidate: {one.outcome}: {one.detail}" for one in done.body.rejected_proposals]
    group.show_artifact(done.document, [*found, *left], as_json=as_json)
    return 0 if done.body.status == "success" else 1


@click.command("rank", short_help="Have a panel score the candidates.")
@shared.from_parameters
def rank_command(
    *,
    candidates: Annotated[Path, Option("The candidates artifact.", name="--input", metavar="FILE")],
    judges: JudgeNames = (),
    judge_timeout: Seconds = None,
    mock: Annotated[
        bool, Option("Use a mock panel that approves everything, for a dry run.")
    ] = False,
    max_calls: MaxCalls = None,
    max_usd: MaxUsd = None,
    max_minutes: MaxMinutes = None,
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Score every candidate from 0 to 10 and recommend what to do with it.

    Judges answer yes/no questions about the edit; a score is the share of yes times 10. Without
    judges every candidate whose plan can be applied gets 7.
    """

    judging = JudgingOptions(
        judges=judges,
        judge_timeout=judge_timeout,
        max_calls=max_calls,
        max_usd=max_usd,
        max_minutes=max_minutes,
    )
    if mock and judging.judges:
        raise click.UsageError(
            "--mock is a panel of its own: leave --judge out", click.get_current_context()
        )
    request = RankRequest(candidates=candidates, mock=mock, judging=judging)
    with Progress(quiet=quiet) as progress:
        done = rank(request, group.stage_files(state_root, output), progress)
    group.show_artifact(
        done.document, [_line(one) for one in done.body.scored_candidates], as_json=as_json
    )
    return 0


def _line(one: ScoredCandidate) -> str:
    score = "no score" if one.score is None else f"{one.score:g}"
    why = f" ({', '.join(map(str, one.blockers))})" if one.blockers else ""
    return f"{one.id}: {score}, {one.recommendation}{why}"
