"""How far raters agree: a table of ratings, measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct, field

from honestone.app.workspace import Workspace
from honestone.core.statistics.agreement import Agreement, Icc, Level, PairAgreement, agreement
from honestone.formats.ratings import Columns, Ratings, Row, ratings_of_rows, read_ratings
from honestone.report.documents import fields_of
from honestone.report.documents.trust.agreement import (
    AgreementDoc,
    AlphaDoc,
    CriterionAgreementDoc,
    IccDoc,
    OffScaleDoc,
    RaterPairDoc,
)
from honestone.system.files import printable

# What a table is called that Python gives.
GIVEN = "table"


class AgreementRequest(Struct, frozen=True, kw_only=True):
    """Which table is measured, and what its columns mean. Without a level it is interval for
    numbers, nominal for words.
    """

    table: Path | Sequence[Row]
    columns: Columns = field(default_factory=Columns)
    level: Level | None = None


def measure_agreement(workspace: Workspace, request: AgreementRequest) -> AgreementDoc:
    """Raises UsageError for a column that is not there, too few raters, and words where numbers are
    needed.
    """
    table = request.table
    ratings = (
        read_ratings(workspace.path(table), request.columns, request.level)
        if isinstance(table, Path)
        else ratings_of_rows(table, GIVEN, request.columns, request.level)
    )
    agreed = agreement(ratings.columns, truth=request.columns.truth)
    level = request.level or (Level.NOMINAL if ratings.has_words else Level.INTERVAL)
    return _document(agreed, ratings, request, level)


def _document(
    agreed: Agreement, ratings: Ratings, request: AgreementRequest, level: Level
) -> AgreementDoc:
    truth = request.columns.truth
    return AgreementDoc(
        table=printable(request.table) if isinstance(request.table, Path) else GIVEN,
        level=str(level),
        raters=[name for name in ratings.columns if name != truth],
        truth=truth,
        missing=ratings.gaps,
        notes=list(ratings.notes),
        off_scale=[
            OffScaleDoc(
                unit=list(one.unit),
                rater=one.rater,
                value=int(one.value) if one.value.is_integer() else one.value,
            )
            for one in ratings.off_scale
        ],
        **fields_of(
            agreed, "units", "complete_units", "fleiss_kappa", "randolph_kappa", "scott_pi"
        ),
        **fields_of(agreed, "raw_agreement", "unanimous"),
        alpha=AlphaDoc(**{str(key): value for key, value in agreed.alpha.items()}),
        icc={name: _icc(one) for name, one in agreed.icc.items()},
        pairs=[_pair(one) for one in agreed.pairs],
        criteria=[_criterion(id, ratings, truth, level) for id in dict.fromkeys(ratings.criteria)],
    )


def _criterion(id: str, ratings: Ratings, truth: str | None, level: Level) -> CriterionAgreementDoc:
    columns = ratings.about(id)
    agreed = agreement(columns, truth=truth)
    return CriterionAgreementDoc(
        id=id,
        units=agreed.units,
        missing=sum(value is None for column in columns.values() for value in column),
        raw_agreement=agreed.raw_agreement,
        alpha=agreed.alpha[level],
        kappa=agreed.fleiss_kappa,
    )


def _icc(one: Icc | None) -> IccDoc:
    if one is None:
        return IccDoc()
    return IccDoc(value=one.value, interval=None if one.interval is None else list(one.interval))


def _pair(one: PairAgreement) -> RaterPairDoc:
    names = [name for name in msgspec.structs.fields(RaterPairDoc) if name.name != "alpha"]
    alpha = AlphaDoc(**{str(key): value for key, value in one.alpha.items()})
    return RaterPairDoc(alpha=alpha, **fields_of(one, *(name.name for name in names)))
