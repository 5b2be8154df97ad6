"""A suite run for the terminal: what was run, a line a case, what the failed ones are missing, the
summary.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from honestone.core.numbers import duration_words, exact
from honestone.report.case_text import case_lines
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import STATUSES, CaseDoc
from honestone.report.misses import why
from honestone.report.terminal.comparison_text import changed_lines, comparison_lines
from honestone.report.terminal.score_table import verdict_look
from honestone.report.terminal.text import (
    belief_lines,
    bullet_lines,
    join_sections,
    judge_table,
    more_lines,
    needs_doctor,
    next_line,
    remarks,
    see_replies,
    warning_lines,
)
from honestone.system.drawing import Style, bar, count, cut, cut_middle, line, pad, width, wrap

PLAIN: Final = Style()
MOST_DETAILS: Final = 20  # cases whose items are shown; the others have their line
STATUS_COLUMNS: Final = 12  # the longest status


def suite_text(report: SuiteReportDoc | SuiteReport, style: Style = PLAIN) -> str:
    """One run of a suite (`honestone.report/1`)."""
    report = SuiteReport.of(report)
    doc = report.brief()
    sections = [
        [doc.name, *(f"  {pad(name, 8)}  {value}" for name, value in doc.source_words)],
        _case_lines(report, doc, style),
        judge_table(doc.judge_states, style),
        [*warning_lines(doc.warnings, style), *remarks(doc.shared_flags, doc.remarks, style)],
        _comparison(doc, style),
        _summary(doc, style),
    ]
    return style.finish(join_sections(sections))


# ---------------------------------------------------------------------------------------------------------------
# cases


def _case_lines(report: SuiteReport, doc: SuiteReportDoc, style: Style) -> list[str]:
    """Name, status, score and time under each other; below the open ones, which come first, what
    went in and out and what they miss.
    """
    cases = doc.cases
    if not cases:
        return ["no case"]
    name = min(max(width(case.name) for case in cases), max(12, style.columns * 4 // 10))
    score = max(width(case.score_words) for case in cases)
    time = max(width(duration_words(case.time)) for case in cases)
    inner = replace(style, width=style.columns - 4)
    listed = doc.judge_states
    lines: list[str] = []
    shown = 0
    for case in report.worst_first(doc):
        has_details = case.is_open and shown < MOST_DETAILS
        missed = [] if has_details else why(case, listed)
        how_sure = doc.sure_words_of(case)
        unstable = "unstable: its attempts disagree" if case.unstable else ""
        remark = "; ".join(filter(None, [how_sure, unstable or next(iter(missed), "")]))
        lines.append(_case_line(case, style, name, score, time, remark))
        if has_details:
            shown += 1
            lines += ["    " + one for one in case_lines(case, inner, listed=listed)]
    hidden = sum(case.is_open for case in cases) - shown
    if hidden:
        lines.append(
            f"what {count(hidden, 'more case misses', 'more cases miss')} is left out here; --format html and --json have it all"
        )
    return lines


def _case_line(case: CaseDoc, style: Style, name: int, score: int, time: int, remark: str) -> str:
    glyph, look = STATUSES[case.status]
    more = style.glyph("more")
    row = f"{style.paint(style.glyph(glyph), look, 'bold')} {pad(cut_middle(case.name, name, more), name)}"
    row += f"  {style.paint(pad(case.status, STATUS_COLUMNS), look)}  {pad(case.score_words, score, right=True)}"
    taken = 2 + name + 2 + STATUS_COLUMNS + 2 + score
    if time and taken + 2 + time <= style.columns:
        row += f"  {style.paint(pad(duration_words(case.time), time, right=True), 'dim')}"
        taken += 2 + time
    left = style.columns - taken - 2
    return (
        row + "  " + style.paint(cut(remark, left, more), "dim") if remark and left >= 16 else row
    )


# -------------------------------------------------------------------------------------------------------------
# summary


def _comparison(doc: SuiteReportDoc, style: Style) -> list[str]:
    if doc.compared is None:
        return []
    lines = comparison_lines(doc.compared, style, doc.rates)
    return [
        style.paint("Against the baseline", "bold"),
        *lines,
        *changed_lines(doc.compared, style),
    ]


def _summary(doc: SuiteReportDoc, style: Style) -> list[str]:
    glyph, look = verdict_look(doc.verdict)
    lines = [style.paint(f"{style.glyph(glyph)} {doc.verdict_words}", look, "bold")]
    lines += bullet_lines(map(line, doc.reasons), style)
    lines += belief_lines(doc.belief_words, doc.reasons, style)
    for name, value in _figures(doc, style, look):
        first, *more = wrap(value, style.columns - 14) if "\x1b" not in value else [value]
        lines += [f"  {pad(name, 10)}  {first}", *(" " * 14 + one for one in more)]
    if doc.run:
        lines += next_line("  again", f"      honestone show {line(doc.run)}", style)
    see = see_replies(doc.judge_states, doc.run)
    if see is not None:
        lines += next_line("  next", f"      {see}", style)
    more = more_lines(doc.open_reasons, style, indent="  ")
    if see is None and not more and needs_doctor(doc.verdict, doc.judge_states):
        lines += next_line("  next", "      honestone doctor", style)
    return lines + more


def _figures(doc: SuiteReportDoc, style: Style, look: str) -> list[tuple[str, str]]:
    between = style.glyph("between")
    figures = [
        ("pass rate", _rate_line(doc, style, look)),
        ("cases", between.join(doc.counts_words)),
        ("mean score", doc.mean_words),
        ("triggering", doc.triggering_words),
        ("next to it", doc.with_skills_words),
        ("unstable", ", ".join(doc.unstable_names)),
        ("time", between.join(doc.time_words)),
        ("spent", between.join(doc.spent_words)),
    ]
    return [(name, value) for name, value in figures if value]


def _rate_line(doc: SuiteReportDoc, style: Style, look: str) -> str:
    passed, judged = doc.passed_count
    rate = doc.pass_rate
    if rate is None and not doc.pass_rate_interval:
        return "n/a: no case was judged"
    low, high = (
        float(exact(end) * 100) for end in doc.pass_rate_interval or (rate or 0, rate or 0)
    )
    words = style.glyph("between").join(
        part
        for part in (doc.rate_words, f"{passed:,} of {judged:,} passed", doc.needs_words)
        if part
    )
    cells = min(24, style.columns - 14 - 2 - width(words))
    if cells < 8:
        return words
    mark = None if doc.least_rate is None else float(exact(doc.least_rate) * 100)
    return f"{bar(style, cells, low, high, mark=mark, look=look)}  {words}"
