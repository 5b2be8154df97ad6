"""`honestone remote runner` and `honestone remote runners`: work on the cases of `eval SUITE --remote`, and see
who does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final

import click

from honestone.app.options import Option
from honestone.app.remote.runner import RunnerOptions, list_runners, run_runner
from honestone.cli import options as shared
from honestone.cli.heartbeat import heartbeat_of
from honestone.cli.terminal import Progress, dump, here, write
from honestone.core.record.queue import MISSED, SeenRunner
from honestone.report.documents import fields_of
from honestone.system.drawing import count, line, pad, width

# Cases in hand that are named of each run; of more, only how many.
NAMED: Final = 8


@click.command("runner", short_help="Work on the cases of `eval SUITE --remote`.")
@shared.from_parameters
def runner(
    *,
    concurrency: Annotated[
        int,
        Option("Cases at a time on this machine, of all runs.", min=1, max=1000, show_default=True),
    ] = 8,
    only: Annotated[
        str | None,
        Option("Cases of this run alone. [all that it can work on]", name="--run", metavar="RUN"),
    ] = None,
    drain: Annotated[
        bool, Option("End when nothing is left: with 0, or with 2 when it refused all there was.")
    ] = False,
    grace: Annotated[
        float,
        Option(
            "How long cases in hand may last after SIGTERM.",
            metavar="SECONDS",
            min=0,
            show_default=True,
        ),
    ] = 60.0,
    store: shared.StoreName = None,
    quiet: shared.IsQuiet = False,
) -> int:
    """Take cases of runs that were ordered with `eval SUITE --remote`, until it is stopped. It
    needs the store, the keys of the judges and targets, and their programs; everything else
    travels.

    SIGTERM or Ctrl-C: it takes no more, finishes the cases in hand, gives back what is left, and
    exits 0.
    """
    workspace = here()
    with Progress(quiet=quiet) as progress:
        options = RunnerOptions(
            concurrency=concurrency,
            only=only,
            drain=drain,
            grace=grace,
            heartbeat=heartbeat_of(workspace),
        )
        return 0 if run_runner(workspace, options, progress) else 2


@click.command("runners", short_help="Which runners are at work, and what they refuse.")
@shared.from_parameters
def runners(
    *,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """List the runners of the store: host, version, the runs they work on, cases in hand, the last
    heartbeat, and which runs each refuses and why.
    """
    workspace = here()
    silence = MISSED * heartbeat_of(workspace)
    seen = list_runners(workspace)
    if as_json:
        write(dump([_runner_document(one, silence) for one in seen]) + "\n")
    else:
        write("".join(f"{text}\n" for text in _lines(seen, silence)) or "no runner is at work\n")
    return 0


def _state(one: SeenRunner, silence: float) -> str:
    if one.age > silence:
        return "silent"
    if one.card.is_stopping:
        return "stopping"
    return "working" if one.card.in_hand else "waiting"


def _runner_document(one: SeenRunner, silence: float) -> dict[str, object]:
    card = one.card
    return {
        "id": one.id,
        "state": _state(one, silence),
        **fields_of(
            card, "host", "pid", "person", "version", "concurrency", "runs", "in_hand", "waits"
        ),
        "last_heartbeat_seconds": round(one.age, 3),
        "started_seconds": round(one.since, 3),
        "refused": [
            {"run": no.run, "reason": no.reason, "remedy": no.remedy} for no in card.refused
        ],
    }


def _lines(runners: Sequence[SeenRunner], silence: float) -> Iterator[str]:
    """A row for each runner; below it the cases that it works on, by run, and the runs that it
    refuses.
    """
    rows = [_row(one, silence) for one in runners]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for one, row in zip(runners, rows, strict=True):
        yield "  ".join(map(pad, row, widths)).rstrip()
        by_run: dict[str, list[str]] = {}
        for name in sorted(one.card.in_hand):
            run, _, case = name.partition(" ")
            by_run.setdefault(run, []).append(case)
        for run, cases in by_run.items():
            more = f" and {len(cases) - NAMED} more" if len(cases) > NAMED else ""
            yield "  " + line(f"run {run}: {', '.join(cases[:NAMED])}{more}")
        for no in one.card.refused:
            yield "  " + line(
                f"refuses run {no.run}: {no.reason}{'; ' * bool(no.remedy)}{no.remedy}"
            )


def _row(one: SeenRunner, silence: float) -> list[str]:
    card = one.card
    cells = [
        card.person,
        _state(one, silence),
        f"{len(card.in_hand)} of {count(card.concurrency, 'case')} in hand",
        f"heartbeat {one.age:.0f} s ago",
        f"v{card.version}",
        f"pid {card.pid}",
    ]
    return [line(cell) for cell in cells]
