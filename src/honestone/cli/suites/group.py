"""`honestone suite`: write, check, lock, convert and show suites."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup


@click.group("suite", cls=LazyGroup, table="suite")
def suite() -> None:
    """Write, check, lock, convert and show suites."""
