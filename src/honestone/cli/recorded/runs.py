"""`honestone runs`: a line for each run that was recorded. What only `show` needs is not imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import click
from click.core import ParameterSource

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.main import LazyGroup
from honestone.cli.terminal import dump, here, write
from honestone.core.errors import UsageError
from honestone.system.drawing import style_for

Limit: TypeAlias = Annotated[int, Option(min=1, show_default=True)]
Kind: TypeAlias = Annotated[
    str | None,
    Option(
        "Only runs of that kind: eval, suite, table, column, improve, stages, noise, audit, calibrate, imported.",
        metavar="KIND",
    ),
]
VerdictName: TypeAlias = Annotated[
    str | None,
    Option(
        "Only those with that verdict (pass, partial, fail, ...) or result, or `unfinished`.",
        metavar="VERDICT",
    ),
]


@click.group(
    "runs",
    cls=LazyGroup,
    table="runs",
    invoke_without_command=True,
    short_help="List runs; rescore, cancel, delete or import them.",
)
@click.pass_context
@shared.from_parameters
def runs(
    ctx: click.Context,
    *,
    limit: Limit = 20,
    kind: Kind = None,
    verdict: VerdictName = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """List recorded runs, newest first: verdict, how sure it is that it passes, pass rate or score, its
    change against the run before of the same subject and kind, calls, cost, time. The runs of an
    improvement's splits are inside its line; --json lists them, too, and has its id as `part_of`. Or do something
    with the runs.

    \b
    Example:
      honestone runs --kind suite --verdict fail
    """
    if ctx.invoked_subcommand is None:
        return _list(limit, kind, verdict, as_json=as_json)
    for param in ctx.command.params:
        if (
            param.name != "store"
            and ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        ):
            raise UsageError(
                f"{param.opts[-1]} before `{ctx.invoked_subcommand}` is an option of the list of runs",
                hint=f"{ctx.command_path} {ctx.invoked_subcommand} --help",
            )
    return 0


@click.command("list", short_help="List recorded runs, newest first.")
@shared.from_parameters
def list_(
    *,
    limit: Limit = 20,
    kind: Kind = None,
    verdict: VerdictName = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """List recorded runs, newest first, as `honestone runs` alone does."""
    return _list(limit, kind, verdict, as_json=as_json)


def _list(limit: int, kind: str | None, verdict: str | None, *, as_json: bool) -> int:
    from honestone.app.runs.run_list import list_rows, list_runs
    from honestone.report.terminal.run_list_text import run_list_text

    if as_json:
        listed = list_runs(here(), limit=limit, kind=kind, verdict=verdict)
        write(dump([run.to_plain() for run in listed]) + "\n")
        return 0
    rows = list_rows(here(), limit=limit, kind=kind, verdict=verdict)
    write(run_list_text(rows, style_for(sys.stdout)))
    return 0


@click.command("import", short_help="Keep a loop of rulph as a run.")
@shared.from_parameters
def import_(
    *,
    file: Annotated[Path, Argument()],
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Keep the state of a rulph loop (its state.json) as a run that `show` shows: its numbers,
    without a verdict of ours.
    """
    from honestone.app.runs.import_loop import import_loop
    from honestone.report.documents import plain
    from honestone.report.formats import draw
    from honestone.system.drawing import Style

    document = import_loop(here(), file)
    write(dump(plain(document)) + "\n" if as_json else draw(document, "text", Style()))
    return 0
