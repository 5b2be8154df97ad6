"""`honestone calibrate`: how far judges agree with people who labelled a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.app.calibrate import CalibrateRequest, calibrate_judges, require_measured
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, here, render, write


@click.command(
    "calibrate", cls=Grouped, short_help="How far judges agree with people who labelled a sample."
)
@shared.options("calibrate")
@asks_people
def calibrate(
    artifacts: tuple[Path, ...], strict: bool, form: str, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Measure judges against people: judge every labelled artifact, and compare the answers with
    the labels.

    Gives for each judge, and each criterion, its agreement with people above chance (kappa, alpha),
    how often it passes what people pass and fails what they fail (TPR, TNR), and its bias in
    points, with 95% intervals; for the panel its effective votes and whom to drop. ARTIFACTs are
    not labelled: their rate of passes is put right by the judges' errors.

    Replies on record are used again. The calibration is kept: `improve --require-calibration` asks
    for it.

    Exits 0 when it was measured, 1 with --strict when a judge is lenient, 3 when no judge answered.

    \b
    Examples:
      honestone calibrate --labels labels.jsonl --rubric rubric.yaml --judge openai:gpt-5.1
      honestone calibrate new/*.md --labels labels.csv --rubric rubric.yaml --judge codex --judge gemini --strict
    """
    request = CalibrateRequest(
        population=artifacts, judging=shared.take_judging(options), **options
    )
    with Progress(quiet=quiet) as progress:
        document = calibrate_judges(here(), request, progress)
    form = "json" if as_json else form
    if form == "json":
        write(render(document, form))
    require_measured(document)
    if form != "json":
        write(render(document, form))
    return int(strict and any(judge.lenient for judge in document.judges))
