"""Judging one version: code answers what it can, judges the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from honestone.core.artifact import Artifact
from honestone.core.ballot import CHECK, Ballot, Mark, State
from honestone.core.early_stop import settled
from honestone.core.question import Question, asked_criteria
from honestone.core.rubric import Check, Key, Rubric
from honestone.core.scorecard import Scorer
from honestone.engine.meter import Spend
from honestone.engine.panel import Consulted, Panel, Seat
from honestone.ports import Checker, Finding, Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The ballots about one version and what they took. `refused` is the limit that kept a judge from being asked."""

    ballots: tuple[Ballot, ...]
    spend: Spend
    refused: str | None = None


class Evaluator:
    """Everything that judges for one rubric: the checks and the panel.

    With `gate_only` judges are asked one after another, and no more once the verdict cannot change.
    """

    def __init__(self, rubric: Rubric, checker: Checker, panel: Panel, *, gate_only: Scorer | None = None) -> None:
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
        reference: str | None = None,
        output: Output | None = None,
        case: str | None = None,
        attempt: int = 1,
    ) -> Question:
        """What the judges are asked about an artifact, or about the output that a target made of it."""
        if output is None:
            return Question(
                artifact=artifact, criteria=self._asked, input=input, reference=reference, case=case, attempt=attempt
            )
        workspace = None if output.diff is None else {"path": output.folder, "diff": output.diff}
        return Question(
            artifact=artifact,
            criteria=self._asked,
            input=input,
            reference=reference,
            output=output.text,
            workspace=workspace,
            case=case,
            attempt=attempt,
        )

    async def judge(
        self,
        artifact: Artifact,
        *,
        input: str | None = None,
        reference: str | None = None,
        output: Output | None = None,
        case: str | None = None,
        attempt: int = 1,
    ) -> Judged:
        """All checks and all seats. Judges are asked first, so that calls are granted in the order of the artifacts."""
        asking: asyncio.Task[list[Consulted]] | None = None
        question = (
            self.question(artifact, input=input, reference=reference, output=output, case=case, attempt=attempt)
            if self._asked
            else None
        )
        if question is not None and self._checks and self._gate_only is None:
            asking = asyncio.create_task(self.panel.consult(question))
        try:
            checks = [await self.check(artifact, output, input, reference)] if self._checks else []
            if question is None:
                consulted = []
            else:
                consulted = await (asking or self._consult(question, checks))
        except BaseException:
            if asking is not None:
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
            raise
        spend = Spend()
        for one in consulted:
            spend.join(one.spend)
        refused = next((one.refused for one in consulted if one.refused is not None), None)
        return Judged(ballots=(*checks, *(one.ballot for one in consulted)), spend=spend, refused=refused)

    async def _consult(self, question: Question, checks: Sequence[Ballot]) -> list[Consulted]:
        if self._gate_only is None:
            return await self.panel.consult(question)
        found: list[Consulted] = []
        seats = list(self.panel.seats)
        while seats:
            known = [*checks, *(consulted.ballot for consulted in found)]
            if settled(self._gate_only, known, [seat.id for seat in seats]) is not None:
                break
            found += await self.panel.consult(question, [seats.pop(0)])
        return [*found, *(_spared(seat) for seat in seats)]

    async def check(
        self, artifact: Artifact, output: Output | None = None, input: str | None = None, reference: str | None = None
    ) -> Ballot:
        """What code says."""
        findings = await self.checker.run(
            [check for _, check in self._checks], artifact.version, output, input=input, reference=reference
        )
        return check_ballot(self._checks, findings)


def _spared(seat: Seat) -> Consulted:
    why = "not asked: whatever it said, the verdict would be the same (--gate-only)"
    return Consulted(
        ballot=Ballot(judge=seat.id, kind=seat.kind, marks={}, state=State.SKIPPED, reason=why), spend=Spend()
    )


def check_ballot(checks: Sequence[tuple[Key, Check]], findings: Sequence[Finding]) -> Ballot:
    """Findings as a ballot: a check that could not run abstains, with the reason."""
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for (key, _), finding in zip(checks, findings, strict=True):
        if finding.met is None:
            abstained[key] = finding.note or "the check could not run"
        else:
            marks[key] = Mark(finding.met, (finding.note,) if finding.note else ())
    boxes = sorted({finding.sandbox for finding in findings if finding.sandbox})
    return Ballot(judge=CHECK, marks=marks, abstained=abstained, sandbox=", ".join(boxes) or None)


__all__ = ["Evaluator", "Judged", "Seat", "check_ballot"]
