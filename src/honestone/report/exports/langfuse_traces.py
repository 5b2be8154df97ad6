"""A suite run for Langfuse: a trace for each attempt at a case, and scores on the traces and on the
session, which is the run.

Scores are 0 to 1. One that is missing is not sent. Ids are made of the run, the case and the
attempt, so that sending again writes over what is there. Of an attempt that does not count only its
scores, output and reasons are known.
"""

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from honestone import __version__
from honestone.core.json_value import Json
from honestone.core.judging.rubric import free_id
from honestone.core.record.exported import (
    LangfuseNotes,
    LangfuseSpan,
    LangfuseTraces,
    Owner,
    Parent,
    Score,
    ScoreAbout,
)
from honestone.core.record.runs import moment_of_run
from honestone.report.documents.scorecard import warning_words
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import AttemptDoc, CaseDoc, TraceDoc, text_of
from honestone.system.drawing import count

# The name of the score of a whole case, next to those of its criteria; with a number where a
# criterion has it.
_CASE: Final = "honestone"
_MILLION: Final = 1_000_000
_LONGEST_COMMENT: Final = 2000
# Of a session's id and of a tag, in characters.
_LONGEST_WORD: Final = 200


def suite_langfuse(doc: SuiteReportDoc) -> LangfuseTraces:
    """What to send. A case that was skipped has no trace."""
    whole = free_id(_CASE, {one.id for case in doc.cases for one in case.criteria})
    writer = _Writer(doc, whole)
    for case in doc.cases:
        for attempt in _attempts(case):
            writer.add(case, attempt)
    writer.add_session()
    return LangfuseTraces(
        writer.spans, writer.scores, {"service.name": "honestone"}, ("honestone", __version__)
    )


def no_place_in_langfuse(doc: SuiteReportDoc) -> list[str]:
    """What is left out of this run, in words."""
    skipped = sum(not list(_attempts(case)) for case in doc.cases)
    has_no_score = sum(one.score is None for case in doc.cases for one in _attempts(case))
    left_out = [
        f"{count(skipped, 'case')} without an attempt" if skipped else "",
        f"scores of {count(has_no_score, 'attempt')} that could not be judged"
        if has_no_score
        else "",
        f"{count(doc.left_out, 'case')} not chosen to be run" if doc.left_out else "",
        "the comparison with a baseline" if doc.compared or doc.candidate_results else "",
        "notes and flags of the run" if doc.notes or doc.flags else "",
        "calls, tokens and cost of judges"
        if doc.usage and (doc.usage.judge_calls or doc.usage.usd)
        else "",
    ]
    return [one for one in left_out if one]


def _attempts(case: CaseDoc) -> list[AttemptDoc]:
    if case.attempts or case.status == "skipped":
        return case.attempts
    return [
        AttemptDoc(
            attempt=case.shown_attempt or 1,
            status=case.status,
            score=case.score,
            reasons=case.reasons,
        )
    ]


class _Attribute(NamedTuple):
    """What a span says about itself; an empty text says nothing."""

    key: str
    value: Json


