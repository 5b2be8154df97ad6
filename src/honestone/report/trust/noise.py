"""The noise of a panel (`honestone.noise/1`), for people."""

from __future__ import annotations

from typing import Final

from honestone.core.numbers import percent
from honestone.report.documents.trust.noise import NoiseDoc, NoisyCriterionDoc, SpreadDoc
from honestone.report.pages.markdown import measured_markdown
from honestone.report.trust.figures import FigureRow, figure_lines
from honestone.system.drawing import Style, count, line, width

PLAIN: Final = Style()
_HEADS: Final = ("looks", "mean", "sd")


def noise_text(doc: NoiseDoc, style: Style = PLAIN) -> str:
    lines = [
        style.paint(f"{line(doc.artifact.path)}: {_headline(doc)}", "bold"),
        *(f"  {fact}" for fact in _facts(doc)),
        "",
    ]
    rows = _rows(doc)
    left = min(max(width(name) for name, _ in rows), max(16, style.columns - 30))
    lines += figure_lines(_HEADS, rows, [8] * len(_HEADS), left, style)
    return style.finish(
        [*lines, *([f"  again   honestone show {line(doc.run)}"] if doc.run else [])]
    )


def noise_markdown(doc: NoiseDoc) -> str:
    return measured_markdown(
        "noise", doc=doc, headline=_headline(doc), facts=_facts(doc), heads=_HEADS, rows=_rows(doc)
    )


def _headline(doc: NoiseDoc) -> str:
    if doc.tolerance is None:
        return "could not be measured"
    return f"changes under {doc.tolerance:.1f} points are noise here"


def _facts(doc: NoiseDoc) -> list[str]:
    found = doc.verdict
    counts = [
        f"{number} {name}"
        for name, number in (("passed", found.passed), ("failed", found.fail))
        if number
    ]
    counts += [f"{found.inconclusive} inconclusive"] if found.inconclusive else []
    flips = (
        ""
        if found.flip_rate is None
        else f": two looks differ in {percent(found.flip_rate)} of pairs"
    )
    return [
        f"{count(doc.n, 'look')} at the same bytes: {', '.join(counts) or 'none'}{flips}",
        f"the panel scores {_number(doc.overall.mean)} on average, standard deviation {_number(doc.overall.sd)}",
        f"{count(doc.usage.judge_calls, 'judge call')}",
    ]


def _rows(doc: NoiseDoc) -> list[FigureRow]:
    rows: list[FigureRow] = [("panel", [str(doc.n), *_cells(doc.overall)])]
    for judge in doc.judges:
        rows.append((judge.id, [str(judge.looks), *_cells(judge.overall)]))
        rows += [(f"  {one.id}", ["", *_cells(one)]) for one in judge.criteria]
    return rows


def _cells(one: SpreadDoc | NoisyCriterionDoc) -> tuple[str, str]:
    return _number(one.mean), _number(one.sd)


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1f}"
