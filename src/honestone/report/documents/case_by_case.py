"""The report of a suite's run whose cases are drawn one at a time, so that none is held longer than
it takes to write it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from honestone.report.documents.suite import WORST_FIRST, SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc


class ReportCases(Protocol):
    """The cases of a report in the file's order, drawn each time they are gone through."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[CaseDoc]: ...

    def of(self, numbers: Iterable[int]) -> Iterator[CaseDoc]:
        """Those of these numbers, from 0, in this order."""
        ...


class HeldCases(Struct, frozen=True):
    """Cases that are all at hand."""

    held: Sequence[CaseDoc]

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Iterator[CaseDoc]:
        return iter(self.held)

    def of(self, numbers: Iterable[int]) -> Iterator[CaseDoc]:
        return (self.held[number] for number in numbers)


class SuiteReport(Struct, frozen=True):
    """A run's report. `head` is all of it but the cases, which are drawn one at a time; of a whole
    document it is all.
    """

    head: SuiteReportDoc
    cases: ReportCases

    @classmethod
    def of(cls, report: SuiteReportDoc | SuiteReport) -> SuiteReport:
        return report if isinstance(report, SuiteReport) else cls(report, HeldCases(report.cases))

    @property
    def whole(self) -> SuiteReportDoc:
        return replace(self.head, cases=list(self.cases))

    def brief(self, look: Callable[[CaseDoc], object] = lambda case: None) -> SuiteReportDoc:
        """The report with what is counted and sorted by of each case. `look` is shown each one
        whole.
        """
        briefs = []
        for case in self.cases:
            look(case)
            briefs.append(case if isinstance(self.cases, HeldCases) else case.brief)
        return replace(self.head, cases=briefs)

    def worst_first(self, brief: SuiteReportDoc) -> Iterator[CaseDoc]:
        """The cases whole, with those in front that did not pass."""
        order = [WORST_FIRST.index(case.status) for case in brief.cases]
        return self.cases.of(sorted(range(len(order)), key=order.__getitem__))
