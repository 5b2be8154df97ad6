"""`honestone stage apply`: a candidate's plan carried out on the skill itself, with a backup and the way back."""

from __future__ import annotations

from pathlib import Path

import click

from honestone.cli import options as shared
from honestone.cli.stages.group import show_artifact, stage_files, stage_options


@click.command("apply", short_help="Apply a candidate, with a backup.")
@click.option("--input", "ranking", type=shared.PATH, required=True, metavar="FILE", help="The ranking artifact.")
@click.option("--candidate-id", required=True, metavar="ID")
@stage_options
def apply_command(
    ranking: Path, candidate_id: str, state_root: Path | None, output: Path | None, as_json: bool, quiet: bool
) -> int:
    """Carry out a candidate's plan on the skill. The original is kept; `stage gate` keeps the edit or puts it back.

    Exits 1 when nothing was applied, 2 when the plan would leave the skill.
    """
    from honestone.app.stages.gate import ApplyRequest, apply

    done = apply(ApplyRequest(ranking=ranking, candidate_id=candidate_id), stage_files(state_root, output))
    result = done.body.result
    reason = result.diff_summary.reason if result.diff_summary else ""
    lines = [result.diff.rstrip("\n")] if result.diff else []
    show_artifact(done.document, [*lines, f"{result.status}: {reason}"], as_json=as_json)
    return 0 if result.modified else 1
