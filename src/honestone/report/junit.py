"""Reports as JUnit XML, for the test tab of a CI: one suite an artifact, one case an item, and one for the gate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from honestone.report.draw import clean, line
from honestone.report.words import (
    Doc,
    applies,
    artifact_path,
    evidence_words,
    is_problem,
    is_unanswered,
    order_of,
    requirement,
    result_words,
    scale_words,
    score_line,
    suggestions,
    verdict_words,
    votes_by_answer,
)

Outcome = Literal["passed", "failure", "error", "skipped"]

_GATE_OUTCOMES: Final[dict[str, Outcome]] = {
    "pass": "passed",
    "fail": "failure",
    "inconclusive": "error",
    "skipped": "skipped",
}
_RESULT_OUTCOMES: Final[dict[str, Outcome]] = {
    "PASSED": "passed",
    "UNCONFIRMED": "error",
    "COULD_NOT_JUDGE": "error",
    "INTERRUPTED": "error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One testcase: `message` says in a line why it did not pass, `details` the rest."""

    classname: str
    name: str
    outcome: Outcome
    message: str = ""
    details: str = ""
    seconds: float = 0.0


def scorecards_junit(docs: Sequence[Doc]) -> str:
    """Scorecards as XML: `failure` for unmet, `error` for what could not be judged, `skipped` for not applicable."""
    return suites_xml([(artifact_path(doc), _scorecard_cases(doc)) for doc in docs])


def improvement_junit(doc: Doc) -> str:
    """A loop as XML: its final scorecard, and a case `result` that fails when a limit ended it."""
    path = artifact_path(doc)
    final = doc.get("final") or doc.get("baseline")
    cases = _scorecard_cases({**final, "artifact": doc.get("artifact")}) if final else []
    result = Case(
        classname=path,
        name="result",
        outcome=_RESULT_OUTCOMES.get(doc["result"], "failure"),
        message=result_words(doc) + (f": {line(doc['reason'])}" if doc.get("reason") else ""),
    )
    return suites_xml([(path, [*cases, result])])


def _scorecard_cases(doc: Doc) -> list[Case]:
    path = artifact_path(doc)
    cases: list[Case] = []
    taken: set[tuple[str, str]] = set()
    for criterion, item in order_of(doc.get("criteria") or ()):
        classname, name = f"{path}/{line(criterion['id'])}", requirement(item)
        if (classname, name) in taken:
            name = f"{name} ({line(item['id'])})"
        taken.add((classname, name))
        cases.append(_item_case(classname, name, criterion, item))
    reasons = [line(one) for one in doc.get("reasons") or ()]
    outcome = _GATE_OUTCOMES.get(doc["verdict"], "error")
    message = f"{verdict_words(doc)}: {'; '.join(reasons) or score_line(doc)}"
    return [*cases, Case(classname=path, name="gate", outcome=outcome, message=message, details="\n".join(reasons))]


def _item_case(classname: str, name: str, criterion: Doc, item: Doc) -> Case:
    outcome: Outcome = "passed"
    message = ""
    votes = "; ".join(f"{answer}: {', '.join(judges)}" for answer, judges in votes_by_answer(item))
    if not applies(item) or not applies(criterion):
        outcome, message = "skipped", "does not apply"
    elif is_problem(item):
        outcome = "failure"
        message = ("penalty incurred" if criterion.get("is_penalty") else "not met") + (f" ({votes})" if votes else "")
    elif is_unanswered(item):
        outcome, message = "error", line(item.get("note") or "nobody answered")
    details = "\n".join(_details(item, votes)) if outcome in ("failure", "error") else ""
    return Case(classname=classname, name=name, outcome=outcome, message=message, details=details)


def _details(item: Doc, votes: str) -> Iterable[str]:
    if votes:
        yield votes + (f" (on {scale_words(item)})" if scale_words(item) else "")
    if item.get("note"):
        yield line(item["note"])
    for quote in item.get("evidence") or ():
        where = ", ".join(one for one in (line(quote.get("judge") or ""), evidence_words(quote)) if one)
        yield f'"{line(quote.get("quote") or "")}"' + (f" ({where})" if where else "")
    for judge, text in suggestions(item):
        yield f"suggestion: {text}" + (f" ({judge})" if judge else "")


# ---------------------------------------------------------------------------------------------------------------- XML


def suites_xml(suites: Sequence[tuple[str, Sequence[Case]]]) -> str:
    """The document, with counts that add up."""
    every = [case for _, cases in suites for case in cases]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {_counts('honestone', every)}>"]
    for name, cases in suites:
        lines.append(f"  <testsuite {_counts(name, cases)}>")
        lines += [_case_xml(case) for case in cases]
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _counts(name: str, cases: Sequence[Case]) -> str:
    found = {kind: sum(case.outcome == kind for case in cases) for kind in ("failure", "error", "skipped")}
    seconds = sum(case.seconds for case in cases)
    return (
        f'name="{xml_text(name)}" tests="{len(cases)}" failures="{found["failure"]}" errors="{found["error"]}" '
        f'skipped="{found["skipped"]}" time="{seconds:.3f}"'
    )


def _case_xml(case: Case) -> str:
    start = (
        f'    <testcase classname="{xml_text(case.classname)}" name="{xml_text(case.name)}" time="{case.seconds:.3f}"'
    )
    if case.outcome == "passed":
        return f"{start}/>"
    message = f'message="{xml_text(case.message)}"'
    if case.outcome == "skipped":
        return f"{start}>\n      <skipped {message}/>\n    </testcase>"
    kind = "unmet" if case.outcome == "failure" else "could-not-judge"
    body = xml_text(case.details)
    return f'{start}>\n      <{case.outcome} {message} type="{kind}">{body}</{case.outcome}>\n    </testcase>'


_IMPOSSIBLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Text for an element or attribute. What XML cannot hold was made visible by `clean`, or becomes U+FFFD."""
    safe = _IMPOSSIBLE.sub("\ufffd", clean(text))
    for char, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        safe = safe.replace(char, name)
    return safe
