"""Suite runs as documents: `honestone.report/1`, `honestone.comparison/1` and `honestone.trend/1`, built from events.

Scores are points (0-100), rates and their differences 0-1. JSON numbers are not rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import to_builtins

from honestone.core.ballot import Ballot
from honestone.core.events import OutputProduced, StartedArtifact
from honestone.core.numbers import to_points
from honestone.core.scorecard import Scorecard
from honestone.core.skill.comparison import SkillComparison
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.attempts import OUTCOMES, Attempt, Status, mean_card
from honestone.core.suite.case import AttemptRule
from honestone.core.suite.comparison import CasePair, CaseSide, RunComparison
from honestone.core.suite.record import CaseRecord, SuiteRecord
from honestone.core.suite.summary import RunSummary
from honestone.core.verdict import Verdict
from honestone.report.documents.scorecard import UsageDoc
from honestone.report.json_document import JsonDocument
from honestone.report.scorecard import Facts, judge_states, scorecard_document, usage_document

REPORT = "honestone.report/1"
COMPARISON = "honestone.comparison/1"
TREND = "honestone.trend/1"

# ---------------------------------------------------------------------------------------------------------- the report


def suite_document(record: SuiteRecord) -> JsonDocument:
    """`honestone.report/1` of a run."""
    started, rates, verdict = record.started, record.rates, record.own_verdict
    is_compared = record.compared is not None
    document: JsonDocument = {
        "schema": REPORT,
        "title": started.suite.title,
        "suite": to_builtins(started.suite),
        "artifact": _artifact(started.artifact),
        "target": started.target,
        "verdict": str(verdict.outcome),
        "reasons": list(verdict.reasons),
        "pass_rate": _number(rates.pass_rate),
        "pass_rate_interval": None if rates.passes is None else [float(end) for end in rates.passes],
        "min_pass_rate": None if is_compared and not started.min_given else float(started.min_pass_rate),
        "mean_score": None if rates.mean_score is None else to_points(rates.mean_score),
        "mean_score_interval": None if rates.scores is None else [to_points(end) for end in rates.scores],
        "counts": {str(status): count for status, count in rates.counts.items()},
        "unstable": [id for id, one in record.cases.items() if one.result.is_unstable],
        "judges": panel_states(record.ballots()),
        "flags": suite_flags(record),
        "notes": list(started.notes),
        "contract": started.contract_id,
        "run": record.run,
        "usage": suite_usage(record),
        "duration_ms": round(1000 * record.seconds),
    }
    if record.compared is not None and not record.is_rescored:
        document.update(record.compared)
    document["cases"] = [case_document(one, started.artifact) for one in record.cases.values()]
    return document


def suite_usage(record: SuiteRecord) -> JsonDocument:
    usage: JsonDocument = to_builtins(usage_document(record.spend.to_plain()))
    return {**usage, "target_calls": record.spend.target_calls}


def _artifact(artifact: StartedArtifact | None) -> JsonDocument | None:
    return None if artifact is None else {"path": artifact.path, "digest": artifact.digest}


def panel_states(ballots: Iterable[Ballot]) -> list[JsonDocument]:
    """Each judge once: its worst state over all cases, with the first reason and how often it was so."""
    seen: dict[str, JsonDocument] = {}
    for entry in map(to_builtins, judge_states(ballots)):
        known = seen.get(entry["id"])
        if known is None or (known["state"] == "AVAILABLE" and entry["state"] != "AVAILABLE"):
            seen[entry["id"]] = {"id": entry["id"], "state": entry["state"], "reason": entry["reason"]}
    return list(seen.values())


def suite_flags(record: SuiteRecord) -> list[str]:
    out = []
    if record.started.mock:
        what = "no agent did this" if record.started.target == "mock" else "no judge looked at this"
        out.append(f"mock run: {what}")
    for id, one in record.cases.items():
        if one.result.is_unstable:
            passed = sum(1 for attempt in one.attempts.values() if attempt.status is Status.PASSED)
            out.append(f"flaky: {id} ({passed} of {len(one.attempts)})")
    return out


def case_document(record: CaseRecord, artifact: StartedArtifact | None) -> JsonDocument:
    """One case: the scorecard of the attempt that represents it, its own result, and every attempt."""
    case, result, attempts = record.case, record.result, record.in_order
    produced = record.shown_output
    made = _made(produced)
    output = made["output"]
    facts = Facts(
        path="output.txt" if output is not None else artifact.path if artifact is not None else "",
        digest="",
        contract=record.contract,
        run=None,
        usage=UsageDoc(),
        text=output,
    )
    body = to_builtins(scorecard_document(record.scorer, record.shown_ballots, facts))
    for name in ("schema", "title", "rubric", "artifact", "run", "usage", "has_fixes", "self_evaluated"):
        body.pop(name, None)
    if len(attempts) > 1 and case.attempt_rule is AttemptRule.MEAN and any(a.card for a in attempts):
        _put_means(body, mean_card([attempt.card for attempt in attempts]))
    return {
        "id": case.id,
        "description": case.description,
        "status": str(result.status),
        **body,
        "verdict": str(result.verdict),
        "reasons": list(result.reasons),
        "score": None if result.score is None else to_points(result.score),
        "interval": [to_points(result.low), to_points(result.high)],
        "duration_ms": record.duration_ms,
        "unstable": result.is_unstable,
        "shown_attempt": record.shown,
        "attempt_rule": str(case.attempt_rule),
        "attempts": [_attempt_document(attempt, record.produced.get(attempt.number)) for attempt in attempts],
        "input": case.input,
        "reference": case.reference,
        "output": output,
        "error": produced.error if produced is not None else None,
        "diff": made["diff"],
        "trace": made["trace"],
        "tags": list(case.tags),
        "split": str(case.in_split),
        "contract": record.contract,
    }


def _put_means(body: JsonDocument, card: Scorecard) -> None:
    """Criteria show the mean over the attempts; their items are those of the attempt shown."""
    for entry, line in zip(body["criteria"], card.lines, strict=True):
        entry["score"] = None if line.score is None else to_points(line.score)
        entry["interval"] = [to_points(line.low), to_points(line.high)]
        entry["below_floor"] = line.is_below_floor


def _attempt_document(attempt: Attempt, produced: OutputProduced | None) -> JsonDocument:
    return {
        "attempt": attempt.number,
        "status": str(attempt.status),
        "verdict": str(attempt.verdict),
        "score": None if attempt.score is None else to_points(attempt.score),
        "interval": [to_points(attempt.low), to_points(attempt.high)],
        "duration_ms": produced.duration_ms if produced is not None else 0,
        "reasons": list(attempt.reasons),
        **_made(produced),
    }


def _made(produced: OutputProduced | None) -> JsonDocument:
    if produced is None:
        return {"output": None, "diff": None, "trace": None}
    trace = produced.trace
    return {"output": produced.output, "diff": produced.diff, "trace": None if trace is None else trace.to_plain()}


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


# ------------------------------------------------------------------------------------------------------- comparisons


def baseline_fields(comparison: RunComparison, verdict: Verdict, *, before: RunSummary, name: str) -> JsonDocument:
    """What a report says of its baseline."""
    document = comparison_document(comparison)
    return {
        "verdict": str(verdict.outcome),
        "reasons": list(verdict.reasons),
        "baseline_pass_rate": before.pass_rate,
        "delta": document["delta"],
        "interval": document["interval"],
        "regressions": document["regressions"],
        "comparison": document,
        "baseline": {"name": name, "run": before.run},
    }


def skill_alone_fields(
    record: SuiteRecord,
    results: Sequence[TaskResult],
    flags: Sequence[str],
    is_mock: bool,
    structure: Sequence[Mapping[str, object]],
) -> JsonDocument:
    """What a skill's report says where it has no baseline."""
    return {
        "execution_pass_rate": _number(record.rates.pass_rate),
        "mock": is_mock,
        "structure": list(structure),
        "flags": list(flags),
        "candidate_results": [result.to_plain() for result in results],
    }


