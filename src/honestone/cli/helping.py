"""What `--help` of a command shows besides its options, from `help.toml`: options in groups, and
examples.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import click


@cache
def help_text() -> Mapping[str, Mapping[str, str]]:
    """`groups`: the options of each, by its title; `examples` of each command, by what is typed for
    it.
    """
    return tomllib.loads((files(__package__) / "help.toml").read_text())


def add_examples(command: click.Command, path: str) -> None:
    """Puts the examples of a command under its help. `path` is what is typed for it, without the
    program's name.
    """
    examples = help_text()["examples"].get(path)
    if examples is not None:
        command.epilog = "\n  ".join(["\b\nExamples:", *examples.strip().splitlines()])


class Grouped(click.Command):
    """A command of many options: each is shown in its group."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {
            f"--{name}": title
            for title, names in help_text()["groups"].items()
            for name in names.split()
        }
        shown: dict[str, list[tuple[str, str]]] = {
            title: [] for title in (*help_text()["groups"], "Options")
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                title = next((titles[name] for name in param.opts if name in titles), "Options")
                shown[title].append(record)
        for title, records in shown.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
