"""`honestone stage promote`: a person approves a candidate that the gate parked, or drops it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from honestone.cli.stages.group import show_artifact, show_lines, stage_files, stage_options
from honestone.cli.terminal import dump, write

if TYPE_CHECKING:
    from honestone.app.stages.files import StageFiles


@click.command("promote", short_help="Approve or drop what was parked.")
@click.argument("candidate_id", metavar="[ID]", required=False)
@click.option("--reject", is_flag=True, help="Drop it, and never keep the same bytes for this skill.")
@stage_options
def promote_command(
    candidate_id: str | None, reject: bool, state_root: Path | None, output: Path | None, as_json: bool, quiet: bool
) -> int:
    """Apply the parked candidate ID to the skill, modes too, or drop it. Without ID: list what waits.

    A skill that was edited since is left as it is (exit 2).
    """
    from honestone.app.stages.gate import promote

    files = stage_files(state_root, output)
    if candidate_id is None:
        if reject:
            raise click.UsageError("--reject needs the ID of a candidate", click.get_current_context())
        _show_pending(files, as_json=as_json)
        return 0
    receipt = promote(candidate_id, files, reject=reject)
    show_artifact(receipt.document, [f"{receipt.body.decision}: {receipt.body.reason}"], as_json=as_json)
    return 0


def _show_pending(files: StageFiles, *, as_json: bool) -> None:
    waiting = files.entries("pending")
    if as_json:
        write(dump({"pending": waiting}) + "\n")
        return
    lines = []
    for one in waiting:
        lines.append(f"{one.get('candidate_id')}: {one.get('title')} ({one.get('reason')})")
        lines += [f"    {line}" for line in str(one.get("diff") or "").splitlines()]
    show_lines(lines or ["nothing waits for a person"])
