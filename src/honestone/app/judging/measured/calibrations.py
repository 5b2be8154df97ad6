"""Calibrations on record: what the labels and the answers of one come to, and which judges they
vouch for.

They are read apart from where they are made: what asks a judge wants to know whether it may.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from honestone.app.judging.measured.measured_before import (
    Before,
    judges_of,
    measured_before,
    newest_that_holds,
)
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.events import ArtifactJudged, CalibrationStarted, Event, total_spend
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.contract import ContractDocument, Identity
from honestone.core.judging.rubric import Key
from honestone.core.judging.scorer import Scorer
from honestone.core.statistics.calibration import (
    MOST_FALSE_PASSES,
    Calibration,
    Case,
    Figure,
    Fit,
    JudgeFit,
    Opinion,
    calibrate,
    reference_of,
    unmet_labels_wanted,
)
from honestone.core.statistics.labels import targets_of
from honestone.engine.judging.seats import Seat
from honestone.ports import Store
from honestone.report.building.scorecard import usage_document
from honestone.report.documents import fields_of
from honestone.report.documents.trust import calibration as documents
from honestone.report.documents.trust.calibration import CalibratedJudgeDoc, CalibrationDoc

MEASURED: Final = "measured"


def calibration_document(store: Store, run: str) -> CalibrationDoc:
    """What the labels and the answers of a run come to."""
    started = next(store.iter_events(run))
    assert isinstance(started, CalibrationStarted)
    return calibration_of(started, store.events(started.of_run), run=run)


def calibration_of(
    started: CalibrationStarted, log: Sequence[Event], *, run: str | None
) -> CalibrationDoc:
    """The same of the answers in a log. `run`: the calibration's own, where it is on record."""
    judged = {
        event.path: event
        for event in log
        if isinstance(event, ArtifactJudged) and event.error is None
    }
    measured = _Measured(started, judged)
    calibration = measured.calibration()
    panel = calibration.panel
    fits = {judge.id: judge.overall for judge in calibration.judges}
    return CalibrationDoc(
        run=run,
        rubric=started.rubric_path or started.rubric.title,
        labels=started.labels_path,
        contract=started.contract_id,
        units=calibration.units,
        outdated=started.outdated,
        raters=list(measured.people),
        base_rate=calibration.base_rate,
        human_ceiling=None
        if calibration.ceiling is None
        else documents.HumanCeilingDoc(
            kappa=calibration.ceiling.kappa, agreement=calibration.ceiling.agreement
        ),
        population=len(set(started.population)),
        judges=[_judge(judge, measured.reason(judge.id)) for judge in calibration.judges],
        panel=documents.CalibratedPanelDoc(
            votes=panel.votes,
            effective_votes=panel.effective_votes,
            best_single=None
            if panel.best is None
            else documents.BestSingleDoc(id=panel.best, kappa=fits[panel.best].kappa.value),
            kappa=panel.overall.kappa.value,
            kappa_interval=_interval(panel.overall.kappa),
            drop=list(panel.drop),
        ),
        usage=usage_document(total_spend(log)),
    )


_FIGURES: Final = ("kappa", "alpha", "tpr", "tnr", "bias")


def _figures(fit: Fit) -> dict[str, int | float | bool | list[float] | None]:
    figures = fields_of(fit, "units", "answers", "lenient")
    for name in _FIGURES:
        figure: Figure = getattr(fit, name)
        figures |= {name: figure.value, f"{name}_interval": _interval(figure)}
    return figures


def _interval(figure: Figure) -> list[float] | None:
    return None if figure.interval is None else list(figure.interval)


def _judge(judge: JudgeFit, reason: str | None) -> CalibratedJudgeDoc:
    plain = {
        **_figures(judge.overall),
        "id": judge.id,
        "weight": judge.weight,
        "reason": reason,
        "criteria": [{"id": name, **_figures(fit)} for name, fit in judge.criteria.items()],
        "corrected": fields_of(judge.corrected, *documents.CorrectedDoc.__struct_fields__),
    }
    return msgspec.convert(plain, CalibratedJudgeDoc)


