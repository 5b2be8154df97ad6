"""A table of texts for the terminal: what they come to, by criterion and by group, and the worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from honestone.core.numbers import points
from honestone.report.documents.texts import MeanDoc, TextGroupDoc, TextsDoc
from honestone.report.terminal.score_table import verdict_look
from honestone.report.terminal.text import bullet_lines, join_sections, next_line, warning_lines
from honestone.system.drawing import Style, count, cut, cut_middle, line, pad, width, wrap

PLAIN: Final = Style()
MOST_CRITERIA: Final = 20
MOST_GROUPS: Final = 20
_NAME_SHARE: Final = 0.4  # of the columns of the terminal


def texts_text(doc: TextsDoc, style: Style = PLAIN) -> str:
    """One table (`honestone.texts/1`)."""
    sections = [
        [doc.heading, *(f"  {pad(name, 8)}  {value}" for name, value in doc.facts)],
        _criteria(doc.summary.criteria, style),
        _groups(doc.summary.groups, doc.min_pass_rate, style),
        _worst(doc, style),
        _judges(doc, style),
        warning_lines(doc.warnings, style),
        _summary(doc, style),
    ]
    return style.finish(join_sections(sections))


def _names(names: Sequence[str], title: str, style: Style) -> int:
    """Columns that the names take."""
    widest = max([width(line(name)) for name in names] + [width(title)])
    return min(widest, max(12, int(style.columns * _NAME_SHARE)))


def _criteria(criteria: Mapping[str, MeanDoc], style: Style) -> list[str]:
    if not criteria:
        return []
    size = _names([*criteria], "criterion", style)
    lines = [style.paint(f"{pad('criterion', size)}   mean  95% interval", "dim")]
    for id, mean in [*criteria.items()][:MOST_CRITERIA]:
        shown = pad(cut_middle(line(id), size, style.glyph("more")), size)
        lines.append(
            f"{shown}  {pad(points(mean.mean), 5, right=True)}  {_interval(mean)}".rstrip()
        )
    if len(criteria) > MOST_CRITERIA:
        lines.append(
            f"and {count(len(criteria) - MOST_CRITERIA, 'more criterion', 'more criteria')}"
        )
    return lines


def _interval(mean: MeanDoc) -> str:
    if mean.interval is None:
        return ""
    low, high = map(points, mean.interval)
    return f"{low} to {high}"


def _groups(groups: Mapping[str, TextGroupDoc], bar: float | None, style: Style) -> list[str]:
    if not groups:
        return []
    size = _names([*groups], "group", style)
    lines = [style.paint(f"{pad('group', size)}  passed", "dim")]
    for name, group in [*groups.items()][:MOST_GROUPS]:
        shown = pad(cut_middle(line(name), size, style.glyph("more")), size)
        row = f"{shown}  {group.passed_words}, {group.rate_beside(bar)}"
        lines.append(cut(row, style.columns, style.glyph("more")))
    if len(groups) > MOST_GROUPS:
        lines.append(f"and {count(len(groups) - MOST_GROUPS, 'more group', 'more groups')}")
    return lines


def _worst(doc: TextsDoc, style: Style) -> list[str]:
    worst = doc.summary.worst
    if not worst:
        return []
    size = _names([one.id for one in worst], "", style)
    lines = [style.paint("Worst", "bold")]
    for one in worst:
        glyph, look = verdict_look(one.verdict)
        shown = pad(cut_middle(one.name, size, style.glyph("more")), size)
        row = f"{shown}  {pad(one.score_words, 5, right=True)}  {line(one.missed)}"
        lines.append(
            f"{style.paint(style.glyph(glyph), look, 'bold')} "
            + cut(row.rstrip(), style.columns - 2, style.glyph("more"))
        )
    return lines


def _judges(doc: TextsDoc, style: Style) -> list[str]:
    """Why judges did not answer, once for all texts."""
    if not doc.absent_judges:
        return []
    lines = [style.paint("Judges", "bold")]
    for one in doc.absent_judges:
        lines += wrap(
            f"{line(one.id)}: {one.words}",
            style.columns,
            first=f"  {style.paint(style.glyph('warn'), 'yellow')} ",
            rest="    ",
        )
    return lines


def _summary(doc: TextsDoc, style: Style) -> list[str]:
    glyph, look = verdict_look(doc.verdict)
    between = style.glyph("between")
    lines = [style.paint(f"{style.glyph(glyph)} {doc.verdict_words}", look, "bold")]
    lines += bullet_lines(map(line, doc.reasons), style)
    figures = (
        ("passed", f"{doc.summary.passed_words}{between}{doc.rate_words}"),
        ("mean score", doc.summary.mean_score.words),
        *([("sure", doc.summary.sure_words)] if doc.summary.sure_words else []),
        ("spent", between.join(doc.spent_words)),
    )
    for name, value in figures:
        first, *more = wrap(value, style.columns - 14)
        lines += [f"  {pad(name, 10)}  {first}", *(" " * 14 + one for one in more)]
    if doc.run:
        lines += next_line("  again", f"      honestone show {line(doc.run)}", style)
    return lines
