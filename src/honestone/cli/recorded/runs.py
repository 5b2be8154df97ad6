"""`honestone runs`: a line for each run that was recorded. What only `show` needs is not imported."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.main import StrictGroup
from honestone.cli.terminal import dump, here, write
from honestone.system.drawing import line


@click.group(
    "runs",
    cls=StrictGroup,
    invoke_without_command=True,
    short_help="List recorded runs, import those of rulph.",
)
@click.pass_context
@shared.from_parameters
def runs(
    ctx: click.Context,
    *,
    limit: Annotated[int, Option(min=1, show_default=True)] = 20,
    kind: Annotated[
        str | None,
        Option(
            "Only runs of that kind: eval, suite, table, column, improve, stages, noise, audit, calibrate, imported.",
            metavar="KIND",
        ),
    ] = None,
    verdict: Annotated[
        str | None,
        Option(
            "Only those with that verdict (pass, fail, ...) or result, or `unfinished`.",
            metavar="VERDICT",
        ),
    ] = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """List recorded runs, newest first: verdict, title, pass rate or score, its change against the
    run before of the same subject and kind, calls, cost, time.

    \b
    Example:
      honestone runs --kind suite --verdict fail
    """
    if ctx.invoked_subcommand is not None:
        return 0
    from honestone.app.runs.run_list import UNFINISHED, list_runs

    found = list_runs(here(), limit=limit, kind=kind, verdict=verdict)
    if as_json:
        write(dump([run.to_plain() for run in found]) + "\n")
        return 0
    for run in found:
        info, which = run.info, f" ({run.figures.side})" if run.figures.side else ""
        started = info.started[:16].replace("T", " ")
        told = "  ".join(
            part
            for part in (line(info.subject + which), run.words, line(info.person or ""))
            if part
        )
        write(f"{info.id}  {started}  {info.kind:<8} {info.result or UNFINISHED:<16} {told}\n")
    return 0


@runs.command("import", short_help="Keep a loop of rulph as a run.")
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
