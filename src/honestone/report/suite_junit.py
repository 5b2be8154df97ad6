"""A suite run as JUnit XML: one testcase a case; `failure` failed, `error` could not be judged, `skipped` was not run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from honestone.report.draw import clean, line, points
from honestone.report.junit import Case, Outcome, suites_xml
from honestone.report.suite_words import (
    cases_of,
    findings_of,
    first_reason,
    quoting_output,
    reasons_of,
    status_of,
    suite_name,
    text_of,
)
from honestone.report.words import (
    Doc,
    evidence_words,
    is_unanswered,
    requirement,
    score_line,
    suggestions,
    votes_by_answer,
)

_OUTCOMES: Final[dict[str, Outcome]] = {
    "passed": "passed",
    "failed": "failure",
    "inconclusive": "error",
    "target-error": "error",
    "skipped": "skipped",
}
LONGEST_OUTPUT: Final = 4000


def suite_junit(doc: Doc) -> str:
    """One run of a suite (`honestone.report/1`)."""
    name = suite_name(doc)
    return suites_xml([(name, [_case(case, name) for case in cases_of(doc)])])


def _case(case: Doc, suite: str) -> Case:
    status = status_of(case)
    outcome = _OUTCOMES[status]
    why = first_reason(case) or f"score {score_line(case)}"
    return Case(
        classname=suite,
        name=line(case["id"]) or "(no name)",
        outcome=outcome,
        message="" if outcome == "passed" else why if outcome == "skipped" else f"{status}: {why}",
        details="\n".join(_details(case)) if outcome in ("failure", "error") else "",
        seconds=max(float(case.get("duration_ms") or 0), 0.0) / 1000,
    )


def _details(case: Doc) -> Iterable[str]:
    """Reasons, items that are not met or not answered, attempts, and the beginning of the output."""
    yield from reasons_of(case)
    for criterion, item in findings_of(quoting_output(case)):
        said = "not answered" if is_unanswered(item) else "penalty" if criterion.get("is_penalty") else "not met"
        votes = "; ".join(f"{answer}: {', '.join(judges)}" for answer, judges in votes_by_answer(item))
        yield f"- {said}: {line(criterion['id'])}: {requirement(item)}" + (f" ({votes})" if votes else "")
        if item.get("note"):
            yield f"    {line(item['note'])}"
        for quote in item.get("evidence") or ():
            where = ", ".join(one for one in (line(quote.get("judge") or ""), evidence_words(quote)) if one)
            yield f'    "{line(quote.get("quote") or "", 400)}"' + (f" ({where})" if where else "")
        for judge, text in suggestions(item):
            yield f"    suggestion: {text}" + (f" ({judge})" if judge else "")
    attempts = case.get("attempts") or ()
    if len(attempts) > 1:
        for one in attempts:
            yield f"attempt {line(one.get('attempt', ''))}: {status_of(one)}, score {points(one.get('score'))}"
    output = text_of(case.get("output"))
    if output.strip():
        cut = len(output) > LONGEST_OUTPUT
        yield f"output{f' (the first {LONGEST_OUTPUT:,} of {len(output):,} characters)' if cut else ''}:"
        yield clean(output[:LONGEST_OUTPUT])
