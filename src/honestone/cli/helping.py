"""What `--help` of a command shows besides its options, from `help.toml`: examples, the options that
people use, and with `--help-all` every option in its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import click

from honestone.cli.commands import HELP_ALL, NEW_NAMES, new_name, summary


@cache
def help_text() -> Mapping[str, Mapping[str, str]]:
    """`groups`: the options of each, by its title; `short`: what `--help` shows of the options of a
    command with many; `examples` of each command. The last two by what is typed for the command.
    """
    import tomllib
    from pkgutil import get_data

    return tomllib.loads((get_data(__package__, "help.toml") or b"").decode())


def add_examples(command: click.Command, path: str) -> None:
    """Puts the examples of a command under its help, and its new name under that of an old one.
    `path` is what is typed for it, without the program's name.
    """
    new = new_name(path)
    parts = []
    examples = help_text()["examples"].get(new or path)
    if examples is not None and new is not None:
        examples = examples.replace(f"honestone {new} ", f"honestone {path} ")
    if examples is not None:
        parts.append("\n  ".join(["\b\nExamples:", *examples.strip().splitlines()]))
    if new is not None:
        parts.append("\n".join(["\b", *new_name_lines(path)]))
    if parts:
        command.epilog = "\n\n".join(parts)


def new_name_lines(path: str) -> Iterator[str]:
    """How a command with an old name is called now: a line, or one for each command of a group that
    moved to several places.
    """
    below = [(old, new) for old, new in NEW_NAMES.items() if old.startswith(f"{path} ")]
    for old, new in below:
        yield f"`honestone {old}` is now `honestone {new}`."
    yield f"`honestone {path}` is now `honestone {new_name(path)}`."


class Grouped(click.Command):
    """A command of many options: `--help` shows those that people use, `--help-all` each in its
    group.
    """

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """All of it, or its first paragraph."""
        whole = self.help
        if not is_all(ctx):
            self.help = (whole or "").partition("\n\n")[0]
        super().format_help_text(ctx, formatter)
        self.help = whole

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if is_all(ctx):
            self._format_groups(ctx, formatter)
            return
        rows = help_text()["short"][typed_path(ctx)].strip().splitlines()
        if not rows[0].endswith(":"):
            rows.insert(0, "Options:")
        formatter.write("\n" + "".join(f"{_indented(row)}\n" for row in rows))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        if not is_all(ctx):
            formatter.write(f"\n  All options: {ctx.command_path} --help-all\n")

    def _format_groups(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        titles = {
            f"--{name}": title
            for title, names in help_text()["groups"].items()
            for name in names.split()
        }
        order = {name: number for number, name in enumerate(titles)}
        shown: dict[str, list[tuple[int, tuple[str, str]]]] = {
            title: [] for title in (*help_text()["groups"], "Options")
        }
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                name = next((name for name in param.opts if name in titles), "")
                shown[titles.get(name, "Options")].append((order.get(name, 0), record))
        for title, records in shown.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl([record for _, record in sorted(records)])


def _indented(row: str) -> str:
    """A row of a short help; a title begins at the margin."""
    return row if row.endswith(":") else f"  {row}"


def is_all(ctx: click.Context) -> bool:
    """Whether all of the help is asked for, with `--help-all`."""
    return bool(ctx.meta.get(HELP_ALL))


def typed_path(ctx: click.Context) -> str:
    """What is typed for a command, without the program's name and by its new name."""
    path = ctx.command_path.partition(" ")[2]
    return new_name(path) or path


def write_below(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Every command below a group: below the program a line each, else its whole help."""
    if ctx.parent is None:
        with formatter.section("All commands"):
            formatter.write_dl(list(command_lines(group, ctx)))
        with formatter.section("Old names, which still work"):
            formatter.write_dl(list(NEW_NAMES.items()))
        return
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is not None:
            inner = click.Context(command, ctx, info_name=name)
            add_examples(command, inner.command_path.partition(" ")[2])
            formatter.write("\n\n" + command.get_help(inner) + "\n")


def command_lines(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, str]]:
    """Every command below a group by its new name, and what it does."""
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is None:
            continue
        inner = click.Context(command, ctx, info_name=name)
        if isinstance(command, click.Group):
            yield from command_lines(command, inner)
        else:
            text = summary(typed_path(ctx), name) or command.get_short_help_str(limit=70)
            yield inner.command_path.partition(" ")[2], text
