"""A suite run as CSV: one row per case and judge. A case that no judge was asked about has one row without a judge."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Final

from honestone.report.draw import clean
from honestone.report.suite_words import as_number, cases_of, judge_score, reasons_of, status_of
from honestone.report.words import Doc

COLUMNS: Final = ("case", "status", "verdict", "score", "judge", "judge_state", "judge_score", "reasons")

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def suite_csv(doc: Doc) -> str:
    """One run of a suite (`honestone.report/1`). Scores are 0-100, not rounded; empty where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for case in cases_of(doc):
        writer.writerows(_rows(case))
    return out.getvalue()


def _rows(case: Doc) -> Iterable[list[str]]:
    score = as_number(case.get("score"))
    start = [_cell(case["id"]), status_of(case), _cell(case.get("verdict") or ""), score]
    reasons = _cell("; ".join(reasons_of(case)))
    judges = case.get("judges") or ()
    if not judges:
        yield [*start, "", "", "", reasons]
    for judge in judges:
        given = as_number(judge_score(case, judge["id"]))
        yield [*start, _cell(judge["id"]), _cell(judge.get("state") or ""), given, reasons]


def _cell(text: object) -> str:
    """Text that a spreadsheet shows and does not compute: what could be a formula gets an apostrophe in front."""
    safe = clean(text)
    return f"'{safe}" if safe.lstrip(" ").startswith(_FORMULA) else safe
