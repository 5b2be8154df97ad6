"""`honestone judges`: how far judges can be trusted; and `honestone judge`, which it was before."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup


@click.group("judges", cls=LazyGroup, table="judges")
def judges() -> None:
    """Find out how far judges can be trusted: label a sample by hand, measure judges against it,
    see how much they waver and whether they can be talked round.
    """


@click.group("judge", cls=LazyGroup, table="judge")
def judge() -> None:
    """A host agent or chat as a judge, and how a reply is read."""
