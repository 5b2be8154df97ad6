"""The addresses of the server, and what each shows. Nothing here writes, and nothing is shown that
a command does not print.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Final

from msgspec import structs

from honestone.app.runs.records import RunRecord
from honestone.core.errors import ContractMismatch, HonestoneError, StoreError
from honestone.report.documents.run_list import RunRow
from honestone.report.documents.suite_case import text_of
from honestone.report.documents.table import TableCaseDoc, TableDoc
from honestone.report.formats import draw
from honestone.report.pages import view_html
from honestone.report.pages.case_table import SORTS, CaseFilter, CaseTable
from honestone.report.pages.improvement_html import versions_html
from honestone.report.pages.live_html import LivePart, moving, unchanged_html
from honestone.report.pages.page_of import ROWS, PageOf
from honestone.report.pages.part_of import PartOf
from honestone.report.pages.suite_html import comparison_html, table_html
from honestone.system.drawing import Style
from honestone.view.judges import judges_page
from honestone.view.now import ASKED, list_part, live_part
from honestone.view.reading import Viewer, diff_of_versions, pipeline_json, require_suites, run_json
from honestone.view.served import Query, Served, refused, static, whole_number
from honestone.view.served import as_json as _json
from honestone.view.served import page as _page

_FILTERS: Final = (
    "status",
    "tag",
    "split",
    "criterion",
    "judge",
    "below",
    "over",
    "unstable",
    "alike",
    "q",
)
# Runs that `runs --json` lists where no number is given.
_LISTED: Final = 20
_KINDS: Final = (
    "eval",
    "suite",
    "table",
    "improve",
    "stages",
    "noise",
    "audit",
    "calibrate",
    "imported",
    "column",
)
_NOTHING_YET: Final = "Nothing of this run is judged yet."
_NOT_MEASURED: Final = "The figures are shown once every question is answered."


class Pages:
    """Every page of the server. Safe to use from several threads."""

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        run, name = "([0-9A-Za-z]+)", r"([a-z]+\.[a-z]+)"
        self._routes: list[tuple[re.Pattern[str], Callable[..., Served]]] = [
            (re.compile("/"), self._runs),
            (re.compile("/live"), self._runs),
            (re.compile(f"/static/{name}"), lambda query, name: static(name)),
            (re.compile(f"/run/{run}"), self._run),
            (re.compile(f"/run/{run}/live"), self._run_now),
            (re.compile(f"/run/{run}/case"), self._case),
            (re.compile(f"/run/{run}/versions"), self._versions),
            (re.compile(f"/run/{run}/judges"), self._judges),
            (re.compile(f"/compare/{run}/{run}"), self._compare),
            (re.compile("/compare"), self._compare_chosen),
            (re.compile("/trend"), self._trend),
            (re.compile("/api/runs"), self._runs_json),
            (re.compile(f"/api/run/{run}"), self._run_json),
            (re.compile(f"/api/compare/{run}/{run}"), self._compare_json),
        ]

    def answer(self, path: str, query: Query) -> Served:
        """What an address shows; an error is a page too."""
        for pattern, show in self._routes:
            match = pattern.fullmatch(path)
            if match is not None:
                try:
                    return show(query, *match.groups())
                except HonestoneError as error:
                    return _error(error)
        return refused(404)

    @property
    def posts(self) -> tuple[str, ...]:
        return ()

    def take(self, path: str, sent: bytes) -> Served:
        """Nothing: these pages only show."""
        return refused(405)

    # --------------------------------------------------------------------------------------------------------
    # runs

    def _runs(self, query: Query) -> Served:
        asked = {name: query.get(name, "")[:300] for name in ("q", "kind", "result")}
        pages = _page_of(query, 0)
        runs = self._viewer.runs(
            kind=asked["kind"] or None,
            verdict=asked["result"] or None,
            words=asked["q"],
            first=pages.first_row,
            count=ROWS,
        )
        pages = PageOf(number=pages.number, total=runs.total, query=_filters_of(query))
        rows = [_as_it_is_now(row, runs.now.get(row.id)) for row in runs.runs]
        part = list_part(rows, runs.total)
        if query.get("after") == part.seq:
            return _page(unchanged_html(part))
        with moving(part):
            return _page(view_html.runs_html(rows, pages, _KINDS, asked))

    def _runs_json(self, query: Query) -> Served:
        return _json([run.to_plain() for run in self._viewer.newest_runs(_LISTED)])

    # ---------------------------------------------------------------------------------------------------
    # one run

    def _run(self, query: Query, name: str) -> Served:
        with self._viewer.run(name) as record:
            is_finished = record.info.finished is not None
            return self._whole(
                record, query, None if is_finished else live_part(record.store, record.info)
            )

    def _run_now(self, query: Query, name: str) -> Served:
        """The page of a run with how far it is; that alone where nothing else is new, or wanted."""
        with self._viewer.run(name) as record:
            part = live_part(record.store, record.info)
            shown = query.get("after", "")[:40]
            if shown == part.seq or (query.get("rows") == "0" and part.state != "finished"):
                return _page(unchanged_html(part.of_page(shown)))
            return self._whole(record, query, part)

    def _whole(self, record: RunRecord, query: Query, part: LivePart | None) -> Served:
        with moving(part):
            return self._drawn(record, query, is_one_of_many=part is not None and part.total > 1)

    def _drawn(self, record: RunRecord, query: Query, *, is_one_of_many: bool) -> Served:
        match record.info.kind:
            case "eval":
                return self._scorecards(record, query, is_one_of_many=is_one_of_many)
            case "improve":
                return _page(
                    record.improvement_page(
                        served="improve", is_side_by_side=query.get("diff") == "side"
                    )
                )
            case "suite" | "column":
                return self._cases(record, query)
            case "table":
                return _table(record.table(), query)
            case "stages":
                return _page(
                    view_html.stages_html(
                        pipeline_json(record, self._viewer.workspace), served="stages"
                    )
                )
            case "noise" | "audit" as kind if record.info.finished is None:
                return _page(
                    view_html.lines_html(
                        f"{kind}: {record.info.subject}", [_NOT_MEASURED], served=kind
                    )
                )
            case kind:
                text = draw(record.document(), "text", Style())
                return _page(
                    view_html.text_html(f"{kind}: {record.info.subject}", text, served=kind)
                )

    def _scorecards(self, record: RunRecord, query: Query, *, is_one_of_many: bool) -> Served:
        number = whole_number(query.get("artifact", ""))
        documents = list(enumerate(record.scorecards(), 1))
        if not documents:
            return _page(view_html.lines_html(record.info.subject, [_NOTHING_YET], served="eval"))
        if number is None and (len(documents) != 1 or is_one_of_many):
            asked = query.get("status", "")
            chosen = [(at, one) for at, one in documents if asked in ("", one.verdict)]
            pages = _page_of(query, len(chosen))
            shown = chosen[pages.first_row : pages.first_row + ROWS]
            is_table = record.table_columns is not None
            return _page(
                view_html.scorecards_html(
                    shown,
                    record.info.id,
                    pages=pages,
                    of_all=len(documents),
                    asked=asked,
                    name=PurePath(record.info.subject).name if is_table else "",
                )
            )
        card = record.scorecard(number or 1)
        if card is None:
            return refused(404)
        return _page(
            view_html.scorecard_html(
                *card, served="scorecard", beyond=len(documents) - 1, part=_part(query)
            )
        )

    def _cases(self, record: RunRecord, query: Query) -> Served:
        table = self._viewer.table(record)
        asked = _filter_of(query)
        rows = table.chosen(asked)
        pages = _page_of(query, len(rows))
        shown = rows[pages.first_row : pages.first_row + ROWS]
        return _page(view_html.case_table_html(table, shown, pages, asked))

    def _case(self, query: Query, name: str) -> Served:
        with self._viewer.run(name) as record:
            require_suites(record)
            case = self._viewer.case(
                record, query.get("id", ""), whole_number(query.get("attempt", ""))
            )
            if case is None:
                return refused(404)
            table = self._viewer.table(record)
            among = _among(table, query, case.id)
            return _page(view_html.case_html(table.report, case, among, _part(query)))

    def _versions(self, query: Query, name: str) -> Served:
        """Two versions of a loop."""
        a, b = query.get("a", "original"), query.get("b", "best")
        with self._viewer.run(name) as record:
            diff = diff_of_versions(record, a, b)
            side = query.get("diff") == "side"
            return _page(versions_html(record.improvement()[0], a, b, diff, is_side_by_side=side))

    def _judges(self, query: Query, name: str) -> Served:
        with self._viewer.run(name) as record:
            return _page(judges_page(record))

    def _run_json(self, query: Query, name: str) -> Served:
        with self._viewer.run(name) as record:
            return _json(run_json(record, self._viewer.workspace))

    # ------------------------------------------------------------------------------------------------
    # several runs

    def _compare(self, query: Query, before: str, after: str) -> Served:
        comparison = self._viewer.compare(before, after)
        answers = self._viewer.rows(comparison.baseline or "", comparison.candidate or "")
        return _page(
            comparison_html(
                comparison, answers=answers, served="compare", has_all=bool(query.get("all"))
            )
        )

    def _compare_chosen(self, query: Query) -> Served:
        """The same, chosen in the list of runs."""
        return self._compare(query, query.get("a", ""), query.get("b", ""))

    def _compare_json(self, query: Query, before: str, after: str) -> Served:
        return _json(self._viewer.compare(before, after))

    def _trend(self, query: Query) -> Served:
        names = [name for name in query.get("run", "").split(",") if name]
        return _page(view_html.trend_html(self._viewer.trend(names)))


def _error(error: HonestoneError) -> Served:
    if isinstance(error, ContractMismatch):
        status = 409
    else:
        status = 404 if isinstance(error, StoreError) else 400
    first, *others = str(error).splitlines()
    return _page(view_html.lines_html(first, [*others, error.hint or ""]), status)


def _as_it_is_now(row: RunRow, part: LivePart | None) -> RunRow:
    """A row with how far its run is, if it is under way."""
    if part is None or part.state != "running":
        return row
    return structs.replace(row, state="running", look="running", result=part.words)


def _filter_of(query: Query) -> CaseFilter:
    sort = query.get("sort", "")
    return CaseFilter(
        **{name: query.get(name, "")[:300] for name in _FILTERS},
        sort=sort[:300] if sort in SORTS or sort.startswith("by:") else "status",
    )


def _among(table: CaseTable, query: Query, id: str) -> view_html.CaseAmong:
    """The cases before and after one, as the filter in the address shows them."""
    filters = {name: query[name] for name in (*_FILTERS, "sort") if query.get(name)}
    ids = [row.case.id for row in table.chosen(_filter_of(query))]
    if id not in ids:
        return view_html.CaseAmong(query=filters)
    at = ids.index(id)
    return view_html.CaseAmong(
        query=filters,
        before=ids[at - 1] if at else None,
        after=ids[at + 1] if at + 1 < len(ids) else None,
        number=at + 1,
        total=len(ids),
    )


def _table(doc: TableDoc, query: Query) -> Served:
    """A table of columns by page: the cases whose worst status is asked for, with words in what
    went in and came out.
    """
    asked = {name: query.get(name, "")[:300] for name in ("q", "status", "differ")}
    words = asked["q"].lower().split()
    found = [
        case
        for case in doc.worst_first
        if asked["status"] in ("", case.status)
        and (not asked["differ"] or len({cell.status for cell in case.cells}) > 1)
        and (not words or _has_words(case, words))
    ]
    pages = _page_of(query, len(found))
    shown = structs.replace(doc, cases=found[pages.first_row : pages.first_row + ROWS])
    return _page(table_html(shown, served="table", pages=pages, asked=asked))


def _has_words(case: TableCaseDoc, words: Sequence[str]) -> bool:
    texts = (
        case.id,
        case.input,
        *(text for cell in case.cells for text in (cell.output, cell.error)),
    )
    held = " ".join(text_of(one) for one in texts).lower()
    return all(word in held for word in words)


def _page_of(query: Query, total: int) -> PageOf:
    number = max(1, whole_number(query.get("page", "")) or 1)
    last = max(1, -(-total // ROWS))
    return PageOf(
        number=min(number, last) if total else number, total=total, query=_filters_of(query)
    )


def _part(query: Query) -> PartOf:
    filters = {name: value for name, value in query.items() if name not in ("part", *ASKED)}
    return PartOf(number=max(1, whole_number(query.get("part", "")) or 1), query=filters)


def _filters_of(query: Query) -> dict[str, str]:
    return {name: value for name, value in query.items() if name not in ("page", *ASKED) and value}
