"""A scorecard for the terminal: the verdict and why, a bar per criterion, what is missing, who
judged, what to do next.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from honestone.core.belief.stated import percent_words
from honestone.core.editing.result import LEAST_STATED
from honestone.core.json_value import late_pattern
from honestone.report.documents import scorecard
from honestone.report.documents.belief import UNSURE, BeliefDoc, is_undecided
from honestone.report.documents.findings import (
    SharedQuote,
    finding_groups,
    invented_quotes,
    listed_judges,
    shared_quotes,
)
from honestone.report.documents.states import state_phrase
from honestone.report.terminal.score_table import (
    bar_of,
    overall_row,
    painted_score,
    score_table,
    verdict_look,
)
from honestone.system.drawing import Style, count, cut, cut_middle, line, pad, width, wrap

PLAIN: Final = Style()
MOST_ITEMS: Final = 40
MOST_DETAILS: Final = 20  # artifacts shown in full when many did not pass
_LEAST_NAME: Final = 8  # columns of a judge's name behind which its number of looks is shown


def scorecard_text(doc: scorecard.ScorecardDoc, style: Style = PLAIN) -> str:
    """One artifact's scorecard (`honestone.scorecard/1`)."""
    sections = [
        headline(doc, style),
        score_table(doc, style),
        *findings(doc.criteria, doc.judges, style),
        card_remarks(doc, style),
        judge_table(doc.judges, style, doc.criteria),
        footer(doc, style),
    ]
    return style.finish(join_sections(sections))


def scorecards_text(docs: Sequence[scorecard.ScorecardDoc], style: Style = PLAIN) -> str:
    """Several artifacts: one line each, then what those that did not pass are missing."""
    if len(docs) == 1:
        return scorecard_text(docs[0], style)
    open_ones = [doc for doc in docs if doc.verdict in ("fail", "inconclusive")]
    listed = scorecard.worst_states(judge for doc in docs for judge in doc.judges)
    sections = [_overview(docs, style)]
    for doc in open_ones[:MOST_DETAILS]:
        sections += [headline(doc, style), score_table(doc, style)]
        sections += [*findings(doc.criteria, listed, style), card_remarks(doc, style)]
    if len(open_ones) > MOST_DETAILS:
        hidden = len(open_ones) - MOST_DETAILS
        sections.append([f"{count(hidden, 'more artifact')} did not pass; --json has them all"])
    sections.append(judge_table(scorecard.states_over_many(listed), style))
    sections.append(warning_lines(scorecard.low_confidence_of(*_lonely(docs), "artifact"), style))
    sections.append(_doubts(docs, style))
    run = next((doc.run for doc in docs if doc.run), None)
    see = see_replies((judge for doc in docs for judge in doc.judges), run)
    next_lines = next_line("again", f"honestone show {line(run)}", style) if run else []
    next_lines += next_line("next", see, style) if see else []
    next_lines += more_lines((one for doc in docs for one in doc.open_reasons), style)
    sections.append([_tally(docs, style), *usage_line(_summed_usage(docs), style), *next_lines])
    return style.finish(join_sections(sections))


def join_sections(sections: Sequence[Sequence[str]]) -> list[str]:
    """The sections that have something to say, an empty line between them."""
    lines: list[str] = []
    for section in sections:
        if section:
            lines += ["", *section] if lines else section
    return lines


# ------------------------------------------------------------------------------------------------------------
# the top


def headline(doc: scorecard.ScorecardDoc, style: Style) -> list[str]:
    """The verdict, of what, against what, and every reason."""
    glyph, look = verdict_look(doc.verdict)
    name = "  ".join(filter(None, [doc.artifact.name, _how_sure(doc)]))
    found = verdict_lines(
        style, glyph, look, doc.verdict_words, name, doc.title, map(line, doc.reasons)
    )
    return found + belief_lines(doc.belief_words, doc.reasons, style)


def _how_sure(doc: scorecard.ScorecardDoc) -> str:
    """`97% sure`. Of what did not pass, a number next to the verdict reads as if it were about the
    verdict.
    """
    if doc.belief is None or not doc.belief.is_stated:
        return ""
    return doc.belief.percent if doc.verdict == "pass" or is_undecided(doc.belief) else ""


