"""`honestone runs rescore`: a run's recorded answers under other weights, bars or rules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import Combine, Floor, Threshold
from honestone.app.options import Argument, Option
from honestone.app.runs import rescore as use_case
from honestone.cli import options as shared
from honestone.cli.terminal import exit_code_of, here, render_scorecards, write


@click.command("rescore", short_help="Score a run again from its record.")
@shared.from_parameters
def rescore(
    *,
    run: Annotated[str, Argument()] = "last",
    rubric: Annotated[
        Path | None,
        Option("Another version of the rubric: weights, bars, fewer items.", short="-r"),
    ] = None,
    threshold: Threshold = None,
    floor: Floor = None,
    combine: Combine = None,
    form: Annotated[
        str,
        Option(
            name="--format",
            short="-f",
            choices=("text", "markdown", "json", "junit"),
            show_default=True,
        ),
    ] = "text",
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Score a recorded run again, from its answers alone. Exits with the verdict it finds.

    An item that was reworded is a new item: it has no answer, so it stays open.
    """
    rescored = use_case.rescore(
        here(),
        use_case.RescoreRequest(
            run=run, rubric=rubric, threshold=threshold, floor=floor, combine=combine
        ),
    )
    print(f"rescored run {rescored.info.id}, no call made", file=sys.stderr)
    print(
        f"  contract then  {rescored.info.contract}\n  contract now   {rescored.contract}",
        file=sys.stderr,
    )
    form = "json" if as_json else form
    if rescored.report is not None:
        from honestone.cli.suites.options import print_suite

        print_suite(rescored.report, form)
    else:
        write(render_scorecards(rescored.scorecards, form))
    return exit_code_of(rescored.verdict)
