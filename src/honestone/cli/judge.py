"""`honestone judge`: people and host agents as judges, and how replies are read."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup

COMMANDS = {
    "prompt": ("honestone.cli.judge_prompt:prompt", "Print what a judge would be asked."),
    "submit": ("honestone.cli.judge_prompt:submit", "Record a reply to that prompt."),
    "pairwise": ("honestone.cli.judge_pairwise:pairwise", "Compare two artifacts by one rubric, in both orders."),
    "read": ("honestone.cli.judge_read:read", "Read judges' replies from stdin."),
}


@click.group(
    "judge", cls=LazyGroup, commands_table=COMMANDS, short_help="A host agent as a judge; how a reply is read."
)
def judge() -> None:
    """A host agent or chat as a judge, and how a reply is read."""
