"""`eval SUITE --watch`: a suite is run whenever a file that it is made of changes, and only what
changed is asked again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

import msgspec
from msgspec.structs import replace

from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import last_statuses, plan_columns
from honestone.app.suites.running.table import run_columns
from honestone.app.workspace import Workspace
from honestone.core.errors import HonestoneError, Interrupted
from honestone.ports import Observer
from honestone.report.documents.suite import SuiteReportDoc, TurnedDoc
from honestone.report.documents.suite_case import StatusName
from honestone.report.documents.table import TableDoc
from honestone.system.files import files_at
from honestone.system.trust.judging_files import JudgingFiles, files_named

Report: TypeAlias = SuiteReportDoc | TableDoc

POLL: Final = 0.3
# Seconds in which nothing more changes: editors write in several steps.
SETTLE: Final = 0.1
_SOURCES: Final = frozenset(".yaml .yml .json .jsonl .csv .md .txt .py .toml".split())


@dataclass(kw_only=True)
class Watch:
    """`workspace` is made for each run, because settings may change too. `show` gets the report of
    each run, `fail` an error, once for as long as it stays the same. Within a watch an output is
    used again while the target would be asked the same. Each run is an ordinary one of the store.
    """

    workspace: Callable[[], Workspace]
    request: SuiteRequest
    observer: Observer
    show: Callable[[Report], None]
    fail: Callable[[HonestoneError], None]
    _listing: Callable[[], Iterator[Path]] = field(default=lambda: iter(()))
    _statuses: Mapping[tuple[str, str], StatusName] | None = None
    _failed: str = ""

    def run(self) -> NoReturn:
        """Ends only when it is interrupted. Raises Interrupted or KeyboardInterrupt."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.request = replace(self.request, outputs_since=now, judge_again=None)
        before = JudgingFiles()
        while True:
            try:
                before = self._wait(self._run_once(before))
            except Interrupted:
                raise
            except HonestoneError as error:
                before = self._wait(self._after(error, before))

    def _run_once(self, before: JudgingFiles) -> JudgingFiles:
        """The files as they were when the run began. What changed while it was planned counts as
        changed since.
        """
        workspace = self.workspace()
        self._remember_statuses(workspace)
        plans = plan_columns(workspace, self.request, self.observer)
        self._listing = lambda: _files_of(plans)
        now = JudgingFiles(self._listing, base=workspace.folder)
        files = before if before.changed() else now
        self._report(run_columns(plans, self.observer).report)
        return files

    def _remember_statuses(self, workspace: Workspace) -> None:
        """`--failed`: the cases that failed before this watch began, also when they pass meanwhile."""
        choice = self.request.choice
        if (choice.failed or choice.errored) and choice.statuses is None:
            statuses = last_statuses(workspace, workspace.path(self.request.suite))
            self.request = replace(self.request, choice=replace(choice, statuses=statuses))

    def _report(self, report: Report) -> None:
        self._failed = ""
        self.request = replace(self.request, judging=replace(self.request.judging, fresh=False))
        before, self._statuses = self._statuses, _statuses_in(report)
        turned = [
            TurnedDoc(id=id, before=before[id, column], to=status, column=column or msgspec.UNSET)
            for (id, column), status in self._statuses.items()
            if before is not None and before.get((id, column), status) != status
        ]
        self.show(msgspec.structs.replace(report, turned=turned))
        if before is None:
            self.observer.note("watching the suite and its files; Ctrl-C ends it")

    def _after(self, error: HonestoneError, before: JudgingFiles) -> JudgingFiles:
        """The files in which an error may be corrected: the files known so far, the one that is
        named, and those in the suite's folder.
        """
        suite, named = self.request.suite, (error.place or "").partition(":")[0]

        def listing() -> Iterator[Path]:
            yield from self._listing()
            yield from (suite, Path(named or suite))
            if suite.parent.is_dir():
                yield from (path for path in suite.parent.iterdir() if path.suffix in _SOURCES)

        now = JudgingFiles(listing)
        files = before if before.changed() else now
        message = f"{error} {error.hint}"
        if message != self._failed:  # only now: a correction from here on is seen
            self._failed = message
            self.fail(error)
        return files

    def _wait(self, files: JudgingFiles) -> JudgingFiles:
        """Returns the files as they are when one of them has changed, and nothing changes any more."""
        while not (names := files.changed()):
            time.sleep(POLL)
        self.observer.note(f"changed: {', '.join(names[:5])}")
        while True:
            now = JudgingFiles(self._listing)
            time.sleep(SETTLE)
            if not now.changed():
                return now


def _statuses_in(report: Report) -> dict[tuple[str, str], StatusName]:
    """The statuses of the cases, by case and column."""
    if isinstance(report, SuiteReportDoc):
        return {(case.id, ""): case.status for case in report.cases}
    return {(case.id, cell.column): cell.status for case in report.cases for cell in case.cells}


def _files_of(plans: Sequence[SuitePlan]) -> Iterator[Path]:
    """What a run is made of: the suite and what it includes, settings, artifacts, workspaces,
    programs and records.
    """
    plan = plans[0]
    workspace, base = plan.workspace, plan.source.base
    yield from plan.own_files
    yield from plan.judging_files()
    yield from files_named([seat.identity for seat in plan.seats], workspace.folder)
    yield from () if workspace.settings.file is None else (workspace.settings.file,)
    yield from (
        ()
        if plan.request.outputs is None
        else (workspace.path(plan.request.outputs), base / plan.request.outputs)
    )
    folders = {
        base / case.workspace.copy for case in plan.cases if case.workspace and case.workspace.copy
    }
    for place in (*folders, *(one.subject.place for one in plans if one.subject.place is not None)):
        yield from files_at(place)
    for one in plans:
        yield from one.program_files
