"""`honestone judges audit`: how far judges can be trusted, by probes whose answers are known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Argument, Option
from honestone.app.trust.audit import AuditRequest, below
from honestone.app.trust.audit import audit as audit_judges
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, here, render, write
from honestone.core.audit.verdict import Tier
from honestone.core.judging.rubric import TIERS
from honestone.system.drawing import line


@click.command(
    "audit",
    cls=Grouped,
    short_help="Whether judges can be talked round, by probes with known answers.",
)
@asks_people
@shared.from_parameters
def audit(
    *,
    artifact: Annotated[Path, Argument()],
    rubric: shared.RubricFile,
    require_tier: Annotated[
        str | None,
        Option("Exit 1 where a judge does not reach that tier.", choices=TIERS),
    ] = None,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    form: shared.ReportForm = "text",
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Ask judges questions whose answers are known, made from your rubric and artifact, and count
    the answers that flip.

    Nine probes: items in another order, padding, formatting, praise, claims of authority, injected
    instructions, an empty artifact, an edit that means nothing, and quotes swapped for those of
    another text. Tier high: at most 10% of the answers flip in each; low: more on injected
    instructions or the empty artifact; else medium. Your file is not touched.

    Exits 0 when it was measured, 1 below --require-tier, 3 when a judge could not be asked.

    \b
    Example:
      honestone judges audit README.md --rubric rubric.yaml --judge openai:gpt-5.1 --require-tier medium
    """
    request = AuditRequest(artifact=artifact, rubric=rubric, judging=judging)
    with Progress(quiet=quiet) as progress:
        document = audit_judges(here(), request, progress)
    write(render(document, "json" if as_json else form))
    missed = below(document, Tier(require_tier)) if require_tier is not None else []
    for one in missed:
        print(
            f"below --require-tier {require_tier}: {line(one.id)} is {one.tier}: {one.reason}",
            file=sys.stderr,
        )
    if missed:
        return 1
    return 0 if all(one.tier for one in document.judges) else 3
