"""`honestone completion`: the script that makes a shell complete our commands and options."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import click
from click.shell_completion import CompletionItem, get_completion_class

from honestone.app.doors.offers import (
    Offers,
    offered_cases,
    offered_names,
    offered_runs,
    offered_templates,
)
from honestone.cli.terminal import here
from honestone.core.errors import HonestoneError, UsageError
from honestone.core.json_value import late_pattern, visible

SHELLS = ("bash", "zsh", "fish")
# What a shell takes for one word, without quotes.
_WHOLE: Final = late_pattern(r"[\w.@%+/:#=-]+")


@click.command("completion", short_help="Print the shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> int:
    """Print the completion script of a shell (default: yours). For bash: eval "$(honestone
    completion bash)".
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name) if name in SHELLS else None
    if found is None:
        raise UsageError(
            f"completion is not available for {name or 'this shell'!r}",
            hint=f"name one of {', '.join(SHELLS)}",
        )
    click.echo(found(ctx.find_root().command, {}, "honestone", "_HONESTONE_COMPLETE").source())
    return 0


class Offered(click.ParamType[str]):
    """A value that the program knows names for; where none of them fits, the shell offers files."""

    name = "text"

    def __init__(self, offers: Callable[[click.Context], Offers], *, or_file: bool) -> None:
        self._offers = offers
        self._or_file = or_file

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        found = []
        with suppress(HonestoneError, OSError):  # a shell shows no message
            for name, help in self._offers(ctx):
                if name.startswith(incomplete) and _WHOLE.fullmatch(name):
                    found.append(CompletionItem(name, help=visible(help, 60)))
        return found or ([CompletionItem(incomplete, type="file")] if self._or_file else [])


def _cases(ctx: click.Context) -> Offers:
    named = ctx.params.get("named") or ctx.args  # as it is where an option still lacks its value
    return offered_cases(here(), [str(name) for name in named])


_RUNS: Final = Offered(lambda ctx: offered_runs(here()), or_file=False)
_RUNS_OR_FILES: Final = Offered(lambda ctx: offered_runs(here()), or_file=True)
_JUDGES: Final = Offered(lambda ctx: offered_names(here(), "judges"), or_file=False)
# By option, or by the name of an argument, in every command.
_OFFERED: Final = {
    "run": _RUNS,
    "runs": _RUNS,
    "baseline": _RUNS_OR_FILES,
    "candidate": _RUNS_OR_FILES,
    "--baseline": _RUNS_OR_FILES,
    "--outputs": _RUNS_OR_FILES,
    "--case": Offered(_cases, or_file=False),
    "--judge": _JUDGES,
    "--holdout": _JUDGES,
    "--worker": Offered(lambda ctx: offered_names(here(), "workers"), or_file=False),
    "--target": Offered(lambda ctx: offered_names(here(), "targets"), or_file=False),
    "--template": Offered(lambda ctx: offered_templates(here()), or_file=False),
}


def offer_names(command: click.Command) -> None:
    """Let a shell complete the values of this command. Only a call of the shell pays for it."""
    for param in command.params:
        for name in param.opts:
            param.type = _OFFERED.get(name, param.type)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        offer_names(inner)
