"""A run on other machines as its coordinator follows it: in memory are the ids of the cases without a result, and what is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Final

from honestone.core.events import AttemptJudged, CasePassedBy, OutputProduced, RecordedCase, SuiteStarted
from honestone.core.suite.attempts import Status
from honestone.core.suite.record import CaseRecord, SuiteRecord
from honestone.ports import Store

# What of a case decides when it is over and what it comes to. Cases that are alike in it share one object.
_DECIDES: Final = ("rubric", "attempts", "attempt_rule", "stops_at_pass", "skip", "expect")


def started_of(store: Store, run: str) -> SuiteStarted:
    started = next(store.iter_events(run))
    assert isinstance(started, SuiteStarted)
    return started


class WatchedRecord(SuiteRecord):
    """`left` are the cases without a result, by id, `bad` counts those that did not pass. Cases are read from the store, one at
    a time, whenever they are gone through. Until `ask_again` those are kept too whose result is that of a limit."""

    def __init__(self, run: str, store: Store, reading: Callable[[], AbstractContextManager[Store]]) -> None:
        started = started_of(store, run)
        super().__init__(replace(started, cases=()), run=run)
        self._id, self._reading = run, reading
        self.count, self.bad = len(started.cases), 0
        alike = dict[str, CaseRecord]()
        self.left = {one.id: self._alike(one, alike) for one in started.cases}
        self._under_way = dict[str, CaseRecord]()
        self._limited: dict[str, CaseRecord] | None = {}
        self._passed_by: list[str] = []

    def _alike(self, kept: RecordedCase, known: dict[str, CaseRecord]) -> CaseRecord:
        key = repr([kept.plain.get(name) for name in _DECIDES])
        return known.get(key) or known.setdefault(key, replace(self.case_record(kept), is_brief=True))

    def add_to_case(self, event: OutputProduced | AttemptJudged | CasePassedBy) -> None:
        id = event.case
        one = self._under_way.pop(id, None) or (self._limited or {}).pop(id, None)
        if one is None:
            if id not in self.left:  # it is over
                return
            one = replace(self.left[id], produced={}, ballots={}, attempts={})
        self.bad -= _is_bad(one)
        one.add(event)
        self.bad += _is_bad(one)
        if not one.is_complete and one.passed_by is None:
            self._under_way[id] = one
            return
        self.left.pop(id, None)
        if self._limited is not None and (one.is_refused or one.is_cut_short):
            self._limited[id] = one

    def ask_again(self) -> None:
        """What a limit refused or passed by is left again: the run that is taken up may have room for it."""
        for id, one in (self._limited or {}).items():
            self._passed_by += [id] if one.is_cut_short else []
            self.bad -= _is_bad(one)
            one.passed_by = None
            one.ask_again()
            self.left[id] = self._under_way[id] = one
        self._limited = None

    def leave_out_passed_by(self) -> None:
        """When no case is in the queue: nothing more is put on record of one that is passed by again."""
        for id in self._passed_by:
            self.left.pop(id, None)

    def each(self, numbers: Iterable[int] | None = None) -> Iterator[CaseRecord]:
        with self._reading() as store:
            cases, events_of = started_of(store, self._id).cases, store.by_case(self._id)
            for kept in cases if numbers is None else map(cases.__getitem__, numbers):
                one = self.case_record(kept)
                for event in events_of(kept.id):
                    if isinstance(event, OutputProduced | AttemptJudged | CasePassedBy):
                        one.add(event)
                yield one


def _is_bad(one: CaseRecord) -> bool:
    return one.is_complete and one.result.status is not Status.PASSED
