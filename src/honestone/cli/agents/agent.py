"""`honestone agent`: at home inside coding agents."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup


@click.group(
    "agent",
    cls=LazyGroup,
    table="agent",
    short_help="Inside coding agents: installed in their settings, and their hooks.",
)
def agent() -> None:
    """Inside coding agents: installed in their settings, what keeps a session at its loop, and lets
    it go.
    """
