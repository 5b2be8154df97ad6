"""The HTML pages: each needs nothing else, no network, no other file, and no JavaScript to read it.

A policy in the page lets nothing run but its own script. The templates in `pages/` escape every
value; here is what has to be worked out for them.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache
from itertools import zip_longest
from typing import Final
from urllib.parse import quote as quoted
from urllib.parse import urlencode

from jinja2 import Environment
from markupsafe import Markup

from honestone.core import numbers
from honestone.report.case_text import evidence_place
from honestone.report.documents import scorecard
from honestone.report.documents.findings import (
    is_listed,
    listed_judges,
    shared_quotes,
    with_all_looks,
    with_own_notes,
)
from honestone.report.documents.states import state_phrase, state_words
from honestone.report.documents.suite import WORST_FIRST, ComparedCaseDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.excerpts import excerpt
from honestone.report.misses import misses, why
from honestone.report.pages.case_table import MOST_COLUMNS, is_low
from honestone.report.pages.judged_texts.quote_marks import color
from honestone.report.pages.part_of import PartOf
from honestone.report.pages.sharing import SharedPieces, without_commands
from honestone.report.templates import PAGES, environment, in_pieces
from honestone.report.word_diff import Pieces, word_diff
from honestone.system.drawing import GLYPHS, clean, count, line

OPEN_UP_TO: Final = 3000  # characters: a longer text is folded
_LONG: Final = 1000  # characters of an output that is also shown around its evidence
_LONGEST_SIDE: Final = 6000  # characters of one side of a comparison
_GLYPHS: Final = {
    "passed": "✓",
    "failed": "✗",
    "inconclusive": "?",
    "target-error": "!",
    "skipped": "–",
    "running": "▸",
}
_VERDICT_LOOKS: Final = {
    "pass": "passed",
    "fail": "failed",
    "inconclusive": "inconclusive",
    "skipped": "skipped",
}


def draw_page(
    template: str,
    script: str = "",
    *,
    served: str = "",
    names: Iterable[str] = (),
    holds: Sequence[str] = (),
    part: PartOf | None = None,
    **values: object,
) -> str:
    """A whole page. `script` is a file of `pages/`; `served` names the page where a server sends
    style and script apart.

    A page that is not served is a SharedPage: it says which texts it `holds`, and `names` that are
    command lines are shown by their last part. `part`: which part of its long texts a page shows
    that has an address for each; else they are cut.
    """
    if not served:
        return draw_pieces(template, script, names=names, holds=holds, part=part, **values).whole
    return "".join(_generate(template, script, served=served, holds=holds, part=part, **values))


def draw_pieces(
    template: str,
    script: str = "",
    *,
    names: Iterable[str] = (),
    holds: Sequence[str] = (),
    **values: object,
) -> SharedPieces:
    """A page that is not served, piece by piece."""
    pieces = in_pieces(_generate(template, script, served="", holds=holds, **values))
    return SharedPieces(without_commands(pieces, names), tuple(holds))


def _generate(template: str, script: str, **values: object) -> Iterator[str]:
    parts = {
        "style": Markup(page_part("style.css")),
        "script": Markup(page_part(script)) if script else "",
    }
    return (
        _environment()
        .get_template(template)
        .generate(**{"part": None, **values}, **parts, live=LIVE.get())
    )


# The moving part of the page that is being drawn; None for a page that stays as it is.
LIVE: Final[ContextVar[object | None]] = ContextVar("live", default=None)


@lru_cache(maxsize=4)
def page_part(name: str) -> str:
    """A style or script of `pages/`."""
    return (PAGES / name).read_text("utf-8").replace("\r\n", "\n")


def _icon() -> Markup:
    """The mark of honestone as part of a page, which needs no namespace, and so names no address."""
    return Markup(re.sub(r' xmlns="[^"]*"', ' aria-hidden="true"', page_part("icon.svg")).strip())


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Templates that escape every value, and make visible what a reader could not see."""
    templates = environment(_visible)
    templates.globals.update(
        glyphs=_GLYPHS,
        icon=_icon(),
        looks=_VERDICT_LOOKS,
        open_first=WORST_FIRST,
        marks=GLYPHS,
        open_up_to=OPEN_UP_TO,
    )
    templates.filters.update(
        address=lambda query: urlencode(query, errors="backslashreplace"),
        anchor=anchor_of,
        at=_at,
        bar=numbers.bar_number,
        change=numbers.change_words,
        rate_change=numbers.rate_change_words,
        columns=_columns,
        count=count,
        color=color,
        depths=scorecard.depths,
        diff_lines=_diff_lines,
        diff_rows=_diff_rows,
        digest=_digest,
        duration=numbers.duration_words,
        facts=_facts,
        histogram=_histogram,
        json=json.dumps,
        listed_judges=listed_judges,
        with_all_looks=with_all_looks,
        line=line,
        mark=scorecard.mark_number,
        misses=misses,
        near=_near,
        number="{:,}".format,
        places=_places,
        percent=numbers.percent,
        points=numbers.points,
        score=lambda one: (
            numbers.score_or_interval(one.score, one.interval) if one.applies else "n/a"
        ),
        sides=_sides,
        shared_quotes=shared_quotes,
        short=lambda value: "" if value is None else f"{float(value):.6g}",
        state=_state_of,
        text=text_of,
        spent_tile=scorecard.spent_tile,
        to_show=scorecard.flags_to_show,
        phrase=state_phrase,
        verdict=state_words,
        why=why,
        with_own_notes=with_own_notes,
        words=_named_values,
    )
    templates.tests["low"] = is_low
    templates.tests["listed_in"] = is_listed
    return templates


