"""`honestone stage`: the skill pipeline, each stage a command with JSON artifacts in and out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from honestone.app.judging_options import JudgingOptions
from honestone.app.stages.files import StageFiles
from honestone.cli.main import LazyGroup
from honestone.cli.terminal import dump, here, write
from honestone.system.drawing import clean


@click.group(cls=LazyGroup, table="stage")
def stage() -> None:
    """The skill pipeline: propose, rank, evaluate, apply, gate, promote; `run` does it all.

    Every stage reads and writes a JSON file, so that any of them can be replaced by another
    program.
    """


def stage_files(state_root: Path | None, output: Path | None) -> StageFiles:
    return StageFiles.at(here(), state_root, output)


def judging_of(asked: dict[str, Any]) -> JudgingOptions:
    """Takes the options about judges and limits out of a command's arguments."""
    names = ("judges", "judge_timeout", "max_calls", "max_usd", "max_minutes", "fresh")
    return JudgingOptions(**{name: asked.pop(name) for name in names if name in asked})


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
