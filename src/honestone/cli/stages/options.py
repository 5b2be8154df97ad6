"""Options that all stages share, and how a stage shows its artifact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--state-root",
        type=shared.PATH,
        default=None,
        metavar="DIR",
        help="Where the pipeline keeps its files. [.honestone/stage]",
    ),
    click.option("--output", type=shared.PATH, default=None, metavar="FILE", help="Write the artifact there instead."),
    shared.json_option,
    shared.quiet_option,
)


def stage_options(command: F) -> F:
    """`--state-root`, `--output`, `--json`, `--quiet`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def show_artifact(document: dict[str, Any], lines: Sequence[str], *, as_json: bool) -> None:
    """The artifact as JSON, or some lines for people; the last one names its file, for whatever comes next."""
    if as_json:
        write(dump(document) + "\n")
        return
    from honestone.report.draw import clean

    for line in lines:
        write(clean(line) + "\n")
    write(f"{document['truth_anchor']}\n")


def stage_files(state_root: Path | None, output: Path | None) -> Any:
    from honestone.app.stages.files import StageFiles
    from honestone.app.stages.files import state_root as root_of

    return StageFiles(root=root_of(state_root), output=output)
