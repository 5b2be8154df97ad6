"""`honestone stage`: the skill pipeline, each stage a command with JSON artifacts in and out."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "propose": ("honestone.cli.stages.propose:propose_command", "Candidates: real edits by a worker."),
    "rank": ("honestone.cli.stages.rank:rank_command", "Have a panel score the candidates."),
    "evaluate": ("honestone.cli.stages.evaluate:evaluate_command", "Run a candidate's edit on real tasks."),
    "apply": ("honestone.cli.stages.apply:apply_command", "Apply a candidate, with a backup."),
    "gate": ("honestone.cli.stages.gate:gate_command", "Keep it, park it, or put the original back."),
    "promote": ("honestone.cli.stages.promote:promote_command", "Approve or drop what was parked."),
    "run": ("honestone.cli.stages.run:run_command", "Run all stages, with up to three attempts."),
    "learn": ("honestone.cli.stages.learn:learn_command", "What helped so far, per category."),
    "schema": ("honestone.cli.stages.schema:schema_command", "The JSON Schema of an artifact."),
}


@click.group(cls=LazyGroup, commands_table=COMMANDS)
def stage() -> None:
    """The skill pipeline: propose, rank, evaluate, apply, gate, promote; `run` does it all.

    Every stage reads and writes a JSON file, so that any of them can be replaced by another program.
    """
