"""The pages that a server shows of a store, drawn from the same documents and by the same templates as the files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from msgspec.structs import replace

from honestone.core.ballot import CHECK
from honestone.report.case_table import SORTS, CaseFilter, CaseRow, CaseTable, is_low
from honestone.report.documents.scorecard import ScorecardDoc, items_of
from honestone.report.documents.suite import STATUSES, CaseDoc, SuiteReportDoc, TrendDoc
from honestone.report.html_page import draw_page
from honestone.report.quote_marks import LONGEST, MarkedText
from honestone.report.suite_html import SuitePage

ROWS: Final = 100
"""Rows of a table on one page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A run in the list: `look` is how its result is coloured, `words` what it came to."""

    id: str
    started: str
    kind: str
    subject: str
    look: str
    result: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOf:
    """Which page of a long table this is: `number` from 1 on, of `total` rows. `query` is the rest of the address."""

    number: int
    total: int
    query: dict[str, str]

    @property
    def last(self) -> int:
        return max(1, -(-self.total // ROWS))

    @property
    def first_row(self) -> int:
        return (self.number - 1) * ROWS

    def link(self, number: int) -> str:
        return "?" + urlencode({**self.query, "page": str(number)}, errors="backslashreplace")

    def sorted_by(self, key: str) -> str:
        return "?" + urlencode({**self.query, "sort": key}, errors="backslashreplace")


def runs_html(runs: Sequence[RunLine], pages: PageOf, kinds: Sequence[str], asked: dict[str, str]) -> str:
    return draw_page("view_runs.html.j2", served="runs", runs=runs, pages=pages, kinds=kinds, asked=asked)


def scorecard_html(doc: ScorecardDoc, text: str | None, *, served: str = "") -> str:
    """One artifact with every answer, and the text that was judged with the quotes marked in it; None: it is not on record."""
    judges = [one.id for one in doc.judges]
    voters = [judge for _, item in items_of(doc.criteria) for judge in item.votes if judge != CHECK]
    names = list(dict.fromkeys([*judges, *voters]))
    numbers = {name: number for number, name in enumerate(names, 1)}
    marked = MarkedText(text or "", "q", names=names, longest=LONGEST, of="text")
    page = {"names": names, "numbers": numbers, "longest": LONGEST}
    return draw_page("scorecard.html.j2", served=served, doc=doc, page=page, marked=marked, has_text=text is not None)


def scorecards_html(docs: Sequence[ScorecardDoc], run: str, *, served: str) -> str:
    """Several artifacts as a table; `docs` are on one page of it."""
    return draw_page("view_artifacts.html.j2", served=served, docs=docs, run=run)


def case_table_html(table: CaseTable, rows: Sequence[CaseRow], pages: PageOf, asked: CaseFilter) -> str:
    """A suite's run by page. `rows` are those of the page."""
    return draw_page(
        "view_suite.html.j2",
        served="suite",
        doc=table.report,
        page=SuitePage(table.report, has_all=True),
        table=table,
        rows=rows,
        pages=pages,
        asked=asked,
        statuses=STATUSES,
        sorts=SORTS,
        is_low=is_low,
    )


def case_html(doc: SuiteReportDoc, case: CaseDoc, attempt: int | None) -> str:
    """One case with everything of it. `doc` is the report that it is in; `attempt` marks the one that was asked for."""
    page = SuitePage(replace(doc, cases=[case]))
    return draw_page("view_case.html.j2", served="case", doc=doc, case=case, page=page, attempt=attempt)


def trend_html(doc: TrendDoc) -> str:
    return draw_page("view_trend.html.j2", served="trend", doc=doc)


def text_html(title: str, text: str, *, served: str) -> str:
    """What a command prints, as it is."""
    return draw_page("view_text.html.j2", served=served, title=title, text=text)


def said_html(title: str, lines: Sequence[str], *, served: str = "error") -> str:
    """A few lines, as of an error."""
    return draw_page("view_said.html.j2", served=served, title=title, lines=lines)
