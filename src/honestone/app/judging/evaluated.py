"""What an artifact was scored: the result of `eval ARTIFACT`, and what writes its document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from honestone.app.doors.results import DocumentResult
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.core.belief.stated import belief_of, believed
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.scorecard import Outcome, Scorecard, Verdict
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.engine.evaluate import JudgedArtifact
from honestone.report.building.scorecard import (
    Facts,
    SharedParts,
    judge_costs,
    scorecard_document,
    usage_document,
)
from honestone.report.documents.belief import BeliefDoc
from honestone.report.documents.scorecard import KnownNoiseDoc, ScorecardDoc

if TYPE_CHECKING:
    from honestone.core.belief.verdict import ExpectedScore


@dataclass(frozen=True, eq=False, repr=False)
class Evaluated(DocumentResult):
    """What was made of one artifact. Its document is what `honestone eval --json` prints
    (`honestone.scorecard/1`).
    """

    heads = ("criterion", "score", "requirement", "unmet")
    _judgement: JudgedArtifact
    _write: Writer

    @property
    def path(self) -> str:
        return self._judgement.event.path

    @property
    def run(self) -> str | None:
        return self._write.run

    @property
    def output(self) -> str | None:
        """What a target made of the artifact; None without one."""
        return self._judgement.event.output

    @property
    def failed(self) -> str | None:
        """Why there was nothing to judge: what the target said when it failed, or what is wrong with
        a row of a table.
        """
        return self._judgement.event.error

    @property
    def error(self) -> str | None:
        """Why there was nothing to judge, or what judges failed with; None where all went well."""
        from honestone.report.building.texts import judge_errors

        return self.failed or judge_errors(self.report) or None

    @property
    def judged_text(self) -> str | None:
        """The text that was judged; None where it is not at hand."""
        return self._judgement.text

    @property
    def group(self) -> str:
        """The group of a row of a table; empty without one."""
        return self._judgement.event.group

    @property
    def scorer(self) -> Scorer:
        """What makes scorecards of ballots: the rubric and the rule."""
        return self._write.plan.scorer

    @property
    def ballots(self) -> tuple[Ballot, ...]:
        return self._judgement.event.ballots

    @cached_property
    def scorecard(self) -> Scorecard:
        return self._write.plan.scorer.card(self._judgement.event.ballots)

    @cached_property
    def gate(self) -> Verdict:
        """The verdict with every reason."""
        scorer, rubric = self._write.plan.scorer, self._write.plan.rubric
        _, verdict = scorer.judged(self._judgement.event.ballots)
        if rubric.sure is not None:
            verdict = believed(verdict, belief_of(rubric, self.ballots), scorer.rule)
        if self.failed is not None:
            return Verdict(Outcome.INCONCLUSIVE, (self.failed, *verdict.reasons))
        return verdict

    @property
    def belief(self) -> BeliefDoc | None:
        """How sure the verdict is, and what that rests on; None where nothing was judged."""
        return self.report.belief

    @property
    def probability(self) -> float | None:
        """The probability (0-1) that the contract is met."""
        return None if self.belief is None else self.belief.probability

    @cached_property
    def expected(self) -> ExpectedScore | None:
        """The score, and that of each criterion, by what all looks say of the true answers; None
        where nothing was judged.
        """
        from honestone.core.belief.verdict import TextBelief

        return TextBelief(self._write.plan.rubric).see_all(self.ballots).expected()

    @property
    def outcome(self) -> Outcome:
        """The verdict's, without working it out again where the document has it."""
        report: ScorecardDoc | None = self.__dict__.get("report")
        return self.gate.outcome if report is None else Outcome(report.verdict)

    @property
    def verdict(self) -> str:
        """`pass`, `fail` or `inconclusive`."""
        return str(self.outcome)

    @property
    def score(self) -> float | None:
        """Points from 0 to 100; None where a needed mark is missing."""
        return self.report.score

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (
                one.id,
                one.score,
                one.requirement,
                "; ".join(item.asked for item in one.items if item.is_problem),
            )
            for one in self.report.criteria
        ]

    @property
    def is_low_confidence(self) -> bool:
        return self._write.plan.scorer.rests_on_one(self.scorecard)

    @property
    def headline(self) -> str:
        words = f"{self.stated_verdict}, {self.report.score_words} of 100: {self.path}"
        return words if self.error is None else f"{words}, {self.error}"

    @cached_property
    def report(self) -> ScorecardDoc:
        return self._write.report(self._judgement)

    def _as_struct(self) -> ScorecardDoc:
        return self.report


class EvaluationSummary(Struct, frozen=True, kw_only=True):
    """How a whole evaluation ended. `verdict`: fail if any failed, else inconclusive if any is,
    else pass.
    """

    run: str | None
    verdict: Outcome
    spent: Spend


class Writer(Struct, frozen=True, kw_only=True):
    """Makes documents. `noise` is what is known of that of the judges, `shared` what the documents
    have in common.
    """

    plan: RubricPlan
    contract: str
    run: str | None
    noise: KnownNoiseDoc | None = None
    shared: SharedParts = field(default_factory=SharedParts)

    def report(self, judgement: JudgedArtifact) -> ScorecardDoc:
        event = judgement.event
        usage = usage_document(event.spend)
        facts = Facts(
            path=event.path,
            digest=event.digest,
            contract=self.contract,
            run=self.run,
            text=judgement.text,
            usage=replace(usage, this_process=usage),
            notes=event.notes,
            error=event.error,
            rubric=self.plan.name,
            options=self.plan.words_for_improve,
            output=UNSET if event.output is None else event.output,
            packed=event.packed,
            costs=judge_costs([event]),
        )
        document = scorecard_document(self.plan.scorer, event.ballots, facts, self.shared)
        return document if self.noise is None else replace(document, noise=self.noise)
