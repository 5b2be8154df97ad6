"""Suite runs as documents: `honestone.report/1`, `honestone.comparison/1` and `honestone.trend/1`,
built from records.

Scores are points (0-100), rates and their differences 0-1. JSON numbers are not rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from honestone.core.events import Event, OutputProduced, StartedArtifact
from honestone.core.judging.ballot import NOT_ASKED, Ballot
from honestone.core.judging.scorecard import Scorecard
from honestone.core.judging.spend import Spend
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.core.record.summary import RunSummary
from honestone.core.record.triggering import asks_for_skill, triggering_of
from honestone.core.skill.sides import SidesComparison
from honestone.core.statistics.rates import mean_interval, wilson
from honestone.core.suite.attempts import OUTCOMES, Attempt, Status, mean_card
from honestone.core.suite.case import AttemptRule
from honestone.core.suite.comparison import CasePair, CaseSide, RunComparison
from honestone.report.building.scorecard import (
    UNSANDBOXED,
    Facts,
    SharedParts,
    judge_states,
    points_of,
    runs_open,
    scorecard_document,
    share_of,
    span_of,
    usage_document,
)
from honestone.report.documents import JsonDocument, fields_of, plain, scorecard, suite
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.suite_case import AttemptDoc, CaseDoc, TraceDoc

Noisy = TypeVar("Noisy", suite.SuiteReportDoc, suite.ComparisonDoc)

# ----------------------------------------------------------------------------------------------------------
# the report


def suite_document(
    record: SuiteRecord, noise: Mapping[str, scorecard.KnownNoiseDoc] = MappingProxyType({})
) -> suite.SuiteReportDoc:
    """`honestone.report/1` of a run. `noise`: what is known of that of the judges, by case."""
    return suite_report(record, noise).whole


def suite_report(
    record: SuiteRecord,
    noise: Mapping[str, scorecard.KnownNoiseDoc] = MappingProxyType({}),
    log: CaseLog | None = None,
) -> SuiteReport:
    """The same, for who writes it case by case and keeps none. `log`: where the words of a brief
    record are.
    """
    log = log if record.is_brief else None
    return SuiteReport(_head(record, noise, log), _Cases(record, noise, log))


# Opens what is on record of a run, for as long as it is read: the events of a case, by its id.
CaseLog: TypeAlias = Callable[[], AbstractContextManager[Callable[[str], Iterable[Event]]]]


class _Cases(Struct, frozen=True):
    """The cases of a record."""

    record: SuiteRecord
    noise: Mapping[str, scorecard.KnownNoiseDoc]
    log: CaseLog | None

    def __len__(self) -> int:
        return self.record.count

    def __iter__(self) -> Iterator[CaseDoc]:
        return self._drawn(self.record.each())

    def of(self, numbers: Iterable[int]) -> Iterator[CaseDoc]:
        return self._drawn(self.record.each(numbers))

    def _drawn(self, cases: Iterable[CaseRecord]) -> Iterator[CaseDoc]:
        shared: dict[str, SharedParts] = {}
        with _with_words(self.log) as whole:
            for one in cases:
                case = case_document(
                    whole(one), self.record.started.artifact, _shared(shared, one.rubric)
                )
                yield (
                    replace(case, noise=self.noise.get(one.case.id, UNSET)) if self.noise else case
                )


@contextmanager
def _with_words(log: CaseLog | None) -> Iterator[Callable[[CaseRecord], CaseRecord]]:
    """What gives a case of a record with its words, read from the log where the record has none."""
    if log is None:
        yield lambda one: one
        return
    with log() as events_of:
        yield lambda one: one.whole(events_of(one.case.id))


def _head(
    record: SuiteRecord, noise: Mapping[str, scorecard.KnownNoiseDoc], log: CaseLog | None
) -> suite.SuiteReportDoc:
    started, tally, verdict = record.started, record.tally, record.own_verdict
    has_bar = record.compared is None or started.min_given
    rates = tally.rates
    costs = {id: usage_document(spend) for id, spend in (record.judge_spends.found or {}).items()}
    document = suite.SuiteReportDoc(
        title=started.suite.title,
        suite=suite.SuiteNameDoc(
            path=started.suite.path, title=started.suite.title, dialect=started.suite.dialect
        ),
        artifact=_artifact(started.artifact),
        target=started.target,
        verdict=str(verdict.outcome),
        reasons=list(verdict.reasons),
        belief=BeliefDoc.of(record.belief, is_undecided=record.is_undecided),
        pass_rate=share_of(rates.pass_rate),
        pass_rate_interval=_shares(rates.passes),
        min_pass_rate=float(started.min_pass_rate) if has_bar else None,
        mean_score=points_of(rates.mean_score),
        mean_score_interval=None if rates.scores is None else span_of(*rates.scores),
        counts={str(status): count for status, count in rates.counts.items()},
        unstable=list(tally.unstable),
        low_confidence_cases=tally.lonely,
        judges=[
            replace(one, usage=costs.get(one.id, UNSET)) for one in panel_states(tally.ballots)
        ],
        flags=suite_flags(record),
        notes=list(started.notes),
        contract=started.contract_id,
        run=record.run,
        usage=suite_usage(record),
        duration_ms=round(1000 * record.seconds),
        outputs=UNSET if started.outputs is None else started.outputs,
        triggering=_triggering(record),
        with_skills=[
            scorecard.ArtifactDoc(path=one.path, digest=one.digest) for one in started.more_skills
        ]
        or UNSET,
        left_out=len(started.left_out),
        left_out_cases=list(started.left_out) or UNSET,
        cases=[],
    )
    if record.compared is not None and not record.is_rescored:
        document = _with_sides(document, record.compared)
        if document.comparison:
            document = replace(document, comparison=_with_texts(document.comparison, record, log))
    return with_noise(document, noise)


def _with_sides(document: suite.SuiteReportDoc, sides: SidesComparison) -> suite.SuiteReportDoc:
    """A report with what its run records of a skill and of a baseline."""
    skill, baseline, comparison = sides.skill, sides.baseline, sides.comparison
    if skill is not None:
        document = replace(
            document,
            execution_pass_rate=skill.pass_rate,
            mock=skill.is_mock,
            structure=[dict(one._asdict()) for one in skill.structure],
            flags=list(skill.flags),
            candidate_results=[dict(one.to_plain()) for one in skill.results],
        )
    if baseline is not None:
        document = replace(
            document,
            verdict=sides.verdict,
            reasons=list(sides.reasons),
            baseline_pass_rate=baseline.pass_rate,
            delta=sides.delta,
            interval=_shares(sides.interval),
            baseline=suite.BaselineDoc(name=baseline.name, run=baseline.run),
        )
    if comparison is not None:
        document = replace(
            document,
            regressions=list(comparison.found.regressions),
            comparison=comparison_document(comparison),
        )
    if sides.spend is not None:
        document = replace(document, usage=usage_of(sides.spend))
    if skill is not None and baseline is not None:
        usage = {} if baseline.spend is None else plain(usage_of(baseline.spend))
        document = replace(
            document,
            baseline=suite.BaselineDoc(name=baseline.name, run=baseline.run, usage=usage),
            baseline_cached=baseline.is_cached,
            baseline_results=[dict(one.to_plain()) for one in baseline.results],
        )
    return document


def _triggering(record: SuiteRecord) -> suite.TriggeringDoc | UnsetType:
    triggering = (
        triggering_of(record.each())
        if any(map(asks_for_skill, record.started.rubrics.values()))
        else None
    )
    if triggering is None:
        return UNSET
    return suite.TriggeringDoc(
        cases=triggering.cases,
        precision=share_of(triggering.precision),
        recall=share_of(triggering.recall),
        unknown=triggering.unknown,
    )


def with_noise(document: Noisy, noise: Mapping[str, scorecard.KnownNoiseDoc]) -> Noisy:
    """A report or a comparison whose cases say what of their scores is noise."""
    if not noise:
        return document
    document = replace(
        document, cases=[replace(one, noise=noise.get(one.id, UNSET)) for one in document.cases]
    )
    if isinstance(document, suite.SuiteReportDoc) and document.comparison:
        return replace(document, comparison=with_noise(document.comparison, noise))
    return document


def suite_usage(record: SuiteRecord) -> scorecard.UsageDoc:
    return usage_of(record.spend)


def usage_of(spend: Spend) -> scorecard.UsageDoc:
    """What a run of a suite cost, or its two sides together."""
    return replace(
        usage_document(spend), target_calls=spend.target_calls, cached_outputs=spend.cached_outputs
    )


def _artifact(artifact: StartedArtifact | None) -> scorecard.ArtifactDoc | None:
    return (
        None
        if artifact is None
        else scorecard.ArtifactDoc(path=artifact.path, digest=artifact.digest)
    )


def panel_states(ballots: Iterable[Ballot]) -> list[scorecard.JudgeDoc]:
    """Each judge once: its worst state over all cases, with the first reason."""
    return [
        scorecard.JudgeDoc(
            id=one.id, state=one.state, reason=one.reason, hint=one.hint, unusable=one.unusable
        )
        for one in scorecard.worst_states(judge_states(ballots))
    ]


def suite_flags(record: SuiteRecord) -> list[str]:
    tally, out = record.tally, []
    if not record.started.min_pass_rate and record.compared is None:
        out.append("nothing can fail: --min-pass-rate is 0")
    if record.started.mock:
        reason = (
            "no agent did this" if record.started.target == "mock" else "no judge looked at this"
        )
        out.append(f"mock run: {reason}")
    if runs_open(tally.ballots):
        out.append(UNSANDBOXED)
    return [
        *out,
        *(f"flaky: {id} ({passed} of {made})" for id, (passed, made) in tally.unstable.items()),
    ]


def suite_warnings(record: SuiteRecord) -> list[str]:
    """What a reader must know before the verdict on a run, in sentences."""
    counts, lonely = record.tally.rates.counts, record.tally.lonely
    judged = counts.get(Status.PASSED, 0) + counts.get(Status.FAILED, 0)
    return scorecard.warning_words(scorecard.low_confidence_of(lonely, judged))


_MOST_SHARED: Final = 64


def _shared(parts: dict[str, SharedParts], rubric: str) -> SharedParts | None:
    """What the documents of cases with this rubric share; cases with rubrics of their own share
    nothing.
    """
    if rubric not in parts and len(parts) < _MOST_SHARED:
        parts[rubric] = SharedParts()
    return parts.get(rubric)


def case_document(
    record: CaseRecord,
    artifact: StartedArtifact | None,
    shared: SharedParts | None = None,
    *,
    attempt: int | None = None,
) -> CaseDoc:
    """One case: the scorecard of the attempt that represents it, its own result, and every attempt.
    `shared`: of cases with the same rubric; `attempt`: the number of another attempt that is shown
    instead, where there is one of it.
    """
    case, result, attempts = record.case, record.result, record.in_order
    other = attempt if attempt != record.shown else None
    if other is not None and not record.has_ended(other):
        other = None
    produced = record.shown_output if other is None else record.output_of(other)
    ballots = record.shown_ballots if other is None else record.ballots_of(other) or ()
    output = produced.output if produced is not None else None
    path = artifact.path if artifact is not None else ""
    facts = Facts(
        path=path if output is None else "output.txt",
        digest="",
        contract=record.contract,
        run=None,
        usage=scorecard.UsageDoc(),
        text=output,
    )
    card = scorecard_document(record.scorer, ballots, facts, shared)
    criteria = card.criteria
    if (
        other is None
        and len(attempts) > 1
        and case.attempt_rule is AttemptRule.MEAN
        and any(a.card for a in attempts)
    ):
        criteria = _with_means(criteria, mean_card([attempt.card for attempt in attempts]))
    found = CaseDoc(
        id=case.id,
        description=case.description,
        status=result.status.value,
        verdict=str(result.verdict),
        reasons=list(result.reasons),
        score=points_of(result.score),
        interval=span_of(result.low, result.high),
        **fields_of(
            card,
            "belief",
            "threshold",
            "floor",
            "judges",
            "flags",
            "sandbox",
            "judged_by",
            "evidence_found",
        ),
        low_confidence=card.low_confidence and not record.is_asked_on,
        criteria=criteria,
        contract=record.contract,
        duration_ms=record.duration_ms,
        unstable=result.is_unstable,
        shown_attempt=other or record.shown,
        attempt_rule=str(case.attempt_rule),
        attempts=[
            _attempt(attempt, record.output_of(attempt.number), is_only=len(attempts) == 1)
            for attempt in attempts
        ],
        input=case.input,
        reference=case.reference,
        output=output,
        error=produced.error if produced is not None else _why_not_asked(record),
        diff=produced.diff if produced is not None else None,
        trace=_trace(produced),
        tags=list(case.tags),
        metadata=dict(case.metadata) or UNSET,
        split=str(case.in_split),
    )
    return found if other is not None else _with_chance(found, record)


def _with_chance(found: CaseDoc, record: CaseRecord) -> CaseDoc:
    """The case with `passes`, where it is not what the rest of the document says."""
    is_alone = record.case.expect is None and record.case.attempts == 1
    is_stated = is_alone and found.chance is not None
    if found.belief is None or is_stated:
        return found
    chance = record.believed_as.alone
    is_same = chance == found.chance and record.case.attempts == 1
    return found if is_same else replace(found, passes=chance)


def _why_not_asked(record: CaseRecord) -> str | None:
    """Why judges were not needed for a case; None where that is not the reason."""
    reason = record.passed_by
    is_spared = reason is not None and NOT_ASKED in reason and record.case.skip is None
    return reason if is_spared else None


def _with_means(
    criteria: Sequence[scorecard.CriterionDoc], card: Scorecard
) -> list[scorecard.CriterionDoc]:
    """Criteria show the mean over the attempts; their items are those of the attempt shown."""
    return [
        replace(
            one,
            score=points_of(line.score),
            interval=span_of(line.low, line.high),
            below_floor=line.is_below_floor,
        )
        for one, line in zip(criteria, card.lines, strict=True)
    ]


def _attempt(attempt: Attempt, produced: OutputProduced | None, *, is_only: bool) -> AttemptDoc:
    lines = () if attempt.card is None or is_only else attempt.card.lines
    return AttemptDoc(
        attempt=attempt.number,
        status=attempt.status.value,
        verdict=str(attempt.verdict),
        score=points_of(attempt.score),
        interval=span_of(attempt.low, attempt.high),
        scores={line.criterion.id: points_of(line.score) for line in lines} or UNSET,
        duration_ms=produced.duration_ms if produced is not None else 0,
        reasons=list(attempt.reasons),
        output=produced.output if produced is not None else None,
        diff=produced.diff if produced is not None else None,
        trace=_trace(produced),
    )


def _trace(produced: OutputProduced | None) -> TraceDoc | None:
    trace = produced.trace if produced is not None else None
    return None if trace is None else msgspec.convert(trace.to_plain(), TraceDoc)


def _shares(ends: Iterable[Fraction | float] | None) -> list[float] | None:
    return None if ends is None else [float(end) for end in ends]


# -------------------------------------------------------------------------------------------------------
# comparisons


def comparison_document(comparison: RunComparison) -> suite.ComparisonDoc:
    """`honestone.comparison/1`."""
    compared = comparison.found
    named: JsonDocument = {
        name: list(ids) for name, ids in fields_of(compared, *suite.MEANINGS).items()
    }
    return suite.ComparisonDoc(
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        verdict=str(comparison.verdict.outcome),
        reasons=list(comparison.verdict.reasons),
        delta=share_of(compared.delta),
        interval=_shares(compared.interval),
        score_delta=points_of(compared.score_delta),
        score_interval=None
        if compared.score_interval is None
        else span_of(*compared.score_interval),
        **fields_of(compared, "p", "wins", "losses", "ties"),
        **named,
        low_confidence_cases=compared.low_confidence,
        notes=list(comparison.notes),
        cases=[_pair(pair) for pair in compared.pairs],
        better=UNSET if comparison.better is None else comparison.better,
        worse=UNSET if comparison.worse is None else comparison.worse,
    )


def _with_texts(
    comparison: suite.ComparisonDoc, record: SuiteRecord, log: CaseLog | None
) -> suite.ComparisonDoc:
    """A comparison that a run stored, with the inputs and outputs of the run's own cases."""
    with _with_words(log) as whole:
        cases = [
            _with_text(one, whole(record.cases[one.id])) if one.id in record.cases else one
            for one in comparison.cases
        ]
    return replace(comparison, cases=cases)


