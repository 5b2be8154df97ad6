"""`honestone stage rank`: a panel scores the candidates, each by its real edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.group import judge_options, judging_of, show_artifact, stage_files, stage_options

if TYPE_CHECKING:
    from honestone.formats.stage_files import ScoredCandidate


@click.command("rank", short_help="Have a panel score the candidates.")
@click.option("--input", "candidates", type=shared.PATH, required=True, metavar="FILE", help="The candidates artifact.")
@judge_options
@click.option("--mock", is_flag=True, help="Use a mock panel that approves everything, for a dry run.")
@shared.limit_options
@stage_options
def rank_command(
    candidates: Path, mock: bool, state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, **asked: Any
) -> int:
    """Score every candidate from 0 to 10 and recommend what to do with it.

    Judges answer yes/no questions about the edit; a score is the share of yes times 10. Without judges every candidate
    whose plan can be applied gets 7.
    """
    from honestone.app.stages.candidates import RankRequest, rank
    from honestone.cli.terminal import Progress

    judging = judging_of(asked)
    if mock and judging.judges:
        raise click.UsageError("--mock is a panel of its own: leave --judge out", click.get_current_context())
    request = RankRequest(candidates=candidates, mock=mock, judging=judging)
    with Progress(quiet=quiet) as progress:
        done = rank(request, stage_files(state_root, output), progress)
    show_artifact(done.document, [_line(one) for one in done.body.scored_candidates], as_json=as_json)
    return 0


def _line(one: ScoredCandidate) -> str:
    score = "no score" if one.score is None else f"{one.score:g}"
    why = f" ({', '.join(map(str, one.blockers))})" if one.blockers else ""
    return f"{one.id}: {score}, {one.recommendation}{why}"
