"""`honestone noise`: how much the same bytes score differently when they are judged again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.app.noise import NoiseRequest, measure_noise
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.terminal import Progress, here, render, write


@click.command("noise", short_help="How much the same bytes score differently when judged again.")
@shared.options("noise")
@asks_people
def noise(
    artifact: Path, rubric: Path, looks: int, form: str, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Judge the same bytes again and again, and say which changes of the score mean nothing.

    Every look asks each judge once more. The run is kept: `improve` with the same rubric and judges
    keeps a version only if it did not fall by more than this noise.

    Exits 0 when it was measured, 3 when fewer than two looks have a score.

    \b
    Example:
      honestone noise README.md --rubric rubric.yaml --judge openai:gpt-5.1 -n 5
    """
    request = NoiseRequest(
        artifact=artifact, rubric=rubric, judging=shared.take_judging(options), looks=looks
    )
    with Progress(quiet=quiet) as progress:
        document = measure_noise(here(), request, progress)
    write(render(document, "json" if as_json else form))
    return 0
