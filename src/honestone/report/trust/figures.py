"""Reports on figures (calibration, agreement, noise): one shape, shown on a terminal or as Markdown.

Each report says in a `FigureReport` what it has to say. How that looks is decided here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from honestone.report.pages.markdown import measured_markdown
from honestone.system.drawing import Style, cut_middle, line, pad, width

PLAIN: Final = Style()

# A name, which begins with a space where it is a part of the one above it, and its figures.
FigureRow: TypeAlias = tuple[str, Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureReport:
    """What a report on figures says.

    `subject`: the file or table that was measured. `headline`: the result in a few words, empty
    where no single figure is the result. `facts`: pairs of a name and a text; a fact without a name
    is a sentence. `named_by`: what the names of `rows` are. `heads`: the names of the figures.
    `notes`: what a person should know before relying on the figures. `run`: the run on record.

    On a terminal: `fact_names` is the width of the column of facts' names; `figure_width` that of
    each figure's column, None for the width of what is in it; `least_names` is the width that the
    names of rows have at least, however narrow the terminal is. All are in columns.
    """

    title: str
    subject: str
    headline: str = ""
    facts: Sequence[tuple[str, str]]
    named_by: str = "judge or criterion"
    heads: Sequence[str]
    rows: Sequence[FigureRow]
    notes: Sequence[str] = ()
    run: str | None = None
    fact_names: int = 0
    figure_width: int | None = None
    least_names: int = 20

    def figure_widths(self) -> list[int]:
        """The width of each column of figures on a terminal."""
        if self.figure_width is not None:
            return [self.figure_width] * len(self.heads)
        columns = zip(self.heads, *(figures for _, figures in self.rows), strict=True)
        return [max(map(len, cells)) + 2 for cells in columns]


def figures_text(report: FigureReport, style: Style = PLAIN) -> str:
    """The report for a terminal."""
    head = line(report.subject) + (f": {report.headline}" if report.headline else "")
    lines = [style.paint(head, "bold")]
    for name, text in report.facts:
        lines.append(f"  {pad(name, report.fact_names)}  {text}" if name else f"  {text}")
    lines += ["", *_table_lines(report, style)]
    if report.notes:
        lines += ["", *(f"  {note}" for note in report.notes)]
    if report.run:
        lines.append(f"  again   honestone show {line(report.run)}")
    return style.finish(lines)


def figures_markdown(report: FigureReport) -> str:
    """The report as Markdown; the template makes names harmless."""
    return measured_markdown("figures", report=report)


def _table_lines(report: FigureReport, style: Style) -> list[str]:
    widths = report.figure_widths()
    gap = 2 if report.figure_width is None else 0
    longest = max((width(name) for name, _ in report.rows), default=0) + gap
    names = min(longest, max(report.least_names, style.columns - sum(widths) - 2))

    def row(cells: Iterable[str]) -> str:
        return "".join(f"{cell:>{size}}" for cell, size in zip(cells, widths, strict=True))

    lines = [style.paint(f"  {pad('', names)}{row(report.heads)}", "dim")]
    for name, figures in report.rows:
        indent = "  " if name.startswith(" ") else ""
        shown = cut_middle(line(name.strip()), names - len(indent), style.glyph("more"))
        lines.append(f"  {pad(indent + shown, names)}{row(figures)}")
    return lines
