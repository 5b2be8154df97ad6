"""The judgement of `improve`: checks and judges score every version, held-out judges certify."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from honestone.core.artifact import Artifact
from honestone.core.ballot import CHECK, Question
from honestone.core.errors import UsageError
from honestone.core.events import BallotCast, LimitReached, Role
from honestone.core.loop.actions import Ask, Propose
from honestone.core.loop.focus import fixes_for, unmet_keys, write_brief
from honestone.core.loop.state import LoopState
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.engine.panel import Consulted, Evaluator, Seat, essence
from honestone.ports import Brief


class PanelJudgement(Judgement[LoopState]):
    """A rubric's panel steers; the seats in `holdouts` certify and their words never reach the worker.

    `before_asking` is called before these seats are asked a question; what it raises stops the loop there.
    Raises UsageError for a held-out judge that is one of the panel.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        panel: Sequence[Seat],
        holdouts: Sequence[Seat],
        before_asking: Callable[[Sequence[Seat], Question], None] | None = None,
    ) -> None:
        require_apart(panel, holdouts)
        self._evaluator = evaluator
        self._before_asking = before_asking
        self._seats = {"panel": panel, "holdout": holdouts}

    async def ask(self, loop: LoopRunner[LoopState], action: Ask) -> None:
        if loop.out_of_budget():
            return
        artifact = Artifact(loop.place.named, loop.version(action.version))
        if CHECK in action.judges:
            ballot = await self._evaluator.check(artifact)
            loop.record(BallotCast(version=action.version, role=action.role, ballot=ballot))
        wanted = [seat for seat in self._seats[action.role] if seat.id in action.judges]
        if not wanted:
            return
        loop.say(f"asking {', '.join(seat.id for seat in wanted)}")
        for consulted in await self._consult(artifact, wanted):
            if consulted.refused is None:
                _record(loop, action.version, action.role, consulted)
            else:
                loop.reach_limit(LimitReached(reason=consulted.refused))

    async def resume(self, loop: LoopRunner[LoopState]) -> None:
        """A crash or a time-out is not a reply: judges that failed on the versions that still count are asked again.
        A refusal is a reply, on record, and costs nothing to read again."""
        for version in dict.fromkeys((loop.state.best, loop.state.current)):
            ballots = loop.state.ballots.get((version, "panel"), {})
            failed = [seat for seat in self._seats["panel"] if (b := ballots.get(seat.id)) is not None and not b.marks]
            if failed and not loop.meter.exhausted():
                for consulted in await self._consult(Artifact(loop.place.named, loop.version(version)), failed):
                    if consulted.ballot.marks:
                        _record(loop, version, "panel", consulted)

    async def _consult(self, artifact: Artifact, seats: Sequence[Seat]) -> Sequence[Consulted]:
        question = self._evaluator.question(artifact)
        if self._before_asking is not None:
            self._before_asking(seats, question)
        return await self._evaluator.panel.consult(question, seats)

    def brief(self, loop: LoopRunner[LoopState], action: Propose, place: Path, candidate: int) -> Brief:
        card = loop.state.card(action.base)
        line = card.line(action.focus[0])
        return Brief(
            text=write_brief(card, line, location=str(place), title=loop.state.rubric.title),
            focus=action.focus,
            unmet=unmet_keys(line),
            fixes=fixes_for(line),
            candidate=candidate,
        )

    async def close(self) -> None:
        await self._evaluator.panel.close()


def _record(loop: LoopRunner[LoopState], version: str, role: Role, consulted: Consulted) -> None:
    loop.record(BallotCast(version=version, role=role, ballot=consulted.ballot, spend=consulted.spend))


def require_apart(panel: Sequence[Seat], holdouts: Sequence[Seat]) -> None:
    """A held-out judge must be one that the loop never listened to, whatever it is called. Raises UsageError."""
    steering = [essence(seat.judge.identity) for seat in panel]
    for seat in holdouts:
        if essence(seat.judge.identity) in steering:
            raise UsageError(
                f"the held-out judge {seat.id!r} is one of the panel: it cannot both steer and certify",
                hint="a witness is a judge that the loop never listened to: name another --holdout",
            )