def skill_fields(compared: SkillComparison) -> JsonDocument:
    """What a skill's report says of its baseline."""
    figures = compared.figures
    document = comparison_document(compared.comparison)
    return {
        "verdict": str(compared.verdict),
        "reasons": list(compared.reasons),
        "execution_pass_rate": figures.execution_pass_rate,
        "baseline_pass_rate": figures.baseline_pass_rate,
        "delta": figures.delta,
        "interval": None if figures.interval is None else list(figures.interval),
        "regressions": document["regressions"],
        "baseline": {
            "name": compared.baseline_name,
            "run": compared.baseline_run,
            "usage": dict(compared.baseline_usage),
        },
        "baseline_cached": compared.is_cached,
        "mock": compared.is_mock,
        "structure": list(compared.structure),
        "flags": list(compared.flags),
        "candidate_results": [result.to_plain() for result in compared.candidate],
        "baseline_results": [result.to_plain() for result in compared.baseline],
        "comparison": document,
    }


def comparison_document(comparison: RunComparison) -> JsonDocument:
    """`honestone.comparison/1`."""
    found = comparison.found
    return {
        "schema": COMPARISON,
        "baseline": comparison.baseline,
        "candidate": comparison.candidate,
        "verdict": str(comparison.verdict.outcome),
        "reasons": list(comparison.verdict.reasons),
        "delta": _number(found.delta),
        "interval": _span(found.interval),
        "score_delta": None if found.score_delta is None else to_points(found.score_delta),
        "score_interval": None if found.score_interval is None else [to_points(e) for e in found.score_interval],
        "p": found.p,
        "wins": found.wins,
        "losses": found.losses,
        "ties": found.ties,
        "regressions": list(found.regressions),
        "improvements": list(found.improvements),
        "missing": list(found.missing),
        "new": list(found.new),
        "undecided": list(found.undecided),
        "unstable": list(found.unstable),
        "notes": list(comparison.notes),
        "cases": [_pair(pair) for pair in found.pairs],
    }


