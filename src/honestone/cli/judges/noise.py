"""`honestone judges noise`: how much the same bytes score differently when they are judged again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Argument, Option
from honestone.app.trust.noise import NoiseRequest, measure_noise
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, here, render, write


@click.command(
    "noise", cls=Grouped, short_help="How much the same bytes score differently when judged again."
)
@asks_people
@shared.from_parameters
def noise(
    *,
    artifact: Annotated[Path, Argument()],
    rubric: shared.RubricFile,
    looks: Annotated[
        int,
        Option(
            "How often each judge looks.",
            name="--repeat",
            short="-n",
            metavar="N",
            show_default=True,
        ),
    ] = 5,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    form: shared.ReportForm = "text",
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Judge the same bytes again and again, and say which changes of the score mean nothing.

    Every look asks each judge once more. The run is kept: `improve` with the same rubric and judges
    keeps a version only if it did not fall by more than this noise.

    Exits 0 when it was measured, 3 when fewer than two looks have a score.

    \b
    Example:
      honestone judges noise README.md --rubric rubric.yaml --judge openai:gpt-5.1 -n 5
    """
    request = NoiseRequest(artifact=artifact, rubric=rubric, judging=judging, looks=looks)
    with Progress(quiet=quiet) as progress:
        document = measure_noise(here(), request, progress)
    write(render(document, "json" if as_json else form))
    return 0
