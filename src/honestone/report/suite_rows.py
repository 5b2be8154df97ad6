"""A suite run as JSON lines: AgentV's index row, one a case. Scores are 0-1, null where there is none.

Escaped to ASCII, so that one line is one row for every reader.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from honestone.core.numbers import exact
from honestone.report.suite_words import cases_of, reasons_of, status_of, text_of
from honestone.report.words import Doc, applies, is_problem, is_unanswered, order_of

_EXECUTION: Final = {
    "passed": "ok",
    "failed": "quality_failure",
    "inconclusive": "execution_error",
    "target-error": "execution_error",
    "skipped": "skipped",
}


def suite_jsonl(doc: Doc) -> str:
    """One run of a suite (`honestone.report/1`)."""
    return "".join(
        json.dumps(_row(doc, case), ensure_ascii=True, allow_nan=False, default=str) + "\n" for case in cases_of(doc)
    )


def _row(doc: Doc, case: Doc) -> dict[str, Any]:
    status = status_of(case)
    suite = doc.get("suite") or {}
    row = {
        "test_id": case["id"],
        "suite": suite.get("title") or suite.get("path"),
        "target": doc.get("target"),
        "score": _share(case.get("score")),
        "execution_status": _EXECUTION[status],
        "scores": [_score(criterion) for criterion in _top_level(case)],
        "assertions": [
            _assertion(criterion, item) for criterion, item in order_of(case.get("criteria") or ()) if applies(item)
        ],
        "input": case.get("input"),
        "output": None if case.get("output") is None else text_of(case["output"]),
        "error": _error(case, status),
        "duration_ms": case.get("duration_ms"),
        "run": doc.get("run"),
        "status": status,
        "reasons": list(case.get("reasons") or ()),
    }
    if isinstance(case.get("trace"), Mapping):
        row["token_usage"] = {"input": case["trace"].get("input_tokens"), "output": case["trace"].get("output_tokens")}
        row["cost_usd"] = case["trace"].get("usd")
    return row


def _top_level(case: Doc) -> list[Doc]:
    return [one for one in case.get("criteria") or () if one.get("parent") is None and applies(one)]


def _score(criterion: Doc) -> dict[str, Any]:
    return {
        "name": criterion["id"],
        "type": "code" if criterion.get("voters") is None else "rubrics",
        "score": _share(criterion.get("score")),
        "weight": criterion.get("weight"),
        "required": bool(criterion.get("required")),
        "by_judge": {judge: _share(score) for judge, score in (criterion.get("by_judge") or {}).items()},
    }


def _assertion(criterion: Doc, item: Doc) -> dict[str, Any]:
    """`passed` is null where nobody answered: that is neither."""
    quotes = [str(quote.get("quote") or "") for quote in item.get("evidence") or ()]
    return {
        "text": item.get("requirement") or item["id"],
        "passed": None if is_unanswered(item) else not is_problem(item),
        "criterion": criterion["id"],
        "evidence": "\n".join(quotes) or None,
    }


def _error(case: Doc, status: str) -> str | None:
    if _EXECUTION[status] != "execution_error":
        return None
    return str(case.get("error") or "") or "; ".join(reasons_of(case)) or status


def _share(score: Any) -> float | None:
    return None if score is None else float(exact(score) / 100)