def _named_values(values: Mapping[str, object]) -> str:
    """`rounds 3, calls 10` of what is there."""
    return ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in values.items()
        if value not in (None, 0, {})
    )


def _columns(cards: Iterable[scorecard.ScorecardDoc]) -> list[str]:
    """The ids of the top criteria of several artifacts, those that come first."""
    ids = dict.fromkeys(one.id for card in cards for one in card.criteria if one.parent is None)
    return list(ids)[:MOST_COLUMNS]


def _visible(value: object) -> object:
    return clean(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> Markup:
    return Markup(f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'")


def _at(percent: numbers.Number | Fraction) -> str:
    """A place as a percentage, never outside."""
    return f"{float(max(0, min(percent, 100))):.2f}%"


def anchor_of(case_id: str) -> str:
    """The name by which a page links to a case, the same in `id` and `href`: `case-fine`,
    `case-two%20words`.
    """
    return "case-" + quoted(case_id, safe="", errors="backslashreplace")


class _Histogram:
    """How many cases scored how much, in steps of 10, stacked by status."""

    def __init__(self, scores: Sequence[tuple[numbers.Number, str]]) -> None:
        self._bins = [Counter[str]() for _ in range(10)]
        for score, status in scores:
            known = status if status in ("passed", "failed") else "inconclusive"
            self._bins[max(0, min(int(score // 10), 9))][known] += 1
        self.kinds = [
            kind
            for kind in ("passed", "failed", "inconclusive")
            if any(one[kind] for one in self._bins)
        ]
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
                self.totals.append(
                    {"middle": index * 10 + 5, "top": f"{float(top) - 4:.1f}", "count": one.total()}
                )

    @property
    def says(self) -> str:
        bins = []
        for index, one in enumerate(self._bins):
            kinds = [f"{one[kind]:,} {kind}" for kind in self.kinds if one[kind]]
            bins += [f"{index * 10} to {index * 10 + 10}: {', '.join(kinds)}"] if kinds else []
        return "Cases by score. " + "; ".join(bins)


def _histogram(cases: Iterable[CaseDoc]) -> _Histogram | None:
    """How the scores are spread; of one or two cases the table says it."""
    scores = [(case.score, case.status) for case in cases if case.score is not None]
    return _Histogram(scores) if len(scores) > 2 else None


def _places(
    by: numbers.Number, interval: Sequence[numbers.Number] | None, times: int
) -> list[Fraction]:
    """A difference between the ends of its interval, on a scale that shows all of it, 5 points at
    least; 0 is at 50.
    """
    low, high = interval or (by, by)
    ends = [numbers.exact(one) * times for one in (low, by, high)]
    reach = max(Fraction(5), *(abs(one) for one in ends)) * Fraction(105, 100)
    return [50 + one * 50 / reach for one in ends]


def _diff_rows(text: str) -> list[tuple[str, str | None, str | None]]:
    """(class, before, after) of a unified diff: lines that were taken out next to those that came
    in their place. With a class it is one line over both columns.
    """
    rows: list[tuple[str, str | None, str | None]] = []
    old: list[str] = []
    new: list[str] = []
    for look, words in [*_diff_lines(text), ("end", "")]:
        if look == "del":
            old.append(words[1:])
        elif look == "add":
            new.append(words[1:])
        else:
            rows += [("", *pair) for pair in zip_longest(old, new)]
            old, new = [], []
            if look == "":
                rows.append(("", words[1:], words[1:]))
            elif look != "end":
                rows.append((look, words, words))
    return rows


def _diff_lines(text: str) -> list[tuple[str, str]]:
    """(class, words) of every line of a diff."""
    kinds = (
        ("+++", "file"),
        ("---", "file"),
        ("diff ", "file"),
        ("@@", "hunk"),
        ("+", "add"),
        ("-", "del"),
    )
    return [
        (next((kind for start, kind in kinds if row.startswith(start)), ""), row)
        for row in text.split("\n")
    ]


def _facts(one: scorecard.CriterionDoc) -> list[str]:
    notes = [f"weight {numbers.bar_number(one.weight)}"] if one.weight is not None else []
    notes += [f"floor {numbers.bar_number(one.floor)}"] if one.floor else []
    return notes + [note for note in one.state_notes(spread=True) if not note.startswith("penalty")]


def _state_of(item: scorecard.ItemDoc, criterion: scorecard.CriterionDoc) -> tuple[str, str, str]:
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


def _near(case: CaseDoc) -> str:
    """The lines of a long output around its evidence; nothing of a short one, and where there is
    none.
    """
    text = text_of(case.output)
    at = evidence_place(case) if case.is_open and len(text) > _LONG else 0
    return "\n".join(excerpt(text, columns=120, at=at)) if at else ""


def _sides(case: ComparedCaseDoc) -> list[tuple[str, str, Pieces]]:
    """Both outputs as (name, the tag of what changed, pieces); none where they are the same or not
    known.
    """
    before, after = case.baseline.output, case.candidate.output
    if before is None or after is None or before == after:
        return []
    old, new = word_diff(before, after, longest=_LONGEST_SIDE)
    return [("Before", "del", old), ("After", "ins", new)]
