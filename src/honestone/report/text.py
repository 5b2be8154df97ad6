"""A scorecard for the terminal: the verdict and why, a bar per criterion, what is missing, who judged, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from honestone.report.draw import (
    Number,
    Style,
    bar,
    bar_number,
    count,
    cut,
    cut_middle,
    line,
    pad,
    points,
    score_or_interval,
    width,
    wrap,
)
from honestone.report.words import (
    APART,
    Doc,
    applies,
    artifact_path,
    depths,
    evidence_share,
    evidence_words,
    flags_to_show,
    is_improvable,
    is_problem,
    is_unanswered,
    is_whole,
    judge_is_absent,
    order_of,
    requirement,
    run_id,
    scale_words,
    suggestions,
    usage_parts,
    verdict_words,
    votes_by_answer,
    warnings,
)

PLAIN: Final = Style()
MOST_ROWS: Final = 60  # criteria drawn; a tree of thousands is for the JSON
MOST_ITEMS: Final = 40
MOST_DETAILS: Final = 20  # artifacts shown in full when many did not pass
STACKED_BELOW: Final = 58  # columns; narrower pages put the bar under the name

_MARKS: Final = {
    "pass": ("yes", "green"),
    "fail": ("no", "red"),
    "inconclusive": ("unknown", "yellow"),
    "skipped": ("absent", "dim"),
}


def scorecard_text(doc: Doc, style: Style = PLAIN) -> str:
    """One artifact's scorecard (`honestone.scorecard/1`)."""
    sections = [
        headline(doc, style),
        score_table(doc, style),
        *findings(doc, style),
        remarks(doc, style),
        judge_table(doc.get("judges") or [], style),
        footer(doc, style),
    ]
    return style.finish(join_sections(sections))


def scorecards_text(docs: Sequence[Doc], style: Style = PLAIN) -> str:
    """Several artifacts: one line each, then what those that did not pass are missing."""
    if len(docs) == 1:
        return scorecard_text(docs[0], style)
    open_ones = [doc for doc in docs if doc["verdict"] in ("fail", "inconclusive")]
    sections = [_overview(docs, style)]
    for doc in open_ones[:MOST_DETAILS]:
        sections += [headline(doc, style), score_table(doc, style), *findings(doc, style), remarks(doc, style)]
    if len(open_ones) > MOST_DETAILS:
        hidden = len(open_ones) - MOST_DETAILS
        sections.append([f"{count(hidden, 'more artifact')} did not pass; --json has them all"])
    if docs:
        sections.append(judge_table(_common_judges(docs), style))
    sections.append([_tally(docs, style), *usage_line(_summed_usage(docs), style)])
    return style.finish(join_sections(sections))


def join_sections(sections: Sequence[Sequence[str]]) -> list[str]:
    """The sections that have something to say, an empty line between them."""
    lines: list[str] = []
    for section in sections:
        if section:
            lines += ["", *section] if lines else section
    return lines


# ------------------------------------------------------------------------------------------------------------ the top


def headline(doc: Doc, style: Style) -> list[str]:
    """The verdict, of what, against what, and every reason."""
    glyph, look = _MARKS.get(doc["verdict"], ("unknown", "yellow"))
    return verdict_lines(
        style, glyph, look, verdict_words(doc), doc, reasons=[line(one) for one in doc.get("reasons") or ()]
    )


def verdict_lines(style: Style, glyph: str, look: str, words: str, doc: Doc, *, reasons: Sequence[str]) -> list[str]:
    said = f"{style.glyph(glyph)} {words}"
    path = artifact_path(doc)
    if width(said) + 2 + width(path) <= style.columns:
        lines = [style.paint(said, look, "bold") + "  " + path]
    else:
        lines = [style.paint(said, look, "bold"), "  " + cut_middle(path, style.columns - 2, style.glyph("more"))]
    if doc.get("title"):
        lines += [style.paint(one, "dim") for one in wrap(line(doc["title"]), style.columns, first="  ")]
    for reason in reasons:
        lines += wrap(reason, style.columns, first=f"  {style.glyph('dot')} ")
    return lines


