"""A table of columns as it is in the store: its own run, which names the runs of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from honestone.app.workspace import Workspace
from honestone.core.events import SuiteStarted, TableStarted, total_spend
from honestone.core.judging.spend import Spend
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.runs import TABLE
from honestone.core.record.table import TableRecord
from honestone.ports import RunInfo, Store


class SuiteName(Struct, frozen=True, kw_only=True):
    """What the runs of a suite are filed under: its path from the folder of the settings, so that
    two checkouts mean the same suite; outside of one its absolute path. `path` is always that:
    older runs are filed under it.
    """

    subject: str
    path: str
    project: str

    @classmethod
    def of(cls, workspace: Workspace, suite: Path) -> SuiteName:
        path, folder = workspace.path(suite).resolve(), workspace.settings.folder
        root = None if folder is None else folder.resolve()
        inside = root is not None and path.is_relative_to(root)
        subject = path.relative_to(root).as_posix() if root is not None and inside else str(path)
        return cls(subject=subject, path=str(path), project=workspace.project)

    def is_of(self, run: RunInfo) -> bool:
        """Whether a run is of this suite. Several projects may share a store, and each have a
        `suite.yaml`.
        """
        is_named = run.subject == self.subject and (run.project or "") == self.project
        return is_named or run.subject == self.path


def read_table(store: Store, run: str) -> TableRecord:
    started, *log = store.events(run)
    assert isinstance(started, TableStarted), f"not a table: {started.type} {started.kind}"
    columns = {one.name: read_record(store.events(one.run), run=one.run) for one in started.columns}
    record = TableRecord(run=run, started=started, columns=columns)
    for event in log:
        record.add(event)
    return record


def last_columns(store: Store, suite: SuiteName) -> Mapping[str, SuiteRecord]:
    """The last run of a suite that came to its end, by column; one without columns under an empty
    name.
    """
    return {
        name: read_record(store.events(run), run=run)
        for name, (run, _) in last_starts(store, suite).items()
    }


def last_starts(store: Store, suite: SuiteName) -> Mapping[str, tuple[str, SuiteStarted]]:
    """The same, but of each column only its run and how that began."""
    for info in store.runs(own=True):
        if (
            info.kind in ("suite", TABLE)
            and suite.is_of(info)
            and info.finished
            and info.result != "interrupted"
        ):
            first = next(store.iter_events(info.id))
            if isinstance(first, TableStarted):
                return {one.name: (one.run, _start(store, one.run)) for one in first.columns}
            assert isinstance(first, SuiteStarted)
            if not first.side:  # else a baseline, or a split of a loop: no one asked for that alone
                return {"": (info.id, first)}
    return {}


def _start(store: Store, run: str) -> SuiteStarted:
    first = next(store.iter_events(run))
    assert isinstance(first, SuiteStarted)
    return first


def first_column(store: Store, table: TableStarted) -> SuiteStarted:
    """How its first column began: all of them have the same suite, and the same cases left out."""
    return _start(store, table.columns[0].run)


def table_spend(store: Store, table: TableStarted) -> Spend:
    """What all columns cost."""
    return Spend.of(total_spend(store.iter_events(one.run)) for one in table.columns)
