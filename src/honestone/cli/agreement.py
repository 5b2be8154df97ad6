"""`honestone agreement`: how far raters agree, from a table of their ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from honestone.app.agreement import AgreementRequest, measure_agreement
from honestone.cli import options as shared
from honestone.cli.terminal import here, render, write
from honestone.core.statistics.agreement import Level
from honestone.formats.ratings import Columns, parse_scale


@click.command("agreement", short_help="How far raters agree, from a table of their ratings.")
@shared.options("agreement")
def agreement(
    table: Path,
    raters: tuple[str, ...],
    scale: str | None,
    level: str | None,
    form: str,
    as_json: bool,
    **named: Any,
) -> int:
    """Measure how far raters agree: judges, people, or one judge asked several times.

    TABLE is CSV or JSON lines, a row a unit, a column a rater; cells may be empty. Gives
    Krippendorff's alpha, the kappas of Cohen, Fleiss, Randolph and Scott, intraclass correlations
    with intervals, and correlations.

    \b
    Examples:
      honestone agreement ratings.csv --unit id
      honestone agreement ratings.csv --unit id --truth human --level ordinal
    """
    columns = Columns(
        raters=tuple(name for names in raters for name in names.split(",")),
        scale=None if scale is None else parse_scale(scale),
        **named,
    )
    request = AgreementRequest(
        table=table, columns=columns, level=None if level is None else Level(level)
    )
    write(render(measure_agreement(here(), request), "json" if as_json else form))
    return 0
