"""Judging one version: code answers what it can, judges the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from honestone.core.artifact import Artifact
from honestone.core.ballot import CHECK, Ballot, Mark
from honestone.core.question import Question, asked_criteria
from honestone.core.rubric import Check, Key, Rubric
from honestone.engine.meter import Spend
from honestone.engine.panel import Panel, Seat
from honestone.ports import Checker, Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The ballots about one version and what they took."""

    ballots: tuple[Ballot, ...]
    spend: Spend


class Bench:
    """Everything that judges for one rubric: the checks and the panel."""

    def __init__(self, rubric: Rubric, checker: Checker, panel: Panel) -> None:
        self.rubric = rubric
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
        output: str | None = None,
    ) -> Question:
        return Question(
            artifact=artifact, criteria=self._asked, input=input, reference=reference, output=output
        )

    async def judge(
        self,
        artifact: Artifact,
        *,
        input: str | None = None,
        reference: str | None = None,
        output: str | None = None,
    ) -> Judged:
        """All checks and all seats."""
        ballots: list[Ballot] = []
        spend = Spend()
        if self._checks:
            ballots.append(await self.check(artifact, output))
        if self._asked:
            question = self.question(artifact, input=input, reference=reference, output=output)
            for consulted in await self.panel.consult(question):
                ballots.append(consulted.ballot)
                spend.join(consulted.spend)
        return Judged(ballots=tuple(ballots), spend=spend)

    async def check(self, artifact: Artifact, output: str | None = None) -> Ballot:
        """What code says."""
        findings = await self.checker.run([check for _, check in self._checks], artifact.version, output)
        return check_ballot(self._checks, findings)


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
    return Ballot(
        judge=CHECK,
        marks=marks,
        abstained=abstained,
        reason=f"sandbox: {', '.join(boxes)}" if boxes else None,
    )


__all__ = ["Bench", "Judged", "Seat", "check_ballot"]
