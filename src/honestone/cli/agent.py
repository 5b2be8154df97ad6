"""`honestone agent`: at home inside coding agents."""

from __future__ import annotations

from typing import Final

import click

from honestone.cli.main import LazyGroup

COMMANDS: Final = {
    "install": (
        "honestone.cli.agent_install:install",
        "Write the skill, the hooks and the MCP server for coding agents.",
    ),
    "uninstall": ("honestone.cli.agent_install:uninstall", "Take out what `agent install` put in."),
    "status": ("honestone.cli.agent_install:status", "Whether honestone is installed in coding agents."),
    "hook": ("honestone.cli.agent_hook:hook", "What the hooks of coding agents call."),
}


@click.group(
    "agent",
    cls=LazyGroup,
    commands_table=COMMANDS,
    short_help="Inside coding agents: installed in their settings, and their hooks.",
)
def agent() -> None:
    """Inside coding agents: installed in their settings, what keeps a session at its loop, and lets it go."""
