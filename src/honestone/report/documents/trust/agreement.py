"""`honestone.agreement/1`: how far raters agree who rated the same units."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

AGREEMENT: Final = "honestone.agreement/1"


class OffScaleDoc(Struct, frozen=True, kw_only=True):
    """A value that is off the scale. It is left out.

    `unit`: what the unit's columns say
    """

    unit: list[str]
    rater: str
    value: int | float


class AlphaDoc(Struct, frozen=True, kw_only=True):
    """Krippendorff's alpha at each level; `null` where it is not defined.

    `ordinal`, `interval`, `ratio`: `null` for words
    """

    nominal: float | None = None
    ordinal: float | None = None
    interval: float | None = None
    ratio: float | None = None


class IccDoc(Struct, frozen=True, kw_only=True):
    """An intraclass correlation.

    `interval`: 95%
    """

    value: float | None = None
    interval: list[float] | None = None


class RaterPairDoc(Struct, frozen=True, kw_only=True):
    """Two raters on the units that both rated; `null` where a figure is not defined.

    `n`: units
    `exact`: share of units with the same value
    `cohen_linear`, `cohen_quadratic`: weighted by the distance of the values
    `mean_difference`: of b - a
    """

    a: str
    b: str
    n: int
    exact: float | None = None
    cohen_kappa: float | None = None
    cohen_linear: float | None = None
    cohen_quadratic: float | None = None
    scott_pi: float | None = None
    alpha: AlphaDoc
    pearson: float | None = None
    spearman: float | None = None
    kendall_tau_b: float | None = None
    mae: float | None = None
    rmse: float | None = None
    mean_difference: float | None = None


class CriterionAgreementDoc(Struct, frozen=True, kw_only=True):
    """How far raters agree on one criterion of a labels file.

    `alpha`: Krippendorff's, at the level of the document
    `kappa`: Fleiss's, of the units that every rater rated
    """

    id: str
    units: int
    missing: int
    raw_agreement: float | None = None
    alpha: float | None = None
    kappa: float | None = None


class AgreementDoc(Struct, frozen=True, kw_only=True):
    """How far raters agree. Figures are not rounded; `null` where one is not defined.

    `level`: what the differences of values mean: nominal, ordinal, interval or ratio
    `complete_units`: units that every rater rated; `fleiss_kappa`, `randolph_kappa`, `scott_pi`,
        `raw_agreement`, `unanimous` and `icc` are of these
    `truth`: the column that the pairs compare each rater with; the other figures are without it
    `missing`: empty cells, those off the scale among them
    `scott_pi`: of two raters
    `notes`: what was taken for what, where the file does not say it
    `raw_agreement`: share of pairs of ratings of a unit that are equal
    `unanimous`: units where all ratings are equal
    `icc`: 1 other raters for each unit, 2 raters drawn at random, 3 these raters; of one rating or
        the mean of all k
    `pairs`: of all raters, or of the truth with each
    `criteria`: of a file of labels: each criterion by itself
    """

    schema: str = AGREEMENT
    table: str
    level: str
    units: int
    complete_units: int
    raters: list[str]
    truth: str | None = None
    missing: int
    off_scale: list[OffScaleDoc] = []
    alpha: AlphaDoc
    fleiss_kappa: float | None = None
    randolph_kappa: float | None = None
    scott_pi: float | None = None
    raw_agreement: float | None = None
    unanimous: int
    icc: dict[str, IccDoc]
    pairs: list[RaterPairDoc]
    notes: list[str] = []
    criteria: list[CriterionAgreementDoc] = []
