"""A result as a notebook shows it: a headline and a table, as a fragment of HTML with nothing of
its values alive in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from jinja2 import Environment

from honestone.report.templates import environment, macro
from honestone.system.drawing import line

# Characters of a cell.
_CELL: Final = 300
_ROWS: Final = 200


def fragment(headline: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The first rows, of long texts their beginning."""
    shown = [[_cell(value) for value in row] for row in rows[:_ROWS]]
    if len(rows) > _ROWS:
        shown.append([f"and {len(rows) - _ROWS} more", *[""] * (len(columns) - 1)])
    return macro(_fragments(), "notebook.html.j2", "result")(headline, columns, shown)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.1f}"
    return "" if value is None else line(value, _CELL)


@lru_cache(maxsize=1)
def _fragments() -> Environment:
    return environment(lambda value: value)
