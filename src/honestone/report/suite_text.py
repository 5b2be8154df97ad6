"""A suite run for the terminal: what was run, a line a case, what the failed ones are missing, the summary."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from honestone.core.numbers import exact
from honestone.report.comparison_text import comparison_lines
from honestone.report.draw import Style, bar, cut, cut_middle, line, pad, points, score_or_interval, width, wrap
from honestone.report.suite_words import (
    case_duration,
    case_name,
    cases_of,
    counts_of,
    counts_words,
    duration_words,
    flags_of,
    is_open,
    judged_count,
    judges_of,
    least_rate,
    mean_words,
    needs_words,
    quoting_output,
    rate_words,
    reasons_of,
    source_words,
    spend_parts,
    status_mark,
    status_of,
    suite_name,
    time_parts,
    unstable_cases,
)
from honestone.report.text import findings, join_sections, judge_table, next_line, remarks
from honestone.report.words import Doc, run_id, verdict_words

PLAIN: Final = Style()
MOST_DETAILS: Final = 20  # cases whose items are shown; the others have their line
MOST_REASONS: Final = 6
STATUS_COLUMNS: Final = 12  # the longest status

_VERDICT_MARKS: Final = {"pass": ("yes", "green"), "fail": ("no", "red"), "skipped": ("absent", "dim")}


def suite_text(doc: Doc, style: Style = PLAIN) -> str:
    """One run of a suite (`honestone.report/1`)."""
    sections = [
        _header(doc),
        _case_lines(doc, style),
        judge_table(judges_of(doc), style),
        remarks({**doc, "flags": flags_of(doc)}, style),
        _comparison(doc, style),
        _summary(doc, style),
    ]
    return style.finish(join_sections(sections))


def _header(doc: Doc) -> list[str]:
    return [f"{suite_name(doc)}", *(f"  {pad(name, 8)}  {told}" for name, told in source_words(doc))]


# --------------------------------------------------------------------------------------------------------------- cases


def _case_lines(doc: Doc, style: Style) -> list[str]:
    """Name, status, score, time and first reason under each other; below the open ones what they miss."""
    cases = cases_of(doc)
    if not cases:
        return ["no case"]
    name = min(max(width(case_name(case)) for case in cases), max(12, style.columns * 4 // 10))
    score = max(width(_score(case)) for case in cases)
    time = max(width(duration_words(case_duration(case))) for case in cases)
    lines: list[str] = []
    shown = 0
    for case in cases:
        told, is_whole = _case_line(case, style, name, score, time)
        lines.append(told)
        if is_open(case) and shown < MOST_DETAILS:
            shown += 1
            lines += _details(case, style, reasons_from=1 if is_whole else 0)
    hidden = sum(map(is_open, cases)) - shown
    if hidden:
        lines.append(f"what {hidden:,} more cases miss is left out here; --format html and --json have it all")
    return lines


def _case_line(case: Doc, style: Style, name: int, score: int, time: int) -> tuple[str, bool]:
    """The line, and whether its first reason fitted."""
    status = status_of(case)
    glyph, look = status_mark(status)
    more = style.glyph("more")
    told = f"{style.paint(style.glyph(glyph), look, 'bold')} {pad(cut_middle(case_name(case), name, more), name)}"
    told += f"  {style.paint(pad(status, STATUS_COLUMNS), look)}  {pad(_score(case), score, right=True)}"
    taken = 2 + name + 2 + STATUS_COLUMNS + 2 + score
    if time and taken + 2 + time <= style.columns:
        told += f"  {style.paint(pad(duration_words(case_duration(case)), time, right=True), 'dim')}"
        taken += 2 + time
    reasons = [*(["unstable: its attempts disagree"] if case.get("unstable") else []), *reasons_of(case)]
    room = style.columns - taken - 2
    if not reasons or room < 16:
        return told, not reasons
    return told + "  " + style.paint(cut(reasons[0], room, more), "dim"), (
        not case.get("unstable") and width(reasons[0]) <= room
    )


def _score(case: Doc) -> str:
    if case.get("score") is None and (not case.get("interval") or status_of(case) in ("target-error", "skipped")):
        return points(None)
    return score_or_interval(case.get("score"), case.get("interval"))


def _details(case: Doc, style: Style, *, reasons_from: int) -> list[str]:
    lines: list[str] = []
    reasons = reasons_of(case)[reasons_from:]
    for reason in reasons[:MOST_REASONS]:
        lines += wrap(reason, style.columns, first=f"    {style.glyph('dot')} ", most=4, more=style.glyph("more"))
    if len(reasons) > MOST_REASONS:
        lines.append(f"    and {len(reasons) - MOST_REASONS:,} more reasons")
    inner = replace(style, width=style.columns - 4)
    for section in findings(quoting_output(case), inner):
        lines += ["    " + one for one in section]
    attempts = case.get("attempts") or ()
    if len(attempts) > 1:
        told = "; ".join(
            f"{line(one.get('attempt', ''))}: {status_of(one)} {points(one.get('score'))}" for one in attempts
        )
        lines += wrap(told, style.columns, first="    attempts  ")
    return lines


# ------------------------------------------------------------------------------------------------------------- summary


def _comparison(doc: Doc, style: Style) -> list[str]:
    comparison = doc.get("comparison")
    if not comparison:
        return []
    rates = {"baseline_pass_rate": doc.get("baseline_pass_rate"), "pass_rate": doc.get("pass_rate")}
    return [style.paint("Against the baseline", "bold"), *comparison_lines({**comparison, **rates}, style)]


def _summary(doc: Doc, style: Style) -> list[str]:
    glyph, look = _VERDICT_MARKS.get(doc["verdict"], ("unknown", "yellow"))
    lines = [style.paint(f"{style.glyph(glyph)} {verdict_words(doc)}", look, "bold")]
    for reason in doc.get("reasons") or ():
        lines += wrap(line(reason), style.columns, first=f"  {style.glyph('dot')} ")
    for name, told in _figures(doc, style, look):
        first, *more = wrap(told, style.columns - 14) if "\x1b" not in told else [told]
        lines += [f"  {pad(name, 10)}  {first}", *(" " * 14 + one for one in more)]
    run = run_id(doc)
    return lines + (next_line("  again", f"      honestone show {run}", style) if run else [])


def _figures(doc: Doc, style: Style, look: str) -> list[tuple[str, str]]:
    between = style.glyph("between")
    unstable = unstable_cases(doc)
    figures = [
        ("pass rate", _rate_line(doc, style, look)),
        ("cases", between.join(counts_words(counts_of(doc)))),
        ("mean score", mean_words(doc)),
        ("unstable", ", ".join(unstable)),
        ("time", between.join(time_parts(doc))),
        ("spent", between.join(spend_parts(doc.get("usage")))),
    ]
    return [(name, told) for name, told in figures if told]


def _rate_line(doc: Doc, style: Style, look: str) -> str:
    passed, judged = judged_count(doc)
    rate, interval = doc.get("pass_rate"), doc.get("pass_rate_interval")
    if rate is None and not interval:
        return "n/a: no case was judged"
    low, high = (exact(end) * 100 for end in (interval or (rate or 0, rate or 0)))
    told = style.glyph("between").join(
        part for part in (rate_words(rate, interval), f"{passed:,} of {judged:,} passed", needs_words(doc)) if part
    )
    cells = min(24, style.columns - 14 - 2 - width(told))
    if cells < 8:
        return told
    least = least_rate(doc)
    mark = None if least is None else float(exact(least) * 100)
    return f"{bar(style, cells, float(low), float(high), mark=mark, look=look)}  {told}"
