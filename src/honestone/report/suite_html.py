"""A suite run as one HTML page that needs nothing else: no network, no other file, and no JavaScript to read it.

Every case is in the page as plain elements, folded; the script only opens, sorts and filters. A policy in the page lets
run nothing but that script. The templates in `pages/` escape every value; here is what has to be worked out for them.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final
from urllib.parse import quote as quoted

from jinja2 import Environment
from markupsafe import Markup

from honestone.core.ballot import CHECK
from honestone.core.numbers import Number, bar_number, change_words, duration_words, exact, points, score_or_interval
from honestone.core.reading.evidence import find_quote
from honestone.report.documents.scorecard import (
    CriterionDoc,
    ItemDoc,
    QuoteDoc,
    depths,
    flags_to_show,
    items_of,
    mark_number,
)
from honestone.report.documents.suite import WORST_FIRST, CaseDoc, ComparedCaseDoc, SuiteReportDoc, TraceDoc, text_of
from honestone.report.documents.table import TableDoc
from honestone.report.misses import misses, why
from honestone.report.quote_marks import Marks, Piece, color, longest_text
from honestone.report.templates import PAGES, environment
from honestone.system.drawing import GLYPHS, clean, count, line

OPEN_UP_TO: Final = 3000  # characters: a longer text is folded
MOST_PAIRS: Final = 24
_GLYPHS: Final = {"passed": "✓", "failed": "✗", "inconclusive": "?", "target-error": "!", "skipped": "–"}
_VERDICT_LOOKS: Final = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "skipped": "skipped"}


def suite_html(doc: SuiteReportDoc) -> str:
    """One run of a suite (`honestone.report/1`) as a whole page."""
    parts = {name: Markup(_part(file)) for name, file in (("style", "style.css"), ("script", "page.js"))}
    return _environment().get_template("suite.html.j2").render(doc=doc, page=_Page(doc), **parts)


def table_html(doc: TableDoc) -> str:
    """A table (`honestone.table/1`) as a whole page."""
    sizes = (len(text_of(text)) for case in doc.cases for cell in case.cells for text in (cell.output, cell.error))
    template = _environment().get_template("table.html.j2")
    return template.render(doc=doc, page={"longest": longest_text(sizes)}, style=Markup(_part("style.css")))


@lru_cache(maxsize=4)
def _part(name: str) -> str:
    return (PAGES / name).read_text("utf-8").replace("\r\n", "\n")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Templates that escape every value, and make visible what a reader could not see."""
    found = environment(_visible)
    found.globals.update(
        glyphs=_GLYPHS, looks=_VERDICT_LOOKS, open_first=WORST_FIRST, marks=GLYPHS, open_up_to=OPEN_UP_TO
    )
    found.filters.update(
        anchor=anchor_of,
        at=_at,
        bar=bar_number,
        change=change_words,
        color=color,
        depths=depths,
        diff_lines=_diff_lines,
        digest=_digest,
        duration=duration_words,
        facts=_facts,
        histogram=_histogram,
        json=json.dumps,
        line=line,
        mark=mark_number,
        misses=misses,
        number="{:,}".format,
        places=_places,
        points=points,
        score=lambda one: score_or_interval(one.score, one.interval) if one.applies else "n/a",
        short=lambda value: "" if value is None else f"{float(value):.6g}",
        state=_state_of,
        text=text_of,
        to_show=flags_to_show,
        why=why,
    )
    return found


