"""A loop for the terminal: how it ended and why, before and after, every round with its decision,
what to do next.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from honestone.core.judging.ballot import CHECK
from honestone.core.numbers import Number, bar_number, change, points, score_or_interval
from honestone.report.documents.improvement import (
    ImprovementDoc,
    RoundDoc,
    WitnessDoc,
)
from honestone.report.documents.improvement_words import result_reasons
from honestone.report.documents.scorecard import (
    CriterionDoc,
    JudgeDoc,
    ScorecardDoc,
    are_apart,
    depths,
    looks_of_judges,
)
from honestone.report.terminal.score_table import STACKED_BELOW, score_table
from honestone.report.terminal.text import (
    PLAIN,
    card_remarks,
    findings,
    improve_command,
    join_sections,
    judge_table,
    next_line,
    repeated_options,
    see_replies,
    usage_line,
    verdict_lines,
    without_option,
)
from honestone.system.drawing import Style, bar, cut, line, pad, width, wrap

_NEEDS_MORE: Final = ("ROUND_LIMIT", "PLATEAU")
_ROUND_LOOKS: Final = {
    "gain": ("yes", "green"),
    "accepted": ("dot", "dim"),
    "rejected": ("no", "red"),
    None: ("warn", "yellow"),
}
_LOOKS: Final = {
    "PASSED": ("yes", "green"),
    "UNCONFIRMED": ("unknown", "yellow"),
    "COULD_NOT_JUDGE": ("unknown", "yellow"),
    "INTERRUPTED": ("warn", "yellow"),
}


def improvement_text(doc: ImprovementDoc, style: Style = PLAIN) -> str:
    """One loop (`honestone.improvement/1`)."""
    card = doc.last_card
    sections = [
        _headline(doc, style),
        _before_and_after(doc, style),
        _rounds(doc, style),
        certification_lines(doc, style),
        *(findings(card.criteria, card.judges, style) if card else []),
        card_remarks(card, style, doc.last_flags) if card else [],
        judge_table(card.judges if card else [], style, card.criteria if card else ()),
        _advice(doc, style),
        _footer(doc, style),
    ]
    return style.finish(join_sections(sections))


def round_text(one_round: RoundDoc, style: Style = PLAIN) -> str:
    """One round as it ends: the focus, the decision and the score of every criterion, by judge."""
    lines = _round_lines(one_round, style)
    for one in one_round.criteria:
        row = f"{line(one.id)} {_arrow(one.before, one.after, style)}"
        if len(one.by_judge) > 1:
            row += (
                " ("
                + ", ".join(
                    f"{line(judge)} {' '.join(map(points, scores))}"
                    for judge, scores in looks_of_judges(one.by_judge).items()
                )
                + ")"
            )
        if are_apart(one.by_judge):
            row += ", judges disagree"
        if one.id in one_round.floor_violations:
            row += ", BELOW FLOOR"
        lines += wrap(row, style.columns, first="      ", rest="        ")
    return style.finish(lines)


# ------------------------------------------------------------------------------------------------------------
# the top


def _headline(doc: ImprovementDoc, style: Style) -> list[str]:
    glyph, look = _LOOKS.get(doc.result, ("no", "red"))
    return verdict_lines(
        style, glyph, look, doc.result_words, doc.artifact.name, doc.title, result_reasons(doc)
    )


# -------------------------------------------------------------------------------------------------
# before and after

_Scored: TypeAlias = ScorecardDoc | CriterionDoc
# A name, what it was before and is now, and its bar.
_Move: TypeAlias = tuple[str, _Scored | None, _Scored, Number | None]


def _before_and_after(doc: ImprovementDoc, style: Style) -> list[str]:
    """Two bars a criterion, or the final table alone when nothing was scored before it."""
    before, after = doc.before, doc.after
    if before is None or after is None or not doc.rounds:
        return score_table(doc.last_card, style) if doc.last_card else []
    by_id = {one.id: one for one in before.criteria}
    depth = depths(after.criteria)
    moves: list[_Move] = [("overall", before, after, after.threshold)]
    for one in after.criteria:
        moves.append(("  " * depth[one.id] + line(one.id), by_id.get(one.id), one, one.needs))
    return _move_lines(moves, style)


def _move_lines(moves: Sequence[_Move], style: Style) -> list[str]:
    arrow = style.glyph("arrow")
    size = max(5, *(width(_known(thing)) for _, *both, _ in moves for thing in both))
    name_size = min(max(width(name) for name, *_ in moves), max(10, style.columns * 3 // 10))
    delta_size = 6
    fixed = 2 + name_size + 2 + 2 * size + 2 + width(arrow) + 2 + delta_size
    cells = min(18, (style.columns - fixed - 4 - 12) // 2)
    if style.columns < STACKED_BELOW or cells < 6:
        return _moves_without_bars(moves, style)
    lines = []
    for index, (name, before, after, mark) in enumerate(moves):
        row = pad(name, name_size, more=style.glyph("more"))
        row = f"  {style.paint(row, 'bold') if not index else row}"
        row += f"  {_bar(before, cells, mark, style, dim=True)} {pad(_known(before), size, right=True)}"
        row += f" {arrow} {_bar(after, cells, mark, style)} {_final_score(after, size, style)}"
        row += f"  {_delta(before, after, delta_size, style)}"
        lines.append(row + _after_note(after, mark, style))
    return lines


def _moves_without_bars(moves: Sequence[_Move], style: Style) -> list[str]:
    lines = []
    for index, (name, before, after, mark) in enumerate(moves):
        row = cut(name, style.columns - 2, style.glyph("more"))
        lines.append(f"  {style.paint(row, 'bold') if not index else row}")
        scores = f"    {_known(before)} {style.glyph('arrow')} {_final_score(after, 0, style)}"
        lines.append(f"{scores}  {_delta(before, after, 0, style)}")
        note = _after_note(after, mark, style)
        lines += [f"  {note}"] if note else []
    return lines


def _known(thing: _Scored | None) -> str:
    return score_or_interval(thing.score, thing.interval) if thing else "?"


def _bar(
    thing: _Scored | None, cells: int, mark: Number | None, style: Style, *, dim: bool = False
) -> str:
    low, high = (thing.interval or (thing.score, thing.score)) if thing else (None, None)
    if low is None or high is None:
        return pad(style.glyph("absent"), cells)
    look = "green"
    if dim:
        look = "dim"
    elif isinstance(thing, CriterionDoc) and thing.below_floor:
        look = "red"
    return bar(style, cells, low, high, mark=mark, look=look)


def _final_score(after: _Scored, size: int, style: Style) -> str:
    return style.paint(pad(_known(after), size, right=True) if size else _known(after), "bold")


def _delta(before: _Scored | None, after: _Scored, size: int, style: Style) -> str:
    by = change(before.score if before else None, after.score, style.glyph("minus"))
    look = "dim"
    if by.startswith("+"):
        look = "green"
    elif by.startswith(style.glyph("minus")):
        look = "red"
    return style.paint(pad(by, size, right=True) if size else by, look)


def _after_note(after: _Scored, mark: Number | None, style: Style) -> str:
    if isinstance(after, ScorecardDoc):
        return style.paint(f"  needs {bar_number(mark)}", "dim") if mark else ""
    return style.paint(f"  needs {bar_number(mark)}", "red") if after.below_floor and mark else ""


# ------------------------------------------------------------------------------------------------------------
# rounds


def _rounds(doc: ImprovementDoc, style: Style) -> list[str]:
    size = max((width(_focus(one)) for one in doc.rounds), default=0)
    listed = doc.last_card.judges if doc.last_card else []
    lines = [style.paint("Rounds", "bold")] if doc.rounds else []
    for one in doc.rounds:
        story = doc.story_of(one, style.glyph("arrow"))
        lines += _round_lines(one, style, size, listed=listed, story=story)
    return lines


def _advice(doc: ImprovementDoc, style: Style) -> list[str]:
    lines = [style.paint("What would help", "bold")] if doc.advice else []
    bullet = style.glyph("dot")
    for one in doc.advice:
        lines += wrap(line(one.text), style.columns, first=f"  {bullet} ", rest="    ")
    return lines


def _focus(one: RoundDoc) -> str:
    return ", ".join(map(line, one.focus))


def _round_lines(
    one: RoundDoc,
    style: Style,
    size: int = 0,
    *,
    listed: Sequence[JudgeDoc] = (),
    story: Sequence[str] = (),
) -> list[str]:
    """`✓ 2  reproducible  accepted  40.0 → 60.0  +12 -3`, and below it why, and which judges were gone.

    `size` is the width of the widest focus, so that rounds are in columns where there is room.
    `story`: also what moved, what the worker said and what it cost. `listed`: judges whose reasons
    the report gives elsewhere.
    """
    glyph, look = _ROUND_LOOKS["gain" if one.is_gain else one.decision]
    glyph = style.paint(style.glyph(glyph), look)
    if one.score_after is not None:
        scores = _arrow(one.score_before, one.score_after, style)
    else:
        scores = score_or_interval(None, one.interval_after) if one.interval_after else ""
    decision = "  ".join(
        part for part in (line(one.decision_words), scores, one.diff_words) if part
    )
    start = f"  {glyph} {one.round:>2}  "
    columns = style.columns - 8
    focus = cut(_focus(one), columns, style.glyph("more"))
    if size + 2 + width(decision) <= columns:
        lines = [f"{start}{style.paint(pad(focus, max(size, width(focus))), 'cyan')}  {decision}"]
    elif width(focus) + 2 + width(decision) <= columns:
        lines = [f"{start}{style.paint(focus, 'cyan')}  {decision}"]
    else:
        lines = [start + style.paint(focus, "cyan"), *wrap(decision, style.columns, first=" " * 8)]
    remarks = [*one.remarks_next_to(listed), *story]
    for remark in remarks:
        wrapped = wrap(remark, style.columns, first=" " * 8, most=3, more=style.glyph("more"))
        lines += [style.paint(text, "dim") for text in wrapped]
    return lines


def _arrow(before: Number | None, after: Number | None, style: Style) -> str:
    return f"{_score(before)} {style.glyph('arrow')} {_score(after)}"


def _score(value: Number | None) -> str:
    return "?" if value is None else points(value)


# ------------------------------------------------------------------------------------------------------------
# the rest

_OK_MARKS: Final = {True: ("yes", "green"), False: ("no", "red"), None: ("unknown", "yellow")}


def certification_lines(doc: ImprovementDoc, style: Style) -> list[str]:
    """What the judges said that did not steer the loop, or the tasks that it was not shown."""
    held_out = doc.certification
    if not held_out.needed and not held_out.judges:
        return []
    if held_out.split:
        result = _marked(held_out.split_words, held_out.ok, style)
        return [style.paint("Held-out tasks (test)", "bold"), *result]
    lines = [style.paint("Held-out judges", "bold")]
    for one in doc.witnesses:
        is_met = {"pass": True, "fail": False}.get(one.verdict or "")
        lines += _marked(_witness_words(one), is_met, style)
    return lines + (
        wrap(line(held_out.reason), style.columns, first="  ") if held_out.reason else []
    )


def _marked(words: str, ok: bool | None, style: Style) -> list[str]:
    glyph, look = _OK_MARKS[ok]
    first, *more = wrap(words, style.columns - 4)
    return [f"  {style.paint(style.glyph(glyph), look)} {first}", *("    " + rest for rest in more)]


def _witness_words(one: WitnessDoc) -> str:
    score = f"  {points(one.score)}" if one.score is not None else ""
    why = f"  {line(one.reason)}" if one.reason else ""
    return f"{line(one.id)}  {one.verdict_words}{score}{why}"


def _footer(doc: ImprovementDoc, style: Style) -> list[str]:
    lines = usage_line(doc.usage, style, whole_run=True)
    if doc.report:
        lines += next_line("report", line(doc.report), style)
    if doc.run:
        lines += next_line("again", f"honestone show {line(doc.run)}", style)
    if doc.run and doc.can_be_undone:
        lines += next_line("diff", f"honestone show {line(doc.run)} --format diff", style)
        lines += next_line("undo", f"honestone undo {line(doc.run)}", style)
    if doc.run and doc.is_held_back:
        lines += next_line("take", f"honestone show {line(doc.run)} --version best", style)
    for command in next_commands(doc):
        lines += next_line("next", command, style)
    return lines


def next_commands(doc: ImprovementDoc) -> list[str]:
    """What to type after this result."""
    if doc.suite:
        return _suite_commands(doc, doc.suite.path)
    improve = _same_command(doc)
    own_program = (doc.worker or "").startswith(("cmd:", "fix"))
    if doc.result == "UNCONFIRMED" and not doc.certification.judges:
        return [f"{improve} --holdout JUDGE"]
    see = see_replies(doc.last_card.judges, doc.run) if doc.last_card else None
    if doc.result == "COULD_NOT_JUDGE" and see is not None:
        return [see]
    if _lacks_a_judge(doc) or (doc.result == "WORKER_FAILED" and not own_program):
        return ["honestone doctor"]
    return [f"{improve} --effort thorough"] if doc.result in _NEEDS_MORE else []


def _lacks_a_judge(doc: ImprovementDoc) -> bool:
    """Whether other judges would help, and not a higher limit, which the advice names."""
    return doc.result == "COULD_NOT_JUDGE" and all(one.kind != "budget" for one in doc.advice)


def _same_command(doc: ImprovementDoc) -> str:
    """With all judges of the run: a version that one of them looked at names only that one."""
    card = (
        replace(doc.last_card, artifact=doc.artifact) if doc.last_card else ScorecardDoc(verdict="")
    )
    card = replace(card, options=_with_more_rounds(doc))
    if doc.panel:
        card = replace(card, judges=[JudgeDoc(id=judge) for judge in doc.panel])
    words = [
        word
        for judge in doc.certification.judges
        for word in ("--holdout", shlex.quote(line(judge.id)))
    ]
    if not words and len(doc.panel) > 1 and doc.result != "UNCONFIRMED":
        words = ["--holdout", "none"]
    default_policy = "belief" if doc.panel else "keep-best"
    if doc.policy != default_policy:
        words += ["--policy", line(doc.policy)]
    return " ".join([improve_command(card, worker=doc.worker), *words])


def _suite_commands(doc: ImprovementDoc, suite: str) -> list[str]:
    if doc.result == "UNCONFIRMED" and doc.certification.tested.result:
        return [f"honestone show {doc.certification.tested.result}"]
    if _lacks_a_judge(doc):
        return ["honestone doctor"]
    if doc.result not in _NEEDS_MORE:
        return []
    words = [doc.artifact.name, "--suite", line(suite)]
    words += ["--target", line(doc.target)] if doc.target else []
    words += ["--worker", line(doc.worker or "")]
    judges = doc.last_card.judges if doc.last_card else []
    words += [word for one in judges if one.id != CHECK for word in ("--judge", line(one.id))]
    words += ["--policy", line(doc.policy)] if judges and doc.policy != "belief" else []
    words += map(line, repeated_options(_with_more_rounds(doc), doc.belief))
    return [shlex.join(["honestone", "improve", *words, "--effort", "thorough"])]


def _with_more_rounds(doc: ImprovementDoc) -> list[str]:
    """The options of the run. Where it needs more, so many more rounds, and no effort of its own."""
    words = list(doc.options or [])
    if doc.result not in _NEEDS_MORE:
        return words
    if "--rounds" in words:
        place = words.index("--rounds") + 1
        words[place] = str(min(2 * int(words[place]), 100))
    return without_option(words, "--effort")