def _with_text(one: suite.ComparedCaseDoc, record: CaseRecord) -> suite.ComparedCaseDoc:
    produced = record.shown_output
    output = None if produced is None else produced.output
    return replace(one, input=record.case.input, candidate=replace(one.candidate, output=output))


def _pair(pair: CasePair) -> suite.ComparedCaseDoc:
    return suite.ComparedCaseDoc(
        id=pair.id,
        input=pair.baseline.input if pair.candidate.input is None else pair.candidate.input,
        baseline=_side(pair.baseline),
        candidate=_side(pair.candidate),
        delta=points_of(pair.delta),
        unstable=pair.is_unstable,
        fixed=list(pair.fixed) or UNSET,
        broken=list(pair.broken) or UNSET,
    )


def _side(side: CaseSide) -> suite.SideDoc:
    return suite.SideDoc(
        status=side.status.value,
        verdict=str(OUTCOMES[side.status]),
        score=points_of(side.score),
        output=side.output,
    )


def trend_document(runs: Sequence[RunSummary], *, notes: Sequence[str] = ()) -> suite.TrendDoc:
    """`honestone.trend/1`: runs in the order given, each with what changed from the one before."""
    before: Mapping[str, CaseSide] = {}
    entries = []
    for run in runs:
        entries.append(
            suite.TrendRunDoc(
                **fields_of(
                    run,
                    "run",
                    "suite",
                    "target",
                    "verdict",
                    "pass_rate",
                    "mean_score",
                    "min_pass_rate",
                ),
                artifact=_artifact(run.artifact),
                undecided=run.is_undecided,
                low_confidence_cases=sum(side.low_confidence for side in run.sides.values()),
                pass_rate_interval=_shares(run.pass_rate_interval),
                rate_interval=_rate_interval(run),
                mean_interval=_mean_interval(run),
                counts=dict(run.counts),
                regressions=[
                    id
                    for id, now in run.sides.items()
                    if _turned(before.get(id), now, Status.FAILED)
                ],
                improvements=[
                    id
                    for id, now in run.sides.items()
                    if _turned(before.get(id), now, Status.PASSED)
                ],
            )
        )
        before = run.sides
    return suite.TrendDoc(runs=entries, notes=list(notes))


def _rate_interval(run: RunSummary) -> list[float] | None:
    judged = [side for side in run.sides.values() if side.status is not Status.SKIPPED]
    if run.pass_rate is None or not judged:
        return None
    return list(wilson(sum(side.passes for side in judged), len(judged)))


def _mean_interval(run: RunSummary) -> list[float] | None:
    scores = [float(side.score * 100) for side in run.sides.values() if side.score is not None]
    interval = None if run.mean_score is None else mean_interval(scores)
    return None if interval is None else [max(0.0, interval[0]), min(100.0, interval[1])]


def _turned(before: CaseSide | None, now: CaseSide, to: Status) -> bool:
    """Whether a case went from passed to failed, or back."""
    return before is not None and before.is_decided and now.status is to and before.status is not to
