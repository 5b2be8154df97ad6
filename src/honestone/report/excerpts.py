"""A few lines of a long text: its beginning, or the lines around the place that matters. Harmless
on a terminal.
"""

from __future__ import annotations

from typing import Final

from honestone.system.drawing import clean, count, cut, width, wrap

# Lines shown of a text, without those that say what is left out.
ROWS: Final = 8
BEFORE: Final = 2  # lines shown before the place that matters


def excerpt(
    text: str, *, columns: int, at: int = 0, rows: int = ROWS, more: str = "…"
) -> list[str]:
    """At most `rows` lines of so many columns around the character `at`, and how many are left out
    before and behind.
    """
    place = text.count("\n", 0, at)
    first = max(place - BEFORE, 0)
    column = at - (text.rfind("\n", 0, at) + 1)
    lines = text.rstrip("\r\n").split("\n")
    shown: list[str] = []
    number = first
    while number < len(lines) and len(shown) < rows:
        shown += _rows_of(
            lines[number], columns, rows - len(shown), column if number == place else 0, more
        )
        number += 1
    above = [f"{more} {count(first, 'line')} above"] if first else []
    left = len(lines) - number
    return above + shown + ([f"{more} {count(left, 'more line')}"] if left else [])


def _rows_of(text: str, columns: int, rows: int, column: int, more: str) -> list[str]:
    """One line of a text, wrapped; a very long one from shortly before `column`."""
    capacity = columns * rows
    start = max(column - columns // 2, 0) if column > capacity // 2 else 0
    shown = (more if start else "") + clean(text[start : start + capacity].rstrip("\r")).rstrip()
    shown += more if len(text) > start + capacity else ""
    if width(shown) <= columns:
        return [shown]
    indent = shown[: len(shown) - len(shown.lstrip())][: columns // 2]
    return [
        cut(row, columns, more) for row in wrap(shown, columns, first=indent, most=rows, more=more)
    ]
