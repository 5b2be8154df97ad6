"""Options that stages share, each declared once, and how a stage shows its artifact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from honestone.cli import options as shared
from honestone.cli.terminal import dump, write

if TYPE_CHECKING:
    from honestone.app.judging_options import JudgingOptions
    from honestone.app.stages.files import StageFiles

F = TypeVar("F", bound=Callable[..., Any])

_SECONDS = shared.Amount(min=0, min_open=True)
_FILES = (
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
_WORKER = (
    click.option("--worker", required=True, metavar="WORKER", help="Who edits: cmd:COMMAND, an agent CLI, ..."),
    click.option(
        "--candidates", type=click.IntRange(1, 20), default=1, show_default=True, help="Edits to ask for at a time."
    ),
    click.option(
        "--source", "sources", type=shared.PATH, multiple=True, metavar="FILE", help="Feedback or notes; repeat it."
    ),
    click.option("--worker-timeout", type=_SECONDS, default=None, metavar="SECONDS"),
)
_JUDGES = (
    click.option("--judge", "judges", multiple=True, metavar="JUDGE", help="Judge to use; repeat for a panel."),
    click.option("--judge-timeout", type=_SECONDS, default=None, metavar="SECONDS"),
)
_LIMITS = (
    click.option("--max-calls", type=click.IntRange(min=0), default=None, help="Judge calls, retries included."),
    click.option("--max-usd", type=shared.Amount(min=0), default=None, help="Money, where the price is known."),
    click.option("--max-minutes", type=shared.Amount(min=0), default=None, help="Time worked on the run."),
)
_TASKS = (
    click.option("--target", metavar="TARGET", default=None, help="The agent that does the tasks. [claude]"),
    click.option(
        "--pass-k",
        type=click.IntRange(1, 100),
        default=1,
        show_default=True,
        help="Attempts at each task; it passes if any of them does.",
    ),
)


def _decorator(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


stage_options: Callable[[F], F] = _decorator(_FILES)
"""`--state-root`, `--output`, `--json`, `--quiet`."""
worker_options: Callable[[F], F] = _decorator(_WORKER)
judge_options: Callable[[F], F] = _decorator(_JUDGES)
limit_options: Callable[[F], F] = _decorator(_LIMITS)
task_options: Callable[[F], F] = _decorator(_TASKS)


def stage_files(state_root: Path | None, output: Path | None) -> StageFiles:
    from honestone.app.stages.files import StageFiles
    from honestone.cli.terminal import here

    return StageFiles.at(here(), state_root, output)


def judging_of(asked: dict[str, Any]) -> JudgingOptions:
    """Takes the options about judges and limits out of a command's arguments."""
    from honestone.app.judging_options import JudgingOptions

    names = ("judges", "judge_timeout", "max_calls", "max_usd", "max_minutes", "fresh")
    return JudgingOptions(**{name: asked.pop(name) for name in names if name in asked})


def show_artifact(document: dict[str, Any], lines: Sequence[str], *, as_json: bool) -> None:
    """The artifact as JSON, or some lines for people; the last one names its file, for whatever comes next."""
    if as_json:
        write(dump(document) + "\n")
    else:
        show_lines([*lines, document["truth_anchor"]])


def show_lines(lines: Sequence[str]) -> None:
    from honestone.system.drawing import clean

    for line in lines:
        write(clean(line) + "\n")
