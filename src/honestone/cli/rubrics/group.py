"""`honestone rubric`: write, check, lock, convert and show rubrics."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup


@click.group("rubric", cls=LazyGroup, table="rubric")
def rubric() -> None:
    """Write, check, lock, convert and show rubrics."""
