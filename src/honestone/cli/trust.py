"""`honestone trust`: settings that may run programs, contact hosts and use standard keys; suites that run code."""

from __future__ import annotations

from pathlib import Path

import click

from honestone.cli import options as shared
from honestone.cli.terminal import here, write
from honestone.system.drawing import clean


@click.command("trust", short_help="Trust the settings of a checkout, or the code of a suite, as they are now.")
@shared.options("trust")
def trust(file: Path | None, revoke: bool) -> int:
    """Trust a settings file (the nearest honestone.toml), with the files of the checkout that it names; or a suite of
    another tool that runs code of its own, with all files that it names.

    Until then, programs and hosts of settings are used only by judges named on the command line, and never get a
    standard key such as OPENAI_API_KEY, and the code of a suite runs only with --allow-code. When one of the files
    changes, it is no longer trusted. Read them first.
    """
    from honestone.app import trusting

    workspace = here()
    if file is None or file.suffix == ".toml":
        found = trusting.trust(workspace, file, revoke=revoke)
    else:
        found = trusting.trust_suite(workspace, file, revoke=revoke)
    write(f"{'trusted' if found.is_trusted else 'not trusted'}: {clean(workspace.shown(found.file))}\n")
    for path in found.files:
        write(f"  with {clean(workspace.shown(path))}\n")
    return 0
