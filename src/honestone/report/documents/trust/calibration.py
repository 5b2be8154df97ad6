"""`honestone.calibration/1`: how far judges agree with people who labelled the same items."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from honestone.report.documents.scorecard import UsageDoc

CALIBRATION: Final = "honestone.calibration/1"


class CalibratedCriterionDoc(Struct, frozen=True, kw_only=True):
    """One criterion, with the same figures as its judge."""

    id: str
    units: int
    answers: int
    kappa: float | None = None
    kappa_interval: list[float] | None = None
    alpha: float | None = None
    alpha_interval: list[float] | None = None
    tpr: float | None = None
    tpr_interval: list[float] | None = None
    tnr: float | None = None
    tnr_interval: list[float] | None = None
    bias: float | None = None
    bias_interval: list[float] | None = None
    lenient: bool | None = None

    @property
    def contradicts(self) -> bool:
        """Whether it surely agrees with people less often than chance would: it passes what they
        do not, and not what they pass. That is another fault than being lenient.
        """
        return self.kappa_interval is not None and self.kappa_interval[1] < 0


class CorrectedDoc(Struct, frozen=True, kw_only=True):
    """The share of answers that are met, 0-1, of the artifacts named, else of the labelled ones.

    `observed`: as the judge says
    `rogan_gladen`: put right by the judge's TPR and TNR; `null` where it tells met from unmet no
        better than chance
    `ppi`: put right by the mean difference of people and judge (prediction-powered inference)
    """

    observed: float | None = None
    rogan_gladen: float | None = None
    ppi: float | None = None


class CalibratedJudgeDoc(CalibratedCriterionDoc, frozen=True, kw_only=True):
    """One judge and the people. Intervals are 95%.

    `units`: artifacts with an answer of both
    `answers`: such answers on which people are not split
    `kappa`: Cohen's, of met and unmet
    `alpha`: Krippendorff's, of the scores, level interval
    `tpr`: of what people find met, the share that the judge finds met
    `tnr`: of what people find unmet, the share that the judge finds unmet; 1 - `tnr` is its rate of
        false passes
    `bias`: points, judge - people
    `lenient`: the interval of 1 - `tnr` is above 10%, or that of the bias above 2 points; `null`
        where neither is known
    `weight`: suggested, all sum to 1: in proportion to kappa, shrunk to the mean
    `reason`: why it did not answer, where it once did not
    """

    corrected: CorrectedDoc = CorrectedDoc()
    weight: float
    criteria: list[CalibratedCriterionDoc] = []
    reason: str | None = None


class BestSingleDoc(Struct, frozen=True, kw_only=True):
    """The judge that agrees most with the people."""

    id: str
    kappa: float | None


class CalibratedPanelDoc(Struct, frozen=True, kw_only=True):
    """The judges together.

    `votes`: judges that answered
    `effective_votes`: how many independent judges would err as little together; `null` where no
        error was seen
    `kappa`: of the combined answers and the people
    `drop`: judges that are lenient, no better than chance, or without whom the panel agrees with
        people more for sure
    """

    votes: int
    effective_votes: float | None = None
    best_single: BestSingleDoc | None = None
    kappa: float | None = None
    kappa_interval: list[float] | None = None
    drop: list[str] = []


class HumanCeilingDoc(Struct, frozen=True, kw_only=True):
    """How far people agree with each other: the mean of all pairs of raters."""

    kappa: float | None = None
    agreement: float | None = None


class CalibrationDoc(Struct, frozen=True, kw_only=True):
    """Judges measured against labels. Figures are not rounded, and `null` where they are not
    defined.

    `units`: labelled artifacts
    `outdated`: labels left out because the artifact has changed since
    `base_rate`: the share of answers that people find met
    `human_ceiling`: `null` for one rater
    `population`: artifacts that were named for a corrected rate; 0: `corrected` is of the labelled
        ones
    """

    schema: str = CALIBRATION
    run: str | None = None
    rubric: str = ""
    labels: str = ""
    contract: str = ""
    units: int
    outdated: int = 0
    raters: list[str] = []
    base_rate: float | None = None
    human_ceiling: HumanCeilingDoc | None = None
    population: int = 0
    judges: list[CalibratedJudgeDoc] = []
    panel: CalibratedPanelDoc
    usage: UsageDoc = UsageDoc()
