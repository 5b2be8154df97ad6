"""A table of judged texts as a table: CSV, JSON lines, Parquet; a row a text, a column a criterion."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Final

import msgspec

from honestone.core.errors import UsageError
from honestone.report.documents.texts import TextRowDoc
from honestone.report.exports.rows import csv_text, safe_cell

# Before the name of each column of a criterion, whose ids may be those of other columns.
CRITERIA: Final = "criteria."
_FIRST: Final = ("id", "verdict", "score", "probability")
_LAST: Final = ("reasons", "error")


def heads_of(criteria: Iterable[str], *, has_groups: bool) -> list[str]:
    """The names of the columns."""
    groups = ["group"] if has_groups else []
    return [*_FIRST, *groups, *(f"{CRITERIA}{id}" for id in criteria), *_LAST]


def cells_of(
    row: TextRowDoc, criteria: Iterable[str], *, has_groups: bool
) -> list[str | float | None]:
    """One row in the order of `heads_of`; None where something is not known."""
    groups = [str(row.group or "")] if has_groups else []
    scores = [row.criteria.get(id) for id in criteria]
    error = row.error if isinstance(row.error, str) else None
    reasons = "; ".join(row.reasons) or None
    return [row.id, row.verdict, row.score, row.probability, *groups, *scores, reasons, error]


class CsvRows:
    """CSV, row by row: the first also gives the header. `has_groups`: there is a column of groups."""

    def __init__(self, *, has_groups: bool) -> None:
        self._has_groups = has_groups
        self._criteria: Sequence[str] | None = None

    def text_of(self, row: TextRowDoc) -> str:
        """The line of a row, and the header before the first."""
        lines: list[list[str]] = []
        if self._criteria is None:
            self._criteria = [*row.criteria]
            heads = heads_of(self._criteria, has_groups=self._has_groups)
            lines.append([safe_cell(one) for one in heads])
        cells = cells_of(row, self._criteria, has_groups=self._has_groups)
        lines.append([_cell(one) for one in cells])
        return csv_text(lines)


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return safe_cell(value)
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def csv_rows_of(rows: Iterable[TextRowDoc], *, has_groups: bool) -> Iterator[str]:
    """CSV of all of them."""
    return map(CsvRows(has_groups=has_groups).text_of, rows)


def json_line(row: TextRowDoc) -> str:
    """One row as a line of JSON."""
    return msgspec.json.encode(row).decode() + "\n"


def parquet_of(rows: Sequence[TextRowDoc], *, has_groups: bool) -> bytes:
    """A Parquet file. Raises UsageError where pyarrow is not installed."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError(
            "--format parquet needs pyarrow, which is not installed",
            hint="pip install 'honestone[parquet]'",
        ) from None
    criteria = list(dict.fromkeys(id for row in rows for id in row.criteria))
    heads = heads_of(criteria, has_groups=has_groups)
    table = [cells_of(row, criteria, has_groups=has_groups) for row in rows]
    numbers = {"score", "probability", *(f"{CRITERIA}{id}" for id in criteria)}
    columns = {}
    for at, name in enumerate(heads):
        kind = "double" if name in numbers else "string"
        cells = [row[at] for row in table]
        columns[name] = pyarrow.array(cells, type=pyarrow.type_for_alias(kind))
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()
