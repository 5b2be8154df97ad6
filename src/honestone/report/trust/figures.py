"""A table of figures by name for the terminal, as the reports on judges and raters have it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from honestone.system.drawing import Style, cut_middle, line, pad

# A name, which begins with a space where it is a part of the one above it, and its figures.
FigureRow: TypeAlias = tuple[str, Sequence[str]]


def figure_lines(
    heads: Iterable[str], rows: Iterable[FigureRow], sizes: Sequence[int], left: int, style: Style
) -> list[str]:
    """`left` columns of the terminal for the names, `sizes` for each figure."""

    def row(cells: Iterable[str]) -> str:
        return "".join(f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))

    lines = [style.paint(f"  {pad('', left)}{row(heads)}", "dim")]
    for name, cells in rows:
        indent = "  " if name.startswith(" ") else ""
        shown = cut_middle(line(name.strip()), left - len(indent), style.glyph("more"))
        lines.append(f"  {pad(indent + shown, left)}{row(cells)}")
    return lines