def belief_lines(words: Sequence[str], reasons: Sequence[str], style: Style) -> list[str]:
    """How sure a verdict is, where the reasons do not say it already."""
    lines: list[str] = []
    for text in words:
        if text in reasons:
            continue
        is_doubt = text.startswith(UNSURE)
        # `wrap` leaves one space between words.
        first = f"{style.glyph('warn')} {UNSURE}  " if is_doubt else "  "
        lines += [
            style.paint(one, "yellow") if is_doubt else one
            for one in wrap(text.removeprefix(f"{UNSURE}: "), style.columns, first=first, rest="  ")
        ]
    return lines


def verdict_lines(
    style: Style, glyph: str, look: str, words: str, path: str, title: str, reasons: Iterable[str]
) -> list[str]:
    verdict = f"{style.glyph(glyph)} {words}"
    if width(verdict) + 2 + width(path) <= style.columns:
        lines = [style.paint(verdict, look, "bold") + "  " + path]
    else:
        lines = [
            style.paint(verdict, look, "bold"),
            "  " + cut_middle(path, style.columns - 2, style.glyph("more")),
        ]
    if title:
        lines += [style.paint(one, "dim") for one in wrap(line(title), style.columns, first="  ")]
    return lines + bullet_lines(reasons, style)


def bullet_lines(texts: Iterable[str], style: Style, *, indent: str = "  ") -> list[str]:
    return [
        row
        for text in texts
        for row in wrap(text, style.columns, first=f"{indent}{style.glyph('dot')} ")
    ]


# ------------------------------------------------------------------------------------------------------------
# the items


def findings(
    criteria: Sequence[scorecard.CriterionDoc],
    judges: Sequence[scorecard.JudgeDoc],
    style: Style,
    *,
    of: str = "artifact",
) -> list[list[str]]:
    """What is not met, what has no answer, and what is met, but not in full. `judges`: those that
    the report lists with their states; `of`: where the quotes come from.
    """
    sections = []
    for group in finding_groups(criteria, judges):
        lines = [style.paint(group.title, "bold")]
        if group.remark:
            wrapped = wrap(line(group.remark, 300), style.columns, first="  ", rest="    ")
            lines += [style.paint(one, "dim") for one in wrapped]
        last: str | None = None
        for criterion, item in group.found[:MOST_ITEMS]:
            if criterion.id != last and not criterion.is_whole(item):
                lines.append("  " + _criterion_heading(criterion, style))
            last = criterion.id
            note = item.note if group.shows_notes else None
            lines += _item_lines(criterion, item, group.glyph, style, of, note)
        if len(group.found) > MOST_ITEMS:
            lines.append(f"  and {len(group.found) - MOST_ITEMS:,} more; --json has them all")
        sections.append(lines)
    return sections


def _criterion_heading(criterion: scorecard.CriterionDoc, style: Style) -> str:
    name = cut(line(criterion.id), style.columns - 2, style.glyph("more"))
    left = style.columns - 2 - width(name) - 2
    if not criterion.asked or criterion.asked == name or left < 16:
        return style.paint(name, "cyan")
    return (
        style.paint(name, "cyan")
        + "  "
        + style.paint(cut(criterion.asked, left, style.glyph("more")), "dim")
    )


def _item_lines(
    criterion: scorecard.CriterionDoc,
    item: scorecard.ItemDoc,
    glyph: str,
    style: Style,
    of: str,
    note: str | None,
) -> list[str]:
    whole = criterion.is_whole(item)
    indent = "  " if whole else "    "
    penalty = "penalty incurred: " if criterion.is_penalty and glyph == "no" else ""
    name = f"{line(criterion.id)}: " if whole else ""
    asked = wrap(penalty + name + item.asked, style.columns - 2 - len(indent))
    mark = style.paint(style.glyph(glyph), "red" if glyph == "no" else "yellow", "bold")
    lines = [f"{indent}{mark} {asked[0]}", *(f"{indent}  {one}" for one in asked[1:])]
    under = indent + "    "
    votes = _vote_words(item, style)
    if (
        votes
        and len(asked) == 1
        and len(indent) + 2 + width(asked[0]) + 3 + width(votes) <= style.columns
    ):
        lines[0] += "   " + style.paint(votes, "dim")
    elif votes:
        lines += [
            style.paint(one, "dim") for one in wrap(votes, style.columns, first=under, rest=under)
        ]
    if note:
        wrapped = wrap(line(note, 300), style.columns, first=under, rest=under)
        lines += [style.paint(one, "dim") for one in wrapped]
    for quote in shared_quotes(item):
        lines += _quote_lines(quote, style, under, of)
    for one in item.advice:
        judges = ", ".join(_short(judge, style) for judge in scorecard.named_looks(one.judges))
        words = line(one.text) + (f" ({judges})" if judges else "")
        lines += wrap(
            words,
            style.columns,
            first=f"{under}{style.glyph('arrow')} ",
            most=6,
            more=style.glyph("more"),
        )
    return lines


