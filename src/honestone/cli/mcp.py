"""`honestone mcp`: the commands as tools of a coding agent."""

from __future__ import annotations

from pathlib import Path

import click

from honestone.cli import options as shared
from honestone.core.errors import UsageError


@click.command("mcp", short_help="A server for coding agents (MCP, on stdin and stdout).")
@shared.options("mcp")
def mcp(roots: tuple[Path, ...], allow_commands: bool) -> int:
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
            f"`honestone mcp` needs a package that is not installed: {error.name}",
            hint="pip install 'honestone[mcp]'",
        ) from None
    serve(roots, allow_commands=allow_commands)
    return 0
