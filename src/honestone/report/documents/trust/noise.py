"""`honestone.noise/1`: how much the same bytes score differently when they are judged again."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from honestone.report.documents.scorecard import ArtifactDoc, UsageDoc

NOISE: Final = "honestone.noise/1"


class SpreadDoc(Struct, frozen=True, kw_only=True):
    """Of scores in points: the mean, and the sample standard deviation, `null` of fewer than two."""

    mean: float | None = None
    sd: float | None = None


class NoisyCriterionDoc(Struct, frozen=True, kw_only=True):
    """One criterion."""

    id: str
    mean: float | None = None
    sd: float | None = None


class NoisyJudgeDoc(Struct, frozen=True, kw_only=True):
    """One judge by itself.

    `looks`: how often it answered everything
    `reason`: why it did not, where it once did not
    """

    id: str
    looks: int
    overall: SpreadDoc
    criteria: list[NoisyCriterionDoc] = []
    reason: str | None = None


class FlipsDoc(Struct, frozen=True, kw_only=True, rename={"passed": "pass"}):
    """The verdicts of the panel's looks.

    `pass`, `fail`, `inconclusive`: how many
    `flip_rate`: the chance that two looks with a verdict differ, 0-1; `null` of fewer than two
    """

    passed: int = 0
    fail: int = 0
    inconclusive: int = 0
    flip_rate: float | None = None


class NoiseDoc(Struct, frozen=True, kw_only=True):
    """The noise of a panel on one artifact. Scores are points, not rounded.

    `n`: how many looks were asked for
    `overall`: of the whole panel's looks
    `tolerance`: a change of fewer points is noise: 1.96 x sqrt 2 x the standard deviation;
        `improve` uses it
    `judges`: each by itself
    """

    schema: str = NOISE
    run: str | None = None
    rubric: str = ""
    artifact: ArtifactDoc
    contract: str = ""
    n: int
    judges: list[NoisyJudgeDoc] = []
    overall: SpreadDoc
    verdict: FlipsDoc
    tolerance: float | None = None
    usage: UsageDoc = UsageDoc()
