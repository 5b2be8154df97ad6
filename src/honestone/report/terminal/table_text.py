"""A table for the terminal: its columns next to each other where there is room, else one under the
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.report.case_text import evidence_place, miss_lines
from honestone.report.documents.suite_case import STATUSES, text_of
from honestone.report.documents.table import CellDoc, TableCaseDoc, TableDoc
from honestone.report.excerpts import excerpt
from honestone.report.misses import misses
from honestone.report.terminal.score_table import verdict_look
from honestone.report.terminal.text import bullet_lines, join_sections, next_line, remarks
from honestone.system.drawing import Style, count, cut_middle, line, pad, width, wrap

PLAIN: Final = Style()
WIDEST: Final = 240
LEAST: Final = 16  # columns of the terminal that a cell needs
SIDE_BY_SIDE: Final = 120  # columns of the terminal from which outputs are next to each other
MOST_DETAILS: Final = 20  # cases whose outputs are shown; the others have their row
MOST_LINES: Final = 4  # of one output
MOST_MISSES: Final = 6  # of one cell
MOST_CHARACTERS: Final = 2_000


def table_text(doc: TableDoc, style: Style = PLAIN) -> str:
    """One table (`honestone.table/1`)."""
    grid = _Grid.of(doc, style)
    sections = [
        [
            *wrap(doc.name, style.columns),
            *_facts(
                [
                    (column.title, f"{column.what}, run {line(column.run)}")
                    for column in doc.columns
                ],
                style,
            ),
        ],
        _heads(doc, grid),
        _cases(doc, grid),
        remarks(
            dict.fromkeys(flag for column in doc.columns for flag in column.flags), doc.notes, style
        ),
        _pairs(doc, style),
        _summary(doc, style),
    ]
    return style.finish(join_sections(sections))


def _facts(rows: Sequence[tuple[str, str]], style: Style) -> list[str]:
    size = min(max(width(name) for name, _ in rows), style.columns // 3)
    shown = [
        (pad(cut_middle(name, size, style.glyph("more")), size), value) for name, value in rows
    ]
    return [one for name, value in shown for one in wrap(value, style.columns, first=f"  {name}  ")]


class _Grid(Struct, frozen=True, kw_only=True):
    """How wide the names at the left and the cells are. `is_wide`: the cells of a row are next to
    each other.
    """

    style: Style
    names: Sequence[str]
    left: int
    cell: int

    @classmethod
    def of(cls, doc: TableDoc, style: Style) -> _Grid:
        columns = min(max(style.width, style.columns), WIDEST)
        longest = max([10, *(width(case.name) for case in doc.cases)])
        left = min(longest, max(12, columns // 5))
        names = [column.title for column in doc.columns]
        cell = (columns - left - 2) // len(names) - 2
        return cls(style=style, names=names, left=left, cell=min(cell, 60))

    @property
    def is_wide(self) -> bool:
        return self.cell >= LEAST

    def row(
        self, name: str, cells: Sequence[str], looks: Sequence[str] = (), mark: str = " "
    ) -> str:
        """A line: a mark of one column of the terminal, the name, then a text in each column."""
        more = self.style.glyph("more")
        shown = [pad(cut_middle(cell, self.cell, more), self.cell) for cell in cells]
        painted = [
            self.style.paint(cell, look) for cell, look in zip_longest(shown, looks, fillvalue="")
        ]
        return f"{mark} {'  '.join([pad(cut_middle(name, self.left, more), self.left), *painted])}"

    @property
    def is_side_by_side(self) -> bool:
        """Whether outputs are next to each other too."""
        return self.is_wide and self.style.width >= SIDE_BY_SIDE

    @property
    def output_columns(self) -> int:
        """For a line of an output."""
        return self.cell if self.is_side_by_side else self.style.columns - 8


def _heads(doc: TableDoc, grid: _Grid) -> list[str]:
    """The names, and what each column came to."""
    figures = doc.figures
    looks = [verdict_look(column.verdict)[1] for column in doc.columns]
    if grid.is_wide:
        rows = [(name, [one[name] for one in figures]) for name in figures[0]]
        heads = grid.row("", grid.names, ["bold"] * len(grid.names))
        return [
            heads,
            *(grid.row(name, cells, looks if name == "verdict" else ()) for name, cells in rows),
        ]
    lines = []
    for name, look, one in zip(grid.names, looks, figures, strict=True):
        figures_line = f"{one['verdict']}, pass rate {one['pass rate']}, {one['calls']} calls, cost {one['cost']}, {one['time']}"
        lines += [grid.style.paint(row, look) for row in _facts([(name, figures_line)], grid.style)]
    return lines


def _cases(doc: TableDoc, grid: _Grid) -> list[str]:
    """A row a case, the open ones first with what came out and what it misses."""
    lines: list[str] = []
    for number, case in enumerate(doc.worst_first):
        lines += _case(case, grid, details=case.is_open and number < MOST_DETAILS)
    hidden = sum(case.is_open for case in doc.cases) - MOST_DETAILS
    if hidden > 0:
        lines.append(
            f"what {count(hidden, 'more case')} gave is left out here; --format html and --json have it all"
        )
    return lines or ["no case"]


def _case(case: TableCaseDoc, grid: _Grid, *, details: bool) -> list[str]:
    style = grid.style
    more = style.glyph("more")
    glyph, look = STATUSES[case.status]
    mark = style.paint(style.glyph(glyph), look, "bold")
    shown = [_status(cell, style) for cell in case.cells]
    looks = [STATUSES[cell.status][1] for cell in case.cells]
    outputs = [_output_lines(cell, grid) if details else [] for cell in case.cells]
    given = line(text_of(case.input), MOST_CHARACTERS) if details else ""
    asked = wrap(given, style.columns, first="    in  ", most=2, more=more) if given else []
    if grid.is_side_by_side:
        rows = [grid.row("", one) for one in zip_longest(*outputs, fillvalue="")]
        return [grid.row(case.name, shown, looks, mark), *asked, *rows]
    name = cut_middle(case.name, style.columns - 2, more)
    lines = [grid.row(case.name, shown, looks, mark) if grid.is_wide else f"{mark} {name}", *asked]
    for name, status, one, below in zip(grid.names, shown, looks, outputs, strict=True):
        if below or not grid.is_wide:
            left = max(8, style.columns - 6 - width(status))
            lines.append(f"    {style.paint(status, one)}  {cut_middle(name, left, more)}")
        lines += [f"        {row}" for row in below]
    return lines


def _status(cell: CellDoc, style: Style) -> str:
    return f"{style.glyph(STATUSES[cell.status][0])} {cell.status} {cell.score_words if cell.has_score else ''}".rstrip()


def _output_lines(cell: CellDoc, grid: _Grid) -> list[str]:
    """What came out, from where its evidence is, and what it misses."""
    style = replace(grid.style, color=False, width=grid.output_columns)
    output = text_of(cell.output)
    at = evidence_place(cell)
    lines = (
        excerpt(
            output, columns=grid.output_columns, rows=MOST_LINES, at=at, more=style.glyph("more")
        )
        if output.strip()
        else []
    )
    for miss in misses(cell)[:MOST_MISSES]:
        lines += miss_lines(miss, style)
    return lines


def _pairs(doc: TableDoc, style: Style) -> list[str]:
    if not doc.pairs:
        return []
    lines = [style.paint("Pairs", "bold")]
    for pair in doc.pairs:
        lines += wrap(
            f"{line(pair.a)} against {line(pair.b)}: {pair.words(style.glyph('minus'))}",
            style.columns,
            first="  ",
        )
    return lines


def _summary(doc: TableDoc, style: Style) -> list[str]:
    glyph, look = verdict_look(doc.verdict)
    lines = [style.paint(f"{style.glyph(glyph)} {doc.verdict_words}", look, "bold")]
    lines += bullet_lines([doc.pick_words] if doc.pick_words else [], style)
    return [
        *lines,
        *_facts(doc.facts, style),
        *next_line("  again", f" honestone show {line(doc.run)}", style),
    ]
