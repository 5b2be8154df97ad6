"""`honestone judges calibrate`: how far judges agree with people who labelled a sample."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import AcceptLoss, JudgingOptions
from honestone.app.options import Argument, Option
from honestone.app.trust.calibrate import CalibrateRequest, calibrate_judges, require_measured
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, here, render, write


@click.command(
    "calibrate", cls=Grouped, short_help="How far judges agree with people who labelled a sample."
)
@asks_people
@shared.from_parameters
def calibrate(
    *,
    artifacts: Annotated[tuple[Path, ...], Argument(metavar="[ARTIFACT]...")] = (),
    labels: Annotated[Path, Option("What people said: CSV or JSON lines.", metavar="FILE")],
    rubric: shared.RubricFile,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    strict: Annotated[bool, Option("Exit 1 when a judge is lenient.")] = False,
    accept_loss: AcceptLoss = False,
    form: shared.ReportForm = "text",
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
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
      honestone judges calibrate --labels labels.jsonl --rubric rubric.yaml --judge openai:gpt-5.1
      honestone judges calibrate new/*.md --labels labels.csv --rubric rubric.yaml --judge codex --judge gemini --strict
    """
    request = CalibrateRequest(
        population=artifacts, judging=judging, labels=labels, rubric=rubric, accept_loss=accept_loss
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
