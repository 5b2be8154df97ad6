"""`honestone agent`: at home inside coding agents."""

from __future__ import annotations

from typing import Final

import click

from honestone.cli.main import LazyGroup

COMMANDS: Final = {"hook": ("honestone.cli.agent_hook:hook", "What the hooks of coding agents call.")}


@click.group("agent", cls=LazyGroup, commands_table=COMMANDS, short_help="Inside coding agents: their hooks.")
def agent() -> None:
    """Inside coding agents: what keeps a session at its loop, and lets it go."""
