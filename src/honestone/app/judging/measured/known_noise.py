"""Noise that was measured: what the looks of a run come to, and what is known of the noise of other
runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from honestone.core.events import Event, LookTaken, NoiseStarted, SuiteStarted, total_spend
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.contract import ContractDocument, digest_json
from honestone.core.judging.rubric import Rubric, to_plain
from honestone.core.judging.scorecard import Outcome, Scorecard, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.numbers import to_points
from honestone.core.statistics.noise import Spread, flip_rate, spread_of, tolerance_of
from honestone.ports import Store
from honestone.report.building.scorecard import usage_document
from honestone.report.documents.scorecard import ArtifactDoc, KnownNoiseDoc
from honestone.report.documents.trust.noise import (
    FlipsDoc,
    NoiseDoc,
    NoisyCriterionDoc,
    NoisyJudgeDoc,
    SpreadDoc,
)


def noise_document(log: Sequence[Event], *, run: str) -> NoiseDoc:
    """What the looks of a run come to."""
    started = log[0]
    assert isinstance(started, NoiseStarted)
    scorer = Scorer(started.rubric, started.rule)
    looks = [event.ballots for event in log if isinstance(event, LookTaken)]
    cards = [scorer.card(ballots) for ballots in looks]
    overall = _spread(cards)
    return NoiseDoc(
        run=run,
        rubric=started.rubric_path or started.rubric.title,
        artifact=ArtifactDoc(path=started.artifact.path, digest=started.artifact.digest),
        contract=started.contract_id,
        n=started.looks,
        judges=[_judge(name, looks, scorer) for name in started.panel],
        overall=SpreadDoc(mean=overall.mean, sd=overall.sd),
        verdict=_flips(cards, scorer),
        tolerance=None if overall.sd is None else tolerance_of(overall.sd),
        usage=usage_document(total_spend(log)),
    )


def _judge(name: str, looks: Sequence[Sequence[Ballot]], scorer: Scorer) -> NoisyJudgeDoc:
    own = [[ballot for ballot in ballots if ballot.judge in (name, CHECK)] for ballots in looks]
    cards = [scorer.alone(ballots) for ballots in own]
    spread = _spread(cards)
    reasons = [one.reason for ballots in own for one in ballots if one.judge == name and one.reason]
    lines = [line.criterion.id for line in cards[0].lines] if cards else []
    return NoisyJudgeDoc(
        id=name,
        looks=sum(card.score is not None for card in cards),
        overall=SpreadDoc(mean=spread.mean, sd=spread.sd),
        criteria=[_criterion(at, id, cards) for at, id in enumerate(lines)],
        reason=reasons[0] if reasons else None,
    )


def _criterion(at: int, id: str, cards: Sequence[Scorecard]) -> NoisyCriterionDoc:
    scores = [score for card in cards if (score := card.lines[at].score) is not None]
    spread = spread_of([to_points(score) for score in scores])
    return NoisyCriterionDoc(id=id, mean=spread.mean, sd=spread.sd)


def _spread(cards: Sequence[Scorecard]) -> Spread:
    return spread_of([to_points(card.score) for card in cards if card.score is not None])


def _flips(cards: Sequence[Scorecard], scorer: Scorer) -> FlipsDoc:
    outcomes = [judge_gate(card, scorer.rubric).outcome for card in cards]
    passed, failed = outcomes.count(Outcome.PASS), outcomes.count(Outcome.FAIL)
    return FlipsDoc(
        passed=passed,
        fail=failed,
        inconclusive=len(outcomes) - passed - failed,
        flip_rate=flip_rate(passed, passed + failed),
    )


def noise_on_record(store: Store, contract: str) -> KnownNoiseDoc | None:
    """What that is for reports: which changes of a score are noise."""
    noise = known_noise(store, contract)
    if noise is None or noise.tolerance is None:
        return None
    return KnownNoiseDoc(origin="noise", tolerance=noise.tolerance, run=noise.run)


def noise_of_cases(store: Store, started: SuiteStarted) -> dict[str, KnownNoiseDoc]:
    """The same for the cases of a suite, by id: those whose criteria were measured with the same
    judges, asked in the same way. What a target adds to it is not known.
    """
    if not started.panel:
        return {}
    found: dict[str, KnownNoiseDoc] = {}
    judging = _judging(started.contract)
    for info in store.runs():
        if info.kind != NoiseStarted.kind or info.result != "measured":
            continue
        first = next(store.iter_events(info.id))
        assert isinstance(first, NoiseStarted)
        criteria = _criteria(first.rubric)
        if criteria not in found and _judging(first.contract) == judging:
            tolerance = noise_document(store.events(info.id), run=info.id).tolerance
            if tolerance is not None:
                found[criteria] = KnownNoiseDoc(origin="noise", tolerance=tolerance, run=info.id)
    if not found:
        return {}
    known = {key: found.get(_criteria(rubric)) for key, rubric in started.rubrics.items()}
    return {case.id: noise for case in started.cases if (noise := known[case.rubric]) is not None}


def _criteria(rubric: Rubric) -> str:
    """Equal for rubrics that ask and weigh the same; bars are not part of a score."""
    return digest_json(to_plain(rubric)["criteria"])


def _judging(contract: ContractDocument) -> str:
    """Who judges and how they are asked, of the contract of a rubric or of a suite."""
    options = contract.get("options")
    assert isinstance(options, Mapping)
    asked = {name: options.get(name) for name in ("evidence", "ask", "pack")}
    return digest_json([contract.get(name) for name in ("scoring", "judges", "rule")] + [asked])


def known_noise(store: Store, contract: str) -> NoiseDoc | None:
    """The last finished measurement of the same rubric by the same judges."""
    for info in store.runs():
        if (
            info.kind == NoiseStarted.kind
            and info.contract == contract
            and info.result == "measured"
        ):
            return noise_document(store.events(info.id), run=info.id)
    return None
