"""The judges of one run: how far they agree, what they left open, and what was measured of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TypeVar

from msgspec import Struct, field

from honestone.core.judging.ballot import CHECK
from honestone.core.statistics.agreement import PairAgreement, pair_agreement
from honestone.report.documents.scorecard import CriterionDoc, JudgeDoc, first_look
from honestone.report.documents.trust.audit import AuditedJudgeDoc
from honestone.report.documents.trust.calibration import CalibratedJudgeDoc

_Value = TypeVar("_Value")


class KnownBefore(Struct, frozen=True, kw_only=True):
    """What is known of a judge from runs before: the newest calibration and audit that hold, each
    with its run, else in words what changed since; None where there is none.
    """

    calibration: tuple[str, CalibratedJudgeDoc] | str | None = None
    audit: tuple[str, AuditedJudgeDoc] | str | None = None


class JudgeFigures(Struct):
    """One judge over a run. `apart`: answers that most of the others did not give, where two or
    more others answered.
    """

    id: str
    units: int = 0
    answers: int = 0
    apart: int = 0
    repaired: int = 0
    absent: Counter[str] = field(default_factory=Counter)
    scores: list[float] = field(default_factory=list)

    @property
    def mean(self) -> float | None:
        """The mean of the judge's scores of criteria, each the mean of its looks, in points."""
        return sum(self.scores) / len(self.scores) if self.scores else None


class JudgesOfRun:
    """The judges of everything that a run judged; `add` takes one artifact, output or cell after
    the other.
    """

    def __init__(self) -> None:
        self.judges: dict[str, JudgeFigures] = {}
        self._answers: list[dict[str, str | float]] = []
        self._scores: list[dict[str, float]] = []

    def add(self, criteria: Iterable[CriterionDoc], judges: Iterable[JudgeDoc]) -> None:
        counted: set[str] = set()
        for one in judges:
            figures = self._figures_of(one.id)
            figures.units += not one.is_spared and figures.id not in counted
            counted.add(figures.id)
            figures.repaired += bool(one.problems or one.repairs)
            if one.is_absent:
                figures.absent[one.reason or one.state] += 1
        for criterion in criteria:
            scores = {
                judge: score for judge, score in criterion.by_judge.items() if score is not None
            }
            self._scores.append(_of_first_looks(scores))
            # Some looks ask contested criteria alone: each criterion counts once for a judge.
            looks: dict[str, list[float]] = {}
            for judge, score in scores.items():
                looks.setdefault(first_look(judge), []).append(score)
            for judge, own in looks.items():
                self._figures_of(judge).scores.append(sum(own) / len(own))
            for item in criterion.items:
                votes = {judge: answer for judge, answer in item.votes.items() if judge != CHECK}
                first = _of_first_looks(votes)
                self._answers.append(first)
                self._count(votes, first)

    def _figures_of(self, judge: str) -> JudgeFigures:
        """Every look of a judge counts for it."""
        name = first_look(judge)
        return self.judges.setdefault(name, JudgeFigures(name))

    def _count(self, votes: Mapping[str, str | float], first: Mapping[str, str | float]) -> None:
        """Each answer is held against those of the other judges at their first looks."""
        counted = Counter(map(str, first.values()))
        for judge, answer in votes.items():
            figures = self._figures_of(judge)
            figures.answers += 1
            alike = counted[str(answer)] + (str(answer) != str(first[figures.id]))
            figures.apart += len(first) > 2 and alike * 2 < len(first)

    @property
    def pairs(self) -> list[tuple[PairAgreement, float | None]]:
        """Two judges each: how far their answers to the same items agree, and the mean difference
        of their scores of criteria, the second's minus the first's, in points.
        """
        pairs = []
        for a, b in combinations(self.judges, 2):
            answers = [
                (str(votes[a]), str(votes[b]))
                for votes in self._answers
                if a in votes and b in votes
            ]
            scores = [(one[a], one[b]) for one in self._scores if a in one and b in one]
            agreed = pair_agreement(a, [one for one, _ in answers], b, [two for _, two in answers])
            moved = (
                pair_agreement(a, [one for one, _ in scores], b, [two for _, two in scores])
                if scores
                else None
            )
            pairs.append((agreed, moved.mean_difference if moved else None))
        return pairs


def _of_first_looks(by_judge: Mapping[str, _Value]) -> dict[str, _Value]:
    """What each judge gave at its first look: two judges agree or not by one look each."""
    first: dict[str, _Value] = {}
    for judge, value in by_judge.items():
        first.setdefault(first_look(judge), value)
    return first
