"""`honestone view`: the store as pages in a browser."""

from __future__ import annotations

import os
import sys

import click

from honestone.cli import options as shared
from honestone.cli.terminal import dump_line, here, write


@click.command("view", short_help="Look at runs in the browser, read-only, on this machine.")
@click.option("--host", metavar="H", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port, exactly that one; 0 is any that is free. [7410, or the next that is free]",
)
@click.option(
    "--server-name",
    "names",
    multiple=True,
    metavar="NAME",
    help="A further name that the server answers to, such as that of a tunnel; repeat it.",
)
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@click.option("--no-token", is_flag=True, help="Let every program of this machine read the pages. Not beyond it.")
@shared.json_option
def view(host: str, port: int | None, names: tuple[str, ...], no_open: bool, no_token: bool, as_json: bool) -> int:
    """Serve the runs of this store as web pages, until Ctrl-C: runs, verdicts, evidence in the text, rounds of a loop, cases by
    page, comparisons.

    Nothing is written and nothing leaves this machine. The address holds a token; without it nothing is shown.

    \b
    Examples:
      honestone view
      honestone view --port 8000 --no-open
    """
    from honestone.view.server import Address, ViewOptions, serve

    workspace = here()

    def said(address: Address) -> None:
        shown = {
            "schema": "honestone.view/1",
            "url": address.url,
            "host": address.host,
            "port": address.port,
            "token": address.token,
            "store": str(workspace.store),
        }
        write(dump_line(shown) + "\n" if as_json else f"{address.url}\nCtrl-C ends it.\n")
        sys.stdout.flush()
        if not no_open and _has_browser():
            import webbrowser

            webbrowser.open(address.url)

    serve(workspace, ViewOptions(host=host, port=port, names=names, needs_token=not no_token), said)
    return 0


def _has_browser() -> bool:
    """Whether there is a screen for one: a browser for terminals would take this terminal."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
