"""A suite run as a run of MLflow: what it was as params, what came out as metrics, and a table with
a row for each case.

Units are the report's: rates 0 to 1, scores 0 to 100, milliseconds, US dollars. What is missing is
left out of metrics and null in the table, never 0. The whole report is a file of the run, so
nothing is lost.
"""

from __future__ import annotations

from typing import Final

import msgspec

from honestone import __version__
from honestone.core.numbers import exact
from honestone.core.record.exported import MlflowCell, MlflowRun
from honestone.core.record.runs import moment_of_run
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.report.misses import why
from honestone.system.drawing import line

# The tag by which a run that is there already is found.
RUN_TAG: Final = "honestone.run"
# MLflow refuses params over 6,000 and tags over 8,000 bytes; both are in the whole report too.
_LONGEST: Final = 5000
COLUMNS: Final = (
    *("case", "status", "verdict", "score", "attempts", "unstable", "split", "tags"),
    *("input", "output", "reference", "reasons", "error", "target_ms", "judge_scores"),
)


def suite_mlflow(doc: SuiteReportDoc) -> MlflowRun:
    """The run. A run without a moment in its id begins in 1970."""
    began = moment_of_run(doc.run or "")
    rows = [_case_row(case) for case in doc.cases]
    return MlflowRun(
        experiment=doc.name,
        name=doc.run or doc.name,
        params={name: value[:_LONGEST] for name, value in _params(doc).items() if value},
        metrics=_metrics(doc),
        tags={name: value[:_LONGEST] for name, value in _tags(doc).items() if value},
        known_by=RUN_TAG,
        table={name: [row[at] for row in rows] for at, name in enumerate(COLUMNS)},
        report=msgspec.json.format(msgspec.json.encode(doc), indent=1).decode(),
        began=began,
        ended=began + int(doc.duration_ms or 0),
    )


def _params(doc: SuiteReportDoc) -> dict[str, str]:
    return {
        "suite": doc.suite.path,
        "dialect": doc.suite.dialect or "",
        "target": doc.target or "",
        "artifact": doc.artifact.path if doc.artifact else "",
        "artifact_digest": doc.artifact.digest if doc.artifact else "",
        "judges": ", ".join(one.id for one in doc.judges),
        "min_pass_rate": "" if doc.min_pass_rate is None else f"{doc.min_pass_rate:g}",
        "contract": doc.contract,
    }


def _metrics(doc: SuiteReportDoc) -> dict[str, float]:
    usage = doc.usage
    metrics: dict[str, float | int | None] = {
        "pass_rate": doc.pass_rate,
        "mean_score": doc.mean_score,
        "duration_ms": doc.duration_ms,
        **{f"cases.{status}": number for status, number in doc.status_counts.items()},
        "cases.unstable": len(doc.unstable),
    }
    if usage is not None:
        metrics |= {
            "judge_calls": usage.judge_calls,
            "target_calls": usage.target_calls or 0,
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "usd": usage.usd,
        }
    return {name: float(value) for name, value in metrics.items() if value is not None}


def _tags(doc: SuiteReportDoc) -> dict[str, str]:
    words = "; ".join((doc.verdict_words, *map(line, doc.reasons)))
    return {
        RUN_TAG: doc.run or "",
        "honestone.verdict": doc.verdict,
        "honestone.version": __version__,
        "mlflow.source.name": "honestone",
        "mlflow.source.type": "LOCAL",
        "mlflow.note.content": words,
    }


def _case_row(case: CaseDoc) -> tuple[MlflowCell, ...]:
    judges = {one.id: case.judge_score(one.id) for one in case.judges}
    scores = {id: None if score is None else float(score) for id, score in judges.items()}
    return (
        *(
            case.id,
            case.status,
            case.verdict,
            None if case.score is None else float(exact(case.score)),
        ),
        *(len(case.attempts), str(case.unstable).lower(), case.split, ", ".join(case.tags)),
        *(text_of(case.input), text_of(case.output), text_of(case.reference), "; ".join(why(case))),
        *(
            case.error,
            case.time if case.time is None else float(case.time),
            msgspec.json.encode(scores).decode(),
        ),
    )
