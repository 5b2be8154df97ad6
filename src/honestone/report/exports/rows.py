"""A suite run as rows. CSV: one a case and judge. JSON lines: AgentV's index row, one a case, with
scores 0-1.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, NotRequired, TypedDict

from honestone.core.numbers import Number, exact
from honestone.report.building.table import column_reports
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.scorecard import CriterionDoc, ItemDoc, ScorecardDoc, items_of
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.documents.table import TableDoc
from honestone.report.misses import why
from honestone.system.drawing import clean

# -----------------------------------------------------------------------------------------------------------------
# CSV

# The status of a case that was not chosen to be run.
LEFT_OUT: Final = "left-out"
COLUMNS: Final = (
    *("case", "status", "verdict", "score", "judge", "judge_state", "judge_score", "reasons"),
    *("input", "output", "low_confidence", "probability"),
)

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def suite_csv(doc: SuiteReportDoc) -> str:
    """Scores are 0-100, not rounded; empty where there is none. A case that no judge was asked
    about has one row.
    """
    return "".join(csv_parts(SuiteReport.of(doc)))


def csv_parts(report: SuiteReport) -> Iterator[str]:
    """The same case by case."""
    yield csv_text([COLUMNS])
    for case in report.cases:
        yield csv_text(_rows(case))
    yield csv_text(
        [safe_cell(id), LEFT_OUT, *[""] * (len(COLUMNS) - 2)]
        for id in report.head.left_out_cases or ()
    )


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


ARTIFACT_COLUMNS: Final = (
    *("artifact", "verdict", "score", "probability", "looks", "reasons", "low_confidence", "run"),
)


def scorecards_csv(docs: Iterable[ScorecardDoc]) -> str:
    """One row an artifact; scores are 0-100 and probabilities 0-1, not rounded."""
    rows = [
        [
            safe_cell(doc.artifact.path),
            doc.verdict,
            _number_cell(doc.score),
            _number_cell(None if doc.belief is None else doc.belief.probability),
            _number_cell(None if doc.belief is None else doc.belief.looks),
            safe_cell("; ".join(doc.reasons)),
            "yes" if doc.low_confidence else "",
            doc.run or "",
        ]
        for doc in docs
    ]
    return csv_text([ARTIFACT_COLUMNS, *rows])


class _ArtifactRow(TypedDict):
    """What a rubric gave an artifact; the score and the probability are 0-1."""

    artifact: str
    verdict: str
    score: float | None
    probability: object
    looks: int | None
    reasons: list[str]
    low_confidence: bool
    run: str | None


def _artifact_row(doc: ScorecardDoc) -> _ArtifactRow:
    return {
        "artifact": doc.artifact.path,
        "verdict": doc.verdict,
        "score": _share(doc.score),
        "probability": None if doc.belief is None else doc.belief.probability,
        "looks": None if doc.belief is None else doc.belief.looks,
        "reasons": doc.reasons,
        "low_confidence": doc.low_confidence,
        "run": doc.run,
    }


def scorecards_jsonl(docs: Iterable[ScorecardDoc]) -> str:
    """One line an artifact; scores and probabilities are 0-1."""
    return _json_lines(map(_artifact_row, docs))


def table_csv(doc: TableDoc) -> str:
    """The same of every column, case by case; the last cell names the column."""
    cells = (cell for case in doc.cases for cell in case.cells)
    rows = ([*row, safe_cell(cell.column)] for cell in cells for row in _rows(cell))
    left_out = (
        [safe_cell(id), LEFT_OUT, *[""] * (len(COLUMNS) - 1)] for id in doc.left_out_cases or ()
    )
    return csv_text([(*COLUMNS, "column"), *rows, *left_out])


def _rows(case: CaseDoc) -> Iterable[list[str]]:
    start = [safe_cell(case.id), case.status, safe_cell(case.verdict), _number_cell(case.score)]
    end = [
        safe_cell("; ".join(why(case))),
        safe_cell(text_of(case.input)),
        safe_cell(text_of(case.output)),
    ]
    end.append("yes" if case.is_lonely else "")
    end.append(_number_cell(case.probability))
    if not case.judges:
        yield [*start, "", "", "", *end]
    for judge in case.judges:
        yield [
            *start,
            safe_cell(judge.id),
            safe_cell(judge.reason if judge.is_spared and judge.reason else judge.state_words),
            _number_cell(case.judge_score(judge.id)),
            *end,
        ]


def safe_cell(text: str) -> str:
    """Text that a spreadsheet shows and does not compute: what could be a formula gets an
    apostrophe in front.
    """
    safe = clean(text)
    return f"'{safe}" if safe.lstrip(" ").startswith(_FORMULA) else safe


def _number_cell(value: Fraction | Number | None) -> str:
    """Not rounded, whole ones without a point, empty when there is none."""
    if value is None:
        return ""
    number = float(value)
    return str(int(number)) if number.is_integer() else repr(number)


# ----------------------------------------------------------------------------------------------------------
# JSON lines

_EXECUTION: Final = {
    "passed": "ok",
    "failed": "quality_failure",
    "inconclusive": "execution_error",
    "target-error": "execution_error",
    "skipped": "skipped",
}


class _Score(TypedDict):
    """The score of a criterion, 0-1."""

    name: str
    type: str
    score: float | None
    weight: object
    required: bool
    by_judge: dict[str, float | None]


class _Assertion(TypedDict):
    """An item. `passed` is null without an answer: that is neither."""

    text: str
    passed: bool | None
    criterion: str
    evidence: str | None


class _Attempt(TypedDict):
    """An attempt at a case."""

    attempt: int
    status: str
    output: object
    reasons: list[str]
    duration_ms: float


class _Tokens(TypedDict):
    """The tokens of a target."""

    input: int | None
    output: int | None


class _CaseRow(TypedDict):
    """A case. The last four are there where they are known, and `column` in a table."""

    test_id: str
    suite: str
    target: str | None
    score: float | None
    execution_status: str
    scores: list[_Score]
    assertions: list[_Assertion]
    input: object
    output: str | None
    error: str | None
    duration_ms: float | None
    run: str | None
    status: str
    reasons: list[str]
    low_confidence: bool
    probability: object
    attempts: NotRequired[list[_Attempt]]
    token_usage: NotRequired[_Tokens]
    cost_usd: NotRequired[object]
    column: NotRequired[str]


class _LeftOutRow(TypedDict):
    """A case that was not chosen to be run."""

    test_id: str
    suite: str
    target: NotRequired[str | None]
    execution_status: str


def suite_jsonl(doc: SuiteReportDoc) -> str:
    """A score that is not known is null."""
    return "".join(jsonl_parts(SuiteReport.of(doc)))


def jsonl_parts(report: SuiteReport) -> Iterator[str]:
    """The same line by line."""
    for case in report.cases:
        yield _json_lines([_case_row(report.head, case)])
    yield _json_lines(_left_out(report.head))


def table_jsonl(doc: TableDoc) -> str:
    """The same of every column, case by case, each with its `column`."""
    reports = column_reports(doc)
    suite = doc.suite.title or doc.suite.path
    rows: list[_CaseRow] = [
        {**_case_row(report, cell), "suite": suite, "column": cell.column}
        for case in doc.cases
        for report, cell in zip(reports, case.cells, strict=True)
    ]
    return _json_lines([*rows, *_left_out(doc)])


def _left_out(doc: SuiteReportDoc | TableDoc) -> Iterator[_LeftOutRow]:
    suite = doc.suite.title or doc.suite.path
    for id in doc.left_out_cases or ():
        if isinstance(doc, SuiteReportDoc):
            yield {
                "test_id": id,
                "suite": suite,
                "target": doc.target,
                "execution_status": LEFT_OUT,
            }
        else:
            yield {"test_id": id, "suite": suite, "execution_status": LEFT_OUT}


def _json_lines(rows: Iterable[_CaseRow | _LeftOutRow | _ArtifactRow]) -> str:
    """Escaped to ASCII, so that one line is one row for every reader."""
    return "".join(
        json.dumps(row, ensure_ascii=True, allow_nan=False, default=str) + "\n" for row in rows
    )


def _case_row(doc: SuiteReportDoc, case: CaseDoc) -> _CaseRow:
    row: _CaseRow = {
        "test_id": case.id,
        "suite": doc.suite.title or doc.suite.path,
        "target": doc.target,
        "score": _share(case.score),
        "execution_status": _EXECUTION[case.status],
        "scores": [_score(one) for one in case.criteria if one.parent is None and one.applies],
        "assertions": [_assertion(*pair) for pair in items_of(case.criteria) if pair[1].applies],
        "input": case.input,
        "output": None if case.output is None else text_of(case.output),
        "error": _error(case),
        "duration_ms": case.duration_ms,
        "run": doc.run,
        "status": case.status,
        "reasons": case.reasons,
        "low_confidence": case.is_lonely,
        "probability": case.probability,
    }
    if len(case.attempts) > 1:
        row["attempts"] = [
            {
                "attempt": one.attempt,
                "status": one.status,
                "output": one.output,
                "reasons": one.reasons,
                "duration_ms": one.duration_ms,
            }
            for one in case.attempts
        ]
    if case.trace is not None:
        row["token_usage"] = {"input": case.trace.input_tokens, "output": case.trace.output_tokens}
        row["cost_usd"] = case.trace.usd
    return row


def _score(criterion: CriterionDoc) -> _Score:
    return {
        "name": criterion.id,
        "type": "code" if criterion.voters is None else "rubrics",
        "score": _share(criterion.score),
        "weight": criterion.weight,
        "required": criterion.required,
        "by_judge": {judge: _share(score) for judge, score in criterion.by_judge.items()},
    }


def _assertion(criterion: CriterionDoc, item: ItemDoc) -> _Assertion:
    return {
        "text": item.requirement or item.id,
        "passed": None if item.is_unanswered else not item.is_problem,
        "criterion": criterion.id,
        "evidence": "\n".join(quote.quote for quote in item.evidence) or None,
    }


def _error(case: CaseDoc) -> str | None:
    if _EXECUTION[case.status] != "execution_error":
        return None
    return case.error or "; ".join(why(case)) or case.status


def _share(score: Number | None) -> float | None:
    return None if score is None else float(exact(score) / 100)
