"""`honestone skill`: the skill pipeline, each stage a command with JSON artifacts in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import click

from honestone.app.options import Option
from honestone.app.stages.files import StageFiles
from honestone.cli.main import LazyGroup
from honestone.cli.terminal import dump, here, write
from honestone.system.drawing import clean


@click.group("skill", cls=LazyGroup, table="skill")
def skill() -> None:
    """Improve an agent skill by real tasks, and prove it. `run` does it all; the others are its
    stages: propose, rank, evaluate, apply, gate, promote.

    Every stage reads and writes a JSON file, so that any of them can be replaced by another
    program.
    """


StateRoot: TypeAlias = Annotated[
    Path | None, Option("Where the pipeline keeps its files. [.honestone/stage]", metavar="DIR")
]
ArtifactFile: TypeAlias = Annotated[
    Path | None, Option("Write the artifact there instead.", short="-o", metavar="FILE")
]
WorkerName: TypeAlias = Annotated[
    str, Option("Who edits: cmd:COMMAND, an agent CLI, ...", metavar="WORKER")
]
Candidates: TypeAlias = Annotated[
    int, Option("Edits to ask for at a time.", min=1, max=20, show_default=True)
]
Sources: TypeAlias = Annotated[
    tuple[Path, ...], Option("Feedback or notes; repeat it.", name="--source", metavar="FILE")
]
TaskTarget: TypeAlias = Annotated[
    str | None,
    Option("The agent that does the tasks. [claude]", short="-t", metavar="TARGET"),
]
PassK: TypeAlias = Annotated[
    int,
    Option(
        "Attempts at each task; it passes if any of them does.", min=1, max=100, show_default=True
    ),
]


def stage_files(state_root: Path | None, output: Path | None) -> StageFiles:
    return StageFiles.at(here(), state_root, output)


def show_artifact(document: Mapping[str, object], lines: Sequence[str], *, as_json: bool) -> None:
    """The artifact as JSON, or some lines for people; the last one names its file, for whatever
    comes next.
    """
    if as_json:
        write(dump(document) + "\n")
    else:
        show_lines([*lines, str(document["truth_anchor"])])


def show_lines(lines: Sequence[str]) -> None:

    for line in lines:
        write(clean(line) + "\n")
