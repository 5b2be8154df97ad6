"""`honestone stage propose` and `rank`: candidates that are real edits, each made in a private
copy, and a panel's scores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.app.stages.candidates import ProposeRequest, RankRequest, propose, rank
from honestone.cli import options as shared
from honestone.cli.stages import group
from honestone.cli.terminal import Progress
from honestone.formats.stage_files import ScoredCandidate


@click.command("propose", short_help="Candidates: real edits by a worker.")
@shared.options("stage propose")
def propose_command(
    state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, **asked: Any
) -> int:
    """Ask a worker for edits of a skill. Each is made in a private copy; the skill itself is not
    touched.

    Proposals that change nothing, leave the skill or repeat an earlier one are reported and are not
    candidates.
    """

    request = ProposeRequest(judging=group.judging_of(asked), **asked)
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
@shared.options("stage rank")
def rank_command(
    candidates: Path,
    mock: bool,
    state_root: Path | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
    **asked: Any,
) -> int:
    """Score every candidate from 0 to 10 and recommend what to do with it.

    Judges answer yes/no questions about the edit; a score is the share of yes times 10. Without
    judges every candidate whose plan can be applied gets 7.
    """

    judging = group.judging_of(asked)
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
