"""A suite's run as a table of cases without their texts: what is filtered, sorted and shown by
page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import CHECK
from honestone.core.statistics.labels import number_of
from honestone.report.documents.scorecard import CriterionDoc, ItemDoc, items_of
from honestone.report.documents.suite import WORST_FIRST, SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.misses import why
from honestone.system.drawing import line

MOST_COLUMNS: Final = 12
_SEARCHED: Final = 4000  # characters of each text
# How cases are sorted, in words. `by:ID` is by a criterion, its lowest score first.
SORTS: Final = {
    "status": "failed first",
    "order": "order of the file",
    "score": "lowest score first",
    "-score": "highest score first",
    "time": "longest first",
    "-time": "shortest first",
    "case": "by name",
}
_BY: Final = "by:"
# A `'` inside a word is an apostrophe.
_QUOTED: Final = r"(?:(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"|`[^`]*`)"
# One value, or several: `'a' or 'b'`.
_VALUES: Final = late_pattern(rf"(?:{_QUOTED}|\b\d[\d.,]*)(?:(?:, | or | and ){_QUOTED})*")
_VARYING: Final = late_pattern(rf"\d+|0x[0-9a-f]+|{_QUOTED}")


class CaseRow(Struct, frozen=True, kw_only=True):
    """One case. `case` is its document without texts, answers and attempts; `cells` its criteria by
    id, or by their column in a table; `words` what a search looks in.
    `attempts`: the status of each, where there are several; `scores`: by criterion the score of
        each, in points, where they differ.

    `alike`: why it has no result, without what differs between equal errors (numbers, names in
        quotes); empty where it has one.
    `apart`: the judges that left something open here, or answered otherwise than half of the
        others.
    """

    number: int
    case: CaseDoc
    why: str
    cells: dict[str, CriterionDoc]
    attempts: tuple[str, ...]
    scores: dict[str, tuple[float | None, ...]]
    words: str
    alike: str
    apart: frozenset[str]


class CaseFilter(Struct, frozen=True, kw_only=True):
    """What is shown. Every field empty: everything, failed first.

    `judge`: cases where it is `apart`; `below`: a score in points, `over`: seconds in the target,
        both as written;
    `unstable`: not empty for cases whose attempts disagree.
    """

    status: str = ""
    tag: str = ""
    split: str = ""
    criterion: str = ""
    judge: str = ""
    below: str = ""
    over: str = ""
    unstable: str = ""
    alike: str = ""
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
            and (not self.judge or self.judge in row.apart)
            and (not self.unstable or case.unstable)
            and (not self.alike or self.alike == row.alike)
            and self._is_within(case)
            and all(word in row.words for word in self.q.lower().split())
        )

    def _is_within(self, case: CaseDoc) -> bool:
        below, over = number_of(self.below), number_of(self.over)
        return (below is None or (case.score is not None and case.score < below)) and (
            over is None or (case.time or 0) > over * 1000
        )


class CaseTable(Struct, frozen=True, kw_only=True):
    """`report` is the run's document with the cases of the rows; `columns` the criteria that most
    cases have. A check of which most cases have another value is one column, with its cells.
    """

    report: SuiteReportDoc
    rows: tuple[CaseRow, ...]
    columns: tuple[str, ...]

    def chosen(self, wanted: CaseFilter) -> list[CaseRow]:
        rows = [row for row in self.rows if wanted.admits(row)]
        if wanted.sort.startswith(_BY):
            return sorted(rows, key=lambda row: _of_criterion(row, wanted.sort.removeprefix(_BY)))
        return sorted(rows, key=_KEYS.get(wanted.sort, _KEYS["status"]))

    @property
    def tags(self) -> list[str]:
        return sorted({tag for row in self.rows for tag in row.case.tags})

    @property
    def splits(self) -> list[str]:
        return sorted({row.case.split for row in self.rows if row.case.split})

    @property
    def judges(self) -> list[str]:
        """Those that are apart from most somewhere."""
        return sorted({judge for row in self.rows for judge in row.apart})

    @property
    def unstable(self) -> int:
        return sum(row.case.unstable for row in self.rows)

    @property
    def errors(self) -> list[tuple[str, int, CaseRow]]:
        """(what they have in common, how many, the first of them) of cases without a result that
        read alike, most frequent first.
        """
        kinds = Counter(row.alike for row in self.rows if row.alike)
        first = {row.alike: row for row in reversed(self.rows)}
        return [(words, number, first[words]) for words, number in kinds.most_common()]


def is_low(cell: CriterionDoc) -> bool:
    """Whether a criterion keeps a reader: below its floor, with an item that is not met, or not
    answered.
    """
    return cell.applies and (
        cell.below_floor or any(item.is_problem or item.is_unanswered for item in cell.items)
    )


def _of_criterion(row: CaseRow, id: str) -> tuple[bool, float, int]:
    score = row.cells[id].score if id in row.cells else None
    return (score is None, score or 0.0, row.number)


def _score(row: CaseRow) -> tuple[bool, float]:
    return (row.case.score is None, row.case.score or 0.0)


_KEYS: Final[dict[str, Callable[[CaseRow], tuple[object, ...]]]] = {
    "status": lambda row: (WORST_FIRST.index(row.case.status), row.number),
    "order": lambda row: (row.number,),
    "score": lambda row: (*_score(row), row.number),
    "-score": lambda row: (row.case.score is None, -(row.case.score or 0.0), row.number),
    "time": lambda row: (-(row.case.time or 0), row.number),
    "-time": lambda row: (row.case.time or 0, row.number),
    "case": lambda row: (row.case.id.lower(), row.number),
}


def case_table(head: SuiteReportDoc, cases: Iterable[CaseDoc]) -> CaseTable:
    """The table of a run, from its report without cases and the cases one at a time. It keeps no
    text but what a search looks in.
    """
    return table_of(head, tuple(case_row(number, case) for number, case in enumerate(cases, 1)))


def table_of(head: SuiteReportDoc, rows: tuple[CaseRow, ...]) -> CaseTable:
    """The same of rows that are at hand."""
    names = _shared_columns(rows)
    rows = tuple(_in_columns(row, names) for row in rows) if names else rows
    seen = Counter(id for row in rows for id in row.cells)
    most = {id for id, _ in seen.most_common(MOST_COLUMNS)}
    light = replace(head, cases=[row.case for row in rows])
    return CaseTable(report=light, rows=rows, columns=tuple(id for id in seen if id in most))


def _shared_columns(rows: Sequence[CaseRow]) -> dict[str, str]:
    """The column of each check that differs from others only in its values, by its id:
    `contains …`. A check that half of the cases have is a column of its own.
    """
    seen = Counter(id for row in rows for id in row.cells)
    judged = sum(1 for row in rows if row.cells)
    forms: dict[str, set[str]] = {}
    for row in rows:
        for id, cell in row.cells.items():
            # A group has criteria, and no items of its own.
            is_check = bool(cell.items) and all(item.kind == "check" for item in cell.items)
            if is_check and seen[id] * 2 < judged:
                forms.setdefault(_VALUES.sub("…", cell.requirement), set()).add(id)
    return {id: line(form, 60) for form, ids in forms.items() if len(ids) > 1 for id in ids}


def _in_columns(row: CaseRow, names: Mapping[str, str]) -> CaseRow:
    """Of checks of one form that a case has more than once, the second is in `FORM (2)`."""
    columns: dict[str, str] = {}
    counted = Counter[str]()
    for id in row.cells:
        name = names.get(id, id)
        counted[name] += 1
        columns[id] = name if counted[name] == 1 else f"{name} ({counted[name]})"
    return replace(
        row,
        cells={columns[id]: cell for id, cell in row.cells.items()},
        scores={columns.get(id, id): scores for id, scores in row.scores.items()},
    )


def case_row(number: int, case: CaseDoc) -> CaseRow:
    missed = why(case)
    texts: Sequence[object] = (case.input, case.output, case.error)
    searched = " ".join(
        [
            case.id,
            case.description or "",
            *case.tags,
            *missed,
            *(text_of(one)[:_SEARCHED] for one in texts),
        ]
    )
    bare = replace(case.without_texts, criteria=[], judges=[])
    cells = {
        one.id: replace(one, items=[_bare(item) for item in one.items])
        for one in case.criteria
        if one.parent is None
    }
    why_not = line("; ".join(missed[:2]), 600)
    has_result = case.status in ("passed", "failed", "skipped")
    return CaseRow(
        number=number,
        case=bare,
        why=why_not,
        alike="" if has_result else line(f"{case.status}: {_VARYING.sub('…', why_not)}", 250),
        apart=frozenset(_apart(case)),
        cells=cells,
        attempts=tuple(one.status for one in case.attempts) if len(case.attempts) > 1 else (),
        scores=dict(_scores(case)),
        words=searched.lower(),
    )


def _scores(case: CaseDoc) -> Iterator[tuple[str, tuple[float | None, ...]]]:
    """Of the criteria that attempts score differently; an attempt in which nothing was judged has
    none.
    """
    attempts = [one.scores or {} for one in case.attempts]
    for id in dict.fromkeys(id for scores in attempts for id in scores):
        found = tuple(scores.get(id) for scores in attempts)
        if len(set(found)) > 1:
            yield id, found


def _apart(case: CaseDoc) -> Iterator[str]:
    yield from (judge.id for judge in case.judges if judge.is_absent)
    for _, item in items_of(case.criteria):
        votes = {judge: answer for judge, answer in item.votes.items() if judge != CHECK}
        if len(set(votes.values())) > 1:
            counted = Counter(votes.values())
            yield from (
                judge for judge, answer in votes.items() if counted[answer] * 2 <= len(votes)
            )


def _bare(item: ItemDoc) -> ItemDoc:
    return replace(item, evidence=[], suggestions=[], suggestion=None)
