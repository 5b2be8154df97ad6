"""Two runs of a suite compared (`honestone.comparison/1`) and many in a row (`honestone.trend/1`), for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from honestone.core.numbers import Number, change_words, exact, percent, points
from honestone.report.documents.scorecard import verdict_words
from honestone.report.documents.suite import ComparedCaseDoc, ComparisonDoc, TrendDoc, TrendRunDoc
from honestone.report.text import bullet_lines
from honestone.system.drawing import Style, bar, cut_middle, line, pad, width, wrap

PLAIN: Final = Style()
MOST_CHANGED: Final = 40  # cases listed; the JSON has all

_LOOKS: Final = {"pass": ("yes", "green"), "fail": ("no", "red"), "inconclusive": ("unknown", "yellow")}
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
    glyph, look = _LOOKS.get(doc.verdict, ("unknown", "yellow"))
    head = style.paint(f"{style.glyph(glyph)} {verdict_words(doc.verdict)}", look, "bold")
    sides = f"{line(doc.baseline or '')} {style.glyph('arrow')} {line(doc.candidate or '')}"
    lines = [f"{head}  {sides}", *bullet_lines(map(line, doc.reasons), style), "", *comparison_lines(doc, style)]
    if doc.changed:
        lines += ["", style.paint("Cases that changed", "bold"), *_case_lines(doc.changed, style)]
    return style.finish(lines + bullet_lines(map(line, doc.notes), style, indent=""))


def comparison_lines(
    doc: ComparisonDoc, style: Style, rates: tuple[Number | None, Number | None] = (None, None)
) -> list[str]:
    """The figures and the names, without a verdict; also the block of a report with a baseline."""
    lines = []
    for name, told in doc.figures(rates, style.glyph("minus")):
        lines += wrap(told, style.columns, first=f"  {pad(name, 12)} ", rest=" " * 15)
    for name, meaning, ids in doc.named:
        glyph, look = _NAMED_LOOKS[name]
        mark = style.paint(f"{style.glyph(glyph)} {pad(name, 12)}", look)
        first, *more = wrap(f"{', '.join(map(line, ids))} ({meaning})", style.columns - 2 - 13)
        lines += [f"  {mark} {first}", *(" " * 17 + one for one in more)]
    return lines


def _case_lines(changed: Sequence[ComparedCaseDoc], style: Style) -> list[str]:
    shown = changed[:MOST_CHANGED]
    arrow, more = style.glyph("arrow"), style.glyph("more")
    size = min(max(width(line(case.id)) for case in shown), max(12, style.columns // 3))
    lines = []
    for case in shown:
        statuses = f"{case.baseline.status} {arrow} {case.candidate.status}"
        scores = f"{points(case.baseline.score)} {arrow} {points(case.candidate.score)}"
        by = f"  {change_words(case.delta, style.glyph('minus'))}" if case.delta is not None else ""
        name = pad(cut_middle(line(case.id), size, more), size)
        lines.append(f"  {name}  {pad(statuses, 21, more=more)}  {scores}{by}")
    if len(changed) > len(shown):
        lines.append(f"  and {len(changed) - len(shown):,} more; --json has them all")
    return lines


# --------------------------------------------------------------------------------------------------------------- trend


def trend_text(doc: TrendDoc, style: Style = PLAIN) -> str:
    """Runs in the order given: pass rate, what changed, mean score."""
    if not doc.runs:
        return style.finish(["no run"])
    size = min(max(width(_run_name(one)) for one in doc.runs), max(12, style.columns * 4 // 10))
    cells = max(6, min(24, style.columns - size - 2 - 2 - 8 - 9 - 9))
    heads = "  ".join(pad(name, columns, right=True) for name, columns in (("passed", 7), ("change", 7), ("score", 6)))
    lines = [style.paint(f"{pad('run', size)}  {pad('', cells)}  {heads}", "dim")]
    for before, one in doc.steps:
        lines.append(
            f"{pad(cut_middle(_run_name(one), size, style.glyph('more')), size)}  {_rate_bar(one, cells, style)}"
            f"  {pad(percent(one.pass_rate), 7, right=True)}"
            f"  {pad(one.change_from(before, style.glyph('minus')), 7, right=True)}"
            f"  {pad(points(one.mean_score), 6, right=True)}"
        )
        if one.counts_words:
            told = style.glyph("between").join(one.counts_words)
            lines += [style.paint(more, "dim") for more in wrap(told, style.columns, first="  ")]
        turned = (("regressions", one.regressions), ("improvements", one.improvements)) if before else ()
        for name, ids in turned:
            glyph, look = _NAMED_LOOKS[name]
            said = wrap(f"{style.glyph(glyph)} {name} {', '.join(map(line, ids))}", style.columns, first="  ")
            lines += [style.paint(more, look) for more in said] if ids else []
    return style.finish(lines)


def _run_name(run: TrendRunDoc) -> str:
    return "  ".join(part for part in (line(run.run or ""), line(run.suite)) if part)


def _rate_bar(run: TrendRunDoc, cells: int, style: Style) -> str:
    low, high = (run.pass_rate, run.pass_rate) if run.pass_rate is not None else run.pass_rate_interval or (0, 0)
    return bar(style, cells, float(exact(low) * 100), float(exact(high) * 100))
