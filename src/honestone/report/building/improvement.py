"""Runs of the loop as documents (`honestone.improvement/1`), made from events.

Over a suite, `baseline`, `final` and the rounds hold scorecards whose criteria are the splits `val`
(the score) and `train`, and whose items are the tasks; `certification` is about the test split,
with rates from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET, UnsetType, convert
from msgspec.structs import replace

from honestone.core import events
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState
from honestone.core.judging.rubric import as_written
from honestone.core.judging.scorecard import Line, Scorecard
from honestone.core.judging.spend import Spend
from honestone.core.loop.state import LoopState, Result, Round
from honestone.core.numbers import exact, to_points
from honestone.report.building import scorecard
from honestone.report.building.advice import advise
from honestone.report.documents import fields_of, improvement
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.scorecard import (
    LOW_CONFIDENCE,
    LOW_CONFIDENCE_NAME,
    NOTHING_CAN_FAIL,
    ArtifactDoc,
    JudgeDoc,
    KnownNoiseDoc,
    ScorecardDoc,
    UsageDoc,
    first_look,
    warning_words,
    worst_states,
)
from honestone.system.drawing import line

if TYPE_CHECKING:
    from honestone.core.loop.suite_loop import SuiteLoopState


def improvement_document(
    state: LoopState,
    log: Sequence[events.Event],
    *,
    run: str,
    usage: UsageDoc,
    text_of: Callable[[str], str | None],
    report: str | None,
    resumed: bool = False,
) -> improvement.ImprovementDoc:
    """A run of the loop, finished or not (then its result is INTERRUPTED)."""
    started = log[0]
    assert isinstance(started, events.LoopStarted)
    rubric = started.rubric_path if isinstance(started, events.ImprovementStarted) else None
    packed = started.packed if isinstance(started, events.ImprovementStarted) else None
    stop, spends = state.finished, round_spends(log)

    def card_of(version: str) -> ScorecardDoc:
        facts = scorecard.Facts(
            path=started.artifact.path,
            digest=version,
            contract=started.contract_id,
            run=run,
            usage=scorecard.usage_document(_spend_on(log, version)),
            text=text_of(version),
            rubric=rubric,
            costs=scorecard.judge_costs(_looks(log, version)),
            belief=state.stated(version),
        )
        return scorecard.scorecard_document(state.scorer, state.votes_on(version), facts)

    document = improvement.ImprovementDoc(
        title=state.rubric.title,
        artifact=ArtifactDoc(
            path=started.artifact.path, digest=state.best, original=state.original
        ),
        result=str(stop.result if stop else Result.INTERRUPTED),
        reason=stop.reason if stop else "stopped before the end; the same command continues it",
        changed=list(stop.changed) if stop else [],
        best_round=next(
            (r.number for r in state.rounds if r.version == state.best and r.accepted), 0
        ),
        delivery=_delivery(state),
        threshold=as_written(state.rubric.threshold * 100),
        floor=as_written(state.rubric.floor * 100),
        **fields_of(started, "policy", "worker", "deliver", "output"),
        panel=list(started.panel),
        limits=dict(started.limits),
        options=list(started.options) or UNSET,
        noise=KnownNoiseDoc(
            origin="default" if started.noise_run is None else "noise",
            tolerance=to_points(state.tolerance),
            run=started.noise_run,
        ),
        rounds=[
            replace(
                round_document(state, entry, event),
                usage=scorecard.usage_document(spends[entry.number]),
            )
            for entry, event in zip(state.rounds, _proposals(log), strict=True)
        ],
        baseline=card_of(state.original),
        final=card_of(state.best),
        expected=_expected(state),
        certification=_certification(state),
        probability=state.stated_probability(state.best),
        belief=BeliefDoc.of(state.stated(state.best)),
        advice=_advice(state, asks_judges=isinstance(started, events.ImprovementStarted)),
        contract=started.contract_id,
        run=run,
        report=report,
        **fields_of(state, "delivered", "undone"),
        resumed=resumed,
        usage=usage,
        packed=dict(packed) if packed else UNSET,
    )
    return replace(document, low_confidence=rests_on_one_judge(state, log))


def rests_on_one_judge(state: LoopState, log: Sequence[events.Event]) -> bool:
    """Whether one judge alone scored the version that is delivered, and no held-out judge confirmed
    its verdict.
    """
    if isinstance(log[0], events.SuiteImprovementStarted):
        looks = [*_lonely_flags(state), *_flags(_looks(log, state.best))]
        return any(map(_is_lonely, looks))
    version, is_confirmed = state.best, False
    if state.holdouts and state.certifications(version):
        is_confirmed = state.is_certified(version)
    return (
        state.scorer.rests_on_one(state.scorer.card(state.votes_on(version))) and not is_confirmed
    )


def _expected(state: LoopState) -> improvement.ExpectedDoc | UnsetType:
    baseline, final = _standing(state, state.original), _standing(state, state.best)
    return UNSET if baseline is None else improvement.ExpectedDoc(baseline=baseline, final=final)


def _standing(state: LoopState, version: str) -> improvement.StandingDoc | None:
    standing = state.standing(version)
    if standing is None:
        return None
    return improvement.StandingDoc(
        score=standing.score,
        interval=[standing.low, standing.high],
        criteria=dict(standing.criteria),
        probability=standing.probability,
    )


def _delivery(state: LoopState) -> improvement.DeliveryDoc | UnsetType:
    delivery = state.delivery
    if delivery is None:
        return UNSET
    return improvement.DeliveryDoc(
        rule=str(delivery.rule), reason=line(delivery.reason), probability=delivery.probability
    )


def _proposals(log: Iterable[events.Event]) -> list[events.EditProposed]:
    return [event for event in log if isinstance(event, events.EditProposed)]


def _advice(state: LoopState, *, asks_judges: bool) -> list[improvement.AdviceDoc]:
    advice = advise(state, asks_judges=asks_judges)
    return [
        improvement.AdviceDoc(kind=str(one.kind), text=line(one.text), about=one.about)
        for one in advice
    ]


def round_spends(log: Iterable[events.Event]) -> dict[int, Spend]:
    """What each round cost, by its number: its proposals, and every look until the next round
    begins.
    """
    rounds: dict[int, Spend] = {}
    for event in log:
        if isinstance(event, events.CandidateTried | events.EditProposed):
            rounds.setdefault(event.round, Spend())
        if rounds and isinstance(event, events.Spending):
            rounds[max(rounds)].join(event.spend)
    return rounds


def _spend_on(log: Iterable[events.Event], version: str) -> Spend:
    total = Spend()
    for event in _looks(log, version):
        total.join(event.spend)
    return total


_DECISIONS: Final = {True: "accepted", False: "rejected", None: None}


def round_document(
    state: LoopState, entry: Round, event: events.EditProposed
) -> improvement.RoundDoc:
    """One round: what was tried on what, what came of it, and the scores before and after."""
    before = state.card(entry.base)
    ballots: Sequence[Ballot] = []
    if entry.outcome is ProposalOutcome.CHANGED:
        ballots = state.votes_on(entry.version or "")
    after = state.card(entry.version) if entry.version is not None and ballots else None
    earlier = state.rounds[: entry.number - 1]
    same_versions = (one.number for one in earlier if one.version and one.version == entry.version)
    return improvement.RoundDoc(
        round=entry.number,
        focus=list(entry.focus),
        outcome=str(entry.outcome),
        outcome_detail=entry.detail,
        decision=_DECISIONS[entry.accepted],
        reason=entry.reason,
        score_before=entry.before.score if entry.before else scorecard.points_of(before.score),
        score_after=_score_after(entry, after),
        interval_after=_span_after(entry, after),
        criteria=_moves(entry, before, after, state.tolerance) if after else [],
        judges=scorecard.judge_states(ballots),
        diff=convert(event.diff, improvement.DiffDoc | None),
        version=entry.version,
        probability=_probability(state, entry) if ballots else None,
        floor_violations=sorted(_below_floor(entry, after)) if after and not entry.is_open else [],
        flags=list(after.flags) if after else [],
        low_confidence=after is not None and state.scorer.rests_on_one(after),
        same_as=next(same_versions, None),
        same_judges=_same_judges(state, entry, ballots) if after else None,
        within_noise=after is not None
        and entry.after is None
        and after.voters is not None
        and _is_noise(before, after, state.tolerance),
        worker_message=line(entry.message, improvement.LONGEST_WORDS) if entry.message else None,
    )


def _below_floor(entry: Round, after: Scorecard) -> set[str]:
    """Ids of the criteria below their floor, by the scores that the round shows of them."""
    expected = entry.after.criteria if entry.after is not None else {}
    below: set[str] = set()
    for one in after.lines:
        known = expected.get(one.criterion.id)
        score = one.score if known is None else exact(known) / 100
        is_low = one.is_below_floor if score is None else one.applies and score < one.floor
        if is_low:
            below.add(one.criterion.id)
    return below


def _voters(ballots: Iterable[Ballot]) -> set[str]:
    """The judges that marked anything."""
    return {one.voter for one in ballots if one.marks and one.judge != CHECK}


def _is_noise(before: Scorecard | Line, after: Scorecard | Line, tolerance: Fraction) -> bool:
    """Whether a score moved, and by less than the noise."""
    if before.score is None or after.score is None:
        return False
    return 0 < abs(after.score - before.score) < tolerance


def _score_after(entry: Round, after: Scorecard | None) -> float | None:
    """The score that the policy expected, where it did; else the one of the ballots."""
    if entry.after:
        return entry.after.score
    return scorecard.points_of(after.score) if after else None


def _span_after(entry: Round, after: Scorecard | None) -> list[float] | None:
    if entry.after is not None:
        return [entry.after.low, entry.after.high]
    return None if after is None else scorecard.span_of(after.low, after.high)


def _probability(state: LoopState, entry: Round) -> float | None:
    """The probability as it was when the round was decided, where that is on record. What code alone
    decides is certain in every round, which its scores say already.
    """
    if entry.after is not None:
        return entry.after.probability
    if entry.version is None or not state.rubric.asks_judges:
        return None
    return state.stated_probability(entry.version)


def _same_judges(state: LoopState, entry: Round, ballots: Sequence[Ballot]) -> bool:
    """Expected scores are on one scale whoever looked."""
    return entry.after is not None or _voters(state.votes_on(entry.base)) == _voters(ballots)


def _moves(
    entry: Round, before: Scorecard, after: Scorecard, tolerance: Fraction
) -> list[improvement.MoveDoc]:
    was = entry.before.criteria if entry.before else {}
    now = entry.after.criteria if entry.after else {}
    return [
        improvement.MoveDoc(
            id=new.criterion.id,
            before=was.get(old.criterion.id, scorecard.points_of(old.score)),
            after=now.get(new.criterion.id, scorecard.points_of(new.score)),
            by_judge={judge: to_points(score) for judge, score in new.by_judge.items()},
            within_noise=entry.after is None
            and not new.only_checks
            and _is_noise(old, new, tolerance),
        )
        for old, new in zip(before.lines, after.lines, strict=True)
    ]


def _certification(state: LoopState) -> improvement.CertificationDoc:
    """What the held-out judges said of the version that is delivered."""
    if not state.needs_witness:
        return improvement.CertificationDoc(reason="code alone decides, so no witness is needed")
    verdicts = state.certifications(state.best)
    unasked = False if state.holdouts and state.consulted else None
    return improvement.CertificationDoc(
        needed=True,
        ok=state.is_certified(state.best) if verdicts else unasked,
        judges=[_witness(state, judge) for judge in state.holdouts],
        consulted=len(state.consulted),
        consultations=state.consultations,
        reason=None if state.holdouts else "no held-out judge was named (--holdout)",
    )


def _witness(state: LoopState, judge: str) -> improvement.WitnessDoc:
    ballot = state.ballots.get((state.best, "holdout"), {}).get(judge)
    verdict = state.certifications(state.best).get(judge)
    checks = state.ballots.get((state.best, "panel"), {}).get(CHECK)
    if ballot is None:
        return improvement.WitnessDoc(
            id=judge,
            verdict=str(verdict.outcome) if verdict else None,
            score=None,
            state=str(JudgeState.SKIPPED),
            reason="not asked",
        )
    card = state.scorer.alone([ballot, checks] if checks else [ballot])
    reason: str | None = "not asked"
    if verdict:
        reason = ballot.reason or "; ".join(verdict.reasons) or None
    return improvement.WitnessDoc(
        id=judge,
        verdict=str(verdict.outcome) if verdict else None,
        score=scorecard.points_of(card.score),
        state=str(ballot.state),
        reason=reason,
    )


# ----------------------------------------------------------------------------------------------------------
# over a suite


def suite_improvement_document(
    state: SuiteLoopState, log: Sequence[events.Event], **facts: Any
) -> improvement.ImprovementDoc:
    """`facts` are those of `improvement_document`."""
    started = log[0]
    assert isinstance(started, events.SuiteImprovementStarted)
    document = improvement_document(state, log, **facts)
    looks = _flags(event for event in log if isinstance(event, events.BallotCast))
    return replace(
        document,
        baseline=_of_suite(document.baseline, log, state.original),
        final=_of_suite(document.final, log, state.best),
        rounds=[
            replace(
                entry,
                judges=_judges(log, entry.version),
                same_judges=None
                if entry.same_judges is None
                else _who_answered(log, of.base) == _who_answered(log, of.version),
                candidate=UNSET if event.candidate is None else event.candidate,
                candidates=[*event.candidates] or UNSET,
            )
            for entry, of, event in zip(document.rounds, state.rounds, _proposals(log), strict=True)
        ],
        certification=certification(state, log),
        panel=[],
        suite=improvement.LoopSuiteDoc(path=started.suite.path, dialect=started.suite.dialect),
        target=started.target or "",
        splits=dict(started.splits),
        candidates=started.candidates,
        mock=started.mock,
        flags=[
            *([] if any(map(_is_lonely, looks)) else _lonely_flags(state)),
            *looks,
            *([] if state.rubric.can_fail else [NOTHING_CAN_FAIL]),
        ],
    )


def _lonely_flags(state: LoopState) -> list[str]:
    """The warning of a version that one judge alone looked at. The runs of its tasks do not have it
    where the policy asks on by itself.
    """
    stated = state.stated(state.best)
    is_lonely = stated is not None and stated.target is None and stated.judges == 1
    return warning_words([(LOW_CONFIDENCE_NAME, LOW_CONFIDENCE)]) if is_lonely else []


def _is_lonely(flag: str) -> bool:
    return flag.startswith(LOW_CONFIDENCE_NAME)


def _of_suite(
    card: ScorecardDoc | None, log: Sequence[events.Event], version: str
) -> ScorecardDoc | None:
    if card is None:
        return None
    return replace(
        card, judges=_judges(log, version), flags=[*card.flags, *_flags(_looks(log, version))]
    )


def certification(
    state: SuiteLoopState, log: Sequence[events.Event]
) -> improvement.CertificationDoc:
    """What the test split says of the delivered version, and of the original. `ok` is None where it
    was not run.
    """
    from honestone.core.loop.suite_loop import TEST, paired_interval

    cards = (state.certification_card(version) for version in (state.best, state.original))
    now, then = (card.line(TEST) if card is not None else None for card in cards)
    rate, before = (None if one is None else one.score for one in (now, then))
    interval = paired_interval(then, now) if now is not None and then is not None else None
    return improvement.CertificationDoc(
        needed=True,
        ok=None if now is None else state.is_certified(state.best),
        split=TEST,
        pass_rate=scorecard.share_of(rate),
        baseline_pass_rate=scorecard.share_of(before),
        delta=None if rate is None or before is None else float(rate - before),
        interval=None if interval is None else [float(end) for end in interval],
        tasks=0 if now is None else len(now.items),
        failed=_ids(now, met=0),
        undecided=_ids(now, met=None),
        runs=improvement.TestRunsDoc(
            result=_test_run(log, state.best), baseline=_test_run(log, state.original)
        ),
        reason=_why_not(state, now),
    )


def _why_not(state: SuiteLoopState, now: Line | None) -> str | None:
    if now is None:
        verdict = state.verdict(state.best)
        why = "; ".join(verdict.reasons) or "it does not"
        return "a limit came first" if verdict.passed else f"test is run when val passes: {why}"
    verdicts = state.certifications(state.best).values()
    return "; ".join(reason for one in verdicts for reason in one.reasons) or None


def _ids(one: Line | None, *, met: int | None) -> list[str]:
    return [item.item.id for item in one.items if item.met == met] if one is not None else []


def _looks(log: Iterable[events.Event], version: str | None) -> list[events.BallotCast]:
    return [
        event for event in log if isinstance(event, events.BallotCast) and event.version == version
    ]


def _test_run(log: Iterable[events.Event], version: str) -> str | None:
    return next((event.of_run for event in _looks(log, version) if event.role == "holdout"), None)


def _judges(log: Iterable[events.Event], version: str | None) -> list[JudgeDoc]:
    """Who judged the tasks of a version: each once, in its worst state."""
    seen = [judge for event in _looks(log, version) for judge in event.judges]
    return worst_states(convert(seen, list[JudgeDoc]))


def _who_answered(log: Sequence[events.Event], version: str | None) -> set[str]:
    """The judges of the tasks of a version, whichever of the splits it was run on."""
    seen = convert([one for event in _looks(log, version) for one in event.judges], list[JudgeDoc])
    return {first_look(one.id) for one in seen if one.state == JudgeState.AVAILABLE}


def _flags(looks: Iterable[events.BallotCast]) -> list[str]:
    return list(dict.fromkeys(flag for event in looks for flag in event.flags))
