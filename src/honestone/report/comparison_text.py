"""Two runs side by side (`honestone.comparison/1`) and many in a row (`honestone.trend/1`), as text and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from honestone.core.numbers import exact
from honestone.report.draw import Number, Style, bar, count, cut_middle, line, pad, points, width, wrap
from honestone.report.markdown import bullets, md, page, table
from honestone.report.suite_words import counts_words, percent, rate_words, side_name, signed, signed_rate, status_of
from honestone.report.words import Doc, verdict_words

PLAIN: Final = Style()
MOST_CHANGED: Final = 40  # cases listed; the JSON has all

_LOOKS: Final = {"pass": ("yes", "green"), "fail": ("no", "red"), "inconclusive": ("unknown", "yellow")}

NAMED: Final = (  # field, what it is called, glyph, colour
    ("regressions", "regressions", "no", "red"),
    ("improvements", "improvements", "yes", "green"),
    ("missing", "missing", "warn", "yellow"),
    ("new", "new", "dot", ""),
    ("undecided", "undecided", "unknown", "yellow"),
    ("unstable", "unstable", "split", "yellow"),
)
MEANINGS: Final = {
    "regressions": "passed there, failed here",
    "improvements": "failed there, passed here",
    "missing": "judged there, not here",
    "new": "only here",
    "undecided": "could not be judged on one side",
    "unstable": "flips between equal attempts, so it says nothing",
}


# ---------------------------------------------------------------------------------------------------------- comparison


def comparison_text(doc: Doc, style: Style = PLAIN) -> str:
    """One comparison: the verdict, the differences with their intervals, the cases by name."""
    glyph, look = _LOOKS.get(doc["verdict"], ("unknown", "yellow"))
    head = style.paint(f"{style.glyph(glyph)} {verdict_words(doc)}", look, "bold")
    lines = [head + "  " + sides_words(doc, style.glyph("arrow"))]
    for reason in doc.get("reasons") or ():
        lines += wrap(line(reason), style.columns, first=f"  {style.glyph('dot')} ")
    lines += ["", *comparison_lines(doc, style)]
    changed = changed_cases(doc)
    if changed:
        lines += ["", style.paint("Cases that changed", "bold"), *_case_lines(changed, style)]
    for note in doc.get("notes") or ():
        lines += wrap(line(note), style.columns, first=f"{style.glyph('dot')} ")
    return style.finish(lines)


def sides_words(doc: Doc, arrow: str = "→") -> str:
    return f"{side_name(doc.get('baseline'))} {arrow} {side_name(doc.get('candidate'))}"


def comparison_lines(doc: Doc, style: Style) -> list[str]:
    """The figures and the names, without a verdict; also the block of a report with a baseline."""
    minus = style.glyph("minus")
    lines = []
    for name, told in figures(doc, minus):
        lines += wrap(told, style.columns, first=f"  {pad(name, 12)} ", rest=" " * 15)
    for field, name, glyph, look in NAMED:
        ids = [line(one) for one in doc.get(field) or ()]
        if ids:
            mark = style.paint(f"{style.glyph(glyph)} {pad(name, 12)}", look)
            first, *more = wrap(f"{', '.join(ids)} ({MEANINGS[field]})", style.columns - 2 - 13)
            lines += [f"  {mark} {first}", *(" " * 17 + one for one in more)]
    return lines


def figures(doc: Doc, minus: str = "−") -> list[tuple[str, str]]:
    """The differences in words: pass rate, mean score, wins and losses."""
    rate = _difference(signed_rate(doc.get("delta"), minus), doc.get("interval"), 100, minus)
    ends = doc.get("baseline_pass_rate"), doc.get("pass_rate")
    if doc.get("delta") is not None and None not in ends:
        rate = f"{percent(ends[0])} to {percent(ends[1])}: {rate}"
    score = _difference(signed(doc.get("score_delta"), minus), doc.get("score_interval"), 1, minus)
    wins, losses, ties = (doc.get(name) or 0 for name in ("wins", "losses", "ties"))
    sign = f"{count(wins, 'win')}, {count(losses, 'loss', 'losses')}, {count(ties, 'tie')}"
    if doc.get("p") is not None:
        sign += f" (sign test: p = {p_words(doc['p'])})"
    return [("pass rate", rate), ("mean score", score), ("by case", sign)]


def _difference(told: str, interval: Sequence[Number] | None, times: int, minus: str) -> str:
    if told == "n/a":
        return "not known: some cases could not be judged"
    if not interval:
        return f"{told} points"
    low, high = (signed(exact(end) * times, minus) for end in interval)
    return f"{told} points (95% interval {low} to {high})"


def p_words(p: Number) -> str:
    """Never 0: an exact test cannot say so."""
    if p < 0.0001:
        return "below 0.0001"
    return "1" if p == 1 else f"{p:.4f}".rstrip("0")


def changed_cases(doc: Doc) -> list[Doc]:
    """Cases whose status or score differs, the largest loss first."""
    changed = [
        case
        for case in doc.get("cases") or ()
        if status_of(case.get("baseline") or {}) != status_of(case.get("candidate") or {}) or case.get("delta")
    ]
    return sorted(changed, key=lambda case: (case.get("delta") is None, case.get("delta") or 0))


def _case_lines(changed: Sequence[Doc], style: Style) -> list[str]:
    shown = changed[:MOST_CHANGED]
    arrow, more = style.glyph("arrow"), style.glyph("more")
    size = min(max(width(line(case["id"])) for case in shown), max(12, style.columns // 3))
    lines = []
    for case in shown:
        before, after = case.get("baseline") or {}, case.get("candidate") or {}
        statuses = f"{status_of(before)} {arrow} {status_of(after)}"
        scores = f"{points(before.get('score'))} {arrow} {points(after.get('score'))}"
        by = f"  {signed(case['delta'], style.glyph('minus'))}" if case.get("delta") is not None else ""
        name = pad(cut_middle(line(case["id"]), size, more), size)
        lines.append(f"  {name}  {pad(statuses, 21, more=more)}  {scores}{by}")
    if len(changed) > len(shown):
        lines.append(f"  and {len(changed) - len(shown):,} more; --json has them all")
    return lines


def comparison_markdown(doc: Doc) -> str:
    """One comparison as Markdown."""
    sides = f"{md(side_name(doc.get('baseline')))} → {md(side_name(doc.get('candidate')))}"
    return page(
        [
            f"# {verdict_words(doc)}: {sides}",
            bullets(md(reason) for reason in doc.get("reasons") or ()),
            *comparison_parts(doc, level=2),
            bullets(md(note) for note in doc.get("notes") or ()),
        ]
    )


def comparison_parts(doc: Doc, *, level: int) -> list[str]:
    """Figures, names and the cases that changed; also the part of a report with a baseline."""
    named = []
    for field, name, _, _ in NAMED:
        ids = doc.get(field) or ()
        if ids:
            more = f", and {len(ids) - MOST_CHANGED:,} more" if len(ids) > MOST_CHANGED else ""
            told = ", ".join(md(one, 200) for one in ids[:MOST_CHANGED])
            named.append(f"**{name}** ({MEANINGS[field]}): {told}{more}")
    changed = changed_cases(doc)
    rows = [
        [
            md(case["id"], 200),
            f"{status_of(case.get('baseline') or {})} → {status_of(case.get('candidate') or {})}",
            points((case.get("baseline") or {}).get("score")),
            points((case.get("candidate") or {}).get("score")),
            signed(case.get("delta")) if case.get("delta") is not None else "",
        ]
        for case in changed[:MOST_CHANGED]
    ]
    hidden = len(changed) - len(rows)
    return [
        bullets([*(f"{name}: {told}" for name, told in figures(doc)), *named]),
        f"{'#' * level} Cases that changed" if rows else "",
        table(["changed case", "status", "before", "after", "by"], rows, right=[2, 3, 4]) if rows else "",
        f"{hidden:,} more changed; `--json` has them all." if hidden else "",
    ]


# --------------------------------------------------------------------------------------------------------------- trend


def trend_text(doc: Doc, style: Style = PLAIN) -> str:
    """Runs in the order given: pass rate, what changed, mean score."""
    runs = doc.get("runs") or ()
    names = [_run_name(one) for one in runs]
    size = min(max((width(name) for name in names), default=3), max(12, style.columns * 4 // 10))
    cells = max(6, min(24, style.columns - size - 2 - 2 - 8 - 9 - 9))
    head = f"{pad('run', size)}  {pad('', cells)}  {pad('passed', 7, right=True)}  {pad('change', 7, right=True)}  {pad('score', 6, right=True)}"
    lines = [style.paint(head, "dim")]
    for index, (one, name) in enumerate(zip(runs, names, strict=True)):
        before = runs[index - 1] if index else None
        lines.append(
            f"{pad(cut_middle(name, size, style.glyph('more')), size)}  {_rate_bar(one, cells, style)}"
            f"  {pad(percent(one.get('pass_rate')), 7, right=True)}"
            f"  {pad(_change_of(before, one, style.glyph('minus')), 7, right=True)}"
            f"  {pad(points(one.get('mean_score')), 6, right=True)}"
        )
        if one.get("counts"):
            told = style.glyph("between").join(counts_words(_counts(one)))
            lines += [style.paint(more, "dim") for more in wrap(told, style.columns, first="  ")]
        for name, _, glyph, look in _TURNED:
            if index and one.get(name):
                said = f"{style.glyph(glyph)} {name} {', '.join(map(line, one[name]))}"
                lines += [style.paint(more, look) for more in wrap(said, style.columns, first="  ")]
    if not runs:
        lines.append("no run")
    return style.finish(lines)


_TURNED = tuple(row for row in NAMED if row[0] in ("regressions", "improvements"))
"""What a trend tells of each run beside the one before."""


def _rate_bar(run: Doc, cells: int, style: Style) -> str:
    rate, interval = run.get("pass_rate"), run.get("pass_rate_interval")
    low, high = (rate, rate) if rate is not None else interval or (0, 0)
    return bar(style, cells, float(exact(low) * 100), float(exact(high) * 100))


def _change_of(before: Doc | None, after: Doc, minus: str = "−") -> str:
    if before is None or before.get("pass_rate") is None or after.get("pass_rate") is None:
        return ""
    return signed((exact(after["pass_rate"]) - exact(before["pass_rate"])) * 100, minus)


def _run_name(run: Doc) -> str:
    started, title = line(run.get("started") or ""), line(run.get("title") or run.get("suite") or "")
    return "  ".join(part for part in (started[:16], line(run["run"]), title) if part)


def _counts(run: Doc) -> dict[str, int]:
    return {
        status: int(run["counts"].get(status) or 0)
        for status in ("passed", "failed", "inconclusive", "target-error", "skipped")
    }


def trend_markdown(doc: Doc) -> str:
    """Runs in the order given, as a table."""
    runs = doc.get("runs") or ()
    rows = [
        [
            md(one["run"]),
            md((one.get("started") or "")[:16]),
            md(one.get("title") or one.get("suite") or "", 200),
            rate_words(one.get("pass_rate"), one.get("pass_rate_interval")),
            _change_of(runs[index - 1] if index else None, one),
            points(one.get("mean_score")),
            ", ".join(counts_words(_counts(one))) if one.get("counts") else "",
        ]
        for index, one in enumerate(runs)
    ]
    head = ["run", "started", "title", "pass rate", "change", "mean score", "cases"]
    return page(["# Trend", table(head, rows, right=[3, 4, 5])])
