"""The list of runs on a terminal: a table that fits its width, a line a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.report.documents.run_list import RunRow
from honestone.system.drawing import Style, count, cut, pad, width

_GAP: Final = 2
_NARROWEST_WHAT: Final = 16
_COLORS: Final = {"passed": "green", "failed": "red", "inconclusive": "yellow", "skipped": "dim"}
_GLYPHS: Final = {"passed": "yes", "failed": "no", "inconclusive": "unknown", "skipped": "absent"}
# Columns up to this place of `goes` are left out before a name is cut.
_LITTLE: Final = 2
# Columns whose texts are cut where the terminal is too narrow.
_CUT: Final = ("what", "by")
# After these a path or a title may be cut.
_BREAKS: Final = late_pattern(r"[-_./\s]+")


class _Column(Struct, frozen=True, kw_only=True):
    """`text` of a row. `goes`: where the terminal is too narrow, columns are left out in this order,
    from 1; those with 0 stay.
    """

    title: str
    text: Callable[[RunRow, Style], str]
    is_right: bool = False
    goes: int = 0


def _state(row: RunRow, style: Style) -> str:
    low = "low confidence" if row.is_low_confidence else ""
    words = ", ".join(one for one in (row.state, low) if one)
    return f"{style.glyph(_GLYPHS[row.look])} {words}"


def _what(row: RunRow, style: Style) -> str:
    inside = f" ({count(len(row.parts), 'run')} inside)" if row.parts else ""
    return row.what + inside


_COLUMNS: Final = (
    _Column(title="when", text=lambda row, _: row.started),
    _Column(title="run", text=lambda row, _: row.short_id),
    _Column(title="kind", text=lambda row, _: row.kind, goes=5),
    _Column(title="what", text=_what),
    _Column(title="by", text=lambda row, _: row.by, goes=3),
    _Column(title="verdict", text=_state),
    _Column(title="sure", text=lambda row, _: row.chance, is_right=True, goes=7),
    _Column(title="result", text=lambda row, _: row.result, is_right=True),
    _Column(title="change", text=lambda row, _: row.change, is_right=True, goes=6),
    _Column(title="cost", text=lambda row, _: row.cost, is_right=True, goes=4),
    _Column(title="work", text=lambda row, _: row.work, goes=2),
    _Column(title="person", text=lambda row, _: row.person, goes=1),
)


def run_list_text(rows: Sequence[RunRow], style: Style) -> str:
    """A head and a line for each run; "" without one. Columns in which no row has anything are left
    out, and so are those that a narrow terminal has no place for.
    """
    if not rows:
        return ""
    cells = {
        column.title: [column.text(row, style) for row in rows]
        for column in _COLUMNS
        if any(column.text(row, style) for row in rows)
    }
    columns = [column for column in _COLUMNS if column.title in cells]
    if _is_one_year(rows):
        cells["when"] = [started[5:] for started in cells["when"]]
    widths = {
        column.title: max(width(one) for one in (column.title, *cells[column.title]))
        for column in columns
    }
    columns = _fitting(columns, widths, style.width)
    for column in columns:
        if column.title in _CUT:
            space = widths[column.title]
            texts = [cut_at_words(one, space, style.glyph("more")) for one in cells[column.title]]
            cells[column.title] = texts
            widths[column.title] = max(width(one) for one in (column.title, *texts))
    lines = [_line([column.title for column in columns], columns, widths, style, head=True)]
    for number, row in enumerate(rows):
        texts = [cells[column.title][number] for column in columns]
        lines.append(_line(texts, columns, widths, style, row=row))
    return style.finish(lines)


def _is_one_year(rows: Sequence[RunRow]) -> bool:
    return len({row.started[:4] for row in rows}) == 1


def _fitting(columns: Sequence[_Column], widths: dict[str, int], space: int) -> list[_Column]:
    """The columns that fit; sets how wide `what` and `by` are drawn."""
    shown = list(columns)
    while True:
        fixed = sum(widths[one.title] for one in shown if one.title != "what")
        left = space - fixed - _GAP * (len(shown) - 1)
        spare = sorted((one for one in shown if one.goes), key=lambda one: one.goes)
        is_little = bool(spare) and spare[0].goes <= _LITTLE
        wanted = widths["what"] if is_little else min(widths["what"], _NARROWEST_WHAT)
        if left >= wanted or not spare:
            widths["what"] = max(_NARROWEST_WHAT, min(widths["what"], left))
            return shown
        next_one = spare[0]
        if next_one.title == "by" and widths["by"] > _NARROWEST_WHAT:
            widths["by"] = _NARROWEST_WHAT
        else:
            shown.remove(next_one)


def _line(
    texts: Sequence[str],
    columns: Sequence[_Column],
    widths: dict[str, int],
    style: Style,
    *,
    row: RunRow | None = None,
    head: bool = False,
) -> str:
    cells = []
    for text, column in zip(texts, columns, strict=True):
        cell = pad(text, widths[column.title], right=column.is_right)
        cells.append(style.paint(cell, _look(column, row, head)))
    return (" " * _GAP).join(cells)


def _look(column: _Column, row: RunRow | None, head: bool) -> str:
    if head or column.title == "run":
        return "dim"
    if column.title == "verdict" and row is not None:
        return _COLORS[row.look]
    return ""


def cut_at_words(text: str, columns: int, more: str = "…") -> str:
    """A text of at most so many columns. A path loses its folders first, then what is left ends
    after a whole word; a single long word is cut.
    """
    if width(text) <= columns:
        return text
    name = text.rpartition("/")[2] if "/" in text.partition(" ")[0] else text
    if width(name) + width(more) + 1 <= columns:
        return f"{more}/{name}"
    head = cut(name, columns, more)
    whole = head[: -len(more)]
    ends = [match.start() for match in _BREAKS.finditer(name) if 0 < match.start() <= len(whole)]
    if ends and width(whole[: ends[-1]]) * 2 >= columns:
        return whole[: ends[-1]] + more
    return head
