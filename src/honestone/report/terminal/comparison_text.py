"""Two runs of a suite compared (`honestone.comparison/1`) and many in a row (`honestone.trend/1`),
for the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from honestone.core.json_value import late_pattern
from honestone.core.numbers import Number, exact, points
from honestone.report.documents.suite import ComparedCaseDoc, ComparisonDoc, TrendDoc, TrendRunDoc
from honestone.report.excerpts import excerpt
from honestone.report.terminal.score_table import verdict_look
from honestone.report.terminal.text import bullet_lines, warning_lines
from honestone.report.word_diff import DiffPiece, Pieces, word_diff
from honestone.system.drawing import Style, bar, cut_middle, line, pad, width, wrap

PLAIN: Final = Style()
MOST_CHANGED: Final = 40  # cases listed; the JSON has all
MOST_TEXTS: Final = 20  # of them shown with their outputs
WIDE: Final = 120  # columns from which on both sides are next to each other
WIDEST_PAIR: Final = 200
_WORDS: Final = late_pattern(r"\S(?:[^\n]*\S)?")  # of one line
_MARKS: Final = (("[-", "-]"), ("{+", "+}"))

_NAMED_LOOKS: Final = {
    "regressions": ("no", "red"),
    "improvements": ("yes", "green"),
    "missing": ("warn", "yellow"),
    "new": ("dot", ""),
    "undecided": ("unknown", "yellow"),
    "unstable": ("split", "yellow"),
}


def comparison_text(doc: ComparisonDoc, style: Style = PLAIN) -> str:
    """One comparison: the verdict, the differences with their intervals, the cases by name."""
    glyph, look = verdict_look(doc.verdict)
    head = style.paint(f"{style.glyph(glyph)} {doc.verdict_words}", look, "bold")
    sides = f"{line(doc.baseline or '')} {style.glyph('arrow')} {line(doc.candidate or '')}"
    lines = [
        f"{head}  {sides}",
        *bullet_lines(map(line, doc.reasons), style),
        "",
        *comparison_lines(doc, style),
    ]
    lines += ["", *warnings] if (warnings := warning_lines(doc.warnings, style)) else []
    return style.finish(
        lines + changed_lines(doc, style) + bullet_lines(map(line, doc.remarks), style, indent="")
    )


def comparison_lines(
    doc: ComparisonDoc, style: Style, rates: tuple[Number | None, Number | None] = (None, None)
) -> list[str]:
    """The figures and the names, without a verdict; also the block of a report with a baseline."""
    lines = []
    for name, figure in doc.figures(rates, style.glyph("minus")):
        lines += wrap(figure, style.columns, first=f"  {pad(name, 12)} ", rest=" " * 15)
    for name, meaning, ids in doc.named:
        glyph, look = _NAMED_LOOKS[name]
        mark = style.paint(f"{style.glyph(glyph)} {pad(name, 12)}", look)
        first, *more = wrap(f"{', '.join(map(line, ids))} ({meaning})", style.columns - 2 - 13)
        lines += [f"  {mark} {first}", *(" " * 17 + one for one in more)]
    return lines


def changed_lines(doc: ComparisonDoc, style: Style) -> list[str]:
    """The cases that changed, each with what it was given and what it gave before and after."""
    return (
        ["", style.paint("Cases that changed", "bold"), *_case_lines(doc.changed, style)]
        if doc.changed
        else []
    )


def _case_lines(changed: Sequence[ComparedCaseDoc], style: Style) -> list[str]:
    shown = changed[:MOST_CHANGED]
    arrow, more = style.glyph("arrow"), style.glyph("more")
    size = min(max(width(line(case.id)) for case in shown), max(12, style.columns // 3))
    lines: list[str] = []
    for number, case in enumerate(shown):
        statuses = f"{case.baseline.status} {arrow} {case.candidate.status}"
        scores = f"{points(case.baseline.score)} {arrow} {points(case.candidate.score)}"
        by = f"  {case.by_words(style.glyph('minus'))}".rstrip()
        name = pad(cut_middle(line(case.id), size, more), size)
        row = f"  {name}  {pad(statuses, 21, more=more)}  {scores}{by}"
        is_wide = width(row) > style.columns
        lines += (
            [f"  {name}", *wrap(f"{statuses} {scores}{by}", style.columns, first=" " * 6)]
            if is_wide
            else [row]
        )
        lines += _flipped_lines(case, style)
        lines += side_by_side(case, style) if number < MOST_TEXTS else []
    if len(changed) > len(shown):
        lines.append(f"  and {len(changed) - len(shown):,} more; --json has them all")
    return lines


def _flipped_lines(case: ComparedCaseDoc, style: Style) -> list[str]:
    """The items that turned, by their words."""
    lines: list[str] = []
    for name, items in case.flipped:
        named = "; ".join(map(line, items))
        lines += wrap(named, style.columns, first=f"      {pad(name, 8)}", rest=" " * 14)
    return lines


def side_by_side(case: ComparedCaseDoc, style: Style) -> list[str]:
    """Input, then both outputs with `[-old-]` and `{+new+}`: two columns on a wide page, else one
    under the other.
    """
    before, after = case.baseline.output, case.candidate.output
    more, indent = style.glyph("more"), " " * 6
    lines: list[str] = []
    for row in (
        excerpt(case.input, columns=style.columns - 14, rows=2, more=more) if case.input else ()
    ):
        lines.append(indent + pad("" if lines else "input", 8) + row)
    if before is None or after is None or before == after:
        return lines
    sides = [
        _marked_rows(pieces, marks, style)
        for pieces, marks in zip(word_diff(before, after), _MARKS, strict=True)
    ]
    if style.width < WIDE:
        for name, rows in zip(("before", "after"), sides, strict=True):
            labels = [pad(name, 8), *[" " * 8] * (len(rows) - 1)]
            lines += [indent + label + row for label, row in zip(labels, rows, strict=True)]
        return lines
    side = _column(style)
    heads = [f"{pad(one, side)}" for one in ("before", "after")]
    lines.append(
        style.paint(f"{indent}{heads[0]} {style.glyph('column')} {heads[1].rstrip()}", "dim")
    )
    for left, right in zip_longest(*sides, fillvalue=""):
        lines.append(f"{indent}{pad(left, side, more=more)} {style.glyph('column')} {right}")
    return lines


def _column(style: Style) -> int:
    """The room of one side."""
    return (
        style.columns - 14 if style.width < WIDE else (min(style.width, WIDEST_PAIR) - 6 - 3) // 2
    )


def _marked_rows(pieces: Pieces, marks: tuple[str, str], style: Style) -> list[str]:
    text = "".join(_marked(piece, marks) for piece in pieces)
    return (
        excerpt(text, columns=_column(style), more=style.glyph("more"))
        if text.strip()
        else ["(empty)"]
    )


def _marked(piece: DiffPiece, marks: tuple[str, str]) -> str:
    """A changed part between its marks, line by line, which are next to its words."""
    if not piece.is_changed:
        return piece.text
    return _WORDS.sub(lambda match: f"{marks[0]}{match[0]}{marks[1]}", piece.text)


# ---------------------------------------------------------------------------------------------------------------
# trend


def trend_text(doc: TrendDoc, style: Style = PLAIN) -> str:
    """Runs in the order given: pass rate, what changed, mean score."""
    if not doc.runs:
        return style.finish(["no run"])
    size = min(max(width(_run_name(one)) for one in doc.runs), max(12, style.columns * 4 // 10))
    cells = max(6, min(24, style.columns - size - 2 - 2 - 8 - 9 - 9))
    heads = "  ".join(
        pad(name, columns, right=True)
        for name, columns in (("passed", 7), ("change", 7), ("score", 6))
    )
    lines = [style.paint(f"{pad('run', size)}  {pad('', cells)}  {heads}", "dim")]
    for before, one in doc.steps:
        lines.append(
            f"{pad(cut_middle(_run_name(one), size, style.glyph('more')), size)}  {_rate_bar(one, cells, style)}"
            f"  {pad(one.rate_percent, 7, right=True)}"
            f"  {pad(one.change_from(before, style.glyph('minus')), 7, right=True)}"
            f"  {pad(points(one.mean_score), 6, right=True)}"
        )
        if one.counts_words:
            counts = style.glyph("between").join(one.counts_words)
            lines += [style.paint(more, "dim") for more in wrap(counts, style.columns, first="  ")]
        turned = (
            (("regressions", one.regressions), ("improvements", one.improvements)) if before else ()
        )
        for name, ids in turned:
            glyph, look = _NAMED_LOOKS[name]
            wrapped = wrap(
                f"{style.glyph(glyph)} {name} {', '.join(map(line, ids))}",
                style.columns,
                first="  ",
            )
            lines += [style.paint(more, look) for more in wrapped] if ids else []
    return style.finish(lines)


def _run_name(run: TrendRunDoc) -> str:
    return "  ".join(part for part in (line(run.run or ""), line(run.suite)) if part)


def _rate_bar(run: TrendRunDoc, cells: int, style: Style) -> str:
    low, high = (
        (run.pass_rate, run.pass_rate)
        if run.pass_rate is not None
        else run.pass_rate_interval or (0, 0)
    )
    return bar(style, cells, float(exact(low) * 100), float(exact(high) * 100))
