"""Judges measured against people (`honestone.calibration/1`), for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from honestone.core.numbers import percent
from honestone.report.documents.trust.calibration import (
    CalibratedCriterionDoc,
    CalibratedJudgeDoc,
    CalibrationDoc,
)
from honestone.report.trust.figures import FigureReport, FigureRow, FigureTable
from honestone.system.drawing import count, line

FEW: Final = 30  # labelled artifacts; with fewer the intervals are too wide to decide much

_HEADS: Final = ("units", "kappa", "alpha", "TPR", "TNR", "bias", "weight")


def calibration_figures(doc: CalibrationDoc) -> FigureReport:
    """What the report on judges measured against people says."""
    return FigureReport(
        title="Calibration",
        subject=doc.labels,
        headline=_headline(doc),
        facts=list(_facts(doc)),
        fact_names=9,
        tables=[FigureTable(heads=_HEADS, rows=list(_rows(doc)))],
        notes=list(_warnings(doc)),
        run=doc.run or None,
    )


def _headline(doc: CalibrationDoc) -> str:
    contrary = [line(judge.id) for judge in doc.judges if judge.contradicts]
    lenient = [line(judge.id) for judge in doc.judges if judge.lenient and not judge.contradicts]
    parts = []
    if lenient:
        parts.append(f"{', '.join(lenient)} {'is' if len(lenient) == 1 else 'are'} lenient")
    if contrary:
        several = "contradict" if len(contrary) > 1 else "contradicts"
        parts.append(f"{', '.join(contrary)} {several} people")
    return "; ".join(parts) or "no judge is lenient, as far as these labels show"


def _facts(doc: CalibrationDoc) -> Iterator[tuple[str, str]]:
    rate = "" if doc.base_rate is None else f", {percent(doc.base_rate)} of their answers are met"
    yield (
        "people",
        f"{count(doc.units, 'artifact')} labelled by {', '.join(map(line, doc.raters[:5])) or 'unknown'}{rate}",
    )
    if doc.human_ceiling is not None:
        ceiling = doc.human_ceiling
        share = "n/a" if ceiling.agreement is None else percent(ceiling.agreement)
        yield (
            "ceiling",
            f"people agree with each other in {share}, kappa {_two_places(ceiling.kappa)}",
        )
    panel = doc.panel
    if panel.votes > 1:
        worth = (
            ""
            if panel.effective_votes is None
            else f", worth {panel.effective_votes:.1f} independent ones"
        )
        yield (
            "panel",
            f"{count(panel.votes, 'judge')}{worth}; together kappa {_two_places(panel.kappa)}",
        )
    if panel.best_single is not None and panel.votes > 1:
        yield "best", f"{line(panel.best_single.id)}, kappa {_two_places(panel.best_single.kappa)}"
    by_id = {judge.id: judge for judge in doc.judges}
    for id in panel.drop:
        why = f": {_why(by_id[id])}" if id in by_id else ""
        yield "drop", f"{line(id)}{why}"
    for judge in doc.judges if doc.population else ():
        if judge.corrected.observed is not None:
            yield (
                "pass rate",
                f"of {count(doc.population, 'artifact')} by {line(judge.id)}: {_corrected(judge)}",
            )


def _why(judge: CalibratedJudgeDoc) -> str:
    if judge.contradicts:
        return "it contradicts people: it agrees with them less often than chance would"
    if judge.lenient:
        passes = (
            ""
            if judge.tnr is None
            else f"it passes {percent(1 - judge.tnr)} of what people find unmet, "
        )
        return f"lenient: {passes}bias {_signed(judge.bias)} points"
    if judge.kappa is not None and judge.kappa <= 0:
        return "no better than chance"
    return "without it the panel agrees with people more"


def _corrected(judge: CalibratedJudgeDoc) -> str:
    corrected, parts = judge.corrected, []
    if corrected.rogan_gladen is not None:
        parts.append(f"{percent(corrected.rogan_gladen)} (Rogan-Gladen)")
    if corrected.ppi is not None:
        parts.append(f"{percent(corrected.ppi)} (prediction-powered)")
    return f"{percent(corrected.observed)} as it says" + (
        f", put right {', '.join(parts)}" if parts else ""
    )


def _rows(doc: CalibrationDoc) -> Iterator[FigureRow]:
    for judge in doc.judges:
        yield FigureRow(judge.id, [*_cells(judge), f"{judge.weight:.2f}"])
        if len(judge.criteria) > 1:
            for one in judge.criteria:
                yield FigureRow(f"  {one.id}", [*_cells(one), ""])


def _cells(one: CalibratedJudgeDoc | CalibratedCriterionDoc) -> list[str]:
    return [
        str(one.units),
        _with_interval(one.kappa, one.kappa_interval),
        _two_places(one.alpha),
        _shares(one.tpr, one.tpr_interval),
        _shares(one.tnr, one.tnr_interval),
        _points(one.bias, one.bias_interval),
    ]


def _with_interval(value: float | None, interval: Sequence[float] | None) -> str:
    return (
        _two_places(value)
        if interval is None
        else f"{_two_places(value)} ({interval[0]:.2f} to {interval[1]:.2f})"
    )


def _shares(value: float | None, interval: Sequence[float] | None) -> str:
    if value is None or interval is None:
        return "n/a"
    return f"{100 * value:.0f}% ({100 * interval[0]:.0f}-{100 * interval[1]:.0f}%)"


def _points(value: float | None, interval: Sequence[float] | None) -> str:
    return (
        _signed(value)
        if interval is None
        else f"{_signed(value)} ({interval[0]:+.1f} to {interval[1]:+.1f})"
    )


def _signed(value: float | None) -> str:
    return "n/a" if value is None else f"{value:+.1f}"


def _two_places(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"


def _warnings(doc: CalibrationDoc) -> Iterator[str]:
    """What a person should know before relying on the figures."""
    for judge in doc.judges:
        if judge.reason:
            yield f"{line(judge.id)} did not always answer: {line(judge.reason)}"
        if judge.units and judge.tnr is None:
            yield f"{line(judge.id)}: people find nothing unmet here, so false passes cannot be seen: label some bad artifacts"
    if doc.outdated:
        yield f"{count(doc.outdated, 'label is', 'labels are')} left out: the artifact has changed since"
    if doc.units < FEW:
        yield f"{count(doc.units, 'labelled artifact')}: intervals are wide; about 50 are usual"
    if len(doc.raters) == 1:
        yield "one person labelled: a second one shows how far people agree"
    panel = doc.panel
    if panel.votes > 1 and panel.effective_votes is not None and panel.effective_votes < 1.5:
        yield "the judges err alike, so more of the same add little: add one of another family"
    best = panel.best_single
    if (
        panel.votes > 1
        and best is not None
        and panel.kappa is not None
        and (best.kappa or 0) > panel.kappa
    ):
        yield f"{line(best.id)} alone agrees with people more than the panel does"
