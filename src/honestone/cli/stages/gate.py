"""`honestone skill apply`, `gate` and `promote`: a candidate's edit is tried on the skill itself,
and stays or is put back.

The gate looks at what was applied in six layers; it stays only if all of them let it, else the
original is back. What it parked a person approves or drops.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.options import Argument, Option
from honestone.app.stages.apply import ApplyRequest, apply
from honestone.app.stages.files import StageFiles
from honestone.app.stages.gate import GateRequest, gate
from honestone.app.stages.promote import promote
from honestone.cli import options as shared
from honestone.cli.stages import group
from honestone.cli.stages.group import show_artifact, show_lines, stage_files
from honestone.cli.terminal import dump, write
from honestone.core.skill.gate_layers import EXIT_OF, Decision
from honestone.formats.stage_files import Receipt

_MARKS = {True: "ok", False: "not ok", None: "unknown"}


@click.command("apply", short_help="Apply a candidate, with a backup.")
@shared.from_parameters
def apply_command(
    *,
    ranking: Annotated[Path, Option("The ranking artifact.", name="--input", metavar="FILE")],
    candidate_id: Annotated[str, Option(metavar="ID")],
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Carry out a candidate's plan on the skill. The original is kept; `skill gate` keeps the edit
    or puts it back.

    Exits 1 when nothing was applied, 2 when the plan would leave the skill.
    """

    done = apply(
        ApplyRequest(ranking=ranking, candidate_id=candidate_id), stage_files(state_root, output)
    )
    result = done.body.result
    reason = result.diff_summary.reason if result.diff_summary else ""
    lines = [result.diff.rstrip("\n")] if result.diff else []
    show_artifact(done.document, [*lines, f"{result.status}: {reason}"], as_json=as_json)
    return 0 if result.modified else 1


@click.command("gate", short_help="Keep it, park it, or put the original back.")
@shared.from_parameters
def gate_command(
    *,
    ranking: Annotated[Path, Option("The ranking artifact.", metavar="FILE")],
    execution: Annotated[Path, Option("What `skill apply` wrote.", metavar="FILE")],
    evaluation: Annotated[
        Path | None,
        Option("What `skill evaluate` wrote. Without it nothing is kept.", metavar="FILE"),
    ] = None,
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Decide about a candidate that was applied. For every decision but `keep` the skill is put
    back as it was.

    \b Exit codes: 0 keep, 1 revert or reject, 3 pending_promote (a person decides: `stage
    promote`), 2 usage.
    """

    done = gate(
        GateRequest(ranking=ranking, execution=execution, evaluation=evaluation),
        stage_files(state_root, output),
    )
    show_artifact(done.document, _lines(done.body), as_json=as_json)
    return EXIT_OF[Decision(done.body.decision)]


def _lines(receipt: Receipt) -> list[str]:
    layers = [
        f"  {one.layer}: {_MARKS[one.passed]}" + (f", {one.details}" if one.details != "OK" else "")
        for one in receipt.gate_layers.layer_results
    ]
    return [f"{receipt.decision}: {receipt.reason}", *layers]


@click.command("promote", short_help="Approve or drop what was parked.")
@shared.from_parameters
def promote_command(
    *,
    candidate_id: Annotated[str | None, Argument(metavar="[ID]")] = None,
    reject: Annotated[
        bool, Option("Drop it, and never keep the same bytes for this skill.")
    ] = False,
    state_root: group.StateRoot = None,
    output: group.ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Apply the parked candidate ID to the skill, modes too, or drop it. Without ID: list what
    waits.

    A skill that was edited since is left as it is (exit 2).
    """

    files = stage_files(state_root, output)
    if candidate_id is None:
        if reject:
            raise click.UsageError(
                "--reject needs the ID of a candidate", click.get_current_context()
            )
        _show_pending(files, as_json=as_json)
        return 0
    receipt = promote(candidate_id, files, reject=reject)
    show_artifact(
        receipt.document, [f"{receipt.body.decision}: {receipt.body.reason}"], as_json=as_json
    )
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
