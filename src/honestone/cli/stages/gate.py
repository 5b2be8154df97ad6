"""`honestone stage gate`: six layers over what was applied; it stays only if all of them let it, else the original is back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.group import show_artifact, stage_files, stage_options

if TYPE_CHECKING:
    from honestone.formats.stage_files import Receipt

_MARKS = {True: "ok", False: "not ok", None: "unknown"}


@click.command("gate", short_help="Keep it, park it, or put the original back.")
@click.option("--ranking", type=shared.PATH, required=True, metavar="FILE", help="The ranking artifact.")
@click.option("--execution", type=shared.PATH, required=True, metavar="FILE", help="What `stage apply` wrote.")
@click.option(
    "--evaluation", type=shared.PATH, metavar="FILE", help="What `stage evaluate` wrote. Without it nothing is kept."
)
@stage_options
def gate_command(state_root: Path | None, output: Path | None, as_json: bool, quiet: bool, **asked: Any) -> int:
    """Decide about a candidate that was applied. For every decision but `keep` the skill is put back as it was.

    \b
    Exit codes: 0 keep, 1 revert or reject, 3 pending_promote (a person decides: `stage promote`), 2 usage.
    """
    from honestone.app.stages.gate import GateRequest, gate
    from honestone.core.skill.gate_layers import EXIT_OF, Decision

    done = gate(GateRequest(**asked), stage_files(state_root, output))
    show_artifact(done.document, _lines(done.body), as_json=as_json)
    return EXIT_OF[Decision(done.body.decision)]


def _lines(receipt: Receipt) -> list[str]:
    layers = [
        f"  {one.layer}: {_MARKS[one.passed]}" + (f", {one.details}" if one.details != "OK" else "")
        for one in receipt.gate_layers.layer_results
    ]
    return [f"{receipt.decision}: {receipt.reason}", *layers]
