"""How much the same bytes score differently when they are judged again: every look asks each judge once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from honestone.app.judging_options import JudgingOptions, make_panel, refuse_too_big
from honestone.app.loop import run_interruptibly
from honestone.app.rubric_plan import RubricPlan
from honestone.app.trusting import contacts
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import CHECK, Ballot
from honestone.core.contract import digest_json
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import Event, LookTaken, NoiseStarted, RunFinished, StartedArtifact, total_spend
from honestone.core.numbers import to_points
from honestone.core.scorecard import Outcome, Scorecard, Scorer, judge_gate
from honestone.core.spend import Meter
from honestone.core.statistics.noise import Spread, flip_rate, spread_of, tolerance_of
from honestone.engine.panel import Evaluator, Seat
from honestone.ports import Observer, Store
from honestone.report.documents.noise import FlipsDoc, NoiseDoc, NoisyCriterionDoc, NoisyJudgeDoc, SpreadDoc
from honestone.report.documents.scorecard import ArtifactDoc
from honestone.report.scorecard import usage_document
from honestone.system.drawing import count
from honestone.system.files import printable

LOOKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRequest:
    """What is judged again and again, by whom, and how often."""

    artifact: Path
    rubric: Path
    judging: JudgingOptions
    looks: int = LOOKS


def measure_noise(workspace: Workspace, request: NoiseRequest, observer: Observer) -> NoiseDoc:
    """Every look is kept before the next; the same command resumes. Raises UsageError before anything is spent, CouldNotJudge
    when fewer than two looks have a score, Interrupted."""
    if request.looks < 2:
        raise UsageError(f"-n is {request.looks}, but one look shows no noise", hint="-n 5 is usual")
    if request.judging.repeat is not None:
        raise UsageError(
            "--repeat has no place here: every look asks each judge once", hint=f"-n {request.judging.repeat}"
        )
    return _Measurement(workspace, request, observer).document()


class _Measurement:
    def __init__(self, workspace: Workspace, request: NoiseRequest, observer: Observer) -> None:
        self._workspace, self._request, self._observer = workspace, request, observer
        judging = replace(request.judging, repeat=1, fresh=False)
        self._plan = plan = RubricPlan.read(workspace, request.rubric, judging, [request.artifact], note=observer.note)
        if not plan.rubric.asks_judges:
            raise UsageError(
                "this rubric asks no judge, and code says the same each time", hint="honestone eval scores it"
            )
        loaded = plan.load(request.artifact)
        self._version: Version = loaded.version
        plan.preflight(self._version)
        self._seats: tuple[Seat, ...] = plan.seats()
        sizes = [(request.artifact, self._version.size)]
        refuse_too_big(self._seats, plan.rubric, judging, sizes, lambda _: self._version)
        self._contract = plan.contract(self._seats)
        calls = request.looks * len(self._seats)
        self._meter: Meter = judging.meter(workspace.settings, calls=2 * calls + 10)
        for note in (
            f"{count(request.looks, 'look')} x {count(len(self._seats), 'judge')}: {calls} calls, at most {self._meter.calls}",
            *contacts(workspace, [(seat.id, seat.judge.identity) for seat in self._seats]),
        ):
            observer.note(note)

    def document(self) -> NoiseDoc:
        with self._workspace.open_store() as store:
            run, log = self._open(store)
            then = f"the same command resumes run {run} and repeats no look"
            run_interruptibly(lambda: self._look(store, run, log), self._close, then)
            document = noise_document(log, run=run)
            result = "measured" if document.tolerance is not None else "inconclusive"
            store.finish_run(run, result, RunFinished(result=result, seconds=round(self._meter.seconds, 3)))
        if document.tolerance is None:
            why = next((one.reason for one in document.judges if one.reason), "no judge answered everything")
            raise CouldNotJudge(f"fewer than two looks have a score, so noise cannot be measured: {why}")
        return document

    async def _close(self) -> None:
        for seat in self._seats:
            await seat.judge.close()

    def _open(self, store: Store) -> tuple[str, list[Event]]:
        """The unfinished run of the same question, or a new one. Raises UsageError while another process is at it."""
        subject = printable(self._request.artifact)
        identity = digest_json(
            {"kind": NoiseStarted.kind, "artifact": self._version.digest, "contract": self._contract.id}
            | {"looks": self._request.looks}
        )
        if not store.lock(identity):
            raise UsageError("this noise is being measured already", hint="wait for that run, or stop it")
        old = store.unfinished(identity)
        if old is not None and not self._request.judging.fresh:
            log = store.events(old.id)
            self._meter.before.join(total_spend(log))
            return old.id, log
        if old is not None:
            store.finish_run(
                old.id, "interrupted", RunFinished(result="interrupted", reason="started over with --fresh")
            )
        first = NoiseStarted(
            contract=self._contract.document,
            contract_id=self._contract.id,
            rule=self._plan.options.rule,
            panel=tuple(seat.id for seat in self._seats),
            limits={"calls": self._meter.calls, "minutes": self._meter.minutes, "usd": self._meter.usd},
            rubric=self._plan.rubric,
            rubric_path=self._plan.name,
            artifact=StartedArtifact(path=subject, digest=self._version.digest, is_folder=self._version.is_folder),
            looks=self._request.looks,
        )
        run = store.start_run(
            kind=str(NoiseStarted.kind), subject=subject, identity=identity, contract=self._contract.id, first=first
        )
        return run, [first]

    async def _look(self, store: Store, run: str, log: list[Event]) -> None:
        """One look after the other: a judge that thinks about several at once might not be asked what it was asked before."""
        artifact, began = Artifact(printable(self._request.artifact), self._version), store.find_run(run).started
        for number in range(sum(isinstance(event, LookTaken) for event in log), self._request.looks):
            self._observer.progress(number, self._request.looks, "looking")
            seats = [replace(seat, draw=seat.draw + number * len(self._seats)) for seat in self._seats]
            # Only what this run was answered counts: a look that was interrupted is finished, no other is repeated.
            panel = replace(make_panel(seats, store, self._meter, self._plan.options), oldest_reply=began)
            evaluator = Evaluator(self._plan.rubric, self._plan.checker, panel)
            judged = await evaluator.judge(evaluator.question(artifact))
            if judged.refused is not None:
                raise CouldNotJudge(
                    f"{judged.refused} after {count(number, 'look')}",
                    hint="the same command with a higher limit resumes",
                )
            event = LookTaken(number=number + 1, ballots=judged.ballots, spend=judged.spend)
            store.append(run, event)
            log.append(event)


# ------------------------------------------------------------------------------------------------------ from the record


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
    found = _spread(cards)
    reasons = [one.reason for ballots in own for one in ballots if one.judge == name and one.reason]
    lines = [line.criterion.id for line in cards[0].lines] if cards else []
    return NoisyJudgeDoc(
        id=name,
        looks=sum(card.score is not None for card in cards),
        overall=SpreadDoc(mean=found.mean, sd=found.sd),
        criteria=[_criterion(at, id, cards) for at, id in enumerate(lines)],
        reason=reasons[0] if reasons else None,
    )


def _criterion(at: int, id: str, cards: Sequence[Scorecard]) -> NoisyCriterionDoc:
    scores = [score for card in cards if (score := card.lines[at].score) is not None]
    found = spread_of([to_points(score) for score in scores])
    return NoisyCriterionDoc(id=id, mean=found.mean, sd=found.sd)


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


def known_noise(store: Store, contract: str) -> NoiseDoc | None:
    """The last finished measurement of the same rubric by the same judges."""
    for info in store.runs():
        if info.kind == NoiseStarted.kind and info.contract == contract and info.result == "measured":
            return noise_document(store.events(info.id), run=info.id)
    return None
