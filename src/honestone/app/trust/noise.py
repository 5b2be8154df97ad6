"""How much the same bytes score differently when they are judged again: every look asks each judge
once more.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.event_loop import run_interruptibly
from honestone.app.judging.judging_options import JudgingOptions, make_panel
from honestone.app.judging.measured.known_noise import noise_document
from honestone.app.trust.measuring import Measured, refuse_repeat, stop_at_limit
from honestone.app.workspace import Workspace
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import Event, LookTaken, NoiseStarted, RunFinished
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.spend import Meter
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.live import Live
from honestone.ports import Observer, Store
from honestone.report.documents.trust.noise import NoiseDoc
from honestone.system.drawing import count

LOOKS = 5


class NoiseRequest(Struct, frozen=True, kw_only=True):
    """What is judged again and again, by whom, and how often."""

    artifact: Path | str
    rubric: Path | Rubric
    judging: JudgingOptions
    looks: int = LOOKS


def measure_noise(workspace: Workspace, request: NoiseRequest, observer: Observer) -> NoiseDoc:
    """Every look is kept before the next; the same command resumes. Raises UsageError before
    anything is spent, CouldNotJudge when fewer than two looks have a score, Interrupted.
    """
    if request.looks < 2:
        raise UsageError(
            f"-n is {request.looks}, but one look shows no noise", hint="-n 5 is usual"
        )
    refuse_repeat(
        request.judging, "every look asks each judge once", hint=f"-n {request.judging.repeat}"
    )
    return _Measurement(workspace, request, observer).document()


class _Measurement:
    def __init__(self, workspace: Workspace, request: NoiseRequest, observer: Observer) -> None:
        self._looks, self._observer = request.looks, observer
        self._of = Measured.read(
            workspace, request.artifact, request.rubric, request.judging, observer
        )
        self._of.plan.preflight(self._of.version)
        self._meter: Meter = self._of.meter(request.looks * len(self._of.seats))
        self._of.announce(observer, request.looks, "look", self._meter)

    def document(self) -> NoiseDoc:
        with self._of.workspace.open_store() as store:
            run, log = self._of.open(store, self._first(), self._meter, looks=self._looks)
            then = f"the same command resumes run {run} and repeats no look"
            run_interruptibly(lambda: self._look(store, run, log), self._of.close, then)
            document = noise_document(log, run=run)
            result = "measured" if document.tolerance is not None else "inconclusive"
            store.finish_run(
                run, result, RunFinished(result=result, seconds=round(self._meter.seconds, 3))
            )
        if document.tolerance is None:
            why = next(
                (one.reason for one in document.judges if one.reason),
                "no judge answered everything",
            )
            raise CouldNotJudge(
                f"fewer than two looks have a score, so noise cannot be measured: {why}"
            )
        return document

    def _first(self) -> NoiseStarted:
        of = self._of
        return NoiseStarted(
            **of.judged_by(self._meter),
            rubric=of.plan.rubric,
            rubric_path=of.plan.name,
            artifact=of.started_artifact,
            looks=self._looks,
        )

    async def _look(self, store: Store, run: str, log: list[Event]) -> None:
        """One look after the other: a judge that thinks about several at once might not be asked
        what it was asked before.
        """
        plan, seats, began = self._of.plan, self._of.seats, store.find_run(run).started
        live = Live(
            kind="noise", run=run, journal=store.journal, meter=self._meter, observer=self._observer
        )
        for number in range(sum(isinstance(event, LookTaken) for event in log), self._looks):
            live.progress(number, self._looks, "looking")
            drawn = [replace(seat, draw=seat.draw + number * len(seats)) for seat in seats]
            # Only what this run was answered counts: a look that was interrupted is finished, no
            # other is repeated.
            panel = replace(make_panel(drawn, store, self._meter, plan.options), oldest_reply=began)
            evaluator = Evaluator(plan.rubric, plan.checker, panel)
            with live.here():
                judged = await evaluator.judge(evaluator.question(self._of.artifact))
            stop_at_limit(judged.refused, count(number, "look"))
            event = LookTaken(
                number=number + 1,
                ballots=judged.ballots,
                spend=judged.spend,
                by_judge=judged.by_judge,
            )
            await store.journal.append(run, event)
            log.append(event)
