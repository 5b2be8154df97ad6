"""What the server reads of a store: the runs by page, one run as documents, a few cases of many.

Each thread has the store open for reading alone, and no transaction outlives a call. What was
worked out of a run that has ended is kept: it cannot change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, TypeVar

from msgspec import Struct, field

from honestone.app.run_figures import RunFigures
from honestone.app.runs.records import RunRecord, record_in
from honestone.app.runs.run_list import (
    ListedRun,
    chosen_runs,
    figures_of_run,
    listed_run,
    parts_of,
    rows_of,
    without_parts,
)
from honestone.app.suites.comparing.compare import CompareRequest, compare_in, trend_in
from honestone.app.workspace import Workspace
from honestone.core.editing.proposal import unified_diff
from honestone.core.errors import NoStoreError, UsageError
from honestone.core.events import SuiteStarted
from honestone.core.record.record import SuiteRecord
from honestone.ports import RunInfo, Store
from honestone.report.building.suite import case_document
from honestone.report.documents.run_list import RunRow
from honestone.report.documents.suite import ComparisonDoc, TrendDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.pages.case_table import CaseRow, CaseTable, case_table
from honestone.report.pages.live_html import LivePart
from honestone.view.following import FollowedSuite, case_of
from honestone.view.now import live_part

_MOST_TABLES: Final = 4
_MOST_FIGURES: Final = 2000

Cached = TypeVar("Cached")


class _Open(threading.local):
    """The store of one thread, and which file it is."""

    stack: ExitStack | None = None
    store: Store | None = None
    made: tuple[int, int] | None = None


class RunsPage(Struct, frozen=True, kw_only=True):
    """`runs` of all that were asked for, `total`; `newest` is the id of the last run of the store,
    empty without one. `now`: how those are that have not ended.
    """

    runs: Sequence[RunRow] = ()
    total: int = 0
    newest: str = ""
    now: Mapping[str, LivePart] = field(default_factory=dict)


class Viewer:
    """Reads the store of a workspace, as it is at each call. Safe to use from several threads."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._open = _Open()
        self._lock = threading.Lock()
        self._figures: OrderedDict[str, RunFigures] = OrderedDict()
        self._tables: OrderedDict[str, CaseTable] = OrderedDict()
        self._followed: OrderedDict[str, FollowedSuite] = OrderedDict()

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Raises NoStoreError where no run was made yet."""
        made = self._made_by()
        if self._open.store is None or self._open.made != made:
            self.close()
            opened = ExitStack()
            self._open.store = opened.enter_context(
                self.workspace.open_store(readonly=True, is_shown=True)
            )
            self._open.stack, self._open.made = opened, made
        yield self._open.store

    def _made_by(self) -> tuple[int, int] | None:
        """Which file the store is: a store that was removed and made again is another one. A shared
        one stays the same.
        """
        if self.workspace.shared is not None:
            return None
        for path in self.workspace.store_place(is_shown=True).folder.glob("*.db"):
            status = path.stat()
            return (status.st_dev, status.st_ino)
        return None

    def close(self) -> None:
        """Closes the store of this thread."""
        stack = self._open.stack
        self._open.stack = self._open.store = self._open.made = None
        if stack is not None:
            stack.close()

    def runs(
        self, *, kind: str | None, verdict: str | None, words: str, first: int, count: int
    ) -> RunsPage:
        """`count` rows from the `first` on, newest first, of the runs that were asked for; an empty
        page without a store.
        """
        try:
            with self.store() as store:
                every, figures = store.runs(), self._figures_of(store, {})
                chosen = [
                    info
                    for info in chosen_runs(every, kind, verdict, figures)
                    if words.lower() in _search_text(info)
                ]
                parts = parts_of(chosen, every, figures)
                listed = without_parts(chosen, parts)
                shown = listed[first : first + count]
                now = {info.id: live_part(store, info) for info in shown if info.finished is None}
                return RunsPage(
                    runs=rows_of(
                        shown, parts, every, self._figures_of(store, now), self.workspace.folder
                    ),
                    total=len(listed),
                    newest=every[0].id if every else "",
                    now=now,
                )
        except NoStoreError:
            return RunsPage()

    def newest_runs(self, count: int) -> list[ListedRun]:
        """So many of the last runs, newest first; [] without a store."""
        try:
            with self.store() as store:
                every = store.runs()
                figures = self._figures_of(store, {})
                shown = chosen_runs(every, None, None, figures)[:count]
                return [listed_run(info, every, figures) for info in shown]
        except NoStoreError:
            return []

    def _figures_of(self, store: Store, now: Mapping[str, LivePart]) -> Callable[[str], RunFigures]:
        def figures(run: str) -> RunFigures:
            part = now.get(run)
            if part is not None and part.state == "running":
                return RunFigures()  # reading all of it each second would cost more than they say
            key = run if part is None else f"{run} {part.seq}"
            return self._keep(self._figures, key, _MOST_FIGURES, lambda: figures_of_run(store, run))

        return figures

    @contextmanager
    def run(self, name: str) -> Iterator[RunRecord]:
        """A run by its id, the beginning of it, or `last`. Raises StoreError with near names."""
        with self.store() as store:
            yield record_in(store, name)

    def table(self, record: RunRecord) -> CaseTable:
        """A suite's run without its texts."""

        def made() -> CaseTable:
            report = record.suite_report()
            return case_table(report.head, report.cases)

        if record.info.finished is None:
            followed = self._keep(
                self._followed, record.info.id, _MOST_TABLES, lambda: FollowedSuite(record.info.id)
            )
            is_running = live_part(record.store, record.info).state == "running"
            return followed.table(record.store, is_running=is_running)
        return self._keep(self._tables, record.info.id, _MOST_TABLES, made)

    def rows(self, *runs: str) -> list[dict[str, CaseRow]]:
        """The cases of runs by id, without their texts."""
        found = []
        for name in runs:
            with self.run(name) as record:
                found.append({row.case.id: row for row in self.table(record).rows})
        return found

    def case(self, record: RunRecord, id: str, attempt: int | None = None) -> CaseDoc | None:
        """One case of a suite's run, with everything that is known of it, and the answers to one
        attempt: the one of that number, else the one that represents the case.
        """
        log = record.store.iter_events(record.info.id)
        started = next(log)
        assert isinstance(started, SuiteStarted)
        found = SuiteRecord(started, run=record.info.id)
        if id not in found.cases:
            return None
        for event in log:
            if case_of(event) == id:
                found.add(event)
        return case_document(found.cases[id], started.artifact, attempt=attempt)

    def compare(self, before: str, after: str) -> ComparisonDoc:
        """Raises StoreError for names that are not runs, ContractMismatch for runs that were judged
        differently.
        """
        with self.store() as store:
            sides = [store.find_run(name).id for name in (before, after)]
            return compare_in(
                store, self.workspace, CompareRequest(baseline=sides[0], candidate=sides[1])
            )

    def trend(self, names: Sequence[str]) -> TrendDoc:
        """Raises StoreError for names that are not runs."""
        with self.store() as store:
            return trend_in(store, self.workspace, [store.find_run(name).id for name in names])

    def _keep(
        self, cache: OrderedDict[str, Cached], key: str, most: int, make: Callable[[], Cached]
    ) -> Cached:
        with self._lock:
            if key in cache:
                cache.move_to_end(key)
                return cache[key]
        made = make()
        with self._lock:
            cache[key] = made
            while len(cache) > most:
                cache.popitem(last=False)
        return made


