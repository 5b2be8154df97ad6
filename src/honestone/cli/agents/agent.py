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
    """Work inside Claude Code, Codex and Gemini: installed in their settings, as their tools, with
    the agent as the judge or the worker, and hooks that keep a session at its loop.
    """
