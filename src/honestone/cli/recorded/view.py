"""`honestone view`: the store as pages in a browser."""

from __future__ import annotations

import sys
from typing import Annotated

import click

from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.cli.terminal import here


@click.command("view", short_help="Look at runs in the browser, read-only, on this machine.")
@shared.from_parameters
def view(
    *,
    host: Annotated[
        str, Option("The address to listen on.", metavar="H", show_default=True)
    ] = "127.0.0.1",
    port: Annotated[
        int | None,
        Option(
            "The port, exactly that one; 0 is any that is free. [7410, or the next that is free]",
            metavar="N",
            min=0,
            max=65535,
        ),
    ] = None,
    names: Annotated[
        tuple[str, ...],
        Option(
            "A further name that the server answers to, such as that of a tunnel; repeat it.",
            name="--server-name",
            metavar="NAME",
        ),
    ] = (),
    no_open: Annotated[bool, Option("Print the address and open no browser.")] = False,
    no_token: Annotated[
        bool, Option("Let every program of this machine read the pages. Not beyond it.")
    ] = False,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
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
    from honestone.cli.ctrl_c import end_quietly
    from honestone.view.listening import Listening, ViewOptions

    workspace = here()
    listening = Listening(ViewOptions(host=host, port=port, names=names, needs_token=not no_token))
    end_quietly()
    announce(listening.address, workspace, sys.stdout, as_json=as_json, opens=not no_open)
    # What makes pages loads while the person reads the address, and the browser starts.
    from honestone.view.pages import Pages
    from honestone.view.reading import Viewer
    from honestone.view.server import serve

    serve(Pages(Viewer(workspace)), listening)
    return 0
