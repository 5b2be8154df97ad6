"""A suite's run as a table of cases without their texts: what is filtered, sorted and shown by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from honestone.report.documents.scorecard import CriterionDoc, ItemDoc
from honestone.report.documents.suite import WORST_FIRST, CaseDoc, SuiteReportDoc, text_of
from honestone.report.misses import why
from honestone.system.drawing import line

MOST_COLUMNS: Final = 12
_SEARCHED: Final = 4000  # characters of each text
SORTS: Final = ("status", "order", "score", "time", "case")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    """One case. `case` is its document without texts, answers and attempts; `cells` its criteria by id; `words` what a search looks in."""

    number: int
    case: CaseDoc
    why: str
    cells: dict[str, CriterionDoc]
    attempts: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """What is shown. Every field empty: everything, in the order of the file's statuses, failed first."""

    status: str = ""
    tag: str = ""
    split: str = ""
    criterion: str = ""
    q: str = ""
    sort: str = "status"

    def admits(self, row: CaseRow) -> bool:
        case = row.case
        cell = row.cells.get(self.criterion)
        return (
            (not self.status or case.status == self.status)
            and (not self.tag or self.tag in case.tags)
            and (not self.split or self.split == case.split)
            and (not self.criterion or (cell is not None and is_low(cell)))
            and all(word in row.words for word in self.q.lower().split())
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseTable:
    """`report` is the run's document with the cases of the rows; `columns` the ids of the criteria that most cases have."""

    report: SuiteReportDoc
    rows: tuple[CaseRow, ...]
    columns: tuple[str, ...]

    def chosen(self, wanted: CaseFilter) -> list[CaseRow]:
        rows = [row for row in self.rows if wanted.admits(row)]
        return sorted(rows, key=_KEYS.get(wanted.sort, _KEYS["status"]))

    @property
    def tags(self) -> list[str]:
        return sorted({tag for row in self.rows for tag in row.case.tags})

    @property
    def splits(self) -> list[str]:
        return sorted({row.case.split for row in self.rows if row.case.split})

    @property
    def errors(self) -> list[tuple[str, int, str]]:
        """(what went wrong, how often, the first case) of target errors that read alike, most frequent first."""
        kinds = Counter(row.why for row in self.rows if row.case.status == "target-error")
        first = {row.why: row.case.id for row in reversed(self.rows)}
        return [(words, number, first[words]) for words, number in kinds.most_common()]


def is_low(cell: CriterionDoc) -> bool:
    """Whether a criterion keeps a reader: below its floor, with an item that is not met, or not answered."""
    return cell.applies and (cell.below_floor or any(item.is_problem or item.is_unanswered for item in cell.items))


def _score(row: CaseRow) -> tuple[bool, float]:
    return (row.case.score is None, row.case.score or 0.0)


_KEYS: Final[dict[str, Callable[[CaseRow], tuple[object, ...]]]] = {
    "status": lambda row: (WORST_FIRST.index(row.case.status), row.number),
    "order": lambda row: (row.number,),
    "score": lambda row: (*_score(row), row.number),
    "time": lambda row: (-(row.case.time or 0), row.number),
    "case": lambda row: (row.case.id.lower(), row.number),
}


def case_table(head: SuiteReportDoc, cases: Iterable[CaseDoc]) -> CaseTable:
    """The table of a run, from its report without cases and the cases one at a time. It keeps no text but what a search looks in."""
    rows = tuple(_row(number, case) for number, case in enumerate(cases, 1))
    seen = Counter(id for row in rows for id in row.cells)
    most = {id for id, _ in seen.most_common(MOST_COLUMNS)}
    light = replace(head, cases=[row.case for row in rows])
    return CaseTable(report=light, rows=rows, columns=tuple(id for id in seen if id in most))


def _row(number: int, case: CaseDoc) -> CaseRow:
    missed = why(case)
    texts: Sequence[object] = (case.input, case.output, case.error)
    said = " ".join(
        [case.id, case.description or "", *case.tags, *missed, *(text_of(one)[:_SEARCHED] for one in texts)]
    )
    bare = replace(
        case, criteria=[], judges=[], attempts=[], input=None, reference=None, output=None, diff=None, trace=None
    )
    cells = {
        one.id: replace(one, items=[_bare(item) for item in one.items]) for one in case.criteria if one.parent is None
    }
    return CaseRow(
        number=number,
        case=bare,
        why=line("; ".join(missed[:2]), 600),
        cells=cells,
        attempts=tuple(one.status for one in case.attempts) if len(case.attempts) > 1 else (),
        words=said.lower(),
    )


def _bare(item: ItemDoc) -> ItemDoc:
    return replace(item, evidence=[], suggestions=[], suggestion=None)
