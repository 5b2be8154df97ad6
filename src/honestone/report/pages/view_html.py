"""The pages that a server shows of a store, drawn from the same documents and by the same templates
as the files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from msgspec import Struct
from msgspec.structs import replace

from honestone.report.documents.run_list import RunRow
from honestone.report.documents.scorecard import ScorecardDoc
from honestone.report.documents.suite import SuiteReportDoc, TrendDoc
from honestone.report.documents.suite_case import STATUSES, CaseDoc
from honestone.report.pages.case_table import SORTS, CaseFilter, CaseRow, CaseTable
from honestone.report.pages.html_page import draw_page
from honestone.report.pages.judged_texts.judged_text import JudgedText
from honestone.report.pages.judged_texts.quote_marks import longest_text
from honestone.report.pages.page_of import PageOf
from honestone.report.pages.part_of import PartOf
from honestone.report.pages.sharing import answer_words
from honestone.report.pages.suite_html import MOST_WHOLE, SuitePage
from honestone.system.drawing import count


def runs_html(
    runs: Sequence[RunRow], pages: PageOf, kinds: Sequence[str], asked: dict[str, str]
) -> str:
    return draw_page(
        "view_runs.html.j2", served="runs", runs=runs, pages=pages, kinds=kinds, asked=asked
    )


def scorecard_html(
    doc: ScorecardDoc,
    text: str | None,
    *,
    served: str = "",
    beyond: int = 0,
    part: PartOf | None = None,
) -> str:
    """One artifact with every answer, and the text that was judged with the quotes marked in it;
    None:
    it is not on record.
    `beyond`: how many more artifacts its run has. `part`: which part of a long text it shows.
    """
    page = JudgedText(doc=doc, text=text, part=part)
    return draw_page(
        "scorecard.html.j2",
        served=served,
        names=page.names,
        holds=page.holds,
        page=page,
        doc=doc,
        beyond=beyond,
        part=part,
    )


def scorecards_html(
    docs: Sequence[tuple[int, ScorecardDoc]],
    run: str,
    *,
    pages: PageOf,
    of_all: int,
    asked: str,
    name: str = "",
) -> str:
    """Several artifacts as a table, served by page: `docs` are those of the page with their numbers
    in the run, which has `of_all`; `asked` is the verdict that they have. `name`: of the table
    whose rows they are.
    """
    return draw_page(
        "view_artifacts.html.j2",
        name=name,
        served="eval",
        docs=[doc for _, doc in docs],
        numbers=[number for number, _ in docs],
        run=run,
        pages=pages,
        total=of_all,
        asked=asked,
        opened=(),
        is_cut=False,
    )


def artifacts_html(
    found: Sequence[tuple[ScorecardDoc, str | None]], run: str, *, has_all: bool = False
) -> str:
    """Several artifacts in one file: the table, and each with its answers and its text. Of more
    than 1,000 those that passed are without, unless it `has_all`.
    """
    is_cut = len(found) > MOST_WHOLE and not has_all
    longest = longest_text(len(text or "") for _, text in found)
    opened = [
        JudgedText(
            doc=doc,
            text=text,
            number=number,
            longest=longest,
            is_short=is_cut and doc.verdict == "pass",
        )
        for number, (doc, text) in enumerate(found, 1)
    ]
    held = [one for one in opened if not one.is_short]
    holds = [
        count(
            sum(one.text is not None for one in held),
            "text that was judged",
            "texts that were judged",
        )
    ]
    holds += answer_words([criterion for one in held for criterion in one.doc.criteria])
    return draw_page(
        "view_artifacts.html.j2",
        name="",
        names=[name for one in opened for name in one.names],
        holds=holds,
        docs=[doc for doc, _ in found],
        total=len(found),
        run=run,
        opened=opened,
        is_cut=is_cut,
    )


def stages_html(doc: Mapping[str, object], *, served: str = "") -> str:
    """A run of stages (`honestone.pipeline/1`): what was tried on a skill, and what the gate said."""
    return draw_page("view_stages.html.j2", served=served, doc=doc)


def case_table_html(
    table: CaseTable, rows: Sequence[CaseRow], pages: PageOf, asked: CaseFilter
) -> str:
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
        among=CaseAmong(query=pages.query),
    )


class CaseAmong(Struct, frozen=True, kw_only=True):
    """Where a case is among those that a filter shows: `query` is the filter's, `before` and
    `after` are ids.
    """

    query: dict[str, str]
    before: str | None = None
    after: str | None = None
    number: int = 0
    total: int = 0

    def link(self, id: str) -> str:
        return "?" + urlencode({"id": id, **self.query}, errors="backslashreplace")

    @property
    def all(self) -> str:
        return "?" + urlencode(self.query, errors="backslashreplace") if self.query else ""


def case_html(doc: SuiteReportDoc, case: CaseDoc, among: CaseAmong, part: PartOf) -> str:
    """One case with everything of it, and links to the answers to its other attempts. `doc` is the
    report that it is in; of long texts one `part` is shown.
    """
    page = SuitePage(replace(doc, cases=[case]), part=part)
    return draw_page(
        "view_case.html.j2", served="case", doc=doc, case=case, page=page, among=among, part=part
    )


def trend_html(doc: TrendDoc) -> str:
    return draw_page("view_trend.html.j2", served="trend", doc=doc)


def text_html(title: str, text: str, *, served: str = "") -> str:
    """What a command prints, as it is."""
    return draw_page("view_text.html.j2", served=served, title=title, text=text)


def lines_html(title: str, lines: Sequence[str], *, served: str = "error") -> str:
    """A few lines, as of an error."""
    return draw_page("view_said.html.j2", served=served, title=title, lines=lines)
