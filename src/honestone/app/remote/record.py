"""A run on other machines as its coordinator follows it: in memory is what is under way, and 13
bytes of each case.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Final

from msgspec.structs import replace

from honestone.core.belief.cases.suite import CaseBelief
from honestone.core.belief.stated import StatedBelief
from honestone.core.events import (
    AttemptJudged,
    CasePassedBy,
    OutputProduced,
    RecordedCase,
    SuiteStarted,
)
from honestone.core.record.case_belief import Unasked, bar_of
from honestone.core.record.record import CaseRecord, SuiteRecord, SuiteTally, tally_of
from honestone.core.suite.attempts import Status
from honestone.ports import Store

# What of a case decides when it is over and what it comes to. Cases that are alike in it share one
# object.
_DECIDES: Final = ("rubric", "attempts", "attempt_rule", "stops_at_pass", "skip", "expect")

# So often are ids told apart by other hashes; then they are the same.
_SALTS: Final = 3


def started_of(store: Store, run: str) -> SuiteStarted:
    started = next(store.iter_events(run))
    assert isinstance(started, SuiteStarted)
    return started


class UnfinishedCases(Mapping[str, CaseRecord]):
    """The cases of a run without a result, by id, in the suite's order. In memory are a hash of
    each id and a number for what the case is alike in with others; the ids are read from the store
    when they are gone through.
    """

    def __init__(
        self, cases: Sequence[RecordedCase], record_of: Callable[[RecordedCase], CaseRecord]
    ) -> None:
        self._cases, self._kinds = cases, list[CaseRecord]()
        self._salt = 0
        while not self._is_read(record_of) and self._salt < _SALTS:  # two ids have one hash
            self._salt += 1

    def _is_read(self, record_of: Callable[[RecordedCase], CaseRecord]) -> bool:
        hashes, kinds, known = array("q"), array("I"), dict[str, int]()
        for one in self._cases:
            key = repr([one.plain.get(name) for name in _DECIDES])
            if key not in known:
                known[key] = len(known)
                self._kinds[known[key] :] = [record_of(one)]
            hashes.append(self._hash(one.id))
            kinds.append(known[key])
        order = sorted(range(len(hashes)), key=hashes.__getitem__)
        self._hashes = array("q", (hashes[number] for number in order))
        self._kind_of = array("I", (kinds[number] for number in order))
        self._is_left, self._count = bytearray(b"\1" * len(order)), len(order)
        twice = [
            place for place, (one, other) in enumerate(pairwise(self._hashes), 1) if one == other
        ]
        for place in twice:
            self._is_left[place] = False
        self._count -= len(twice)
        return not twice

    def _hash(self, id: str) -> int:
        return hash((self._salt, id))

    def _place(self, id: str) -> int | None:
        wanted = self._hash(id)
        place = bisect_left(self._hashes, wanted)
        return place if place < len(self._hashes) and self._hashes[place] == wanted else None

    def put(self, id: str, *, is_left: bool) -> None:
        """Raises KeyError for a case that is none of the run."""
        if (place := self._place(id)) is None:
            raise KeyError(id)
        self._count += is_left - self._is_left[place]
        self._is_left[place] = is_left

    def __getitem__(self, id: str) -> CaseRecord:
        place = self._place(id)
        if place is None or not self._is_left[place]:
            raise KeyError(id)
        return self._kinds[self._kind_of[place]]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return (one.id for one in self._cases if one.id in self)

    @property
    def skipped(self) -> Iterator[tuple[str, str]]:
        """Those that the suite itself skips, with the reason."""
        if any(one.case.skip is not None for one in self._kinds):
            yield from (
                (id, one.case.skip) for id, one in self.items() if one.case.skip is not None
            )


class WatchedRecord(SuiteRecord):
    """`left` are the cases without a result, by id, `bad` counts those that did not pass. Cases are
    read from the store, one at a time, whenever they are gone through. Until `ask_again` those are
    kept too whose result is that of a limit.
    """

    def __init__(
        self, run: str, store: Store, reading: Callable[[], AbstractContextManager[Store]]
    ) -> None:
        started = started_of(store, run)
        super().__init__(replace(started, cases=()), run=run)
        self._id, self._reading = run, reading
        self.count, self.bad = len(started.cases), 0
        self.left = UnfinishedCases(
            started.cases, lambda recorded: replace(self.case_record(recorded), is_brief=True)
        )
        self._under_way = dict[str, CaseRecord]()
        self._limited: dict[str, CaseRecord] | None = {}
        self._passed_by: list[str] = []

    def add_to_case(self, event: OutputProduced | AttemptJudged | CasePassedBy) -> None:
        id = event.case
        one = self._under_way.pop(id, None) or (self._limited or {}).pop(id, None)
        if one is None:
            if id not in self.left:  # it is over
                return
            one = replace(self.left[id], made={})
        self.bad -= _is_bad(one)
        one.add(event)
        self.bad += _is_bad(one)
        if not one.is_complete and one.passed_by is None:
            self._under_way[id] = one
            return
        self.left.put(id, is_left=False)
        if self._limited is not None and (one.is_refused or one.is_cut_short):
            self._limited[id] = one

    def ask_again(self) -> None:
        """What a limit refused or passed by is left again: the run that is taken up may have room
        for it.
        """
        for id, one in (self._limited or {}).items():
            self._passed_by += [id] if one.is_cut_short else []
            self.bad -= _is_bad(one)
            one.passed_by = None
            one.ask_again()
            self._under_way[id] = one
            self.left.put(id, is_left=True)
        self._limited = None

    def leave_out_passed_by(self) -> None:
        """When no case is in the queue: nothing more is put on record of one that is passed by
        again.
        """
        for id in self._passed_by:
            self.left.put(id, is_left=False)

    def each(self, numbers: Iterable[int] | None = None) -> Iterator[CaseRecord]:
        with self._reading() as store:
            cases, events_of = started_of(store, self._id).cases, store.by_case(self._id)
            for recorded in cases if numbers is None else map(cases.__getitem__, numbers):
                one = self.case_record(recorded)
                for event in events_of(recorded.id):
                    if isinstance(event, OutputProduced | AttemptJudged | CasePassedBy):
                        one.add(event)
                yield one

    @property
    def tally(self) -> SuiteTally:
        """With the belief, from the same pass over the store."""
        if self._tally is None:
            believed, unasked = list[CaseBelief](), Unasked()

            def look() -> Iterator[CaseRecord]:
                for one in unasked.counted(map(_with_twin, self.each())):
                    if one.case.skip is None:
                        believed.append(one.believed_as)
                    yield one

            self._tally = tally_of(look())
            self._belief = (bar_of(believed, self.bar, self.each, unasked),)
        return self._tally

    @property
    def bar_belief(self) -> StatedBelief | None:
        assert self.tally is not None
        return super().bar_belief


def _is_bad(one: CaseRecord) -> bool:
    return one.is_complete and one.result.status is not Status.PASSED


def _with_twin(one: CaseRecord) -> CaseRecord:
    """As if another case had its contract: whether one does would take another pass."""
    one.has_twin = one.case.skip is None
    return one
