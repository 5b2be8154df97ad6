"""`honestone judge`: how replies are read."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup

COMMANDS = {"read": ("honestone.cli.judge_read:read", "Read judges' replies from stdin.")}


@click.group("judge", cls=LazyGroup, commands_table=COMMANDS, short_help="How a reply is read.")
def judge() -> None:
    """How a reply is read."""
