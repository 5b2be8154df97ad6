"""`honestone mcp`: the commands as tools of a coding agent."""

from __future__ import annotations

from pathlib import Path

import click

from honestone.core.errors import UsageError


@click.command("mcp", short_help="A server for coding agents (MCP, on stdin and stdout).")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="A folder that may be read and written; repeat for more. [the working directory]",
)
@click.option(
    "--allow-commands",
    is_flag=True,
    help="Run commands that the workspace or the agent names: cmd:, script: and python: judges, workers and targets, checks that run code, programs and addresses of settings.",
)
def mcp(roots: tuple[Path, ...], allow_commands: bool) -> int:
    """Serve the commands as tools to a coding agent (MCP, on stdin and stdout), until stdin ends.

    The server runs outside of the agent's sandbox, with your keys. Without --allow-commands nothing that is written in the
    workspace makes it run a command. It needs the extra: pip install 'honestone[mcp]'
    """
    try:
        from honestone.mcp.server import serve
    except ImportError as error:
        if (error.name or "").startswith("honestone"):
            raise
        raise UsageError(
            f"`honestone mcp` needs a package that is not installed: {error.name}", hint="pip install 'honestone[mcp]'"
        ) from None
    serve(roots, allow_commands=allow_commands)
    return 0