def _span(span: tuple[Fraction, Fraction] | None) -> list[float] | None:
    return None if span is None else [float(span[0]), float(span[1])]


def _pair(pair: CasePair) -> JsonDocument:
    return {
        "id": pair.id,
        "baseline": _side(pair.baseline),
        "candidate": _side(pair.candidate),
        "delta": None if pair.delta is None else to_points(pair.delta),
        "unstable": pair.is_unstable,
    }


def _side(side: CaseSide) -> JsonDocument:
    score = None if side.score is None else to_points(side.score)
    return {"status": str(side.status), "verdict": str(OUTCOMES[side.status]), "score": score}


def trend_document(runs: Sequence[RunSummary], *, notes: Sequence[str] = ()) -> JsonDocument:
    """`honestone.trend/1`: runs in the order given, each with what changed from the one before."""
    before: Mapping[str, CaseSide] = {}
    entries = []
    for run in runs:
        entries.append(
            {
                "run": run.run,
                "suite": run.suite,
                "artifact": _artifact(run.artifact),
                "target": run.target,
                "verdict": run.verdict,
                "pass_rate": run.pass_rate,
                "pass_rate_interval": None if run.pass_rate_interval is None else list(run.pass_rate_interval),
                "mean_score": run.mean_score,
                "counts": dict(run.counts),
                "regressions": [id for id, now in run.sides.items() if _turned(before.get(id), now, Status.FAILED)],
                "improvements": [id for id, now in run.sides.items() if _turned(before.get(id), now, Status.PASSED)],
            }
        )
        before = run.sides
    return {"schema": TREND, "runs": entries, "notes": list(notes)}


def _turned(before: CaseSide | None, now: CaseSide, to: Status) -> bool:
    """Whether a case went from passed to failed, or back."""
    return before is not None and before.is_decided and now.status is to and before.status is not to
