"""A table of ratings as truescore 0.7 reads it: CSV, a row for each unit and rater that rated it.

`example_id` names the unit, `judge` the rater, `judge_passed` is what it said and `human_passed` the truth, empty where no one
labelled the unit. The table's own columns follow: units to slice by, and numbers such as a length to look for bias in.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Final

from honestone.core.errors import UsageError
from honestone.core.labels import number_of
from honestone.core.statistics.agreement import Value
from honestone.report.rows import safe_cell

_VERDICTS: Final = frozenset("1 true t yes y pass passed correct good 0 false f no n fail failed incorrect bad".split())
"""The words that it reads as yes or no; anything else must be a number."""
_OWN: Final = ("example_id", "judge", "judge_passed", "human_passed")


def truescore_csv(
    units: Sequence[Sequence[str]],
    ratings: Mapping[str, Sequence[Value | None]],
    other: Mapping[str, Sequence[str]],
    truth: str | None,
) -> str:
    """`units` are what names each row, `ratings` and `other` columns as long. Without a truth it has no column
    `human_passed`. Raises UsageError for words that are neither yes nor no."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    more = [name for name in other if name not in _OWN]
    writer.writerow([*(_OWN if truth is not None else _OWN[:3]), *map(safe_cell, more)])
    gold = None if truth is None else ratings[truth]
    for at, unit in enumerate(units):
        name = safe_cell("/".join(unit)) or str(at + 1)
        rest = [_number_or_text(other[column][at]) for column in more]
        for rater, column in ratings.items():
            if rater != truth and column[at] is not None:
                human = [] if gold is None else [_written(gold[at])]
                writer.writerow([name, safe_cell(rater), _written(column[at]), *human, *rest])
    return out.getvalue()


def _written(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        if value.casefold() not in _VERDICTS and number_of(value) is None:
            raise UsageError(
                f"truescore reads yes or no and numbers, but a rating is {value[:60]!r}",
                hint="leave that column out with --ignore, or write numbers",
            )
        return value
    return str(int(value)) if value.is_integer() else repr(value)


def _number_or_text(cell: str) -> str:
    return cell if number_of(cell) is not None else safe_cell(cell)