def run_json(record: RunRecord, workspace: Workspace) -> object:
    """What `show --json` prints of a run: documents, or a list of them."""
    match record.info.kind:
        case "improve":
            return record.improvement()[0]
        case "stages":
            return pipeline_json(record, workspace)
        case "suite" | "column":
            return record.suite_report().whole
        case "table":
            return record.table()
        case "eval":
            cards = list(record.scorecards())
            return cards[0] if len(cards) == 1 else cards
        case _:
            return record.document()


def pipeline_json(record: RunRecord, workspace: Workspace) -> dict[str, object]:
    """`honestone.pipeline/1` of a run of stages."""
    from honestone.app.stages.files import StageFiles
    from honestone.app.stages.run import recorded_pipeline

    return recorded_pipeline(StageFiles.at(workspace), record.store, record.info.id).document


def diff_of_versions(record: RunRecord, before: str, after: str) -> str:
    """From one version of a loop to another as a unified diff. Raises UsageError for a name that it
    does not have.
    """
    if record.info.kind != "improve":
        raise UsageError(
            f"run {record.info.id} is of kind `{record.info.kind}`: it has no versions"
        )
    return unified_diff(record.version(before), record.version(after))


def require_suites(*records: RunRecord) -> None:
    """Raises UsageError for a run that has no cases."""
    for record in records:
        if record.info.kind not in ("suite", "column", "table"):
            raise UsageError(
                f"run {record.info.id} is of kind `{record.info.kind}`: it has no cases"
            )


def _search_text(info: RunInfo) -> str:
    return f"{info.id} {info.kind} {info.subject} {info.result or 'unfinished'}".lower()
