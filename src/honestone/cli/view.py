"""`honestone view`: the store as pages in a browser."""

from __future__ import annotations

import sys

import click

from honestone.cli import options as shared
from honestone.cli.terminal import here


@click.command("view", short_help="Look at runs in the browser, read-only, on this machine.")
@shared.options("view")
def view(
    host: str,
    port: int | None,
    names: tuple[str, ...],
    no_open: bool,
    no_token: bool,
    as_json: bool,
) -> int:
    """Serve the runs of this store as web pages, until Ctrl-C: runs, verdicts, evidence in the
    text, rounds of a loop, cases by page, comparisons.

    Nothing is written and nothing leaves this machine. The address holds a token; without it
    nothing is shown.

    \b
    Examples:
      honestone view
      honestone view --port 8000 --no-open
    """
    from honestone.cli.browser import announce
    from honestone.view.pages import Pages
    from honestone.view.reading import Viewer
    from honestone.view.server import ViewOptions, serve

    workspace = here()
    serve(
        Pages(Viewer(workspace)),
        ViewOptions(host=host, port=port, names=names, needs_token=not no_token),
        lambda address: announce(
            address, workspace, sys.stdout, as_json=as_json, opens=not no_open
        ),
    )
    return 0