class _Writer:
    """Spans and scores as they come."""

    def __init__(self, doc: SuiteReportDoc, whole: str) -> None:
        self.spans: list[LangfuseSpan] = []
        self.scores: list[Score] = []
        self._doc = doc
        self._whole = whole
        self._session = (doc.run or doc.contract)[:_LONGEST_WORD]
        self._began = moment_of_run(doc.run or "")
        self._named = Counter[str]()

    def add(self, case: CaseDoc, attempt: AttemptDoc) -> None:
        shown = attempt.attempt == (case.shown_attempt or 1)
        trace, span = _ids(self._session, case.id, attempt.attempt)
        reported = case.trace if shown else attempt.trace
        output = text_of(case.output if shown else attempt.output)
        self._add_spans(case, attempt, trace, span, reported, output, shown=shown)
        card: ScoreAbout = {"attempt": attempt.attempt, "counts": shown}
        why = "; ".join(case.reasons if shown and case.reasons else attempt.reasons)
        self._score(trace, self._whole, _share(attempt.score), why, card)
        self._score(trace, f"{self._whole}.status", attempt.status, why, card)
        if not shown:
            for name, points in (attempt.scores or {}).items():
                self._score(trace, name, _share(points), "", card)
            return
        for one in case.criteria:
            if one.applies:
                about: ScoreAbout = {
                    "by_judge": {id: _share(score) for id, score in one.by_judge.items()}
                }
                if one.weight is not None:
                    about["weight"] = one.weight
                about["required"] = one.required
                if one.floor is not None:
                    about["floor"] = one.floor
                about = {**about, **card}
                self._score(trace, one.id, _share(one.score), one.requirement, about)

    def add_session(self) -> None:
        """What the run came to, as scores of the session."""
        doc = self._doc
        why = "; ".join([*warning_words(doc.warnings), *doc.reasons])
        for name, value in (("pass_rate", doc.pass_rate), ("mean_score", _share(doc.mean_score))):
            self._score(None, f"{self._whole}.{name}", value, "", {})
        self._score(None, f"{self._whole}.verdict", doc.verdict, why, {})

    def _add_spans(
        self,
        case: CaseDoc,
        attempt: AttemptDoc,
        trace: str,
        span: str,
        reported: TraceDoc | None,
        output: str,
        *,
        shown: bool,
    ) -> None:
        start = self._began * _MILLION
        end = start + int(attempt.duration_ms * _MILLION)
        attributes = [
            _Attribute("langfuse.trace.name", case.id),
            _Attribute("session.id", self._session),
            _Attribute("langfuse.trace.tags", [tag[:_LONGEST_WORD] for tag in case.tags]),
            _Attribute("langfuse.observation.input", text_of(case.input)),
            _Attribute("langfuse.observation.output", output),
            *_usage(reported, self._doc.target),
            *self._about(case, attempt, reported, shown=shown),
        ]
        if shown and case.error:
            attributes += [
                _Attribute("langfuse.observation.level", "ERROR"),
                _Attribute("langfuse.observation.status_message", case.error),
            ]
        self.spans.append(_span(trace, span, None, case.id, start, end, attributes))
        for number, call in enumerate(reported.tool_calls or [] if reported else [], start=1):
            called = [
                _Attribute("langfuse.observation.type", "tool"),
                _Attribute("langfuse.observation.input", _as_text(call.arguments)),
                _Attribute("langfuse.observation.output", _as_text(call.result)),
                _Attribute("langfuse.observation.metadata.number", str(number)),
                _Attribute("session.id", self._session),
            ]
            own = _ids(self._session, case.id, attempt.attempt, number)[1]
            self.spans.append(_span(trace, own, span, call.name or "tool", start, end, called))

    def _about(
        self, case: CaseDoc, attempt: AttemptDoc, reported: TraceDoc | None, *, shown: bool
    ) -> Iterator[_Attribute]:
        """Everything else that is known, each value as JSON."""
        doc = self._doc
        facts: list[tuple[str, object]] = [
            ("run", doc.run),
            ("suite", doc.suite.path),
            ("target", doc.target),
            ("artifact", doc.artifact.path if doc.artifact else None),
            ("contract", doc.contract),
            ("attempt", attempt.attempt),
            ("status", attempt.status),
            ("reference", text_of(case.reference) or None),
            ("diff", case.diff if shown else attempt.diff),
            ("trace", reported.extra if reported and reported.extra else None),
            ("case", case.without_texts if shown else None),
        ]
        for name, value in facts:
            if value is not None:
                encoded = msgspec.json.encode(value).decode()
                yield _Attribute(f"langfuse.observation.metadata.{name}", encoded)

    def _score(
        self,
        trace: str | None,
        name: str,
        value: float | str | None,
        comment: str,
        about: ScoreAbout,
    ) -> None:
        if value is None:
            return
        key = f"{self._session}/{trace or ''}/{name}"
        self._named[key] += 1
        notes: LangfuseNotes = {}
        if comment:
            notes["comment"] = comment[:_LONGEST_COMMENT]
        if about:
            notes["metadata"] = about
        owner: Owner = {"traceId": trace} if trace else {"sessionId": self._session}
        body: Score = {
            "id": _digest(f"score/{key}/{self._named[key]}")[:32],
            **owner,
            "name": name,
            "value": value,
            "dataType": "CATEGORICAL" if isinstance(value, str) else "NUMERIC",
            # With the same id and moment a score that is sent again takes the place of the first.
            "timestamp": datetime.datetime.fromtimestamp(
                self._began / 1000, datetime.UTC
            ).isoformat(),
            **notes,
        }
        self.scores.append(body)


def _usage(reported: TraceDoc | None, target: str | None) -> Iterator[_Attribute]:
    """A target that says what it used is a generation; another is a span."""
    used = {"input": reported.input_tokens, "output": reported.output_tokens} if reported else {}
    counted = {name: number for name, number in used.items() if number is not None}
    if reported is None or (not counted and reported.usd is None):
        yield _Attribute("langfuse.observation.type", "span")
        return
    yield _Attribute("langfuse.observation.type", "generation")
    if target:
        yield _Attribute("langfuse.observation.model.name", target)
    if counted:
        yield _Attribute("langfuse.observation.usage_details", _as_text(counted))
    if reported.usd is not None:
        yield _Attribute("langfuse.observation.cost_details", _as_text({"total": reported.usd}))


def _span(
    trace: str,
    span: str,
    parent: str | None,
    name: str,
    start: int,
    end: int,
    attributes: Sequence[_Attribute],
) -> LangfuseSpan:
    """A span of OTLP as JSON: ids in hexadecimal, 64-bit numbers as text."""
    above: Parent = {} if parent is None else {"parentSpanId": parent}
    return {
        "traceId": trace,
        "spanId": span,
        "name": name,
        "kind": 1,
        **above,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [
            {"key": key, "value": _value(value)} for key, value in attributes if value != ""
        ],
    }


def _value(value: Json) -> Json:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"stringValue": value if isinstance(value, str) else _as_text(value)}


def _as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _ids(run: str, case: str, attempt: int, call: int = 0) -> tuple[str, str]:
    """The ids of a trace (32 hexadecimal digits) and of one of its spans (16)."""
    return _digest(f"trace/{run}/{case}/{attempt}")[:32], _digest(
        f"span/{run}/{case}/{attempt}/{call}"
    )[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _share(points: float | None) -> float | None:
    return None if points is None else points / 100
