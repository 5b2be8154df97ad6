"""`honestone judges pairwise`: which of two artifacts meets a rubric better, by judges that see both
in both orders.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import click

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.pairwise import ComparePairRequest, compare_pair
from honestone.app.options import Argument
from honestone.cli import options as shared
from honestone.cli.helping import Grouped
from honestone.cli.terminal import Progress, dump, here, write
from honestone.system.drawing import style_for


@click.command("pairwise", cls=Grouped, short_help="Compare two artifacts by one rubric.")
@shared.from_parameters
def pairwise(
    *,
    a: Annotated[Path, Argument()],
    b: Annotated[Path, Argument()],
    rubric: shared.RubricFile,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Say which of two files or folders meets a rubric better, criterion by criterion.

    Every model judge is asked twice, with A first and with B first. What changes with the order is
    a tie and counted as inconsistent. Checks are compared by code. The preference is from 0 (A) to
    100 (B).

    Exits 0 when it could be judged, 3 when not, 2 when something is wrong with the call.
    """
    from honestone.report.trust.pairwise import pairwise_text

    request = ComparePairRequest(judging=judging, a=a, b=b, rubric=rubric)
    with Progress(quiet=quiet) as progress:
        compared = compare_pair(here(), request, progress)
    write(
        dump(compared.document) + "\n"
        if as_json
        else pairwise_text(compared.document, style_for(sys.stdout))
    )
    return 0 if compared.could_judge else 3
