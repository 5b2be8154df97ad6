"""The scores of a card as a table for the terminal: a row a criterion, a column a judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from honestone.core.numbers import Number, bar_number, points, score_or_interval
from honestone.report.documents import scorecard
from honestone.system.drawing import Style, bar, count, cut_middle, line, pad, width, wrap

MOST_ROWS: Final = 60  # criteria drawn; a tree of thousands is for the JSON
STACKED_BELOW: Final = 58  # columns; narrower pages put the bar under the name
_LOOKS: Final = {"pass": ("yes", "green"), "fail": ("no", "red"), "skipped": ("absent", "dim")}


def verdict_look(verdict: str) -> tuple[str, str]:
    """The glyph and the colour of a verdict."""
    return _LOOKS.get(verdict, ("unknown", "yellow"))


class _Row(Struct, frozen=True, kw_only=True):
    """One line of the table: a criterion, or the overall score above them."""

    label: str
    score: str
    interval: tuple[Number, Number] | None
    bar_at: Number | None = None
    weight: str = ""
    notes: tuple[str, ...] = ()
    by_judge: tuple[tuple[str, str], ...] = ()
    apart: Number | None = None
    look: str = "green"
    is_main: bool = False


def score_table(doc: scorecard.ScorecardDoc, style: Style) -> list[str]:
    """The overall score and every criterion, bars under each other."""
    depth = scorecard.depths(doc.criteria)
    shown, hidden = _worth_showing(doc.criteria, depth)
    looks = scorecard.looks_given(doc.judges, doc.criteria)
    rows = [overall_row(doc), *(_criterion_row(one, depth[one.id], looks) for one in shown)]
    lines = _stacked(rows, style) if style.columns < STACKED_BELOW else _aligned(rows, style)
    if hidden:
        lines.append(
            f"  {count(hidden, 'more criterion', 'more criteria')} at or above the floor; --json has them all"
        )
    return lines


def _worth_showing(
    criteria: Sequence[scorecard.CriterionDoc], depth: Mapping[str, int]
) -> tuple[list[scorecard.CriterionDoc], int]:
    """All of them, or of very many the top of the tree and what is below its floor or unknown."""
    if len(criteria) <= MOST_ROWS:
        return list(criteria), 0
    shown = [one for one in criteria if not depth[one.id] or one.below_floor or one.score is None]
    shown = shown[:MOST_ROWS]
    return shown, len(criteria) - len(shown)


def overall_row(doc: scorecard.ScorecardDoc) -> _Row:
    _, look = verdict_look(doc.verdict)
    return _Row(
        label="overall",
        score=score_or_interval(doc.score, doc.interval),
        interval=_ends(doc),
        bar_at=doc.threshold,
        look="green" if look == "dim" else look,
        is_main=True,
    )


def _criterion_row(one: scorecard.CriterionDoc, depth: int, looks: Sequence[str]) -> _Row:
    judged = tuple(_judged(one.by_judge, looks))
    return _Row(
        label="  " * depth + line(one.id),
        score=score_or_interval(one.score, one.interval) if one.applies else "n/a",
        interval=_ends(one) if one.applies else None,
        bar_at=one.needs,
        weight=bar_number(one.weight),
        notes=tuple(one.state_notes()),
        by_judge=judged if len(judged) > 1 else (),
        apart=one.spread if one.spread is not None and one.spread > scorecard.APART else None,
        look=_criterion_look(one),
    )


def _judged(
    by_judge: Mapping[str, Number | None], looks: Sequence[str]
) -> Iterator[tuple[str, str]]:
    for judge, cells in scorecard.look_cells(by_judge, looks).items():
        yield line(judge), " ".join(cells)


def _ends(thing: scorecard.ScorecardDoc | scorecard.CriterionDoc) -> tuple[Number, Number] | None:
    if thing.interval:
        return thing.interval[0], thing.interval[1]
    return None if thing.score is None else (thing.score, thing.score)


def _criterion_look(one: scorecard.CriterionDoc) -> str:
    if one.is_penalty or one.below_floor or (one.required and one.score == 0):
        return "red"
    return "yellow" if one.score is None else "green"


def _aligned(rows: Sequence[_Row], style: Style) -> list[str]:
    label = min(max(width(row.label) for row in rows), max(12, style.columns * 3 // 10))
    score = max(5, *(width(row.score) for row in rows))
    needs = max(5, *(width(_needs(row)) for row in rows))
    weight = max((width(row.weight) for row in rows), default=0)
    weight = max(weight, 6) if weight else 0
    judges = _judge_columns(rows)
    fixed = 2 + label + 2 + 2 + score + 2 + needs + (2 + weight if weight else 0)
    note = max(width(_note(row)) for row in rows)
    tally = sum(2 + size for _, size in judges)
    if style.columns - fixed - tally - (2 + note if note else 0) < 14:
        judges, tally = [], 0
    cells = max(8, min(30, style.columns - fixed - tally - (2 + note if note else 0)))
    head = f"  {pad('', label)}  {pad('', cells)}  {pad('score', score, right=True)}  {pad('needs', needs, right=True)}"
    head += f"  {pad('weight', weight, right=True)}" if weight else ""
    head += "".join("  " + pad(name, size, right=True) for name, size in judges)
    lines = [style.paint(head.rstrip(), "dim")]
    for row in rows:
        name = pad(row.label, label, more=style.glyph("more"))
        line_of = (
            f"  {style.paint(name, 'bold') if row.is_main else name}  {bar_of(row, cells, style)}"
        )
        line_of += "  " + painted_score(row, score, style)
        line_of += "  " + style.paint(pad(_needs(row), needs, right=True), "dim")
        if weight:
            line_of += "  " + style.paint(pad(row.weight, weight, right=True), "dim")
        scores = dict(row.by_judge)
        for judge, size in judges:
            score_of = scores.get(judge, "")
            line_of += "  " + pad(score_of, size, right=True)
        note_text = _note(row)
        if note_text and style.columns - fixed - tally - cells - 2 >= width(note_text):
            lines.append(line_of + "  " + _painted_note(row, style))
        else:
            lines.append(line_of)
            lines += [" " * (4 + label) + _painted_note(row, style)] if note_text else []
        lines += _judges_below(row, style, indent=4 + label, with_scores=not judges)
    return lines


def _stacked(rows: Sequence[_Row], style: Style) -> list[str]:
    lines = []
    score = max(width(row.score) for row in rows)
    cells = max(6, min(24, style.columns - 4 - 2 - score - 6))
    for row in rows:
        weight = f"weight {row.weight}" if row.weight else ""
        left = style.columns - 2 - (width(weight) + 2 if weight else 0)
        name = pad(row.label, left, more=style.glyph("more"))
        lines.append(
            f"  {style.paint(name, 'bold') if row.is_main else name}"
            + (f"  {style.paint(weight, 'dim')}" if weight else "")
        )
        needs = f"/{_needs(row)}" if _needs(row) else ""
        lines.append(
            f"    {bar_of(row, cells, style)}  {painted_score(row, score, style)}{style.paint(needs, 'dim')}"
        )
        lines += ["    " + _painted_note(row, style)] if row.notes else []
        lines += _judges_below(row, style, indent=4, with_scores=True)
    return lines


def _needs(row: _Row) -> str:
    return bar_number(row.bar_at) if row.bar_at else ""


def _note(row: _Row) -> str:
    return ", ".join(row.notes)


def _painted_note(row: _Row, style: Style) -> str:
    return style.paint(
        _note(row),
        "red" if row.look == "red" and "penalty, not incurred" not in row.notes else "dim",
    )


def bar_of(row: _Row, cells: int, style: Style) -> str:
    if row.interval is None:
        return pad(style.glyph("absent"), cells)
    low, high = row.interval
    return bar(style, cells, low, high, mark=row.bar_at, look=row.look)


def painted_score(row: _Row, columns: int, style: Style) -> str:
    looks = (row.look, "bold") if row.is_main or row.look != "green" else ()
    return style.paint(pad(row.score, columns, right=True), *looks)


def _judge_columns(rows: Sequence[_Row]) -> list[tuple[str, int]]:
    """A column per judge when there are two to four with short names; otherwise they go below each
    row.
    """
    names = list(dict.fromkeys(judge for row in rows for judge, _ in row.by_judge))
    if not 2 <= len(names) <= 4 or any(width(name) > 10 for name in names):
        return []
    widths = {name: max(5, width(name)) for name in names}
    for judge, scores in (by for row in rows for by in row.by_judge):
        widths[judge] = max(widths[judge], len(scores))
    return list(widths.items())


def _judges_below(row: _Row, style: Style, *, indent: int, with_scores: bool) -> list[str]:
    parts = []
    if with_scores:
        parts = [
            f"{cut_middle(judge, 24, style.glyph('more'))} {scores}"
            for judge, scores in row.by_judge
        ]
    if row.apart is not None:
        parts.append(f"judges {points(row.apart)} apart")
    if not parts:
        return []
    rows = wrap(style.glyph("between").join(parts), style.columns, first=" " * indent)
    return [style.paint(one, "yellow" if row.apart is not None else "dim") for one in rows]
