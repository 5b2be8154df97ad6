"""A suite run as a log of Inspect (version 2, JSON): its log reader and viewer open it.

A case is a sample, an attempt an epoch. Scores are 0-1; one that is missing is left out, never 0.
What has no place in such a log (criteria with their items and quotes, judges, reasons, intervals)
is in the metadata of its sample, and the rest of the report in the metadata of the evaluation, so
nothing is lost.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from typing import Final, TypedDict

import msgspec

from honestone.core.judging.rubric import free_id
from honestone.core.record.runs import moment_of_run
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import AttemptDoc, CaseDoc, text_of

# The name of the score of a whole case, next to those of its criteria; with a number where a
# criterion has it.
_CASE: Final = "honestone"


class _Score(TypedDict):
    value: float
    answer: str | None
    explanation: str | None


class _Message(TypedDict):
    """What was asked, or answered."""

    role: str
    content: str


class _Choice(TypedDict):
    """The answer of a target."""

    message: _Message
    stop_reason: str


class _Output(TypedDict):
    """The output of a target."""

    model: str
    choices: list[_Choice]
    completion: str


class _Metadata(TypedDict):
    """What has no place of its own in a sample; `honestone` is the case as our report has it."""

    status: str
    tags: list[str]
    honestone: object


class _Metric(TypedDict):
    """A figure over samples."""

    name: str
    value: float


class _Metrics(TypedDict):
    """The figures of a score."""

    mean: _Metric


class _Results(TypedDict):
    """What a score came to."""

    name: str
    scorer: str
    scored_samples: int
    unscored_samples: int
    metrics: _Metrics


class _Sample(TypedDict):
    """A sample of the log."""

    id: str
    epoch: int
    input: str
    target: str
    messages: list[_Message]
    output: _Output
    scores: dict[str, _Score]
    metadata: _Metadata
    total_time: float
    error: dict[str, str] | None


def suite_inspect(doc: SuiteReportDoc) -> str:
    """The log as text, with a line break at its end."""
    whole = free_id(_CASE, {one.id for case in doc.cases for one in case.criteria})
    samples = [sample for case in doc.cases for sample in _samples(doc, case, whole)]
    begun = _begun(doc.run)
    names = sorted({name for sample in samples for name in sample["scores"]})
    log = {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": doc.run or "",
            "eval_id": doc.run or "",
            "created": begun,
            "task": doc.suite.title or doc.suite.path,
            "task_id": doc.suite.path,
            "task_version": 0,
            "dataset": {
                "name": doc.suite.path,
                "samples": len(doc.cases),
                "sample_ids": [case.id for case in doc.cases],
            },
            "model": doc.target or "none",
            "config": {"epochs": max((len(case.attempts) for case in doc.cases), default=1) or 1},
            "scorers": [{"name": name} for name in names],
            "metadata": {"honestone": msgspec.to_builtins(msgspec.structs.replace(doc, cases=[]))},
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum(sample["error"] is None for sample in samples),
            "scores": [_results(name, samples) for name in names],
        },
        "stats": {"started_at": begun, "completed_at": begun, "model_usage": {}},
        "samples": samples,
    }
    return json.dumps(log, ensure_ascii=True, allow_nan=False, default=str) + "\n"


def _begun(run: str | None) -> str:
    """When a run began, as its id says."""
    began = datetime.datetime.fromtimestamp(moment_of_run(run or "") / 1000, datetime.UTC)
    return began.isoformat(timespec="seconds")


def _samples(doc: SuiteReportDoc, case: CaseDoc, whole: str) -> Iterator[_Sample]:
    shown = case.shown_attempt or 1
    only = AttemptDoc(attempt=shown, status=case.status, score=case.score)
    for attempt in case.attempts or [only]:
        is_shown = attempt.attempt == shown
        output = text_of(case.output if is_shown else attempt.output)
        scores = {whole: _score(attempt.score, output, "; ".join(case.reasons or attempt.reasons))}
        if is_shown:
            scores |= {
                one.id: _score(one.score, None, one.requirement)
                for one in case.criteria
                if one.applies
            }
        rest: dict[str, msgspec.Struct] = {"attempt": attempt}
        if is_shown:
            rest["case"] = msgspec.structs.replace(
                case, input=None, reference=None, output=None, attempts=[]
            )
        yield _Sample(
            id=case.id,
            epoch=attempt.attempt,
            input=text_of(case.input),
            target=text_of(case.reference),
            messages=_messages(text_of(case.input), output),
            output=_output(doc.target or "none", output),
            scores={name: score for name, score in scores.items() if score is not None},
            metadata={
                "status": attempt.status,
                "tags": case.tags,
                "honestone": msgspec.to_builtins(rest),
            },
            total_time=attempt.duration_ms / 1000,
            error=_error(case.error if is_shown else None),
        )


def _messages(asked: str, answered: str) -> list[_Message]:
    messages: list[_Message] = [{"role": "user", "content": asked}]
    if answered:
        messages.append({"role": "assistant", "content": answered})
    return messages


def _output(model: str, text: str) -> _Output:
    choice: _Choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
    return {"model": model, "choices": [choice], "completion": text}


def _score(points: float | None, answer: str | None, why: str) -> _Score | None:
    return (
        None
        if points is None
        else {"value": points / 100, "answer": answer, "explanation": why or None}
    )


def _error(message: str | None) -> dict[str, str] | None:
    return None if message is None else {"message": message, "traceback": "", "traceback_ansi": ""}


def _results(name: str, samples: list[_Sample]) -> _Results:
    """The mean over the samples that have this score. It is of samples, not of cases: each attempt
    counts.
    """
    values = [score["value"] for sample in samples if (score := sample["scores"].get(name))]
    mean: _Metric = {"name": "mean", "value": sum(values) / len(values)}
    return {
        "name": name,
        "scorer": name,
        "scored_samples": len(values),
        "unscored_samples": len(samples) - len(values),
        "metrics": {"mean": mean},
    }
