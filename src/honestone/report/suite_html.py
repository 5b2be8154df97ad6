"""A suite run as one HTML page that needs nothing else: no network, no other file, and no JavaScript to read it.

Every case is in the page as plain elements, folded; the script only opens, sorts and filters. A policy in the page lets
run nothing but that script. This module prepares what the templates in `pages/` print; they escape every value.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote as quoted

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from honestone.core.ballot import CHECK
from honestone.core.numbers import Number, bar_number, change_words, duration_words, exact, points, score_or_interval
from honestone.core.reading.evidence import find_quote
from honestone.report.documents.scorecard import (
    CriterionDoc,
    ItemDoc,
    JudgeDoc,
    QuoteDoc,
    depths,
    flags_to_show,
    items_of,
    mark_number,
)
from honestone.report.documents.suite import AttemptDoc, CaseDoc, ComparedCaseDoc, SuiteReportDoc, TraceDoc, text_of
from honestone.report.quote_marks import Marks, Piece, color, longest_text
from honestone.system.drawing import clean, count, line

OPEN_UP_TO: Final = 3000  # characters: a longer text is folded
MOST_PAIRS: Final = 24
_GLYPHS: Final = {"passed": "✓", "failed": "✗", "inconclusive": "?", "target-error": "!", "skipped": "–"}
_VERDICT_LOOKS: Final = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "skipped": "skipped"}
_OPEN_FIRST: Final = ("failed", "target-error", "inconclusive", "skipped", "passed")


def suite_html(doc: SuiteReportDoc) -> str:
    """One run of a suite (`honestone.report/1`) as a whole page."""
    parts = {name: Markup(_part(file)) for name, file in (("style", "style.css"), ("script", "page.js"))}
    return _environment().get_template("suite.html.j2").render(doc=doc, page=_Page(doc), **parts)


_PAGES: Final = Path(__file__).parent / "pages"


@lru_cache(maxsize=4)
def _part(name: str) -> str:
    return (_PAGES / name).read_text("utf-8").replace("\r\n", "\n")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Templates that escape every value, and make visible what a reader could not see."""
    found = Environment(
        loader=FileSystemLoader(_PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals["glyphs"] = _GLYPHS
    found.filters.update(
        anchor=anchor_of,
        at=_at,
        change=change_words,
        color=color,
        digest=_digest,
        duration=duration_words,
        line=line,
        number="{:,}".format,
        points=points,
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


# ------------------------------------------------------------------------------------------------------------- figures


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bar:
    """A bar for `low` of 100, what may still come up to `high`, a line at `mark`; `says` is all of it in words."""

    low: Number
    high: Number
    mark: Number | None
    look: str
    says: str
    height: int = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    """A difference in words, and the places of its interval's ends and its own on a scale with 0 at 50."""

    name: str
    told: str
    places: tuple[Number | Fraction, ...] = ()


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


# ------------------------------------------------------------------------------------------------------------ the page


class _Page:
    """What a page shows besides its document: figures, the numbers of the judges, how long a text may be."""

    def __init__(self, doc: SuiteReportDoc) -> None:
        self._doc = doc
        states = doc.judge_states
        names = [one.id for one in states]
        for case in doc.cases:
            names += [judge for _, item in items_of(case.criteria) for judge in item.votes if judge != CHECK]
        self.numbers: Mapping[str, int] = {name: number for number, name in enumerate(dict.fromkeys(names), 1)}
        self._names = list(self.numbers)
        self.judges: list[tuple[int, JudgeDoc]] = [(self.numbers[one.id], one) for one in states]
        self.longest = longest_text(_sizes(doc))
        self.ids = frozenset(case.id for case in doc.cases)
        self._changes = {case.id: case for case in doc.compared.cases} if doc.compared else {}
        self.has_changes = bool(self._changes)
        self.verdict = doc.verdict_words
        self.title = f"{doc.name}: {self.verdict.lower()}"
        self.look = _VERDICT_LOOKS.get(doc.verdict, "inconclusive")
        digest = doc.artifact.digest if doc.artifact else ""
        self.record = _told(("run", doc.run or ""), ("contract", doc.contract), ("artifact", digest))
        self.tags = sorted({line(tag) for case in doc.cases for tag in case.tags})
        self.splits = sorted({line(case.split) for case in doc.cases if case.split})

    def name_of(self, number: int) -> str:
        return self._names[number - 1]

    @property
    def remarks(self) -> list[str]:
        doc = self._doc
        unstable = ", ".join(doc.unstable_names)
        said = [*flags_to_show(doc.shared_flags), *doc.notes]
        return [*said, f"unstable, the attempts disagree: {unstable}"] if unstable else said

    @property
    def tiles(self) -> list[tuple[str, str, str]]:
        """(name, figure, what it is of) of everything but the pass rate."""
        doc = self._doc
        tiles = [
            ("Mean score", doc.mean_words or "n/a", "of 100, skipped cases left out"),
            ("Cases", f"{len(doc.cases):,}", ", ".join(doc.counts_words)),
        ]
        whole, target = duration_words(doc.duration_ms), duration_words(doc.target_time)
        among = "in the target, all cases together"
        if whole:
            tiles.append(("Time", whole, f"{target} {among}" if target else ""))
        elif target:
            tiles.append(("Time", target, among))
        spent = doc.spent_words
        return [*tiles, ("Spent", spent[-1], ", ".join(spent[:-1]))] if spent else tiles

    @property
    def rate_note(self) -> str:
        passed, judged = self._doc.passed_count
        return ", ".join(part for part in (f"{passed:,} of {judged:,} passed", self._doc.needs_words) if part)

    @property
    def rate_bar(self) -> _Bar | None:
        doc = self._doc
        ends = doc.pass_rate_interval or ([doc.pass_rate] * 2 if doc.pass_rate is not None else None)
        if ends is None:
            return None
        low, high = (float(exact(end) * 100) for end in ends)
        mark = None if doc.least_rate is None else float(exact(doc.least_rate) * 100)
        says = f"pass rate {doc.rate_words}, {self.rate_note}"
        return _Bar(low=low, high=high, mark=mark, look=self.look, says=says)

    @property
    def histogram(self) -> _Histogram | None:
        """How the scores are spread; of one or two cases the table says it."""
        scores = [(case.score, case.status) for case in self._doc.cases if case.score is not None]
        return _Histogram(scores) if len(scores) > 2 else None

    @property
    def differences(self) -> list[_Difference]:
        found = self._doc.compared
        if found is None:
            return []
        told = dict(found.figures(self._doc.rates))
        ends = {
            "pass rate": (found.delta, found.interval, 100),
            "mean score": (found.score_delta, found.score_interval, 1),
        }
        return [_difference(name, told[name], *ends.get(name, (None, None, 1))) for name in told]

    @property
    def _pairs(self) -> list[ComparedCaseDoc]:
        return [case for case in self._doc.compared.changed if case.delta is not None] if self._doc.compared else []

    @property
    def pairs(self) -> list[ComparedCaseDoc]:
        """The cases that changed, the largest loss first; of many those that changed most."""
        most = sorted(self._pairs, key=lambda case: -abs(case.delta or 0))[:MOST_PAIRS]
        shown = {case.id for case in most}
        return [case for case in self._pairs if case.id in shown]

    @property
    def hidden_pairs(self) -> int:
        return max(len(self._pairs) - MOST_PAIRS, 0)

    @property
    def orders(self) -> list[tuple[str, str]]:
        by_change = [("change up", "change, largest loss first")] if self.has_changes else []
        first = [("order up", "file order"), ("status up", "status, failed first"), ("score up", "score, lowest first")]
        return [*first, *by_change, ("time down", "time, longest first"), ("case up", "name")]

    @property
    def columns(self) -> list[tuple[str, str, str]]:
        """(key to sort by, class, heading)."""
        change = [("change", "c-change c-num", "Change")] if self.has_changes else []
        first = [("case", "c-case", "Case"), ("status", "c-status", "Status"), ("score", "c-score c-num", "Score")]
        return [*first, *change, ("time", "c-time c-num", "Time"), ("", "c-why", "Why")]

    def cases(self) -> Iterator[_CaseView]:
        for index, case in enumerate(self._doc.cases, 1):
            yield _CaseView(case, index, self, self._changes.get(case.id))


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


def _difference(name: str, told: str, by: Number | None, interval: Sequence[Number] | None, times: int) -> _Difference:
    """On a scale that shows all of it, 5 points at least."""
    if by is None:
        return _Difference(name=name, told=told)
    low, high = interval or (by, by)
    ends = [exact(one) * times for one in (low, by, high)]
    reach = max(Fraction(5), *(abs(one) for one in ends)) * Fraction(105, 100)
    return _Difference(name=name, told=told, places=tuple(50 + one * 50 / reach for one in ends))


def _told(*facts: tuple[str, str]) -> list[tuple[str, str]]:
    return [fact for fact in facts if fact[1]]


# -------------------------------------------------------------------------------------------------------------- a case


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text under its name, cut to the page's limit; `pieces`: with its marks."""

    name: str
    shown: str
    length: int
    pieces: Sequence[Piece] = ()
    is_diff: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.length

    @property
    def is_open(self) -> bool:
        return self.length <= OPEN_UP_TO

    @property
    def size(self) -> str:
        return f"{self.length:,} characters"

    @property
    def cut(self) -> int:
        return self.length - len(self.shown)

    @property
    def lines(self) -> list[tuple[str, str]]:
        """(class, words) of every line of a diff."""
        kinds = (("+++", "file"), ("---", "file"), ("diff ", "file"), ("@@", "hunk"), ("+", "add"), ("-", "del"))
        rows = self.shown.split("\n")
        return [(next((kind for start, kind in kinds if row.startswith(start)), ""), row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    name: str
    shown: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trace:
    """What a target says of its own run; `is_cut` where the page has no room for all calls."""

    name: str
    told: str
    facts: list[tuple[str, str]]
    calls: list[_Call]
    is_cut: bool
    extra: _Text | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _AttemptView:
    attempt: AttemptDoc
    why: str
    texts: list[_Text]
    trace: _Trace | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _QuoteView:
    """A quote: the number of its judge, the place in the output that it links to, else what is known of it."""

    judge: int | None
    words: str
    place: str | None = None
    remark: str = ""
    look: str = "soft"


@dataclass(frozen=True, slots=True, kw_only=True)
class _ItemView:
    item: ItemDoc
    asked: str
    glyph: str
    look: str
    state: str
    votes: list[tuple[int | None, str, str]]
    quotes: list[_QuoteView]

    @property
    def has_said(self) -> bool:
        return bool(self.quotes or self.item.advice or self.item.note)


@dataclass(frozen=True, slots=True, kw_only=True)
class _CriterionView:
    criterion: CriterionDoc
    is_child: bool
    score: str
    notes: str
    items: list[_ItemView]


class _CaseView:
    """A case as the page shows it: its row, and everything behind it."""

    def __init__(self, case: CaseDoc, index: int, page: _Page, change: ComparedCaseDoc | None) -> None:
        self.case, self.index, self.change, self._page = case, index, change, page
        self.anchor = anchor_of(case.id)
        self.reason = "; ".join(case.why[:2])
        self._output = text_of(case.output)
        self._marks = Marks(self._output[: page.longest], f"q{index}")
        depth = depths(case.criteria)
        self.answers = [self._criterion(one, depth[one.id]) for one in case.criteria]
        self._pieces = self._marks.pieces(page.name_of)
        self.troubled = [one for one in case.judges if one.is_absent or one.troubles]

    @property
    def data(self) -> list[tuple[str, str]]:
        """What the script sorts and filters by."""
        case = self.case
        return [
            ("order", str(self.index)),
            ("is", case.status),
            ("case", case.name),
            ("status", str(_OPEN_FIRST.index(case.status))),
            ("score", _number(case.score)),
            ("change", _number(self.change.delta if self.change else None)),
            ("time", _number(case.time)),
            ("tags", json.dumps([line(tag) for tag in case.tags])),
            ("split", json.dumps([line(case.split)] if case.split else [])),
        ]

    @property
    def bar(self) -> _Bar | None:
        case = self.case
        ends = case.interval or ([case.score] * 2 if case.score is not None else None)
        if not case.has_score or ends is None:
            return None
        says = f"score {case.score_words} of 100"
        return _Bar(low=ends[0], high=ends[1], mark=case.threshold, look=case.status, says=says, height=6)

    @property
    def facts(self) -> list[tuple[str, str]]:
        case = self.case
        return _told(
            ("split", case.split or ""),
            ("threshold", bar_number(case.threshold)),
            ("floor", bar_number(case.floor) if case.floor else ""),
            ("contract", line(case.contract, 24)),
            ("flags", "; ".join(flags_to_show(case.flags))),
        )

    @property
    def texts(self) -> list[_Text]:
        case = self.case
        found = [self._text("Input", case.input), self._text("Reference", case.reference)]
        if case.output is not None:
            found.append(self._text("Output", self._output, pieces=self._pieces))
        found += [self._text("Error", case.error), self._text("Diff", case.diff, is_diff=True)]
        return [one for one in found if one.length or one.name == "Output"]

    def _text(self, name: str, value: object, *, pieces: Sequence[Piece] = (), is_diff: bool = False) -> _Text:
        text = text_of(value)
        return _Text(name=name, shown=text[: self._page.longest], length=len(text), pieces=pieces, is_diff=is_diff)

    @property
    def trace(self) -> _Trace | None:
        return self._trace("Trace", self.case.trace)

    def _trace(self, name: str, trace: TraceDoc | None) -> _Trace | None:
        if trace is None:
            return None
        calls, is_cut = self._calls(trace)
        total = None if trace.tool_calls is None else len(trace.tool_calls)
        loaded = "" if trace.skill_loaded is None else "yes" if trace.skill_loaded else "no"
        return _Trace(
            name=name,
            told="tool calls are not known" if total is None else f"{total:,} tool calls",
            facts=_told(
                ("tokens in", "" if trace.input_tokens is None else f"{trace.input_tokens:,}"),
                ("tokens out", "" if trace.output_tokens is None else f"{trace.output_tokens:,}"),
                ("cost", "" if trace.usd is None else f"${trace.usd:,.4f}"),
                ("duration", duration_words(trace.duration_ms)),
                ("skill loaded", loaded),
            ),
            calls=calls,
            is_cut=is_cut,
            extra=self._text("More", trace.extra) if trace.extra else None,
        )

    def _calls(self, trace: TraceDoc) -> tuple[list[_Call], bool]:
        """The calls that the page has room for, and whether there are more."""
        calls: list[_Call] = []
        room = self._page.longest
        for call in trace.tool_calls or ():
            if room <= 0:
                return calls, True
            shown = []
            for text in (text_of(value) for value in (call.arguments, call.result) if value not in ("", {}, [])):
                if text:
                    shown.append(text if len(text) <= room else f"{text[: max(room, 0)]}…")
                    room -= len(text)
            calls.append(_Call(name=call.name, shown=shown))
            room -= 1
        return calls, False

    @property
    def attempts(self) -> list[_AttemptView]:
        """All attempts where there are several, with the outputs that are not the one shown."""
        return [self._attempt(one) for one in self.case.attempts] if len(self.case.attempts) > 1 else []

    def _attempt(self, one: AttemptDoc) -> _AttemptView:
        output = text_of(one.output)
        is_shown = output == self._output
        why = "; ".join(map(line, one.reasons[:2])) or ("the output above" if output and is_shown else "")
        if is_shown:
            return _AttemptView(attempt=one, why=why, texts=[], trace=None)
        texts = [
            self._text(f"Output of attempt {one.attempt}", output),
            self._text(f"Diff of attempt {one.attempt}", one.diff, is_diff=True),
        ]
        trace = self._trace(f"Trace of attempt {one.attempt}", one.trace)
        return _AttemptView(attempt=one, why=why, texts=[text for text in texts if text.length], trace=trace)

    def _criterion(self, one: CriterionDoc, depth: int) -> _CriterionView:
        notes = [f"weight {bar_number(one.weight)}"] if one.weight is not None else []
        notes += [f"floor {bar_number(one.floor)}"] if one.floor else []
        notes += [note for note in one.state_notes(spread=True) if not note.startswith("penalty")]
        return _CriterionView(
            criterion=one,
            is_child=depth > 0,
            score=score_or_interval(one.score, one.interval) if one.applies else "n/a",
            notes=", ".join(notes),
            items=[self._item(one, item) for item in one.items],
        )

    def _item(self, criterion: CriterionDoc, item: ItemDoc) -> _ItemView:
        glyph, look, state = _state_of(criterion, item)
        numbers = self._page.numbers
        return _ItemView(
            item=item,
            asked="" if criterion.is_whole(item) else item.asked,
            glyph=glyph,
            look=look,
            state=state,
            votes=[(numbers.get(judge), judge, mark_number(answer)) for judge, answer in item.votes.items()],
            quotes=[self._quote(one) for one in item.evidence],
        )

    def _quote(self, one: QuoteDoc) -> _QuoteView:
        """A judge's quote, linked to its place in the output; or that the output does not hold it."""
        number = self._page.numbers.get(one.judge)
        place = self._marks.add(one.quote, number) if number else None
        remark, look = "", "soft"
        if number and place is None:
            is_cut = len(self._output) > len(self._marks.text)
            if one.found or (is_cut and find_quote(one.quote, self._output)):
                remark = "in what is not marked here"
            elif one.found is False:
                remark, look = "not in the output", "absent"
        return _QuoteView(judge=number, words=one.quote, place=place, remark=remark, look=look)


def _number(value: Number | None) -> str:
    return "" if value is None else f"{float(value):.6g}"


def _state_of(criterion: CriterionDoc, item: ItemDoc) -> tuple[str, str, str]:
    if not item.applies:
        return "–", "skipped", "does not apply"
    if item.is_unanswered:
        return "?", "inconclusive", "not answered"
    if item.is_problem:
        return "✗", "failed", "penalty incurred" if criterion.is_penalty else "not met"
    if criterion.is_improvable(item):
        return "~", "inconclusive", "met, but not in full"
    return "✓", "passed", "no penalty" if criterion.is_penalty else "met"
