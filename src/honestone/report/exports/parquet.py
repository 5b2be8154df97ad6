"""A suite run as a Parquet table: a row for each vote, for statistics elsewhere. Needs pyarrow (the
extra `parquet`).

Columns: `run`, `case`, `attempt` (the one that counts), `status`, `case_score` (0-100),
`criterion`, `weight`, `criterion_score` (0-100), `item`, `kind`, `low` and `high` (the ends of its
scale), `voter` (a judge's id, or `check`), `vote` (as it was given: `yes`, `no`, `n/a`, or a number
as text), `value` (0 to 1 on its scale; null for `n/a`). What is missing is null, never 0. A case
without votes has one row. Inputs, outputs and quotes are in the other formats.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from importlib import import_module
from typing import Final, TypeAlias

from honestone.core.errors import UsageError
from honestone.report.documents.scorecard import CriterionDoc, ItemDoc
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc

_Cell: TypeAlias = str | int | float | None

_COLUMNS: Final = (
    *(
        ("run", "string"),
        ("case", "string"),
        ("attempt", "int64"),
        ("status", "string"),
        ("case_score", "double"),
    ),
    *(("criterion", "string"), ("weight", "double"), ("criterion_score", "double")),
    *(("item", "string"), ("kind", "string"), ("low", "double"), ("high", "double")),
    *(("voter", "string"), ("vote", "string"), ("value", "double")),
)


def suite_parquet(doc: SuiteReportDoc) -> bytes:
    """The file. Raises UsageError where pyarrow is not installed."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError(
            "--format parquet needs pyarrow, which is not installed",
            hint="pip install 'honestone[parquet]'",
        ) from None
    rows = [row for case in doc.cases for row in _rows(doc.run, case)]
    schema = pyarrow.schema(
        [pyarrow.field(name, pyarrow.type_for_alias(kind)) for name, kind in _COLUMNS]
    )
    columns = {name: [row[at] for row in rows] for at, (name, _) in enumerate(_COLUMNS)}
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=schema), out)
    return out.getvalue()


def _rows(run: str | None, case: CaseDoc) -> Iterator[tuple[_Cell, ...]]:
    start = (run, case.id, case.shown_attempt, case.status, case.score)
    items = [(one, item) for one in case.criteria if one.applies for item in one.items]
    votes = [
        (*_criterion(one), *_item(item), *vote) for one, item in items for vote in _votes(item)
    ]
    for rest in votes or [(None,) * (len(_COLUMNS) - len(start))]:
        yield (*start, *rest)


def _criterion(one: CriterionDoc) -> tuple[_Cell, ...]:
    return (one.id, one.weight, one.score)


def _item(item: ItemDoc) -> tuple[_Cell, ...]:
    low, high = item.scale or (None, None)
    return (item.id, item.kind, low, high)


def _votes(item: ItemDoc) -> Iterator[tuple[_Cell, ...]]:
    for voter, vote in item.votes.items():
        yield voter, str(vote), item.share_of(vote)
