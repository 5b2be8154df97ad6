"""`honestone undo`: the artifact as it was before a run of `improve` or `skill run`."""

from __future__ import annotations

from typing import Annotated

import click

from honestone.app.improving.undo import undo as undo_run
from honestone.app.options import Argument
from honestone.cli import options as shared
from honestone.cli.terminal import here, write


@click.command("undo", short_help="Put a file back as it was before `improve` or `skill run`.")
@shared.from_parameters
def undo(
    *,
    run: Annotated[str, Argument()] = "last",
    store: shared.StoreName = None,
) -> int:
    """Put the file or folder that a run of `improve` or `skill run` changed back as it was before:
    its id, the beginning of it, or `last` (the newest such run that is not undone).

    Exits 2 and touches nothing when it was changed since. What the run made stays in the store.

    \b
    Example:
      honestone undo last
    """
    write(undo_run(here(), run) + "\n")
    return 0
