"""`honestone agent mcp`: the commands as tools of a coding agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.core.errors import UsageError


@click.command("mcp", short_help="A server for coding agents (MCP, on stdin and stdout).")
@shared.from_parameters
def mcp(
    *,
    roots: Annotated[
        tuple[Path, ...],
        Option(
            "A folder that may be read and written; repeat for more. [the working directory]",
            name="--root",
            metavar="DIR",
            is_folder=True,
        ),
    ] = (),
    allow_commands: Annotated[
        bool,
        Option(
            "Run commands that the workspace or the agent names: cmd:, script: and python: judges, workers and targets, checks that run code, programs and addresses of settings."
        ),
    ] = False,
) -> int:
    """Serve the commands as tools to a coding agent (MCP, on stdin and stdout), until stdin ends.

    The server runs outside of the agent's sandbox, with your keys. Without --allow-commands nothing
    that is written in the workspace makes it run a command. It needs the extra: pip install
    'honestone[mcp]'
    """
    try:
        from honestone.mcp.server import serve
    except ImportError as error:
        if (error.name or "").startswith("honestone"):
            raise
        raise UsageError(
            f"`honestone agent mcp` needs a package that is not installed: {error.name}",
            hint="pip install 'honestone[mcp]'",
        ) from None
    serve(roots, allow_commands=allow_commands)
    return 0
