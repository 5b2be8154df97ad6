"""Everything that judges for one rubric: checks by code, then the panel, and what they came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from honestone import ports
from honestone.core.artifact import Artifact
from honestone.core.judging.ballot import (
    Ballot,
    Question,
    asked_criteria,
)
from honestone.core.judging.rubric import Check, Key, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.engine.judging.ballots import Consulted, check_ballot, spared
from honestone.engine.judging.early_stop import settled
from honestone.engine.judging.panel import Panel
from honestone.system import late_asyncio as asyncio


class Judged(Struct, frozen=True, kw_only=True):
    """The ballots about one version and what they took, `by_judge` too where several were asked.
    `refused` is the limit that kept a judge from being asked.
    """

    ballots: tuple[Ballot, ...]
    spend: Spend
    by_judge: Mapping[str, Spend] = field(default_factory=dict)
    refused: str | None = None


class Evaluator:
    """Everything that judges for one rubric: the checks and the panel.

    With `gate_only` judges are asked one after another, and no more once the verdict cannot change.
    """

    def __init__(
        self,
        rubric: Rubric,
        checker: ports.Checker,
        panel: Panel,
        *,
        gate_only: Scorer | None = None,
    ) -> None:
        self.rubric = rubric
        self._gate_only = gate_only
        self.panel = panel
        self.checker = checker
        self._checks: list[tuple[Key, Check]] = [
            (key, item.check) for key, item in rubric.questions() if item.check is not None
        ]
        self._asked = asked_criteria(rubric)

    def question(
        self,
        artifact: Artifact,
        *,
        input: str | None = None,
        images: tuple[ports.Image, ...] = (),
        reference: str | None = None,
        output: ports.Output | None = None,
        case: str | None = None,
        attempt: int = 1,
    ) -> Question:
        """What the judges are asked about an artifact, or about the output that a target made of
        it.
        """
        return Question(
            artifact=artifact,
            criteria=self._asked,
            input=input,
            images=images,
            reference=reference,
            output=None if output is None else output.text,
            workspace={"path": output.folder, "diff": output.diff}
            if output and output.diff is not None
            else None,
            case=case,
            attempt=attempt,
        )

    async def judge(self, question: Question, output: ports.Output | None = None) -> Judged:
        """All checks and all seats. Judges are asked first, so that calls are granted in the order
        of the artifacts. `output` is what the question's output is the text of.
        """
        asking: asyncio.Task[list[Consulted]] | None = None
        if question.criteria and self._checks and not self.waits_for_checks:
            asking = asyncio.create_task(self.panel.consult(question))
        try:
            checks = [await self.check(question, output)] if self._checks else []
            consulted = (
                await (asking or self.consult(question, checks)) if question.criteria else []
            )
        except BaseException:
            if asking is not None:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
            raise
        spend = Spend.of(one.spend for one in consulted)
        refused = next((one.refused for one in consulted if one.refused is not None), None)
        by_judge = {one.ballot.judge: one.spend for one in consulted} if len(consulted) > 1 else {}
        ballots = (*checks, *(one.ballot for one in consulted))
        return Judged(ballots=ballots, spend=spend, by_judge=by_judge, refused=refused)

    @property
    def waits_for_checks(self) -> bool:
        """Whether judges are asked after the checks, because these may make them needless."""
        return self._gate_only is not None

    async def consult(self, question: Question, checks: Sequence[Ballot]) -> list[Consulted]:
        """The judges' ballots; `checks` are what code said."""
        if self._gate_only is None:
            return await self.panel.consult(question)
        found: list[Consulted] = []
        seats = list(self.panel.seats)
        while seats:
            known = [*checks, *(consulted.ballot for consulted in found)]
            if settled(self._gate_only, known, [seat.id for seat in seats]) is not None:
                break
            found += await self.panel.consult(question, [seats.pop(0)])
        return [*found, *(spared(seat) for seat in seats)]

    async def check(self, question: Question, output: ports.Output | None = None) -> Ballot:
        """What code says."""
        checks, version = [check for _, check in self._checks], question.artifact.version
        findings = await self.checker.run(
            checks,
            version,
            output,
            input=question.input,
            reference=question.reference,
            once=self.panel.once,
        )
        return check_ballot(self._checks, findings)
