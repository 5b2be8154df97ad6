"""`honestone trust`: settings of a checkout that may run programs, contact hosts and use standard keys."""

from __future__ import annotations

from pathlib import Path

import click

from honestone.cli import options as shared
from honestone.cli.terminal import here, write
from honestone.system.drawing import clean


@click.command("trust", short_help="Trust the settings of a checkout, as they are now.")
@click.argument("file", type=shared.PATH, required=False)
@click.option("--revoke", is_flag=True, help="Trust them no longer.")
def trust(file: Path | None, revoke: bool) -> int:
    """Trust a settings file (the nearest honestone.toml), with the files of the checkout that it names.

    Until then, programs and hosts that it names are used only by judges named on the command line, and never get a
    standard key such as OPENAI_API_KEY. When one of the files changes, it is no longer trusted. Read them first.
    """
    from honestone.app import trusting

    workspace = here()
    found = trusting.trust(workspace, file, revoke=revoke)
    write(f"{'trusted' if found.is_trusted else 'not trusted'}: {clean(workspace.shown(found.file))}\n")
    for path in found.files:
        write(f"  with {clean(workspace.shown(path))}\n")
    return 0