def _vote_words(item: scorecard.ItemDoc, style: Style) -> str:
    """`no: codex, gemini; yes: claude`, or the marks on their scale."""
    groups = [
        (answer, [_short(one, style) for one in judges]) for answer, judges in item.votes_by_answer
    ]
    if item.kind == "anchors" and groups:
        marks = ", ".join(f"{judge} {answer}" for answer, judges in groups for judge in judges)
        return f"{marks} (on {item.scale_words})" if item.scale else marks
    return "; ".join(f"{answer}: {', '.join(judges)}" for answer, judges in groups)


def _quote_lines(quote: SharedQuote, style: Style, under: str, of: str) -> list[str]:
    judges = (_short(judge, style) for judge in scorecard.named_looks(quote.judges))
    where = ", ".join(one for one in (*judges, quote.place_words(of)) if one)
    quoted = f"{line(quote.quote, 400)}{style.glyph('close')}" + (f" ({where})" if where else "")
    lines = wrap(
        quoted,
        style.columns,
        first=under + style.glyph("open"),
        rest=under + " ",
        more=style.glyph("more"),
    )
    return [style.paint(one, "yellow" if quote.found is False else "") for one in lines]


_LOOKS: Final = late_pattern(r" \(\d+ looks\)$")


def _short(judge: str, style: Style) -> str:
    """The judge's name in 32 columns, how many looks it had next to it."""
    looks = _LOOKS.search(judge)
    size = 32 + len(looks[0] if looks else "")
    return cut_middle(line(judge), size, style.glyph("more"))


# ------------------------------------------------------------------------------------------------------------
# the rest


def card_remarks(
    doc: scorecard.ScorecardDoc, style: Style, flags: Sequence[str] | None = None
) -> list[str]:
    """LOW CONFIDENCE, SELF-EVALUATED, flags (the scorecard's or others), known noise, and how much
    evidence was found.
    """
    lines = warning_lines(doc.warnings, style)
    lines += remarks(doc.flags if flags is None else flags, doc.notes or (), style)
    if doc.judged_by:
        lines += wrap(
            f"checks judged by: {', '.join(map(line, doc.judged_by))}", style.columns, first="  "
        )
    share = doc.evidence_found
    lines += wrap(doc.noise_words, style.columns, first="  ") if doc.noise_words else []
    return lines + (
        wrap(f"evidence: {share.words}", style.columns, first="  ")
        if share and share.quoted
        else []
    )


def warning_lines(warnings: Iterable[tuple[str, str]], style: Style) -> list[str]:
    """What a reader must know before the verdict, a line each."""
    lines = []
    for name, why in warnings:
        first, *more = wrap(
            why, style.columns, first=f"{style.glyph('warn')} {name}  ", rest=" " * 4
        )
        lines += [style.paint(first, "yellow", "bold"), *more]
    return lines


def remarks(flags: Iterable[str], notes: Iterable[str], style: Style) -> list[str]:
    """Flags and notes, a line each."""
    lines = []
    for flag in scorecard.flags_to_show(flags):
        lines += [
            style.paint(one, "yellow")
            for one in wrap(flag, style.columns, first=f"{style.glyph('warn')} ")
        ]
    return lines + bullet_lines(map(line, notes), style, indent="")


