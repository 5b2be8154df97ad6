"""A suite's run while it is under way: what was read of it is kept, and only what is new is read."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from msgspec.structs import replace

from honestone.core.events import AttemptJudged, CasePassedBy, Event, OutputProduced, SuiteStarted
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.ports import Store
from honestone.report.building.suite import case_document, suite_report
from honestone.report.pages.case_table import CaseRow, CaseTable, case_row, table_of


class FollowedSuite:
    """A run as far as it was read. Safe to use from several threads."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._lock = Lock()
        self._read = 0
        self._record: SuiteRecord | None = None
        self._rows: dict[str, CaseRow] = {}

    def table(self, store: Store, *, is_running: bool) -> CaseTable:
        """Its table now. While it is running the cases that have not had their turn are left out."""
        with self._lock:
            record, changed = self._news(store)
            numbers = {id: number for number, id in enumerate(record.cases, 1)}
            for id in changed:
                document = case_document(record.cases[id], record.started.artifact)
                self._rows[id] = case_row(numbers[id], document)
            rows = [
                self._rows[id]
                for id, case in record.cases.items()
                if not is_running or _had_its_turn(case)
            ]
            head = suite_report(record).head
        if is_running:  # nothing has been skipped yet, and there is no verdict to give reasons for
            head = replace(head, counts=dict(Counter(row.case.status for row in rows)), reasons=[])
        return table_of(head, tuple(rows))

    def _news(self, store: Store) -> tuple[SuiteRecord, list[str]]:
        """The record with what is new in it, and the cases that this is about."""
        log = store.iter_events(self._run, self._read)
        record, changed = self._record, list[str]()
        if record is None:
            started = next(log)
            assert isinstance(started, SuiteStarted)
            record = self._record = SuiteRecord(started, run=self._run)
            changed, self._read = list(record.cases), 1
        for event in log:
            record.add(event)
            self._read += 1
            case = case_of(event)
            changed += [case] if case is not None else []
        return record, list(dict.fromkeys(changed))


def case_of(event: Event) -> str | None:
    """The case that an event is about."""
    return event.case if isinstance(event, OutputProduced | AttemptJudged | CasePassedBy) else None


def _had_its_turn(case: CaseRecord) -> bool:
    return case.is_complete or case.passed_by is not None or case.case.skip is not None
