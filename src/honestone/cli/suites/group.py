"""`honestone suite`: write, check, lock, convert and show suites."""

from __future__ import annotations

import click

from honestone.cli.main import LazyGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "new": ("honestone.cli.suites.new:new", "Draft tasks from a skill, a table, transcripts or traces."),
    "check": ("honestone.cli.suites.check:check", "Find what is wrong or weak in a suite."),
    "lock": ("honestone.cli.suites.lock:lock", "Lock cases, rubrics, prompt, judges and bars."),
    "convert": ("honestone.cli.convert:convert_suite", "Write a suite in another format."),
    "show": ("honestone.cli.convert:show_suite", "Show a suite as it is run."),
}


@click.group("suite", cls=LazyGroup, commands_table=COMMANDS)
def suite() -> None:
    """Write, check, lock, convert and show suites."""
