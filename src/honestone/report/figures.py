"""Figures for notebooks, drawn with matplotlib (the extra `plots`). A figure is shown where it is
the value of a cell, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING

from honestone.core.errors import UsageError
from honestone.report.documents.improvement import ImprovementDoc
from honestone.report.documents.trust.calibration import CalibrationDoc
from honestone.report.documents.trust.noise import NoiseDoc, SpreadDoc

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # type: ignore[import-not-found, unused-ignore]
    from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

_HEIGHT, _ROW, _WIDTH = 1.2, 0.4, 6.4  # inches
_LONGEST = 40  # characters of a name


def _new_figure(height: float) -> tuple[Figure, Axes]:
    """Raises UsageError where matplotlib is not installed."""
    try:
        figures = import_module("matplotlib.figure")
    except ImportError:
        raise UsageError(
            "plot() needs matplotlib, which is not installed", hint="pip install 'honestone[plots]'"
        ) from None
    # Not by pyplot, which would keep every figure and choose a window; so the notebook is told here
    # how to show one.
    figure = figures.Figure(figsize=(_WIDTH, height), layout="constrained")
    figure._repr_png_ = partial(_png_of, figure)
    return figure, figure.add_subplot()


def _png_of(figure: Figure) -> bytes:
    picture = BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def _safe(name: str) -> str:
    """A name that is text alone: matplotlib takes what is between dollar signs for mathematics."""
    shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..."
    return shown.replace("$", r"\$")


def _draw_rows(
    axes: Axes, rows: Sequence[tuple[str, float | None, Sequence[float] | None]]
) -> None:
    """A dot for each value, its interval as a line, the first row on top."""
    for at, (_, value, interval) in enumerate(rows):
        if interval is not None:
            axes.plot(list(interval), [at, at], color="tab:blue", linewidth=1.5)
        if value is not None:
            axes.plot([value], [at], "o", color="tab:blue")
    axes.set_yticks(range(len(rows)), [_safe(name) for name, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)


def calibration_figure(doc: CalibrationDoc) -> Figure:
    """Cohen's kappa of every judge, and of its criteria, with 95% intervals; a line at that of
    people.
    """
    rows: list[tuple[str, float | None, Sequence[float] | None]] = []
    for judge in doc.judges:
        rows.append((judge.id, judge.kappa, judge.kappa_interval))
        if len(judge.criteria) > 1:
            rows += [(f"  {one.id}", one.kappa, one.kappa_interval) for one in judge.criteria]
    figure, axes = _new_figure(_HEIGHT + _ROW * len(rows))
    _draw_rows(axes, rows)
    ceiling = doc.human_ceiling
    if ceiling is not None and ceiling.kappa is not None:
        axes.axvline(ceiling.kappa, color="tab:gray", linestyle="--", label="people")
        axes.legend(loc="lower left")
    axes.axvline(0, color="tab:gray", linewidth=0.5)
    axes.set_xlabel("kappa with people, 95% interval")
    return figure


def noise_figure(doc: NoiseDoc) -> Figure:
    """The mean score of every judge and of the panel, with two standard deviations to each side."""
    spreads = [*((one.id, one.overall) for one in doc.judges), ("panel", doc.overall)]
    rows = [(name, one.mean, _spread(one)) for name, one in spreads]
    figure, axes = _new_figure(_HEIGHT + _ROW * len(rows))
    _draw_rows(axes, rows)
    axes.set_xlabel(f"mean score of {doc.n} looks, and two standard deviations")
    return figure


def _spread(one: SpreadDoc) -> Sequence[float] | None:
    if one.mean is None or one.sd is None:
        return None
    return one.mean - 2 * one.sd, one.mean + 2 * one.sd


def improvement_figure(doc: ImprovementDoc) -> Figure:
    """The overall score of each round: accepted versions as a line, rejected ones as crosses."""
    start = None if doc.baseline is None else doc.baseline.score
    best: list[tuple[int, float]] = [] if start is None else [(0, start)]
    rejected: list[tuple[int, float]] = []
    for one in doc.rounds:
        if one.score_after is not None:
            accepted = one.decision == "accepted"
            (best if accepted else rejected).append((one.round, one.score_after))
    figure, axes = _new_figure(3.6)
    axes.plot([at for at, _ in best], [score for _, score in best], "o-", label="accepted")
    if rejected:
        crosses = [at for at, _ in rejected], [score for _, score in rejected]
        axes.plot(*crosses, "x", color="tab:gray", label="rejected")
    threshold = None if doc.baseline is None else doc.baseline.threshold
    if threshold is not None:
        axes.axhline(float(threshold), color="tab:gray", linestyle="--", label="threshold")
    axes.set_xlabel("round")
    axes.set_ylabel("score")
    axes.set_ylim(-2, 102)
    axes.legend(loc="lower right")
    return figure