# ------------------------------------------------------------------------------------------------------------ the bars


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table: a criterion, or the overall score above them."""

    label: str
    score: str
    interval: tuple[Number, Number] | None
    bar_at: Number | None = None
    weight: str = ""
    notes: tuple[str, ...] = ()
    by_judge: tuple[tuple[str, Number | None], ...] = ()
    apart: Number | None = None
    look: str = "green"
    is_main: bool = False


def score_table(doc: Doc, style: Style) -> list[str]:
    """The overall score and every criterion, bars under each other."""
    criteria = doc.get("criteria") or []
    depth = depths(criteria)
    shown, hidden = _worth_showing(criteria, depth)
    rows = [_overall_row(doc), *(_criterion_row(one, depth[one["id"]]) for one in shown)]
    lines = draw_rows(rows, style)
    if hidden:
        lines.append(f"  {count(hidden, 'more criterion', 'more criteria')} at or above the floor; --json has them all")
    return lines


def _worth_showing(criteria: Sequence[Doc], depth: dict[str, int]) -> tuple[list[Doc], int]:
    """All of them, or of very many the top of the tree and what is below its floor or unknown."""
    if len(criteria) <= MOST_ROWS:
        return list(criteria), 0
    kept = [one for one in criteria if not depth[one["id"]] or one.get("below_floor") or one.get("score") is None]
    kept = kept[:MOST_ROWS]
    return kept, len(criteria) - len(kept)


def _overall_row(doc: Doc) -> Row:
    look = _MARKS.get(doc["verdict"], ("", "yellow"))[1]
    return Row(
        label="overall",
        score=score_or_interval(doc.get("score"), doc.get("interval")),
        interval=_interval(doc),
        bar_at=doc.get("threshold"),
        look="green" if look == "dim" else look,
        is_main=True,
    )


def _criterion_row(one: Doc, depth: int) -> Row:
    here = applies(one)
    judged = tuple((line(judge), score) for judge, score in (one.get("by_judge") or {}).items())
    spread = one.get("spread")
    return Row(
        label="  " * depth + line(one["id"]),
        score=score_or_interval(one.get("score"), one.get("interval")) if here else "n/a",
        interval=_interval(one) if here else None,
        bar_at=one.get("floor") or None,
        weight=bar_number(one.get("weight")),
        notes=_notes(one),
        by_judge=judged if len(judged) > 1 else (),
        apart=spread if spread is not None and spread > APART else None,
        look=_criterion_look(one),
    )


def _interval(thing: Doc) -> tuple[Number, Number] | None:
    if thing.get("interval"):
        low, high = thing["interval"]
        return low, high
    score = thing.get("score")
    return None if score is None else (score, score)


def _notes(one: Doc) -> tuple[str, ...]:
    notes = []
    if not applies(one):
        return ("does not apply",)
    if one.get("below_floor"):
        notes.append("below floor")
    if one.get("required"):
        notes.append("required")
    if one.get("is_penalty"):
        notes.append("penalty incurred" if one.get("score") else "penalty, not incurred")
    return tuple(notes)


def _criterion_look(one: Doc) -> str:
    if one.get("is_penalty"):
        return "red"
    if one.get("below_floor") or (one.get("required") and one.get("score") == 0):
        return "red"
    return "yellow" if one.get("score") is None else "green"


def draw_rows(rows: Sequence[Row], style: Style) -> list[str]:
    """Rows as aligned columns, or on narrow pages as a name with its bar below."""
    return _stacked(rows, style) if style.columns < STACKED_BELOW else _aligned(rows, style)


def _aligned(rows: Sequence[Row], style: Style) -> list[str]:
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
        line_of = f"  {style.paint(name, 'bold') if row.is_main else name}  {_bar_of(row, cells, style)}"
        line_of += "  " + _score_of(row, score, style)
        line_of += "  " + style.paint(pad(_needs(row), needs, right=True), "dim")
        if weight:
            line_of += "  " + style.paint(pad(row.weight, weight, right=True), "dim")
        given = dict(row.by_judge)
        for judge, size in judges:
            told = points(given[judge]) if judge in given else ""
            line_of += "  " + pad(told, size, right=True)
        told_note = _note(row)
        if told_note and style.columns - fixed - tally - cells - 2 >= width(told_note):
            lines.append(line_of + "  " + _painted_note(row, style))
        else:
            lines.append(line_of)
            lines += [" " * (4 + label) + _painted_note(row, style)] if told_note else []
        lines += _judges_below(row, style, indent=4 + label, with_scores=not judges)
    return lines


def _stacked(rows: Sequence[Row], style: Style) -> list[str]:
    lines = []
    score = max(width(row.score) for row in rows)
    cells = max(6, min(24, style.columns - 4 - 2 - score - 6))
    for row in rows:
        told = f"weight {row.weight}" if row.weight else ""
        room = style.columns - 2 - (width(told) + 2 if told else 0)
        name = pad(row.label, room, more=style.glyph("more"))
        lines.append(
            f"  {style.paint(name, 'bold') if row.is_main else name}"
            + (f"  {style.paint(told, 'dim')}" if told else "")
        )
        needs = f"/{_needs(row)}" if _needs(row) else ""
        lines.append(f"    {_bar_of(row, cells, style)}  {_score_of(row, score, style)}{style.paint(needs, 'dim')}")
        lines += ["    " + _painted_note(row, style)] if row.notes else []
        lines += _judges_below(row, style, indent=4, with_scores=True)
    return lines


def _needs(row: Row) -> str:
    return bar_number(row.bar_at) if row.bar_at else ""


def _note(row: Row) -> str:
    return ", ".join(row.notes)


def _painted_note(row: Row, style: Style) -> str:
    return style.paint(_note(row), "red" if row.look == "red" and "penalty, not incurred" not in row.notes else "dim")


def _bar_of(row: Row, cells: int, style: Style) -> str:
    if row.interval is None:
        return pad(style.glyph("absent"), cells)
    low, high = row.interval
    return bar(style, cells, low, high, mark=row.bar_at, look=row.look)


def _score_of(row: Row, columns: int, style: Style) -> str:
    looks = (row.look, "bold") if row.is_main or row.look != "green" else ()
    return style.paint(pad(row.score, columns, right=True), *looks)


def _judge_columns(rows: Sequence[Row]) -> list[tuple[str, int]]:
    """A column per judge when there are two to four with short names; otherwise they go below each row."""
    names = list(dict.fromkeys(judge for row in rows for judge, _ in row.by_judge))
    if not 2 <= len(names) <= 4 or any(width(name) > 10 for name in names):
        return []
    return [(name, max(5, width(name))) for name in names]


def _judges_below(row: Row, style: Style, *, indent: int, with_scores: bool) -> list[str]:
    parts = []
    if with_scores:
        parts = [f"{cut_middle(judge, 24, style.glyph('more'))} {points(score)}" for judge, score in row.by_judge]
    if row.apart is not None:
        parts.append(f"judges {points(row.apart)} apart")
    if not parts:
        return []
    told = wrap(style.glyph("between").join(parts), style.columns, first=" " * indent)
    return [style.paint(one, "yellow" if row.apart is not None else "dim") for one in told]


# ------------------------------------------------------------------------------------------------------------ the items


def findings(doc: Doc, style: Style) -> list[list[str]]:
    """What is not met, what nobody answered, and what is met, but not in full."""
    criteria = doc.get("criteria") or []
    return [
        _item_section("Not met", "no", criteria, style, lambda _, item: is_problem(item)),
        _item_section("Not answered", "unknown", criteria, style, lambda _, item: is_unanswered(item)),
        _item_section("Met, but not in full", "split", criteria, style, is_improvable),
    ]


def _item_section(
    title: str, glyph: str, criteria: Sequence[Doc], style: Style, belongs: Callable[[Doc, Doc], bool]
) -> list[str]:
    found = [(criterion, item) for criterion, item in order_of(criteria) if belongs(criterion, item)]
    if not found:
        return []
    lines = [style.paint(title, "bold")]
    last: str | None = None
    for criterion, item in found[:MOST_ITEMS]:
        whole = is_whole(criterion, item)
        if criterion["id"] != last and not whole:
            lines.append("  " + _criterion_heading(criterion, style))
        last = criterion["id"]
        lines += _item_lines(criterion, item, glyph, style, whole=whole)
    if len(found) > MOST_ITEMS:
        lines.append(f"  and {len(found) - MOST_ITEMS:,} more; --json has them all")
    return lines


def _criterion_heading(criterion: Doc, style: Style) -> str:
    name = cut(line(criterion["id"]), style.columns - 2, style.glyph("more"))
    asked = line(criterion.get("requirement") or "")
    room = style.columns - 2 - width(name) - 2
    if not asked or asked == name or room < 16:
        return style.paint(name, "cyan")
    return style.paint(name, "cyan") + "  " + style.paint(cut(asked, room, style.glyph("more")), "dim")


def _item_lines(criterion: Doc, item: Doc, glyph: str, style: Style, *, whole: bool) -> list[str]:
    look = "red" if glyph == "no" else "yellow"
    indent = "  " if whole else "    "
    said = "penalty incurred: " if criterion.get("is_penalty") and glyph == "no" else ""
    name = f"{line(criterion['id'])}: " if whole else ""
    asked = wrap(said + name + requirement(item), style.columns - 2 - len(indent))
    lines = [
        f"{indent}{style.paint(style.glyph(glyph), look, 'bold')} {asked[0]}",
        *(f"{indent}  {one}" for one in asked[1:]),
    ]
    under = indent + "    "
    votes = _vote_words(item, style)
    if votes and len(asked) == 1 and len(indent) + 2 + width(asked[0]) + 3 + width(votes) <= style.columns:
        lines[0] += "   " + style.paint(votes, "dim")
    elif votes:
        lines += [style.paint(one, "dim") for one in wrap(votes, style.columns, first=under, rest=under)]
    if item.get("note"):
        lines += [
            style.paint(one, "dim") for one in wrap(line(item["note"], 300), style.columns, first=under, rest=under)
        ]
    for quote in item.get("evidence") or ():
        lines += _quote_lines(quote, style, under)
    for judge, text in suggestions(item):
        told = f"{text} ({_short(judge, style)})" if judge else text
        lines += wrap(told, style.columns, first=f"{under}{style.glyph('arrow')} ", most=6, more=style.glyph("more"))
    return lines


def _vote_words(item: Doc, style: Style) -> str:
    """`no: codex, gemini; yes: claude`, or the marks on their scale."""
    groups = votes_by_answer(item)
    if item.get("kind") == "anchors" and groups:
        marks = ", ".join(f"{_short(judge, style)} {answer}" for answer, judges in groups for judge in judges)
        return f"{marks} (on {scale_words(item)})" if scale_words(item) else marks
    return "; ".join(f"{answer}: {', '.join(_short(one, style) for one in judges)}" for answer, judges in groups)


def _quote_lines(quote: Doc, style: Style, under: str) -> list[str]:
    words = line(quote.get("quote") or "", 400)
    where = ", ".join(one for one in (_short(line(quote.get("judge") or ""), style), evidence_words(quote)) if one)
    told = f"{words}{style.glyph('close')}" + (f" ({where})" if where else "")
    lines = wrap(told, style.columns, first=under + style.glyph("open"), rest=under + " ", more=style.glyph("more"))
    return [style.paint(one, "yellow" if quote.get("found") is False else "") for one in lines]


def _short(judge: str, style: Style) -> str:
    return cut_middle(judge, 32, style.glyph("more"))


# ------------------------------------------------------------------------------------------------------------ the rest


def remarks(doc: Doc, style: Style) -> list[str]:
    """LOW CONFIDENCE, SELF-EVALUATED, flags, and how much evidence was found."""
    lines = []
    for name, why in warnings(doc):
        first, *more = wrap(why, style.columns, first=f"{style.glyph('warn')} {name}  ", rest=" " * 4)
        lines += [style.paint(first, "yellow", "bold"), *more]
    for flag in flags_to_show(doc):
        lines += [style.paint(one, "yellow") for one in wrap(flag, style.columns, first=f"{style.glyph('warn')} ")]
    for note in doc.get("notes") or ():
        lines += wrap(line(note), style.columns, first=f"{style.glyph('dot')} ")
    share = evidence_share(doc)
    return lines + (wrap(f"evidence: {share}", style.columns, first="  ") if share else [])


def judge_table(judges: Sequence[Doc], style: Style) -> list[str]:
    """Who judged, who could not and why, and what was wrong with a reply."""
    if not judges:
        return []
    names = [_judge_name(one, style) for one in judges]
    size = min(max(map(width, names)), max(6, style.columns // 2 - 9))
    lines = [style.paint("Judges", "bold")]
    for one, name in zip(judges, names, strict=True):
        glyph, look = _STATE_MARKS.get(one["state"], ("absent", "dim"))
        start = f"  {style.paint(style.glyph(glyph), look)} {pad(cut_middle(name, size, style.glyph('more')), size)}  "
        said = pad(line(one["state"]), 9) + "  "
        taken = 4 + size + 2
        why = wrap(
            line(one.get("reason") or "", 400), style.columns - taken, first=said, most=4, more=style.glyph("more")
        )
        lines += [start + why[0], *(" " * taken + rest for rest in why[1:])]
        lines += _problem_lines(one.get("problems") or [], style)
    return lines


_STATE_MARKS: Final = {"AVAILABLE": ("yes", "green"), "DEGRADED": ("warn", "yellow")}


def _judge_name(judge: Doc, style: Style) -> str:
    name, family = line(judge["id"]), line(judge.get("family") or "")
    return f"{name} ({family})" if family and family not in name and style.columns >= STACKED_BELOW else name


def _problem_lines(problems: Sequence[Any], style: Style) -> list[str]:
    lines = []
    for problem in problems[:3]:
        told = wrap(
            line(problem, 300), style.columns, first=f"      {style.glyph('dot')} ", most=3, more=style.glyph("more")
        )
        lines += [style.paint(one, "dim") for one in told]
    if len(problems) > 3:
        lines.append(style.paint(f"      {style.glyph('dot')} and {len(problems) - 3} more", "dim"))
    return lines


def footer(doc: Doc, style: Style) -> list[str]:
    """What it cost, where it is kept, and what to type next."""
    lines = usage_line(doc.get("usage"), style)
    run = run_id(doc)
    if run:
        lines += next_line("again", f"honestone show {run}", style)
    if doc["verdict"] == "fail":
        lines += next_line("next", improve_command(doc), style)
    if doc["verdict"] == "inconclusive" and any(map(judge_is_absent, doc.get("judges") or [])):
        lines += next_line("next", "honestone doctor", style)
    return lines


def improve_command(doc: Doc, worker: object = None) -> str:
    """The command that would improve what a scorecard is about, with the judges it had."""
    rubric = shlex.quote(line(doc["rubric"])) if isinstance(doc.get("rubric"), str) else "RUBRIC"
    words = ["honestone improve", shlex.quote(artifact_path(doc)), "--rubric", rubric]
    if isinstance(worker, str) and worker:
        words += ["--worker", shlex.quote(line(worker))]
    elif not doc.get("has_fixes"):
        words += ["--worker WORKER"]
    for judge in doc.get("judges") or ():
        if "#" not in judge["id"]:  # a second look of one that is named already
            words += ["--judge", shlex.quote(line(judge["id"]))]
    return " ".join(words)


def next_line(name: str, command: str, style: Style) -> list[str]:
    """A command to type. It is never wrapped: it has to survive copying."""
    return [style.paint(f"{name:<8}", "dim") + command]


def usage_line(usage: Doc | None, style: Style, *, whole_run: bool = False) -> list[str]:
    parts = usage_parts(usage, whole_run=whole_run)
    if not parts:
        return []
    told = wrap(style.glyph("between").join(parts), style.columns, first="spent   ", rest=" " * 8)
    return [style.paint(one, "dim") for one in told]


# ------------------------------------------------------------------------------------------------- several artifacts


def _overview(docs: Sequence[Doc], style: Style) -> list[str]:
    """One line an artifact: verdict, name, bar, score and the first reason."""
    more = style.glyph("more")
    name = min(max((width(artifact_path(doc)) for doc in docs), default=0), max(12, style.columns * 4 // 10))
    score = max((width(_overall_row(doc).score) for doc in docs), default=5)
    cells = min(20, style.columns - 2 - name - 2 - 2 - score)
    lines = []
    for doc in docs:
        glyph, look = _MARKS.get(doc["verdict"], ("unknown", "yellow"))
        row = _overall_row(doc)
        told = (
            f"{style.paint(style.glyph(glyph), look, 'bold')} {pad(cut_middle(artifact_path(doc), name, more), name)}"
        )
        if cells >= 6:
            told += "  " + _bar_of(row, cells, style)
        told += "  " + _score_of(row, score, style)
        room = style.columns - 2 - name - (2 + cells if cells >= 6 else 0) - 2 - score - 2
        reasons = doc.get("reasons") or []
        if room >= 16 and reasons and doc["verdict"] != "pass":
            told += "  " + style.paint(cut(line(reasons[0]), room, more), "dim")
        lines.append(told)
    return lines


def _tally(docs: Sequence[Doc], style: Style) -> str:
    passed = sum(doc["verdict"] == "pass" for doc in docs)
    parts = [f"{passed:,} of {len(docs):,} passed"]
    for verdict, words in (("fail", "did not pass"), ("inconclusive", "could not be judged"), ("skipped", "skipped")):
        number = sum(doc["verdict"] == verdict for doc in docs)
        parts += [f"{number:,} {words}"] if number else []
    return style.paint(style.glyph("between").join(parts), "bold")


def _common_judges(docs: Sequence[Doc]) -> list[Doc]:
    """Each judge once, in its worst state: one artifact that it failed on must not hide behind the others."""
    worst: dict[str, Doc] = {}
    for doc in docs:
        for judge in doc.get("judges") or ():
            known = worst.get(judge["id"])
            if known is None or (judge_is_absent(judge) and not judge_is_absent(known)):
                worst[judge["id"]] = judge
    return list(worst.values())


def _summed_usage(docs: Sequence[Doc]) -> Doc | None:
    """What all of it cost: each artifact's usage is what was spent on it."""
    spent = [doc["usage"] for doc in docs if doc.get("usage")]
    if not spent:
        return None
    keys = ("judge_calls", "cached_calls", "worker_calls", "input_tokens", "output_tokens")
    total: dict[str, Any] = {key: sum(one.get(key) or 0 for one in spent) for key in keys}
    costs = [one.get("usd") for one in spent if one.get("judge_calls") or one.get("worker_calls")]
    total["usd"] = None if None in costs else sum(cost for cost in costs if cost is not None)
    return total
