"""`honestone remote`: the cases of a suite on more than one machine."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup


@click.group("remote", cls=LazyGroup, table="remote")
def remote() -> None:
    """Run the cases of a suite on other machines: `eval SUITE --remote` orders them, runners that
    share the store work on them.
    """