class _Measured:
    """The labels and answers of one calibration as opinions on cases."""

    def __init__(self, started: CalibrationStarted, judged: Mapping[str, ArtifactJudged]) -> None:
        self._started, self._judged = started, judged
        self._scorer = Scorer(started.rubric, started.rule)
        self._targets = {target.key: target for target in targets_of(started.rubric).values()}
        self.people: dict[str, dict[Case, Opinion]] = {}
        shares: dict[Case, list[float]] = {}
        for label in started.labels:
            opinions = self.people.setdefault(label.rater, {})
            if (share := self._targets[label.key].share(label.answer)) is not None:
                case = (label.artifact, *label.key)
                shares.setdefault(case, []).append(share)
                opinions[case] = self._opinion(case, [share])
        self.reference = {case: self._opinion(case, found) for case, found in shares.items()}

    def _opinion(self, case: Case, shares: Sequence[float]) -> Opinion:
        target = self._targets[case[1:]]
        return reference_of(
            shares, float(self._started.rubric.threshold) if target.is_scale else None
        )

    def calibration(self) -> Calibration:
        """Over all judges of the panel."""
        labelled = set(self.reference)
        asked = {case[1:] for case in labelled}
        population = {(path, *key) for path in self._started.population for key in asked}
        judges = {name: self._opinions([name], labelled) for name in self._started.panel}
        return calibrate(
            self.people,
            self.reference,
            judges,
            lambda names: self._opinions(names, labelled),
            {name: self._opinions([name], population) for name in judges} if population else None,
        )

    def reason(self, judge: str) -> str | None:
        """Why a judge did not answer, where it once did not."""
        ballots = (
            one for event in self._judged.values() for one in event.ballots if one.judge == judge
        )
        return next((one.reason for one in ballots if one.reason), None)

    def _opinions(self, judges: Iterable[str], cases: Iterable[Case]) -> dict[Case, Opinion]:
        """What some judges and code say of the cases together."""
        names, cards = {*judges, CHECK}, dict[str, dict[Key, Opinion]]()
        opinions: dict[Case, Opinion] = {}
        for case in cases:
            if case[0] not in cards:
                event = self._judged.get(case[0])
                ballots = () if event is None else event.ballots
                cards[case[0]] = dict(
                    self._opinions_of([one for one in ballots if one.judge in names])
                )
            if (opinion := cards[case[0]].get(case[1:])) is not None:
                opinions[case] = opinion
        return opinions

    def _opinions_of(self, ballots: Sequence[Ballot]) -> Iterator[tuple[Key, Opinion]]:
        """What can be labelled, as these ballots have it."""
        for line in self._scorer.card(ballots).lines if ballots else ():
            for one in line.items:
                target = self._targets.get((line.criterion.id, one.item.id))
                if target is not None and one.met is not None:
                    met = float(one.met)
                    yield target.key, Opinion(1 - met if target.is_reversed else met, not one.unmet)
            whole = self._targets.get((line.criterion.id, ""))
            if whole is not None and line.score is not None:
                yield (
                    whole.key,
                    Opinion(float(line.score), line.score >= self._started.rubric.threshold),
                )


# ------------------------------------------------------------------------------------------------------
# who may certify


def require_calibrated(workspace: Workspace, plan: RubricPlan, witnesses: Sequence[Seat]) -> None:
    """Raises UsageError, naming the judge, unless every held-out judge was measured under this
    rubric as both are now, and the labels do not call it lenient.
    """
    if not plan.rubric.asks_judges:
        return
    if not witnesses:
        raise UsageError(
            "--require-calibration is about held-out judges, but none was named",
            hint="--holdout JUDGE names one that certifies and never steers",
        )
    require_measured_judges(
        workspace, plan.contract(witnesses).document, witnesses, "held-out judge"
    )


def require_measured_judges(
    workspace: Workspace, now: ContractDocument, seats: Sequence[Seat], what: str = "judge"
) -> None:
    """Raises UsageError, naming the judge, unless labels vouch for each of them. `now` is the
    contract of these judges, `what` they are in messages.
    """
    with workspace.open_store() as store:
        for seat, judge in zip(seats, judges_of(now), strict=True):
            _require_one(store, f"the {what} `{seat.id}`", seat.id, now, judge)


def _require_one(
    store: Store, named: str, witness: str, now: ContractDocument, judge: Identity
) -> None:
    def figures(before: Before) -> CalibratedJudgeDoc | None:
        calibrated = next(
            one for one in calibration_document(store, before.run).judges if one.id == before.judge
        )
        return calibrated if calibrated.units else None

    held = newest_that_holds(
        measured_before(store, [(CalibrationStarted.kind, MEASURED)], now, judge), figures
    )
    hint = f"honestone calibrate --labels FILE --rubric RUBRIC --judge {shlex.quote(witness)}"
    if held is None:
        raise UsageError(f"{named} was never calibrated under this rubric", hint=hint)
    if isinstance(held, str):
        raise UsageError(f"the calibration of {named} is stale: {held}", hint=hint)
    before, calibrated = held
    if calibrated.lenient or calibrated.contradicts:
        fault = (
            "contradicts the labels" if calibrated.contradicts else "is lenient, as people labelled"
        )
        raise UsageError(
            f"{named} {fault} (run {before.run})",
            hint=f"name another judge; `honestone show {before.run}` has the figures",
        )
    _refuse_unknown(calibrated, named, before.run, hint)


def _refuse_unknown(calibrated: CalibratedJudgeDoc, named: str, run: str, hint: str) -> None:
    """Labels that leave open how much that people find unmet a judge lets pass do not vouch for it."""
    passes = None if calibrated.tnr is None else 1 - calibrated.tnr
    most = 1.0 if calibrated.tnr_interval is None else 1 - calibrated.tnr_interval[0]
    if passes is not None and most <= MOST_FALSE_PASSES:
        return
    what = f"its calibration (run {run}) has no answer that people find unmet"
    if passes is not None:
        what = f"its calibration (run {run}) allows for {most:.0%}"
    enough = unmet_labels_wanted(passes or 0.0)
    wanted = (
        "no number of labels would do at its rate"
        if enough is None
        else f"about {enough} such labels would do"
    )
    raise UsageError(
        f"how much {named} passes that is unmet is not known well enough: {what}, at most {MOST_FALSE_PASSES:.0%} is asked",
        hint=f"label more answers that are unmet, {wanted}; then {hint}"
        if enough
        else f"name another judge: {wanted}",
    )
