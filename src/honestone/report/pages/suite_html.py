"""A suite run as one HTML page: every case as plain elements, folded; the script only opens, sorts
and filters. And comparisons of two runs, and tables of several columns, as pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from honestone.core.judging.ballot import CHECK
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.scorecard import CriterionDoc, items_of
from honestone.report.documents.suite import ComparedCaseDoc, ComparisonDoc, SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc, TraceDoc, text_of
from honestone.report.documents.table import TableDoc
from honestone.report.pages.case_table import CaseRow
from honestone.report.pages.html_page import draw_page, draw_pieces
from honestone.report.pages.judged_texts.quote_marks import MarkedText, longest_text
from honestone.report.pages.page_of import PageOf
from honestone.report.pages.part_of import PartOf
from honestone.report.pages.sharing import HeldTexts, SharedPage, SharedPieces, case_words
from honestone.system.drawing import count, line

MOST_PAIRS: Final = 24
MOST_TEXTS: Final = 200  # changed cases with both outputs
MOST_WHOLE: Final = 1000  # cases of a page that has everything of the passed ones too


def suite_html(doc: SuiteReportDoc, *, has_all: bool = False) -> SharedPage:
    """One run of a suite (`honestone.report/1`) as a whole page. Of more than 1,000 cases those
    that passed are without their texts and answers, unless it `has_all`: no browser opens
    everything of 10,000.
    """
    return suite_pieces(SuiteReport.of(doc), has_all=has_all).whole


def suite_pieces(report: SuiteReport, *, has_all: bool = False) -> SharedPieces:
    """The same piece by piece."""
    page = SuitePage(report, has_all=has_all)
    doc = page.doc
    names = [*page.names, doc.target or "", doc.baseline.name if doc.baseline else ""]
    return draw_pieces(
        "suite.html.j2", script="page.js", names=names, holds=page.holds, doc=doc, page=page
    )


def comparison_html(
    doc: ComparisonDoc,
    *,
    answers: Sequence[Mapping[str, CaseRow]] = (),
    served: str = "",
    has_all: bool = False,
) -> str:
    """Two runs of a suite compared (`honestone.comparison/1`) as a whole page. `answers`: the cases
    of both runs by id, where their answers are to be shown; it `has_all` cases, those that changed
    first.
    """
    page = _Changes(doc, answers)
    shown = page.changed[:MOST_TEXTS]
    texts = {
        "input": [case.input for case in shown],
        "output": [side.output for case in shown for side in (case.baseline, case.candidate)],
    }
    holds = [count(sum(map(bool, values)), name) for name, values in texts.items() if any(values)]
    return draw_page(
        "comparison.html.j2",
        served=served,
        names=page.judges,
        holds=holds,
        doc=doc,
        page=page,
        most_texts=MOST_TEXTS,
        has_all=has_all,
    )


def table_html(
    doc: TableDoc, *, served: str = "", pages: PageOf | None = None, asked: Mapping[str, str] = {}
) -> str:
    """A table (`honestone.table/1`) as a whole page. A server shows it by page: then `doc` has the
    cases of one of the `pages`, and `asked` is what they were filtered by.
    """
    sizes = (
        len(text_of(text))
        for case in doc.cases
        for cell in case.cells
        for text in (cell.output, cell.error)
    )
    names = [
        name
        for one in doc.columns
        for name in (one.target or "", *(judge.id for judge in one.judges))
    ]
    shown = [
        replace(cell, input=None if number else cell.input, reference=None, diff=None, trace=None)
        for case in doc.cases
        for number, cell in enumerate(case.cells)
    ]
    holds = case_words(shown)
    page = {"longest": longest_text(sizes)}
    return draw_page(
        "table.html.j2",
        served=served,
        names=names,
        holds=holds,
        doc=doc,
        page=page,
        pages=pages,
        asked=asked,
    )


class _Changes:
    """What changed between two runs: `ids` are of the cases that the page can link to."""

    def __init__(
        self, compared: ComparisonDoc | None, answers: Sequence[Mapping[str, CaseRow]] = ()
    ) -> None:
        self._answers = answers
        self.changed = compared.changed if compared else []
        self.ids = frozenset(case.id for case in self.changed[:MOST_TEXTS])
        self._pairs = [case for case in self.changed if case.delta is not None]
        changed = {case.id for case in self.changed}
        self.same = [case for case in compared.cases if case.id not in changed] if compared else []

    def answers(self, id: str) -> list[tuple[str, CriterionDoc | None, CriterionDoc | None]]:
        """(criterion, before, after) where the two differ, in score or in an answer."""
        sides = [rows[id].cells if id in rows else {} for rows in self._answers]
        if len(sides) != 2:
            return []
        old, new = sides
        found = [(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])]
        return [one for one in found if _score_and_votes(one[1]) != _score_and_votes(one[2])]

    @property
    def judges(self) -> list[str]:
        """Those whose answers the page shows."""
        rows = [
            rows[case.id]
            for rows in self._answers
            for case in self.changed[:MOST_TEXTS]
            if case.id in rows
        ]
        cells = [cell for row in rows for cell in row.cells.values()]
        return list(
            dict.fromkeys(
                judge for _, item in items_of(cells) for judge in item.votes if judge != CHECK
            )
        )

    @property
    def pairs(self) -> list[ComparedCaseDoc]:
        """The cases that changed, the largest loss first; of many those that changed most."""
        most = sorted(self._pairs, key=lambda case: -abs(case.delta or 0))[:MOST_PAIRS]
        shown = {case.id for case in most}
        return [case for case in self._pairs if case.id in shown]

    @property
    def hidden_pairs(self) -> int:
        return max(len(self._pairs) - MOST_PAIRS, 0)


class SuitePage(_Changes):
    """What a page knows besides its document: the numbers of the judges, and how long a text may
    be.
    """

    def __init__(
        self,
        report: SuiteReportDoc | SuiteReport,
        *,
        has_all: bool = False,
        part: PartOf | None = None,
    ) -> None:
        self._report = SuiteReport.of(report)
        self._hides_passed = len(self._report.cases) > MOST_WHOLE and not has_all
        self._part = part
        self._short = 0
        self._held = HeldTexts()
        self._voters: dict[str, None] = {}
        self._sizes: list[int] = []
        self.doc = doc = self._report.brief(self._look)
        super().__init__(doc.compared)
        # A page of one part of a run, a case, has no list of the judges of the run.
        self.listed = [] if part else doc.judge_states
        self.names = list(dict.fromkeys([*(one.id for one in doc.judge_states), *self._voters]))
        self.numbers = {name: number for number, name in enumerate(self.names, 1)}
        self.longest = longest_text(self._sizes)
        self.order = {case.id: number for number, case in enumerate(doc.cases, 1)}
        self.ids = frozenset(self.order)
        self.changes = {case.id: case for case in doc.compared.cases} if doc.compared else {}
        self.tags = sorted({line(tag) for case in doc.cases for tag in case.tags})
        self.splits = sorted({line(case.split) for case in doc.cases if case.split})

    def _look(self, case: CaseDoc) -> None:
        """What has to be known of a case before the page is begun."""
        if self.is_short(case):
            self._short += 1
            return
        votes = (item.votes for _, item in items_of(case.criteria))
        self._voters.update((judge, None) for voted in votes for judge in voted if judge != CHECK)
        self._sizes += [size for size in _sizes(case) if size]
        self._held.add(case)

    @property
    def holds(self) -> list[str]:
        """In words which texts it has."""
        return self._held.words

    @property
    def worst_first(self) -> Iterator[CaseDoc]:
        """The cases, each drawn in its turn."""
        return self._report.worst_first(self.doc)

    def is_short(self, case: CaseDoc) -> bool:
        """Whether its texts and answers are left out."""
        return self._hides_passed and case.status == "passed"

    @property
    def remarks(self) -> list[str]:
        """What the page leaves out, and where it is."""
        if not self._short:
            return []
        run = self.doc.run
        where = f"honestone show {line(run)} --format html --all" if run else "--json"
        what = f"{self._short:,} passed cases are shown without their texts and answers"
        return [f"more than {MOST_WHOLE:,} cases: {what}; all of it: {where}"]

    def marked(self, case: CaseDoc, index: int) -> MarkedText:
        return MarkedText(
            text_of(case.output),
            f"q{index}",
            names=self.names,
            longest=self.longest,
            part=self._part,
        )

    def calls(self, trace: TraceDoc) -> tuple[list[tuple[str, list[str]]], bool]:
        """(name, what it was given and gave) of the calls that the page has room for, and whether
        there are more.
        """
        calls: list[tuple[str, list[str]]] = []
        left = self.longest
        for call in trace.tool_calls or ():
            if left <= 0:
                return calls, True
            shown = []
            for text in (
                text_of(value)
                for value in (call.arguments, call.result)
                if value not in ("", {}, [])
            ):
                if text:
                    shown.append(text if len(text) <= left else f"{text[: max(left, 0)]}…")
                    left -= len(text)
            calls.append((call.name, shown))
            left -= 1
        return calls, False


def _score_and_votes(one: CriterionDoc | None) -> tuple[float | None, list[str]]:
    return (None, []) if one is None else (one.score, [item.vote_words for item in one.items])


def _sizes(case: CaseDoc) -> Iterator[int]:
    for value in (case.input, case.reference, case.output, case.diff):
        yield len(text_of(value))
    yield _trace_size(case.trace)
    for one in case.attempts if len(case.attempts) > 1 else ():
        yield len(text_of(one.output))
        yield len(one.diff or "")
        yield _trace_size(one.trace)


def _trace_size(trace: TraceDoc | None) -> int:
    calls = trace.tool_calls or () if trace else ()
    return sum(len(text_of(part)) for call in calls for part in (call.arguments, call.result))
