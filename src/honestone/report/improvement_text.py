"""A loop for the terminal: how it ended and why, before and after, every round with its decision, what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from honestone.report.draw import Style, bar, bar_number, change, cut, line, pad, points, score_or_interval, width, wrap
from honestone.report.text import (
    PLAIN,
    STACKED_BELOW,
    findings,
    improve_command,
    join_sections,
    judge_table,
    next_line,
    remarks,
    score_table,
    usage_line,
    verdict_lines,
)
from honestone.report.words import APART, Doc, depths, diff_words, outcome_words, result_words, run_id, states_words

_LOOKS: Final = {"PASSED": ("yes", "green"), "UNCONFIRMED": ("unknown", "yellow"), "INTERRUPTED": ("warn", "yellow")}


def improvement_text(doc: Doc, style: Style = PLAIN) -> str:
    """One loop (`honestone.improvement/1`)."""
    final = doc.get("final") or doc.get("baseline") or {}
    sections = [
        _headline(doc, style),
        _before_and_after(doc, style),
        _rounds(doc, style),
        certification_lines(doc, style),
        *(findings(final, style) if final else []),
        remarks({**final, "flags": doc.get("flags") or final.get("flags")}, style),
        judge_table(final.get("judges") or [], style),
        _footer(doc, style),
    ]
    return style.finish(join_sections(sections))


def round_text(one_round: Doc, style: Style = PLAIN) -> str:
    """One round as it ends: the focus, the decision and the score of every criterion, by judge."""
    lines = _round_lines(one_round, style)
    for one in one_round.get("criteria") or ():
        by_judge = one.get("by_judge") or {}
        told = f"{line(one['id'])} {_arrow(one.get('before'), one.get('after'), style)}"
        if len(by_judge) > 1:
            told += " (" + ", ".join(f"{line(judge)} {points(score)}" for judge, score in by_judge.items()) + ")"
        if _is_apart(by_judge):
            told += ", judges disagree"
        if one["id"] in (one_round.get("floor_violations") or ()):
            told += ", BELOW FLOOR"
        lines += wrap(told, style.columns, first="      ", rest="        ")
    return style.finish(lines)


def _is_apart(by_judge: Mapping[str, Any]) -> bool:
    scores = [score for score in by_judge.values() if score is not None]
    return len(scores) > 1 and max(scores) - min(scores) > APART


# ------------------------------------------------------------------------------------------------------------ the top


def _headline(doc: Doc, style: Style) -> list[str]:
    glyph, look = _LOOKS.get(doc["result"], ("no", "red"))
    reasons = [line(doc["reason"])] if doc.get("reason") else []
    if doc.get("resumed"):
        reasons.append("resumed an earlier run; what it had paid for was not asked again")
    lines = verdict_lines(style, glyph, look, result_words(doc), doc, reasons=reasons)
    return [*lines, *wrap(_delivered(doc), style.columns, first=f"  {style.glyph('dot')} ")]


def _delivered(doc: Doc) -> str:
    """Which version stands in the file now."""
    best = doc.get("best_round") or 0
    if not best:
        return "no version was better than the original, so the original stands"
    return f"the version of round {best} is the best and stands"


# ------------------------------------------------------------------------------------------------- before and after


def _before_and_after(doc: Doc, style: Style) -> list[str]:
    """Two bars a criterion, or the final table alone when nothing was scored before it."""
    before, after = doc.get("baseline") or {}, doc.get("final") or {}
    if not before or not after or not doc.get("rounds"):
        return score_table(after or before, style) if after or before else []
    known = {one["id"]: one for one in before.get("criteria") or ()}
    criteria = after.get("criteria") or []
    depth = depths(criteria)
    pairs = [("overall", before, after, after.get("threshold"))]
    for one in criteria:
        name = "  " * depth[one["id"]] + line(one["id"])
        pairs.append((name, known.get(one["id"], {}), one, one.get("floor") or None))
    return _pair_lines(pairs, style)


def _pair_lines(pairs: Sequence[tuple[str, Doc, Doc, Any]], style: Style) -> list[str]:
    arrow = style.glyph("arrow")
    scores = [_known(thing) for _, *both, _ in pairs for thing in both]
    size = max(5, *(width(one) for one in scores))
    name_size = min(max(width(name) for name, *_ in pairs), max(10, style.columns * 3 // 10))
    delta_size = 6
    fixed = 2 + name_size + 2 + 2 * size + 2 + width(arrow) + 2 + delta_size
    cells = min(18, (style.columns - fixed - 4 - 12) // 2)
    if style.columns < STACKED_BELOW or cells < 6:
        return _pairs_without_bars(pairs, style)
    lines = []
    for index, (name, before, after, mark) in enumerate(pairs):
        told = pad(name, name_size, more=style.glyph("more"))
        told = f"  {style.paint(told, 'bold') if not index else told}"
        told += f"  {_bar(before, cells, mark, style, dim=True)} {pad(_known(before), size, right=True)}"
        told += f" {arrow} {_bar(after, cells, mark, style)} {_final_score(after, size, style)}"
        told += f"  {_delta(before, after, delta_size, style)}"
        lines.append(told + _after_note(after, mark, style, is_overall=not index))
    return lines


def _pairs_without_bars(pairs: Sequence[tuple[str, Doc, Doc, Any]], style: Style) -> list[str]:
    lines = []
    for index, (name, before, after, mark) in enumerate(pairs):
        told = cut(name, style.columns - 2, style.glyph("more"))
        lines.append(f"  {style.paint(told, 'bold') if not index else told}")
        scores = f"    {_known(before)} {style.glyph('arrow')} {_final_score(after, 0, style)}"
        lines.append(f"{scores}  {_delta(before, after, 0, style)}")
        note = _after_note(after, mark, style, is_overall=not index)
        lines += [f"  {note}"] if note else []
    return lines


def _known(thing: Doc) -> str:
    return score_or_interval(thing.get("score"), thing.get("interval")) if thing else "?"


def _bar(thing: Doc, cells: int, mark: Any, style: Style, *, dim: bool = False) -> str:
    interval = thing.get("interval") or [thing.get("score")] * 2
    if interval[0] is None:
        return pad(style.glyph("absent"), cells)
    look = "dim" if dim else "red" if thing.get("below_floor") else "green"
    return bar(style, cells, interval[0], interval[1], mark=mark, look=look)


def _final_score(after: Doc, size: int, style: Style) -> str:
    return style.paint(pad(_known(after), size, right=True) if size else _known(after), "bold")


def _delta(before: Doc, after: Doc, size: int, style: Style) -> str:
    by = change(before.get("score"), after.get("score"), style.glyph("minus"))
    look = "green" if by.startswith("+") else "red" if by.startswith(style.glyph("minus")) else "dim"
    return style.paint(pad(by, size, right=True) if size else by, look)


def _after_note(after: Doc, mark: Any, style: Style, *, is_overall: bool) -> str:
    if is_overall:
        return style.paint(f"  needs {bar_number(mark)}", "dim") if mark else ""
    return style.paint("  below floor", "red") if after.get("below_floor") else ""


# ------------------------------------------------------------------------------------------------------------ rounds


def _rounds(doc: Doc, style: Style) -> list[str]:
    rounds = doc.get("rounds") or []
    if not rounds:
        return []
    size = max(width(_focus(one)) for one in rounds)
    lines = [style.paint("Rounds", "bold")]
    for one in rounds:
        lines += _round_lines(one, style, size)
    return lines


def _focus(one: Doc) -> str:
    return ", ".join(line(name) for name in one.get("focus") or ())


def _round_lines(one: Doc, style: Style, size: int = 0) -> list[str]:
    """`✓ 2  reproducible  accepted  40.0 → 60.0  +12 -3`, and below it why, and which judges were gone.

    `size` is the width of the widest focus, so that rounds stand in columns where there is room.
    """
    kept = one.get("decision") == "accepted"
    glyph = style.paint(style.glyph("yes" if kept else "no"), "green" if kept else "red")
    before, after = one.get("score_before"), one.get("score_after")
    scores = _arrow(before, after, style) if after is not None else _interval_words(one)
    said = "  ".join(part for part in (line(one.get("decision") or ""), scores, diff_words(one.get("diff"))) if part)
    start = f"  {glyph} {line(one['round']):>2}  "
    room = style.columns - 8
    focus = cut(_focus(one), room, style.glyph("more"))
    if size + 2 + width(said) <= room:
        lines = [f"{start}{style.paint(pad(focus, max(size, width(focus))), 'cyan')}  {said}"]
    elif width(focus) + 2 + width(said) <= room:
        lines = [f"{start}{style.paint(focus, 'cyan')}  {said}"]
    else:
        lines = [start + style.paint(focus, "cyan"), *wrap(said, style.columns, first=" " * 8)]
    for told in _round_remarks(one):
        below = wrap(told, style.columns, first=" " * 8, most=3, more=style.glyph("more"))
        lines += [style.paint(text, "dim") for text in below]
    return lines


def _round_remarks(one: Doc) -> list[str]:
    """The outcome when nothing usable came, the reason, judges that were gone, floors that are still broken."""
    told = []
    outcome = outcome_words(one) if one.get("outcome") not in (None, "changed") else ""
    reason = line(one.get("reason") or "")
    if outcome and not reason.startswith(outcome[:60]):
        told.append(outcome)
    if reason:
        told.append(reason)
    if states_words(one.get("judges")):
        told.append(states_words(one.get("judges")))
    if one.get("floor_violations"):
        told.append("below floor: " + ", ".join(line(name) for name in one["floor_violations"]))
    return told


def _arrow(before: Any, after: Any, style: Style) -> str:
    return f"{_score(before)} {style.glyph('arrow')} {_score(after)}"


def _score(value: Any) -> str:
    return "?" if value is None else points(value)


def _interval_words(one: Doc) -> str:
    return score_or_interval(None, one["interval_after"]) if one.get("interval_after") else ""


# ------------------------------------------------------------------------------------------------------------ the rest


def certification_lines(doc: Doc, style: Style) -> list[str]:
    """What the judges that did not steer the loop said."""
    held_out = doc.get("certification") or {}
    if not held_out.get("needed") and not held_out.get("judges"):
        return []
    if held_out.get("split"):
        return _test_lines(held_out, style)
    lines = [style.paint("Held-out judges", "bold")]
    for one in held_out.get("judges") or ():
        good = one.get("verdict") == "pass"
        glyph = style.paint(style.glyph("yes" if good else "no"), "green" if good else "red")
        score = f"  {points(one['score'])}" if one.get("score") is not None else ""
        why = f"  {line(one['reason'])}" if one.get("reason") else ""
        first, *more = wrap(
            f"{line(one['id'])}  {line(one.get('verdict') or 'no verdict')}{score}{why}", style.columns - 4
        )
        lines += [f"  {glyph} {first}", *("    " + rest for rest in more)]
    if held_out.get("reason"):
        lines += wrap(line(held_out["reason"]), style.columns, first="  ")
    return lines


def _test_lines(held_out: Doc, style: Style) -> list[str]:
    """What the tasks that nobody was shown said."""
    from honestone.report.suite_improvement import certification_words

    glyph, look = {True: ("yes", "green"), False: ("no", "red"), None: ("unknown", "yellow")}[held_out["ok"]]
    told = wrap(certification_words(held_out), style.columns - 4)
    first = f"  {style.paint(style.glyph(glyph), look)} {told[0]}"
    return [style.paint("Held-out tasks (test)", "bold"), first, *("    " + more for more in told[1:])]


def _footer(doc: Doc, style: Style) -> list[str]:
    lines = usage_line(doc.get("usage"), style, whole_run=True)
    if doc.get("report"):
        lines += next_line("report", line(doc["report"]), style)
    run = run_id(doc)
    if run:
        lines += next_line("again", f"honestone show {run}", style)
    for command in next_commands(doc):
        lines += next_line("next", command, style)
    return lines


def next_commands(doc: Doc) -> list[str]:
    """What to type after this result."""
    if doc.get("suite"):
        from honestone.report.suite_improvement import suite_commands

        return suite_commands(doc)
    improve = improve_command({**(doc.get("final") or {}), "artifact": doc.get("artifact")}, worker=doc.get("worker"))
    result = doc["result"]
    own_program = str(doc.get("worker") or "").startswith(("cmd:", "fix"))
    if result == "UNCONFIRMED" and not (doc.get("certification") or {}).get("judges"):
        return [f"{improve} --holdout JUDGE"]
    if result == "COULD_NOT_JUDGE" or (result == "WORKER_FAILED" and not own_program):
        return ["honestone doctor"]
    if result in ("ROUND_LIMIT", "PLATEAU"):
        return [f"{improve} --effort thorough"]
    return []
