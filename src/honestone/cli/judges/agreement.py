"""`honestone judges agreement`: how far raters agree, from a table of their ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.options import Argument, Option
from honestone.app.trust.agreement import AgreementRequest, measure_agreement
from honestone.cli import options as shared
from honestone.cli.terminal import here, render, write
from honestone.core.statistics.agreement import Level
from honestone.formats.ratings import Columns, parse_scale


@click.command("agreement", short_help="How far raters agree, from a table of their ratings.")
@shared.from_parameters
def agreement(
    *,
    table: Annotated[Path, Argument()],
    unit: Annotated[
        tuple[str, ...], Option("A column that names the unit; repeat it.", metavar="COLUMN")
    ] = (),
    raters: Annotated[
        tuple[str, ...],
        Option("A rater's column; repeat it. [all other columns]", metavar="COLUMN"),
    ] = (),
    ignore: Annotated[
        tuple[str, ...], Option("A column to leave out; repeat it.", metavar="COLUMN")
    ] = (),
    truth: Annotated[
        str | None, Option("The rater whom each other one is compared with.", metavar="COLUMN")
    ] = None,
    scale: Annotated[
        str | None,
        Option("Leave out, and list, values that are off this scale.", metavar="LOW-HIGH"),
    ] = None,
    level: Annotated[
        str | None,
        Option("[interval; of words nominal]", choices=("nominal", "ordinal", "interval", "ratio")),
    ] = None,
    form: shared.ReportForm = "text",
    as_json: shared.AsJson = False,
) -> int:
    """Measure how far raters agree: judges, people, or one judge asked several times.

    TABLE is CSV or JSON lines, a row a unit, a column a rater; cells may be empty. Gives
    Krippendorff's alpha, the kappas of Cohen, Fleiss, Randolph and Scott, intraclass correlations
    with intervals, and correlations.

    \b
    Examples:
      honestone judges agreement ratings.csv --unit id
      honestone judges agreement ratings.csv --unit id --truth human --level ordinal
    """
    columns = Columns(
        raters=tuple(name for names in raters for name in names.split(",")),
        scale=None if scale is None else parse_scale(scale),
        unit=unit,
        ignore=ignore,
        truth=truth,
    )
    request = AgreementRequest(
        table=table, columns=columns, level=None if level is None else Level(level)
    )
    write(render(measure_agreement(here(), request), "json" if as_json else form))
    return 0
