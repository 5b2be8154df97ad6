"""`honestone doctor`: which judges, workers and targets can run here, and what to type to get the
rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import click
from msgspec.structs import asdict

from honestone import __version__
from honestone.app.readiness import ALWAYS, Readiness, ReadinessReport, look_around
from honestone.app.workspace import Workspace
from honestone.cli import options as shared
from honestone.cli.terminal import dump, here, write
from honestone.core.errors import NoStoreError, StoreError
from honestone.system.drawing import clean

SCHEMA = "honestone.doctor/1"

_SANDBOXES: Final = {
    "bwrap": "bubblewrap",
    "landlock": "Landlock; bubblewrap would also close UDP and give tests a loopback",
    "none": "none: checks that run code see this machine",
}


@click.command("doctor", short_help="Which judges, workers and targets can run here.")
@shared.from_parameters
def doctor(
    *,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Which judges, workers and targets can run here, and how to get the rest. Spends no call."""
    workspace = here()
    report = look_around(workspace)
    if as_json:
        document = {
            "schema": SCHEMA,
            "version": __version__,
            "judges": [asdict(row) for row in report.judges],
            "workers": [asdict(row) for row in report.workers],
            "always": ALWAYS,
            "added": report.added,
            "sandbox": report.sandbox,
            "store": str(workspace.store) if workspace.shared is None else workspace.shared.shown,
            "store_says": _shared_store(workspace),
            "settings": str(workspace.settings.folder) if workspace.settings.folder else None,
        }
        write(dump(document) + "\n")
    else:
        write("".join(_text(report, workspace)))
    return 0


def _text(report: ReadinessReport, workspace: Workspace) -> Iterator[str]:
    yield "Judges and workers\n"
    yield from _lines(report.judges)
    if report.named_workers:
        yield "\nWorkers named in settings\n"
        yield from _lines(report.named_workers)
    yield "\nAlways here\n"
    for what, names in ALWAYS.items():
        yield f"  {what:<8} {', '.join(names)}\n"
    if report.added:
        yield "\nAdded by packages\n"
    for what, added in report.added.items():
        yield f"  {what:<8} {clean(', '.join(added))}\n"
    yield f"\nSandbox    {_SANDBOXES[report.sandbox]}\n"
    if report.no_bubblewrap:
        yield f"           {clean(report.no_bubblewrap)}\n"
    store_note = _shared_store(workspace)
    yield f"Store      {clean(workspace.shown_store)}{'' if store_note is None else f' ({clean(store_note)})'}\n"
    folder = workspace.settings.folder
    where = (
        "none (honestone init writes one)"
        if folder is None
        else clean(workspace.shown(folder / "honestone.toml"))
    )
    yield f"Settings   {where}\n"


def _shared_store(workspace: Workspace) -> str | None:
    """Whether a shared store answers; None for a folder, which is made when it is needed."""
    if workspace.shared is None:
        return None
    from honestone.app.runs.store import check_store

    try:
        found = check_store(workspace)
    except NoStoreError:
        return "answers; empty"
    except StoreError as error:
        return f"does not work: {error.message}"
    return f"answers; {found.engine} {found.version}, {found.runs} runs"


def _lines(rows: Iterable[Readiness]) -> Iterator[str]:
    for row in rows:
        mark = "ready" if row.ready else "-"
        version = f" {row.version}" if row.version else ""
        yield f"  {clean(row.name):<12} {mark:<6} {clean(row.found)}{clean(version)}\n"
        if not row.ready and row.hint:
            yield f"  {'':<12} {'':<6} get it: {clean(row.hint)}\n"
