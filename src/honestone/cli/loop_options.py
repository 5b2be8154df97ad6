"""The options of `improve` and `step next` about the loop itself."""

from __future__ import annotations

import click

from honestone.cli.options import PATH, combined
from honestone.core.loop.policies import POLICIES
from honestone.core.loop.proposal import MAX_DIFF

loop_options = combined(
    click.option(
        "--holdout",
        "holdouts",
        multiple=True,
        metavar="JUDGE",
        help="A judge that certifies and never steers; repeat for more.",
    ),
    click.option("--policy", type=click.Choice(list(POLICIES)), default="keep-best", show_default=True),
    click.option(
        "--rounds",
        type=click.IntRange(min=1, max=100),
        default=None,
        help="Rounds after the baseline. [by effort: 3, 5, 8]",
    ),
    click.option(
        "--max-diff",
        type=click.IntRange(min=1),
        default=None,
        metavar="LINES",
        help=f"Changed lines in one round. [{MAX_DIFF}]",
    ),
    click.option("--dry-run", is_flag=True, help="Leave the file alone; the best version is kept in the store."),
    click.option("--output", type=PATH, help="Deliver the best version there and leave the file alone."),
)
