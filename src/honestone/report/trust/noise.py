"""The noise of a panel (`honestone.noise/1`), for people."""

from __future__ import annotations

from typing import Final

from honestone.core.numbers import percent
from honestone.report.documents.trust.noise import NoiseDoc, NoisyCriterionDoc, SpreadDoc
from honestone.report.trust.figures import FigureReport, FigureRow, FigureTable
from honestone.system.drawing import count

_HEADS: Final = ("looks", "mean", "sd")


def noise_figures(doc: NoiseDoc) -> FigureReport:
    """What the report on a panel's noise says."""
    return FigureReport(
        title="Noise",
        subject=doc.artifact.path,
        headline=_headline(doc),
        facts=[("", fact) for fact in _facts(doc)],
        tables=[FigureTable(heads=_HEADS, rows=_rows(doc), figure_width=8, least_names=16)],
        run=doc.run or None,
    )


def _headline(doc: NoiseDoc) -> str:
    if doc.tolerance is None:
        return "could not be measured"
    return f"changes under {doc.tolerance:.1f} points are noise here"


def _facts(doc: NoiseDoc) -> list[str]:
    verdicts = doc.verdict
    counts = [
        f"{number} {name}"
        for name, number in (("passed", verdicts.passed), ("failed", verdicts.fail))
        if number
    ]
    counts += [f"{verdicts.inconclusive} inconclusive"] if verdicts.inconclusive else []
    flips = (
        ""
        if verdicts.flip_rate is None
        else f": two looks differ in {percent(verdicts.flip_rate)} of pairs"
    )
    return [
        f"{count(doc.n, 'look')} at the same bytes: {', '.join(counts) or 'none'}{flips}",
        f"the panel scores {_one_place(doc.overall.mean)} on average, standard deviation {_one_place(doc.overall.sd)}",
        f"{count(doc.usage.judge_calls, 'judge call')}",
    ]


def _rows(doc: NoiseDoc) -> list[FigureRow]:
    rows = [FigureRow("panel", [str(doc.n), *_cells(doc.overall)])]
    for judge in doc.judges:
        rows.append(FigureRow(judge.id, [str(judge.looks), *_cells(judge.overall)]))
        rows += [FigureRow(f"  {one.id}", ["", *_cells(one)]) for one in judge.criteria]
    return rows


def _cells(one: SpreadDoc | NoisyCriterionDoc) -> tuple[str, str]:
    return _one_place(one.mean), _one_place(one.sd)


def _one_place(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1f}"
