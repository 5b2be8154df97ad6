"""What the functions of Python that measure judges and raters return: typed documents, with the
table that a notebook shows, and a figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct

from honestone.app.doors.results import DocumentResult
from honestone.report.documents.scorecard import ScorecardDoc
from honestone.report.documents.trust.agreement import AgreementDoc
from honestone.report.documents.trust.audit import AuditDoc, AuditedJudgeDoc
from honestone.report.documents.trust.calibration import (
    CalibratedJudgeDoc,
    CalibrationDoc,
    HumanCeilingDoc,
)
from honestone.report.documents.trust.noise import NoiseDoc, NoisyJudgeDoc

if TYPE_CHECKING:
    from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

_PASS, _FAIL, _OPEN = "pass", "fail", "inconclusive"


def _rounded(value: float | None, digits: int = 2) -> str:
    return "n/a" if value is None else f"{value:.{digits}f}"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CalibrationResult(DocumentResult):
    """How far judges agree with people (`honestone.calibration/1`). `strict`: a judge that is lenient
    makes the verdict `fail`.
    """

    heads = (
        "judge",
        "labels",
        "kappa",
        "passes what people pass",
        "fails what people fail",
        "bias",
    )
    report: CalibrationDoc
    strict: bool = False

    @property
    def judges(self) -> Sequence[CalibratedJudgeDoc]:
        """Each judge with `kappa`, `tpr`, `tnr`, `bias`, `corrected` and its `criteria`."""
        return self.report.judges

    @property
    def human_ceiling(self) -> HumanCeilingDoc | None:
        """How far the people agree with each other; None where one person labelled."""
        return self.report.human_ceiling

    @property
    def verdict(self) -> str:
        """`inconclusive` where no judge answered what is labelled."""
        if not any(judge.units for judge in self.judges):
            return _OPEN
        return _FAIL if self.strict and any(judge.lenient for judge in self.judges) else _PASS

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [(one.id, one.units, one.kappa, one.tpr, one.tnr, one.bias) for one in self.judges]

    @property
    def headline(self) -> str:
        judges = ", ".join(f"{one.id} kappa {_rounded(one.kappa)}" for one in self.judges)
        return f"{self.report.units} labelled by {len(self.report.raters)}: {judges}"

    def _as_struct(self) -> Struct:
        return self.report

    def plot(self) -> Figure:
        """Kappa of each judge with its interval, next to that of people. Raises UsageError where
        matplotlib is not installed.
        """
        from honestone.report.figures import calibration_figure

        return calibration_figure(self.report)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class NoiseResult(DocumentResult):
    """How much the same bytes score differently (`honestone.noise/1`)."""

    heads = ("judge", "looks", "mean", "sd")
    report: NoiseDoc

    @property
    def judges(self) -> Sequence[NoisyJudgeDoc]:
        return self.report.judges

    @property
    def tolerance(self) -> float | None:
        """A change of fewer points is noise."""
        return self.report.tolerance

    @property
    def verdict(self) -> str:
        return _OPEN if self.tolerance is None else _PASS

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [(one.id, one.looks, one.overall.mean, one.overall.sd) for one in self.judges]

    @property
    def headline(self) -> str:
        return (
            f"{self.report.n} looks: a change below {_rounded(self.tolerance, 1)} points is noise"
        )

    def _as_struct(self) -> Struct:
        return self.report

    def plot(self) -> Figure:
        """The mean score of each judge with its spread. Raises UsageError where matplotlib is not
        installed.
        """
        from honestone.report.figures import noise_figure

        return noise_figure(self.report)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AuditResult(DocumentResult):
    """How far judges can be talked round (`honestone.audit/1`). `below`: those that do not reach the
    tier that was asked for.
    """

    heads = ("judge", "tier", "reason")
    report: AuditDoc
    below: Sequence[str] = ()

    @property
    def judges(self) -> Sequence[AuditedJudgeDoc]:
        return self.report.judges

    @property
    def verdict(self) -> str:
        """`fail` below the tier that was asked for, `inconclusive` where a judge has none."""
        if self.below:
            return _FAIL
        return _PASS if all(one.tier for one in self.judges) else _OPEN

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [(one.id, one.tier, one.reason) for one in self.judges]

    @property
    def headline(self) -> str:
        return ", ".join(f"{one.id}: {one.tier or 'not measured'}" for one in self.judges)

    def _as_struct(self) -> Struct:
        return self.report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AgreementResult(DocumentResult):
    """How far raters agree (`honestone.agreement/1`)."""

    heads = ("rater", "other", "units", "agreement", "kappa")
    report: AgreementDoc

    @property
    def verdict(self) -> str:
        return _PASS

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [(one.a, one.b, one.n, one.exact, one.cohen_kappa) for one in self.report.pairs]

    @property
    def headline(self) -> str:
        raters = ", ".join(self.report.raters)
        return f"{self.report.units} units by {raters}, {self.report.missing} cells missing"

    def _as_struct(self) -> Struct:
        return self.report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RecordedResult(DocumentResult):
    """A recorded run: the document that `honestone show --json` prints. `cards`: of a run over
    artifacts, one of each.
    """

    report: Struct
    stated: str
    name: str
    cards: Sequence[ScorecardDoc] = ()

    @property
    def heads(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("artifact", "verdict", "score") if self.cards else ("key", "value")

    @property
    def verdict(self) -> str:
        return self.stated

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        if self.cards:
            return [(one.artifact.path, one.verdict, one.score) for one in self.cards]
        return [(key, value) for key, value in self.document.items() if _is_short(value)]

    @property
    def headline(self) -> str:
        return f"{self.stated}: {self.name}"

    def _as_struct(self) -> Struct:
        return self.report


def _is_short(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
