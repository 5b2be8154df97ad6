"""`honestone help`: the help of a command, by its new name or the one it had before."""

from __future__ import annotations

from typing import Annotated

import click

from honestone.app.options import Argument
from honestone.cli import options as shared
from honestone.cli.commands import new_name
from honestone.cli.terminal import write


@click.command("help", short_help="Show the help of a command, by its new or old name.")
@click.pass_context
@shared.from_parameters
def help_(
    ctx: click.Context,
    *,
    command: Annotated[tuple[str, ...], Argument(metavar="[COMMAND]...")] = (),
) -> None:
    """Show what `honestone COMMAND --help` shows. Of a command that had another name before, it
    says the new one first.

    \b
    Example:
      honestone help stage run
    """
    from honestone.cli.helping import new_name_lines

    typed = " ".join(command)
    new = new_name(typed)
    if new is not None:
        write("".join(f"{line}\n" for line in new_name_lines(typed)) + "\n")
    program = ctx.find_root().command
    words = (new or typed).split()
    program.main(args=[*words, "--help"], prog_name="honestone", standalone_mode=False)
