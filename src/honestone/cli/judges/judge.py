"""`honestone judge`: people and host agents as judges, and how replies are read."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup


@click.group(
    "judge",
    cls=LazyGroup,
    table="judge",
    short_help="A host agent as a judge; how a reply is read.",
)
def judge() -> None:
    """A host agent or chat as a judge, and how a reply is read."""
