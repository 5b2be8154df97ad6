"""Suite runs as documents: `honestone.report/1`, `honestone.comparison/1` and `honestone.trend/1`, built from events.

Scores are points (0-100), rates and their differences 0-1. JSON numbers are not rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from msgspec import to_builtins

from honestone.core.ballot import ballot_from_plain
from honestone.core.contract import digest_json
from honestone.core.events import (
    AttemptJudged,
    CasePassedBy,
    Event,
    OutputProduced,
    RunFinished,
    SidesCompared,
    SuiteStarted,
)
from honestone.core.numbers import to_points
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Rule, Scorecard, Scorer
from honestone.core.suite.attempts import (
    Attempt,
    CaseResult,
    Status,
    judge_attempt,
    mean_card,
    result_of,
    skipped,
    target_failed,
)
from honestone.core.suite.case import AttemptRule, Case
from honestone.core.suite.comparison import Comparison, Pair, Side
from honestone.core.suite.result import Rates, judge_suite, rates_of
from honestone.core.verdict import Verdict
from honestone.report.documents.scorecard import UsageDoc
from honestone.report.improvement import spend_in
from honestone.report.scorecard import Facts, judge_states, scorecard_document, usage_document

REPORT = "honestone.report/1"
COMPARISON = "honestone.comparison/1"
TREND = "honestone.trend/1"

_TOKENS = (
    "judge_calls",
    "cached_calls",
    "worker_calls",
    "target_calls",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
)


@dataclass(slots=True, kw_only=True)
class _Ran:
    """The events of one case: what was produced and what was said, by attempt, and why it was not run."""

    produced: dict[int, OutputProduced] = field(default_factory=dict)
    attempted: dict[int, AttemptJudged] = field(default_factory=dict)
    passed_by: CasePassedBy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteLog:
    """A suite run read back from its events: every case, how it went and what it came to."""

    started: SuiteStarted
    plain: Mapping[str, Mapping[str, Any]]
    cases: tuple[Case, ...]
    results: Mapping[str, CaseResult]
    attempts: Mapping[str, tuple[Attempt, ...]]
    ran: Mapping[str, _Ran]
    scorers: Mapping[str, Scorer]
    is_cut_short: bool
    compared: SidesCompared | None
    finished: RunFinished | None

    @property
    def rates(self) -> Rates:
        return rates_of(list(self.results.values()))

    @property
    def verdict(self) -> Verdict:
        return judge_suite(self.rates, least=Fraction(self.started["min_pass_rate"]), is_cut_short=self.is_cut_short)

    def sides(self) -> dict[str, Side]:
        """The cases as a comparison sees them."""
        return {
            id: Side(status=result.status, score=result.score, is_unstable=result.is_unstable)
            for id, result in self.results.items()
        }


def read_log(
    log: Sequence[Event], *, rule: str | None = None, bars: Callable[[Rubric], Rubric] | None = None
) -> SuiteLog:
    """A run from its events; `rule` combines its votes by another rule than its own, `bars` puts other bars on its rubrics."""
    started = log[0]
    assert isinstance(started, SuiteStarted)
    by_id = {one.id: one.plain for one in started.cases}
    rubrics = started.rubrics
    if bars is not None:
        rubrics = {key: bars(rubric) for key, rubric in rubrics.items()}
    scorers = {key: Scorer(rubric, Rule(rule or started.rule)) for key, rubric in rubrics.items()}
    ran: dict[str, _Ran] = {one.id: _Ran() for one in started.cases}
    compared = finished = None
    for event in log[1:]:
        match event:
            case OutputProduced():
                ran[event.case].produced[event.attempt] = event
            case AttemptJudged():
                ran[event.case].attempted[event.attempt] = event
            case CasePassedBy():
                ran[event.case].passed_by = event
            case SidesCompared():
                compared = event
            case RunFinished():
                finished = event
    cases = tuple(one.case(rubrics[one.rubric]) for one in started.cases)
    by_case = {one.id: scorers[one.rubric] for one in started.cases}
    attempts = {case.id: tuple(_attempts(case, ran[case.id], by_case[case.id])) for case in cases}
    results = {case.id: _result(case, attempts[case.id], ran[case.id]) for case in cases}
    cut = any(
        one.passed_by is not None and results[id].status is Status.SKIPPED and by_id[id].get("skip") is None
        for id, one in ran.items()
    )
    return SuiteLog(
        started=started,
        plain=by_id,
        cases=cases,
        results=results,
        attempts=attempts,
        ran=ran,
        scorers=by_case,
        is_cut_short=cut,
        compared=compared,
        finished=finished,
    )


def _attempts(case: Case, ran: _Ran, scorer: Scorer) -> list[Attempt]:
    out = []
    for number in range(1, case.attempts + 1):
        produced, attempted = ran.produced.get(number), ran.attempted.get(number)
        if produced is not None and produced.get("error") is not None:
            out.append(target_failed(number, produced["error"]))
        elif attempted is not None:
            card = scorer.card([ballot_from_plain(plain) for plain in attempted["ballots"]])
            out.append(judge_attempt(number, card, case))
    return out


def _result(case: Case, attempts: Sequence[Attempt], ran: _Ran) -> CaseResult:
    has_passed = case.stops_at_pass and any(a.status is Status.PASSED for a in attempts)
    if case.skip is None and (len(attempts) == case.attempts or has_passed):
        return result_of(attempts, case)
    if ran.passed_by is not None:
        return skipped(ran.passed_by["reason"])
    return skipped(case.skip or "the run ended before it was reached")


# ---------------------------------------------------------------------------------------------------------- the report


def suite_document(
    log: Sequence[Event], *, run: str | None, rule: str | None = None, bars: Callable[[Rubric], Rubric] | None = None
) -> dict[str, Any]:
    """`honestone.report/1` of a run."""
    found = read_log(log, rule=rule, bars=bars)
    started, rates, verdict = found.started, found.rates, found.verdict
    ballots = [ballot for event in log if isinstance(event, AttemptJudged) for ballot in event.ballots]
    spent = spend_in(log)
    target_calls = spent.get("target_calls", 0)
    usage = {**to_builtins(usage_document(spent)), "target_calls": target_calls}
    unstable = [case.id for case in found.cases if found.results[case.id].is_unstable]
    document: dict[str, Any] = {
        "schema": REPORT,
        "suite": started["suite"],
        "artifact": started["artifact"],
        "target": started["target"],
        "verdict": str(verdict.outcome),
        "reasons": list(verdict.reasons),
        "pass_rate": _number(rates.pass_rate),
        "pass_rate_interval": None if rates.passes is None else [float(end) for end in rates.passes],
        "min_pass_rate": None
        if found.compared is not None and not started.get("min_given")
        else float(Fraction(started["min_pass_rate"])),
        "mean_score": None if rates.mean_score is None else to_points(rates.mean_score),
        "mean_score_interval": None if rates.scores is None else [to_points(end) for end in rates.scores],
        "counts": {str(status): count for status, count in rates.counts.items()},
        "unstable": unstable,
        "judges": _panel_states(ballots),
        "flags": _flags(found),
        "notes": list(started.get("notes", ())),
        "contract": started["contract_id"],
        "run": run,
        "usage": usage,
        "duration_ms": round(1000 * ((found.finished and found.finished.seconds) or 0)),
    }
    if found.compared is not None and rule is None and bars is None:
        document.update(found.compared["fields"])
    document["cases"] = [case_document(found, case) for case in found.cases]
    return document


def suite_verdict(log: Sequence[Event]) -> str:
    """The `verdict` of `suite_document`, without drawing every case."""
    found = read_log(log)
    told = found.compared["fields"].get("verdict") if found.compared is not None else None
    return told or str(found.verdict.outcome)


def _panel_states(ballots: Sequence[Any]) -> list[dict[str, Any]]:
    """Each judge once: its worst state over all cases, with the first reason and how often it was so."""
    seen: dict[str, dict[str, Any]] = {}
    for entry in map(to_builtins, judge_states(ballots)):
        known = seen.get(entry["id"])
        if known is None or (known["state"] == "AVAILABLE" and entry["state"] != "AVAILABLE"):
            seen[entry["id"]] = {"id": entry["id"], "state": entry["state"], "reason": entry["reason"]}
    return list(seen.values())


def _flags(found: SuiteLog) -> list[str]:
    out = []
    if found.started.get("mock"):
        what = "no agent did this" if found.started["target"] == "mock" else "no judge looked at this"
        out.append(f"mock run: {what}")
    for case in found.cases:
        if found.results[case.id].is_unstable:
            attempts = found.attempts[case.id]
            passed = sum(1 for attempt in attempts if attempt.status is Status.PASSED)
            out.append(f"flaky: {case.id} ({passed} of {len(attempts)})")
    return out


def case_document(found: SuiteLog, case: Case) -> dict[str, Any]:
    """One case: the scorecard of the attempt that stands for it, its own result, and every attempt."""
    result, ran, attempts = found.results[case.id], found.ran[case.id], found.attempts[case.id]
    plain = found.plain[case.id]
    shown = result.shown.number if result.shown is not None else None
    produced = (ran.produced.get(shown) if shown is not None else None) or _NO_OUTPUT
    attempted = ran.attempted.get(shown) if shown is not None else None
    ballots = attempted.ballots if attempted else ()
    output = produced.output if produced is not _NO_OUTPUT else None
    facts = Facts(
        path="output.txt" if output is not None else (found.started["artifact"] or {}).get("path", ""),
        digest="",
        contract=plain["contract"],
        run=None,
        usage=UsageDoc(),
        text=output,
    )
    body = to_builtins(scorecard_document(found.scorers[case.id], ballots, facts))
    for name in ("schema", "title", "rubric", "artifact", "run", "usage", "has_fixes", "self_evaluated"):
        body.pop(name, None)
    if len(attempts) > 1 and case.attempt_rule is AttemptRule.MEAN and any(a.card for a in attempts):
        _put_means(body, mean_card([attempt.card for attempt in attempts]))
    durations = [event.duration_ms for event in ran.produced.values()]
    return {
        "id": case.id,
        "description": case.description,
        "status": str(result.status),
        **body,
        "verdict": str(result.verdict),
        "reasons": list(result.reasons),
        "score": None if result.score is None else to_points(result.score),
        "interval": [to_points(result.low), to_points(result.high)],
        "duration_ms": sum(durations) if durations else None if result.status is Status.SKIPPED else 0,
        "unstable": result.is_unstable,
        "shown_attempt": shown,
        "attempt_rule": str(case.attempt_rule),
        "attempts": [_attempt_document(attempt, ran) for attempt in attempts],
        "input": case.input,
        "reference": case.reference,
        "output": output,
        "error": produced.error,
        "diff": produced.diff,
        "trace": produced.trace and produced.trace.to_plain(),
        "tags": list(case.tags),
        "split": str(case.in_split),
        "contract": plain["contract"],
    }


_NO_OUTPUT = OutputProduced(case="", attempt=0, output="")


def _put_means(body: dict[str, Any], card: Scorecard) -> None:
    """Criteria show the mean over the attempts; their items are those of the attempt shown."""
    for entry, line in zip(body["criteria"], card.lines, strict=True):
        entry["score"] = None if line.score is None else to_points(line.score)
        entry["interval"] = [to_points(line.low), to_points(line.high)]
        entry["below_floor"] = line.is_below_floor


def _attempt_document(attempt: Attempt, ran: _Ran) -> dict[str, Any]:
    produced = ran.produced.get(attempt.number, _NO_OUTPUT)
    return {
        "attempt": attempt.number,
        "status": str(attempt.status),
        "verdict": str(attempt.verdict),
        "score": None if attempt.score is None else to_points(attempt.score),
        "interval": [to_points(attempt.low), to_points(attempt.high)],
        "duration_ms": produced.duration_ms,
        "reasons": list(attempt.reasons),
        "output": produced.output if produced is not _NO_OUTPUT else None,
        "diff": produced.diff,
        "trace": produced.trace and produced.trace.to_plain(),
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


# ------------------------------------------------------------------------------------------------------- comparisons


def sides_of(document: Mapping[str, Any]) -> dict[str, Side]:
    """The cases of a report as a comparison sees them. Raises KeyError or ValueError when it is no whole report."""
    return {
        case["id"]: Side(
            status=Status(case["status"]),
            score=None if case["score"] is None else Fraction(repr(case["score"])) / 100,
            is_unstable=case["unstable"],
        )
        for case in document["cases"]
    }


_KNOWN = (
    "run",
    "suite",
    "artifact",
    "target",
    "verdict",
    "reasons",
    "pass_rate",
    "pass_rate_interval",
    "mean_score",
    "counts",
    "contract",
)
_STATUSES = frozenset(str(status) for status in Status)


def report_fault(document: Mapping[str, Any]) -> str | None:
    """What keeps a saved report from being compared; None when it is whole."""
    absent = [name for name in _KNOWN if name not in document]
    if absent:
        return f"it has no `{absent[0]}`"
    if not isinstance(document["suite"], Mapping) or not {"path", "title"} <= document["suite"].keys():
        return "its `suite` is not the name of a suite"
    rates = [document["pass_rate"], document["mean_score"]]
    if not all(rate is None or _is_number(rate) for rate in rates) or not isinstance(document["counts"], Mapping):
        return "its figures are not numbers"
    cases = document.get("cases")
    if not isinstance(cases, list):
        return "its `cases` are not a list"
    seen: set[str] = set()
    for case in cases:
        if not isinstance(case, Mapping) or not isinstance(case.get("id"), str):
            return "a case in it has no id"
        if case["id"] in seen:
            return f"case `{case['id']}` is in it twice"
        seen.add(case["id"])
        score = case.get("score", "")
        if case.get("status") not in _STATUSES or not isinstance(case.get("contract"), str):
            return f"case `{case['id']}` has no known status or no contract"
        if not isinstance(case.get("unstable"), bool) or not (score is None or _is_number(score)):
            return f"case `{case['id']}` has no score"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def comparison_document(
    found: Comparison, verdict: Verdict, *, baseline: str | None, candidate: str | None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """`honestone.comparison/1`. `baseline` and `candidate` are run ids."""
    return {
        "schema": COMPARISON,
        "baseline": baseline,
        "candidate": candidate,
        "verdict": str(verdict.outcome),
        "reasons": list(verdict.reasons),
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
        "notes": list(notes),
        "cases": [_pair(pair) for pair in found.pairs],
    }


def _span(span: tuple[Fraction, Fraction] | None) -> list[float] | None:
    return None if span is None else [float(span[0]), float(span[1])]


def _pair(pair: Pair) -> dict[str, Any]:
    def side(one: Side) -> dict[str, Any]:
        from honestone.core.suite.attempts import OUTCOMES

        score = None if one.score is None else to_points(one.score)
        return {"status": str(one.status), "verdict": str(OUTCOMES[one.status]), "score": score}

    return {
        "id": pair.id,
        "baseline": side(pair.baseline),
        "candidate": side(pair.candidate),
        "delta": None if pair.delta is None else to_points(pair.delta),
        "unstable": pair.is_unstable,
    }


def trend_document(reports: Sequence[Mapping[str, Any]], *, notes: Sequence[str] = ()) -> dict[str, Any]:
    """`honestone.trend/1`: runs in the order given, each with what changed from the one before."""
    runs = []
    before: Mapping[str, str] = {}
    for report in reports:
        now = {case["id"]: case["status"] for case in report["cases"]}
        runs.append(
            {
                "run": report["run"],
                "suite": report["suite"]["title"] or report["suite"]["path"],
                "artifact": report["artifact"],
                "target": report["target"],
                "verdict": report["verdict"],
                "pass_rate": report["pass_rate"],
                "pass_rate_interval": report["pass_rate_interval"],
                "mean_score": report["mean_score"],
                "counts": report["counts"],
                "regressions": [i for i, s in now.items() if s == "failed" and before.get(i) == "passed"],
                "improvements": [i for i, s in now.items() if s == "passed" and before.get(i) == "failed"],
            }
        )
        before = now
    return {"schema": TREND, "runs": runs, "notes": list(notes)}


def rubric_key(plain: Mapping[str, Any]) -> str:
    """The name that cases share a rubric under in the first event."""
    return digest_json(plain)[7:23]
