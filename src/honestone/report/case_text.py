"""A case that did not pass, in plain lines: what went in, what came out, and what it misses. For
the terminal and pytest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import CHECK
from honestone.core.reading.evidence import find_quote
from honestone.report.documents import fields_of
from honestone.report.documents.scorecard import JudgeDoc, QuoteDoc, ScorecardDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.excerpts import excerpt
from honestone.report.misses import Miss, misses
from honestone.system.drawing import Style, pad, width, wrap

INPUT_ROWS: Final = 6
MOST_MISSES: Final = 40
PLAIN: Final = Style()
_LABEL: Final = 8  # columns of `input` and `output`
_LOOKS: Final = {"no": "red", "unknown": "yellow", "warn": "yellow", "absent": "dim"}


def case_lines(
    case: CaseDoc, style: Style = PLAIN, *, listed: Iterable[JudgeDoc] = ()
) -> list[str]:
    """Input, output (from where its evidence is) and every miss; an output that is not there is
    left out. `listed`: judges whose states are said elsewhere.
    """
    lines = [*_excerpt_lines(case, style), *_missed_lines(case, style, listed)]
    if case.attempts_words:
        lines += wrap(
            "; ".join(case.attempts_words), style.columns, first=pad("attempts", _LABEL) + "  "
        )
    return lines


def _excerpt_lines(case: CaseDoc, style: Style) -> Iterator[str]:
    for name, rows in excerpts_of(case, style.columns - _LABEL, style.glyph("more")):
        labels = [style.paint(pad(name, _LABEL), "dim"), *[" " * _LABEL] * (len(rows) - 1)]
        yield from (label + row for label, row in zip(labels, rows, strict=True))


def _missed_lines(case: CaseDoc, style: Style, listed: Iterable[JudgeDoc] = ()) -> Iterator[str]:
    missed = misses(case, listed)
    for miss in missed[:MOST_MISSES]:
        yield from miss_lines(miss, style)
    if len(missed) > MOST_MISSES:
        yield f"and {len(missed) - MOST_MISSES:,} more; --json has them all"


def unmet_lines(card: ScorecardDoc, *, input: str | None, output: str | None) -> list[str]:
    """The same of one output: what it misses comes first, where a summary has room for one line."""
    case = CaseDoc(
        id="",
        status="failed" if card.verdict == "fail" else "inconclusive",
        **fields_of(card, "reasons", "score", "threshold", "criteria", "judges", "contract"),
        unstable=False,
        input=input,
        output=output,
    )
    return [*_missed_lines(case, PLAIN), *_excerpt_lines(case, PLAIN)]


def excerpts_of(case: CaseDoc, columns: int, more: str = "…") -> list[tuple[str, list[str]]]:
    """`input` and `output` with a few lines of each, of so many columns."""
    given, output = re.sub(r"\n\s*\n", "\n", text_of(case.input)), text_of(case.output)
    excerpts = (
        [("input", excerpt(given, columns=columns, rows=INPUT_ROWS, more=more))]
        if given.strip()
        else []
    )
    if output.strip():
        excerpts.append(
            ("output", excerpt(output, columns=columns, at=evidence_place(case), more=more))
        )
    elif case.output is not None and case.status != "target-error":
        excerpts.append(("output", ["(empty)"]))
    return excerpts


def miss_lines(miss: Miss, style: Style = PLAIN) -> list[str]:
    """`✗ contains '14 days'  not found`, and below it what judges said."""
    mark = style.glyph(miss.glyph)
    first, *rest = wrap(miss.requirement, style.columns, first=f"{mark} ")
    if miss.evidence and not rest and width(first) + 2 + width(miss.evidence) <= style.columns:
        first += f"  {miss.evidence}"
    elif miss.evidence:
        rest += wrap(miss.evidence, style.columns, first="    ", most=6, more=style.glyph("more"))
    lines = [style.paint(mark, _LOOKS[miss.glyph], "bold") + first[len(mark) :], *rest]
    for one in miss.details:
        lines += [
            style.paint(row, "dim")
            for row in wrap(one, style.columns, first="    ", most=6, more=style.glyph("more"))
        ]
    return lines


def evidence_place(case: CaseDoc) -> int:
    """Where in a case's output its evidence is: a word that must not be there, the first
    difference, what a judge quotes; else its beginning.
    """
    text = text_of(case.output)
    return next(
        (place for quote in _quotes(case) if (place := _place_of(quote, text)) is not None), 0
    )


def _quotes(case: CaseDoc) -> Iterator[QuoteDoc]:
    for _, item in case.findings:
        yield from item.evidence


_ON_LINE: Final = late_pattern(
    r'(?:found "(?P<word>.*)"|differs) on line (?P<line>\d+)\b(?:: "(?P<got>.*)" instead of .*)?.*',
    re.DOTALL,
)


def _place_of(quote: QuoteDoc, text: str) -> int | None:
    if quote.judge != CHECK:
        place = find_quote(quote.quote, text) if quote.found else None
        return None if place is None else place.start
    on_line = _ON_LINE.match(quote.quote)
    if on_line is None:
        return None
    start = _line_start(text, int(on_line["line"]))
    word = (on_line["word"] or on_line["got"] or "").removesuffix("...").lower()
    return start + max(text[start:].lower().find(word), 0)


def _line_start(text: str, number: int) -> int:
    """Where a line begins, counted from 1; the beginning where there are fewer."""
    at = 0
    for _ in range(number - 1):
        at = text.find("\n", at) + 1
        if not at:
            return 0
    return at
