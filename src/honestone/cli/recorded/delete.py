"""`honestone runs delete`: runs that no one needs any more."""

from __future__ import annotations

import sys
from typing import Annotated

import click
from msgspec.structs import replace

from honestone.app.options import Argument, Option
from honestone.app.runs.deleting import Deletion, DeletionRequest, delete_runs, plan_deletion
from honestone.cli import options as shared
from honestone.cli.terminal import dump, here, write
from honestone.core.errors import UsageError
from honestone.core.record.runs import UNDOABLE
from honestone.ports import RunInfo
from honestone.system.drawing import count, line


@click.command("delete", short_help="Delete runs, and give their space back.")
@shared.from_parameters
def delete(
    *,
    names: Annotated[tuple[str, ...], Argument(metavar="[RUN]...")] = (),
    older_than: Annotated[
        float | None,
        Option("Runs that ended so many days ago or earlier.", metavar="DAYS", min=0, max=36_500),
    ] = None,
    keep: Annotated[
        int | None, Option("All runs but the newest so many.", metavar="N", min=0)
    ] = None,
    yes: Annotated[bool, Option("Do not ask.", short="-y")] = False,
    dry_run: Annotated[bool, Option("Delete nothing, and say what would be.")] = False,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Delete runs with their events and the versions that no other run has, and give the space
    back. A run goes with what belongs to it: the splits of an `improve`, the columns of a table. The
    rules mean runs of this project. A run that another builds on, or that is under way, is not
    deleted. Replies that were paid for are kept: the same command asks no judge again. `undo` of a
    deleted run is lost.

    It asks first, or needs --yes. Exits 2 where a run that was named is not deleted.
    """
    workspace = here()
    request = DeletionRequest(names=names, older_than=older_than, keep=keep)
    deletion = plan_deletion(workspace, request)
    if deletion.runs and not (yes or dry_run):
        _ask(deletion)
        # What began while the person thought may need what was to go, or belong to it.
        shown = tuple(run.id for run in deletion.runs)
        chosen = DeletionRequest(names=shown, shown=frozenset(shown))
        again = plan_deletion(workspace, chosen)
        deletion = replace(again, retained=(*deletion.retained, *again.retained))
    freed = 0 if dry_run else delete_runs(workspace, deletion)
    if as_json:
        document = {
            "deleted": [run.id for run in deletion.runs],
            "kept": [{"run": one.run, "why": one.why} for one in deletion.retained],
            "bytes": freed,
            **({"dry_run": True} if dry_run else {}),
        }
        write(dump(document) + "\n")
    else:
        _print(deletion, freed, dry_run=dry_run)
    return 2 if names and deletion.retained else 0


def _ask(deletion: Deletion) -> None:
    """Raises UsageError where no person answers, and Abort where the answer is no."""
    if not sys.stdin.isatty():
        raise UsageError(
            f"{_total(deletion)} would be deleted, and no person is here to ask",
            hint="add --yes, or --dry-run to see which",
        )
    for run in deletion.runs:
        print(
            f"{_indent(deletion, run)}{run.id}  {run.started[:16]}  {run.kind}  {line(run.subject)}",
            file=sys.stderr,
        )
    if any(run.kind in UNDOABLE for run in deletion.runs):
        print("`honestone undo` of these runs is lost", file=sys.stderr)
    click.confirm(f"delete {_total(deletion)}?", abort=True, err=True)


def _print(deletion: Deletion, freed: int, *, dry_run: bool) -> None:
    verb = "would delete" if dry_run else "deleted"
    for run in deletion.runs:
        write(f"{_indent(deletion, run)}{verb} {run.id}  {run.kind}  {line(run.subject)}\n")
    for one in deletion.retained:
        write(f"kept {one.run}: {line(one.why)}\n")
    write(f"{verb} {_total(deletion)}" + ("\n" if dry_run else f", {freed:,} bytes given back\n"))


def _indent(deletion: Deletion, run: RunInfo) -> str:
    return "  " if run.id in deletion.inside else ""


def _total(deletion: Deletion) -> str:
    """`2 runs`, or `2 runs with 5 inside`."""
    inside = len(deletion.inside)
    runs = count(len(deletion.runs) - inside, "run")
    return f"{runs} with {inside} inside" if inside else runs
