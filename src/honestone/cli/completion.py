"""`honestone completion`: the script that makes a shell complete our commands and options."""

from __future__ import annotations

import os

import click

from honestone.core.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command("completion", short_help="Print the shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> int:
    """Print the completion script of a shell (default: yours). For bash: eval "$(honestone completion bash)"."""
    from click.shell_completion import get_completion_class

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name) if name in SHELLS else None
    if found is None:
        raise UsageError(
            f"completion is not available for {name or 'this shell'!r}", hint=f"name one of {', '.join(SHELLS)}"
        )
    click.echo(found(ctx.find_root().command, {}, "honestone", "_HONESTONE_COMPLETE").source())
    return 0
