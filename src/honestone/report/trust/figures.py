"""Reports on figures (calibration, agreement, noise, audit): one shape, shown on a terminal or as
Markdown.

Each report says in a `FigureReport` what it has to say. How that looks is decided here, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from honestone.report.pages.markdown import measured_markdown
from honestone.system.drawing import Style, cut_middle, line, pad, width

PLAIN: Final = Style()
_INTERVAL_WIDTH: Final = 17  # columns of an interval on a terminal


class FigureRow(NamedTuple):
    """One row of a table.

    `name`: begins with a space where it is a part of the one above it. `interval`: the 95% interval
    of the last figure. `remark`: about the row. `examples`: what the figures count, one a line.
    """

    name: str
    figures: Sequence[str]
    interval: str = ""
    remark: str = ""
    examples: Sequence[str] = ()


class FigureTable(Struct, frozen=True, kw_only=True):
    """One table of a report on figures.

    `title`, `remarks`: above it, where the report has several tables. `named_by`: what the names of
    `rows` are. `heads`: the names of the figures; without them the title stands alone.
    `has_intervals`: rows have an interval and a remark.

    On a terminal, in columns: `figure_width` is the width of each figure, None for the width of
    what is in it; `name_width` that of the rows' names, None for that of the longest name;
    `least_names` is the width that names have at least, however narrow the terminal is.
    """

    title: str = ""
    remarks: Sequence[str] = ()
    named_by: str = "judge or criterion"
    heads: Sequence[str] = ()
    has_intervals: bool = False
    rows: Sequence[FigureRow] = ()
    figure_width: int | None = None
    name_width: int | None = None
    least_names: int = 20

    @property
    def examples(self) -> list[str]:
        return [example for row in self.rows for example in row.examples]

    def figure_widths(self) -> list[int]:
        """The width of each column of figures on a terminal."""
        if self.figure_width is not None:
            return [self.figure_width] * len(self.heads)
        columns = zip(self.heads, *(row.figures for row in self.rows), strict=True)
        return [max(map(len, cells)) + 2 for cells in columns]

    def names_width(self, figure_widths: Sequence[int], columns: int) -> int:
        """The width of the column of names on a terminal of so many columns."""
        if self.name_width is not None:
            return self.name_width
        gap = 2 if self.figure_width is None else 0
        longest = max((width(row.name) for row in self.rows), default=0) + gap
        return min(longest, max(self.least_names, columns - sum(figure_widths) - 2))


class FigureReport(Struct, frozen=True, kw_only=True):
    """What a report on figures says.

    `subject`: the file or table that was measured. `headline`: the result in a few words, empty
    where no single figure is the result. `facts`: pairs of a name and a text; a fact without a name
    is a sentence. `fact_names`: the width of their names on a terminal, in columns. `notes`: what a
    person should know before relying on the figures. `run`: the run on record.
    """

    title: str
    subject: str
    headline: str = ""
    facts: Sequence[tuple[str, str]]
    fact_names: int = 0
    tables: Sequence[FigureTable]
    notes: Sequence[str] = ()
    run: str | None = None


def figures_text(report: FigureReport, style: Style = PLAIN) -> str:
    """The report for a terminal."""
    head = line(report.subject) + (f": {report.headline}" if report.headline else "")
    lines = [style.paint(head, "bold")]
    for name, text in report.facts:
        lines.append(f"  {pad(name, report.fact_names)}  {text}" if name else f"  {text}")
    for table in report.tables:
        lines += ["", *_table_lines(table, style)]
    if report.notes:
        lines += ["", *(f"  {note}" for note in report.notes)]
    if report.run:
        lines.append(f"  again   honestone show {line(report.run)}")
    return style.finish(lines)


def figures_markdown(report: FigureReport) -> str:
    """The report as Markdown; the template makes names harmless."""
    return measured_markdown("figures", report=report)


def _table_lines(table: FigureTable, style: Style) -> list[str]:
    lines = []
    indent = "  "
    if table.title:
        lines.append(style.paint(f"  {line(table.title)}", "bold"))
        indent = "    "
        lines += [indent + remark for remark in table.remarks]
    if not table.heads:
        return lines
    widths = table.figure_widths()
    names = table.names_width(widths, style.columns)

    def row(name: str, figures: Iterable[str], interval: str, remark: str = "") -> str:
        cells = "".join(f"{cell:>{size}}" for cell, size in zip(figures, widths, strict=True))
        right = f"  {pad(interval, _INTERVAL_WIDTH)}{line(remark)}" if table.has_intervals else ""
        return f"{indent}{pad(name, names)}{cells}{right}".rstrip()

    lines.append(style.paint(row("", table.heads, "95% interval"), "dim"))
    for one in table.rows:
        nested = "  " if one.name.startswith(" ") else ""
        name = cut_middle(line(one.name.strip()), names - len(nested), style.glyph("more"))
        lines.append(row(nested + name, one.figures, one.interval, one.remark))
        lines += [f"{indent}  {line(example)}" for example in one.examples]
    return lines