def judge_table(
    judges: Sequence[scorecard.JudgeDoc],
    style: Style,
    criteria: Sequence[scorecard.CriterionDoc] = (),
) -> list[str]:
    """Who judged, who could not and why, and what was wrong with a reply. `criteria` have the quotes
    that they gave.
    """
    if not judges:
        return []
    judges = listed_judges(judges)
    more = style.glyph("more")
    size = min(max(width(line(one.id)) for one in judges), max(6, style.columns // 2 - 9))
    lines = [style.paint("Judges", "bold")]
    for one in judges:
        glyph, look = _STATE_MARKS.get(one.state, ("absent", "dim"))
        start = f"  {style.paint(style.glyph(glyph), look)} {pad(_cut_judge(one.id, size, more), size)}  "
        taken = 4 + size + 2
        state = pad(line(one.state_words), 9) + "  "
        why = wrap(
            line(one.reason_words, 400), style.columns - taken, first=state, most=4, more=more
        )
        lines += [start + why[0], *(" " * taken + rest for rest in why[1:])]
        if one.hint:
            lines += wrap(
                line(one.hint, 300), style.columns, first="      hint: ", most=4, more=more
            )
        lines += [style.paint(row, "dim") for row in _problem_lines(one.remarks, style)]
        if invented := invented_quotes(criteria, one.id):
            lines += wrap(
                invented, style.columns, first=f"      {style.glyph('warn')} ", rest="        "
            )
        if one.unusable_replies:
            lines.append(
                style.paint(
                    f"      {style.glyph('dot')} {unusable_words(one.unusable_replies)}", "dim"
                )
            )
    return lines


def unusable_words(count: int) -> str:
    return f"{count} unusable {'reply' if count == 1 else 'replies'}"


def see_replies(judges: Iterable[scorecard.JudgeDoc], run: str | None) -> str | None:
    """The command that shows the replies that gave no answer, where there are any."""
    return (
        f"honestone judge read {line(run)}"
        if run and any(judge.unusable_replies for judge in judges)
        else None
    )


_STATE_MARKS: Final = {"AVAILABLE": ("yes", "green"), "DEGRADED": ("warn", "yellow")}


def _cut_judge(judge: str, size: int, more: str) -> str:
    """`script…A .15 (2 looks)`: how often it looked is not what tells it from another one."""
    name, found, looks = line(judge).rpartition(" (")
    left = size - width(found + looks)
    if not looks.endswith(" looks)") or left < _LEAST_NAME:
        return cut_middle(line(judge), size, more)
    return cut_middle(name, left, more) + found + looks


def _problem_lines(problems: Sequence[str], style: Style) -> list[str]:
    first = f"      {style.glyph('dot')} "
    lines = []
    for problem in problems[:3]:
        lines += wrap(
            line(problem, 300), style.columns, first=first, most=3, more=style.glyph("more")
        )
    return lines + ([f"{first}and {len(problems) - 3} more"] if len(problems) > 3 else [])


def footer(doc: scorecard.ScorecardDoc, style: Style) -> list[str]:
    """What it cost, where it is kept, and what to type next."""
    lines = usage_line(doc.usage, style)
    if doc.run:
        lines += next_line("again", f"honestone show {line(doc.run)}", style)
    if doc.verdict == "fail":
        lines += next_line("next", improve_command(doc), style)
    more = more_lines(doc.open_reasons, style)
    see = see_replies(doc.judges, doc.run)
    if see is not None:
        lines += next_line("next", see, style)
    elif not more and needs_doctor(doc.verdict, doc.judges):
        lines += next_line("next", "honestone doctor", style)
    return lines + more


def needs_doctor(verdict: str, judges: Iterable[scorecard.JudgeDoc]) -> bool:
    """Whether answers are missing of judges that say nothing of how to have them."""
    return verdict == "inconclusive" and any(one.is_absent and not one.hint for one in judges)


def more_lines(reasons: Iterable[str | None], style: Style, indent: str = "") -> list[str]:
    """What asks on where a limit left it open: what was answered is on record."""
    limits = " and ".join(scorecard.limits_in(reasons))
    words = f"the same command with a higher {limits}: replies on record cost nothing"
    gap = " " * 3 * len(indent)
    return next_line(f"{indent}more", gap + words, style) if limits else []


def improve_command(doc: scorecard.ScorecardDoc, worker: str | None = None) -> str:
    """The command that would improve what a scorecard is about, with the judges it had."""
    rubric = shlex.quote(line(doc.rubric)) if doc.rubric is not None else "RUBRIC"
    words = ["honestone improve", shlex.quote(doc.artifact.name), "--rubric", rubric]
    if worker:
        words += ["--worker", shlex.quote(line(worker))]
    elif not doc.has_fixes:
        words += ["--worker WORKER"]
    options = repeated_options(doc.options or [], doc.belief)
    if "--holdout" not in options:
        for judge in doc.judges:
            if "#" not in judge.id:  # a second look of one that is named already
                words += ["--judge", shlex.quote(line(judge.id))]
    return " ".join([*words, *(shlex.quote(line(word)) for word in options)])


def repeated_options(options: Sequence[str], belief: BeliefDoc | None) -> list[str]:
    """The options of a command that a next `improve` repeats. How sure it has to be is at least what
    it takes to say PASSED there, and is about answers of judges, as --max-looks is.
    """
    words, least = list(options), 100 * LEAST_STATED
    if belief is not None and not belief.looks:
        return without_option(without_option(words, "--sure"), "--max-looks")
    if "--sure" in words:
        place = words.index("--sure") + 1
        words[place] = words[place] if float(words[place]) >= least else f"{least:g}"
    elif belief is not None and belief.target is not None:
        words += ["--sure", percent_words(max(belief.target, LEAST_STATED)).removesuffix("%")]
    return words


def without_option(words: Sequence[str], option: str) -> list[str]:
    """The words of a command without an option and its value."""
    if option not in words:
        return list(words)
    place = words.index(option)
    return [*words[:place], *words[place + 2 :]]


def next_line(name: str, command: str, style: Style) -> list[str]:
    """A command to type. It is never wrapped: it has to survive copying."""
    return [style.paint(f"{name:<8}", "dim") + command]


def usage_line(
    usage: scorecard.UsageDoc | None, style: Style, *, whole_run: bool = False
) -> list[str]:
    if usage is None:
        return []
    parts = style.glyph("between").join(usage.words(whole_run=whole_run))
    return [
        style.paint(one, "dim")
        for one in wrap(parts, style.columns, first="spent   ", rest=" " * 8)
    ]


# -------------------------------------------------------------------------------------------------
# several artifacts


def _overview(docs: Sequence[scorecard.ScorecardDoc], style: Style) -> list[str]:
    """One line an artifact: verdict, name, bar, score and the first reason, or how sure it is that it
    passes.
    """
    more = style.glyph("more")
    name = min(
        max((width(doc.artifact.name) for doc in docs), default=0), max(12, style.columns * 4 // 10)
    )
    score = max((width(overall_row(doc).score) for doc in docs), default=5)
    cells = min(20, style.columns - 2 - name - 2 - 2 - score)
    lines = []
    for doc in docs:
        glyph, look = verdict_look(doc.verdict)
        row = overall_row(doc)
        row_line = f"{style.paint(style.glyph(glyph), look, 'bold')} {pad(cut_middle(doc.artifact.name, name, more), name)}"
        if cells >= 6:
            row_line += "  " + bar_of(row, cells, style)
        row_line += "  " + painted_score(row, score, style)
        left = style.columns - 2 - name - (2 + cells if cells >= 6 else 0) - 2 - score - 2
        last = _how_sure(doc) if doc.verdict == "pass" else "".join(doc.reasons[:1])
        if left >= 16 and last:
            row_line += "  " + style.paint(cut(line(last), left, more), "dim")
        lines.append(row_line)
    return lines


def _doubts(docs: Sequence[scorecard.ScorecardDoc], style: Style) -> list[str]:
    """Which of those that passed probably do not meet their contract: of them nothing more is shown."""
    doubts = [
        f"{UNSURE}: {doc.artifact.name}: {doubt}"
        for doc in docs
        if doc.verdict == "pass" and doc.belief and (doubt := doc.belief.doubt(doc.verdict))
    ]
    hidden = len(doubts) - MOST_DETAILS
    rest = [f"{UNSURE}: {count(hidden, 'more artifact')}; --json has them all"]
    return belief_lines(doubts[:MOST_DETAILS] + (rest if hidden > 0 else []), (), style)


def _lonely(docs: Sequence[scorecard.ScorecardDoc]) -> tuple[int, int]:
    """How many of those that passed or did not rest on one judge, and how many these are."""
    decided = [doc for doc in docs if doc.verdict in ("pass", "fail")]
    return sum(doc.low_confidence for doc in decided), len(decided)


def _tally(docs: Sequence[scorecard.ScorecardDoc], style: Style) -> str:
    counts = Counter(
        state_phrase(doc.verdict, is_undecided=is_undecided(doc.belief)) for doc in docs
    )
    parts = [f"{counts['passed']:,} of {len(docs):,} passed"]
    for words in ("did not pass", "undecided", "could not be judged", "skipped"):
        parts += [f"{counts[words]:,} {words}"] if counts[words] else []
    return style.paint(style.glyph("between").join(parts), "bold")


def _summed_usage(docs: Sequence[scorecard.ScorecardDoc]) -> scorecard.UsageDoc | None:
    """What all of it cost: each artifact's usage is what was spent on it."""
    spent = [doc.usage for doc in docs if doc.usage is not None]
    if not spent:
        return None
    costs = [one.usd for one in spent if one.judge_calls or one.worker_calls]
    return scorecard.UsageDoc(
        **{name: sum(getattr(one, name) for one in spent) for name in scorecard.COUNTED},
        usd=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