def _visible(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> Markup:
    return Markup(f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")


def _at(percent: Number | Fraction) -> str:
    """A place as a percentage, never outside."""
    return f"{float(max(0, min(percent, 100))):.2f}%"


def anchor_of(case_id: str) -> str:
    """The name by which a page links to a case, the same in `id` and `href`: `case-fine`, `case-two%20words`."""
    return "case-" + quoted(case_id, safe="", errors="backslashreplace")


class _Histogram:
    """How many cases scored how much, in steps of 10, stacked by status."""

    def __init__(self, scores: Sequence[tuple[Number, str]]) -> None:
        self._bins = [Counter[str]() for _ in range(10)]
        for score, status in scores:
            known = status if status in ("passed", "failed") else "inconclusive"
            self._bins[max(0, min(int(score // 10), 9))][known] += 1
        self.kinds = [kind for kind in ("passed", "failed", "inconclusive") if any(one[kind] for one in self._bins)]
        self.caption = count(len(scores), "case with a score", "cases with a score")
        self.blocks: list[dict[str, str]] = []
        self.totals: list[dict[str, str | int]] = []
        highest = max(one.total() for one in self._bins)
        for index, one in enumerate(self._bins):
            top = Fraction(136)
            for kind in self.kinds:
                tall = Fraction(one[kind] * 112, highest)
                top -= tall
                place = {"kind": kind, "left": str(index * 10 + 0.8), "top": f"{float(top):.2f}"}
                self.blocks += [{**place, "tall": f"{float(tall):.2f}"}] if one[kind] else []
            if one:
                self.totals.append({"middle": index * 10 + 5, "top": f"{float(top) - 4:.1f}", "count": one.total()})

    @property
    def says(self) -> str:
        told = []
        for index, one in enumerate(self._bins):
            kinds = [f"{one[kind]:,} {kind}" for kind in self.kinds if one[kind]]
            told += [f"{index * 10} to {index * 10 + 10}: {', '.join(kinds)}"] if kinds else []
        return "Cases by score. " + "; ".join(told)


def _histogram(cases: Iterable[CaseDoc]) -> _Histogram | None:
    """How the scores are spread; of one or two cases the table says it."""
    scores = [(case.score, case.status) for case in cases if case.score is not None]
    return _Histogram(scores) if len(scores) > 2 else None


def _places(by: Number, interval: Sequence[Number] | None, times: int) -> list[Fraction]:
    """A difference between the ends of its interval, on a scale that shows all of it, 5 points at least; 0 is at 50."""
    low, high = interval or (by, by)
    ends = [exact(one) * times for one in (low, by, high)]
    reach = max(Fraction(5), *(abs(one) for one in ends)) * Fraction(105, 100)
    return [50 + one * 50 / reach for one in ends]


def _diff_lines(text: str) -> list[tuple[str, str]]:
    """(class, words) of every line of a diff."""
    kinds = (("+++", "file"), ("---", "file"), ("diff ", "file"), ("@@", "hunk"), ("+", "add"), ("-", "del"))
    return [(next((kind for start, kind in kinds if row.startswith(start)), ""), row) for row in text.split("\n")]


def _facts(one: CriterionDoc) -> list[str]:
    notes = [f"weight {bar_number(one.weight)}"] if one.weight is not None else []
    notes += [f"floor {bar_number(one.floor)}"] if one.floor else []
    return notes + [note for note in one.state_notes(spread=True) if not note.startswith("penalty")]


def _state_of(item: ItemDoc, criterion: CriterionDoc) -> tuple[str, str, str]:
    """(glyph, class, words)."""
    if not item.applies:
        return "–", "skipped", "does not apply"
    if item.is_unanswered:
        return "?", "inconclusive", "not answered"
    if item.is_problem:
        return "✗", "failed", "penalty incurred" if criterion.is_penalty else "not met"
    if criterion.is_improvable(item):
        return "~", "inconclusive", "met, but not in full"
    return "✓", "passed", "no penalty" if criterion.is_penalty else "met"


class _Page:
    """What a page knows besides its document: the numbers of the judges, and how long a text may be."""

    def __init__(self, doc: SuiteReportDoc) -> None:
        names = [one.id for one in doc.judge_states]
        for case in doc.cases:
            names += [judge for _, item in items_of(case.criteria) for judge in item.votes if judge != CHECK]
        self.names = list(dict.fromkeys(names))
        self.numbers = {name: number for number, name in enumerate(self.names, 1)}
        self.longest = longest_text(_sizes(doc))
        self.order = {case.id: number for number, case in enumerate(doc.cases, 1)}
        changed = doc.compared.changed if doc.compared else []
        self._pairs = [case for case in changed if case.delta is not None]
        self.changes = {case.id: case for case in doc.compared.cases} if doc.compared else {}
        self.tags = sorted({line(tag) for case in doc.cases for tag in case.tags})
        self.splits = sorted({line(case.split) for case in doc.cases if case.split})

    @property
    def pairs(self) -> list[ComparedCaseDoc]:
        """The cases that changed, the largest loss first; of many those that changed most."""
        most = sorted(self._pairs, key=lambda case: -abs(case.delta or 0))[:MOST_PAIRS]
        shown = {case.id for case in most}
        return [case for case in self._pairs if case.id in shown]

    @property
    def hidden_pairs(self) -> int:
        return max(len(self._pairs) - MOST_PAIRS, 0)

    def marked(self, case: CaseDoc, index: int) -> _MarkedOutput:
        return _MarkedOutput(text_of(case.output), f"q{index}", self)

    def calls(self, trace: TraceDoc) -> tuple[list[tuple[str, list[str]]], bool]:
        """(name, what it was given and gave) of the calls that the page has room for, and whether there are more."""
        calls: list[tuple[str, list[str]]] = []
        room = self.longest
        for call in trace.tool_calls or ():
            if room <= 0:
                return calls, True
            shown = []
            for text in (text_of(value) for value in (call.arguments, call.result) if value not in ("", {}, [])):
                if text:
                    shown.append(text if len(text) <= room else f"{text[: max(room, 0)]}…")
                    room -= len(text)
            calls.append((call.name, shown))
            room -= 1
        return calls, False


def _sizes(doc: SuiteReportDoc) -> Iterator[int]:
    for case in doc.cases:
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


class _MarkedOutput:
    """A case's output. The quotes of its judges are marked as the answers are drawn; so these are drawn first."""

    def __init__(self, text: str, prefix: str, page: _Page) -> None:
        self.text, self._page = text, page
        self._marks = Marks(text[: page.longest], prefix)

    def find(self, one: QuoteDoc) -> tuple[int | None, str | None, str, str]:
        """(number of the judge, place in the output, else what is known of it, class) of a quote."""
        number = self._page.numbers.get(one.judge)
        place = self._marks.add(one.quote, number) if number else None
        if number and place is None:
            is_cut = len(self.text) > len(self._marks.text)
            if one.found or (is_cut and find_quote(one.quote, self.text)):
                return number, None, "in what is not marked here", "soft"
            if one.found is False:
                return number, None, "not in the output", "absent"
        return number, place, "", "soft"

    @property
    def pieces(self) -> list[Piece]:
        return self._marks.pieces(lambda number: self._page.names[number - 1])
