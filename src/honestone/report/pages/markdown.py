"""Reports as Markdown, for pull requests, wikis and the file that every loop leaves behind.

Outside text is shown as the characters it has: it makes no link, image, heading, mention, HTML or
table cell. The templates are in `pages/`; their environment makes every value harmless, so a
template cannot forget it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from html import escape
from itertools import accumulate
from typing import Final

from jinja2 import Environment
from markupsafe import Markup

from honestone.core import numbers
from honestone.core.json_value import fence_of, late_pattern
from honestone.core.judging.rubric import Item, Rubric
from honestone.report.case_text import excerpts_of
from honestone.report.documents import scorecard, suite
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.findings import (
    finding_groups,
    listed_judges,
    shared_quotes,
    states_words,
)
from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.report.documents.improvement_words import reason_words
from honestone.report.documents.states import state_phrase, state_words
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.documents.table import TableDoc
from honestone.report.misses import misses, why
from honestone.report.templates import environment, macro
from honestone.report.word_diff import DiffPiece, Pieces, word_diff
from honestone.system.drawing import clean, count, line

LONGEST: Final = 2000  # characters of one quote or suggestion; the record holds all of it
LONGEST_DIFF: Final = 200_000
_COLUMNS: Final = 100  # of what a case was given and gave
MOST_TEXTS: Final = 10  # of them with their outputs
_LONGEST_SIDE: Final = 700
MOST_CHANGED: Final = 40  # cases of a comparison; the JSON has all


# ---------------------------------------------------------------------------------------------------------
# escaping

# An underscore inside a word never starts emphasis, so `snake_case` stays readable.
_SPECIAL: Final = late_pattern(r"[\\`*\[\]<>#|~&${}]|(?<![^\W_])_|_(?![^\W_])")
_MARKER: Final = late_pattern(r"^(?:[-+=]|\d{1,9}[.)])")
_SCHEME: Final = late_pattern(r"(?i)(?<=[a-z0-9+.\-]):(?=//)|(?<=mailto):|(?<=xmpp):")
_WWW: Final = late_pattern(r"(?i)(?<=\bwww)\.")
# Sites look for `@name` and `#12` after rendering, where an escape is gone; a code span is never
# searched.
_MENTION: Final = late_pattern(r"(?:@|\\#(?=\d))+")


def md(text: object, limit: int = LONGEST) -> str:
    """Outside text on one line, without any meaning in Markdown or HTML; safe in a table cell and
    after a bullet.
    """
    safe = _SPECIAL.sub(r"\\\g<0>", line(text, limit))
    safe = _SCHEME.sub(r"\\:", safe)
    safe = _WWW.sub(r"\\.", safe)
    safe = _MENTION.sub(lambda match: f"`{match[0].replace(chr(92), '')}`", safe)
    marker = _MARKER.match(safe)
    return f"{safe[: marker.end() - 1]}\\{safe[marker.end() - 1 :]}" if marker else safe


def fenced(text: str, language: str = "") -> str:
    """A code block that its content cannot close: the fence is longer than any run of backticks
    inside.
    """
    body = clean(text).rstrip("\n")
    fence = fence_of(body)
    return f"{fence}{language}\n{body}\n{fence}"


_FENCE: Final = late_pattern(r"(^(`{3,})[^\n]*\n.*?^\2$)", re.M | re.S)


def neat(text: str) -> str:
    """One blank line between blocks, none at the ends; what is in a fence stays as it is."""
    pieces = _FENCE.split(text)  # text, whole fence, its backticks, text, ...
    pieces[::3] = [re.sub(r"\n{3,}", "\n\n", piece) for piece in pieces[::3]]
    del pieces[2::3]
    return "".join(pieces).strip("\n") + "\n"


# -------------------------------------------------------------------------------------------------------
# environment


def _harmless(value: object) -> Markup:
    return value if isinstance(value, Markup) else Markup(md(value))


def _own(words: Callable[..., str]) -> Callable[..., Markup]:
    """Words and numbers of ours, which hold nothing to escape."""
    return lambda *values: Markup(words(*values))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return markdown_environment()


def markdown_environment() -> Environment:
    """Templates whose values are harmless as Markdown, with our filters."""
    templates = environment(_harmless)
    templates.globals.update(icons=_ICONS, most=MOST_CHANGED, most_texts=MOST_TEXTS)
    templates.filters.update(depths=scorecard.depths, history=_history, judge_names=_judge_names)
    templates.filters.update(
        looks_of=scorecard.looks_given, item_facts=_item_facts, to_show=scorecard.flags_to_show
    )
    templates.filters.update(
        findings=finding_groups,
        reason_words=reason_words,
        listed_judges=listed_judges,
        shared_quotes=shared_quotes,
    )
    templates.filters.update(misses=misses, excerpts=_quoted_excerpts, sides=_sides, why=why)
    ours: dict[str, Callable[..., str]] = {
        "arrows": lambda depth: "↳ " * depth,
        "bar": numbers.bar_number,
        "case_score": lambda case: case.score_words if case.has_score else "",
        "certified": {True: "Certified", False: "Not certified", None: "Not asked for"}.__getitem__,
        "change": numbers.change_words,
        "duration": numbers.duration_words,
        "heading": lambda level: "#" * level,
        "html": lambda text, limit: escape(line(text, limit)),
        "indent_by": lambda depth: "  " * depth,
        "moved": _moved,
        "notes": _notes,
        "number": "{:,}".format,
        "own": str,
        "points": numbers.points,
        "rate": _rate,
        "score": _score,
        "score_by": _score_by,
        "share": numbers.show_bar,
        "span": _span,
        "upto": md,
        "phrase": state_phrase,
        "verdict": state_words,
    }
    templates.filters.update({name: _own(words) for name, words in ours.items()})
    return templates


def _span(thing: scorecard.ScorecardDoc | scorecard.CriterionDoc) -> str:
    applies = isinstance(thing, scorecard.ScorecardDoc) or thing.applies
    return numbers.score_or_interval(thing.score, thing.interval) if applies else "n/a"


def _score(score: numbers.Number | None) -> str:
    return "?" if score is None else numbers.points(score)


def _score_by(one: scorecard.CriterionDoc, judge: str, looks: Sequence[str]) -> str:
    return ", ".join(scorecard.look_cells(one.by_judge, looks).get(judge, ()))


def _rate(one: suite.SuiteReportDoc | suite.TrendRunDoc) -> str:
    return one.rate_words


def _notes(one: scorecard.CriterionDoc) -> str:
    return ", ".join(one.state_notes(spread=True)).replace("below floor", "**below floor**")


def _moved(one: RoundDoc) -> str:
    if one.score_after is None:
        return ""
    by = numbers.change(one.score_before, one.score_after)
    return f"{_score(one.score_before)} → {_score(one.score_after)}" + (f" ({by})" if by else "")


def _judge_names(criteria: Sequence[scorecard.CriterionDoc]) -> list[str]:
    judges = (scorecard.first_look(judge) for one in criteria for judge in one.by_judge)
    return list(dict.fromkeys(judges))


def _item_facts(item: Item) -> str:
    facts = [f"check {item.check.name}: {item.check.value}"] if item.check else []
    return "; ".join([*facts, "may not apply"] if item.may_not_apply else facts)


def _quoted_excerpts(case: CaseDoc) -> list[tuple[str, Markup]]:
    """What went in and what came out, cut, each as a quotation that keeps its lines."""
    return [(name, Markup(_quotation(rows))) for name, rows in excerpts_of(case, _COLUMNS)]


def _quotation(rows: Sequence[str]) -> str:
    drawn = [md(row) for row in rows]
    return "\n".join(
        f"> {row}\\" if row and after else f"> {row}"
        for row, after in zip(drawn, (*drawn[1:], ""), strict=True)
    )


def _sides(case: suite.ComparedCaseDoc) -> tuple[Markup, Markup]:
    """Both outputs of a case for a cell each, with ~~old~~ and **new**; empty where they are the
    same or not known.
    """
    before, after = case.baseline.output, case.candidate.output
    if before is None or after is None or before == after:
        return Markup(), Markup()
    old, new = word_diff(before, after, longest=_LONGEST_SIDE)
    return Markup(_cell(old, "~~")), Markup(_cell(new, "**"))


def _cell(pieces: Pieces, mark: str) -> str:
    drawn = "".join(_marked(piece, mark) for piece in pieces).strip("\n")
    return "<br>".join(drawn.split("\n")) or "(empty)"


def _marked(piece: DiffPiece, mark: str) -> str:
    """A piece without any meaning of its own, line by line, the marks next to its words."""
    rows = []
    for row in piece.text.split("\n"):
        safe = md(row)
        if piece.is_changed and safe:
            safe = f"{mark}{safe}{mark}"
        start = " " if row[:1].isspace() else ""
        rows.append(start + safe + (" " if row.strip() and row[-1:].isspace() else ""))
    return "\n".join(rows)


def _draw(name: str, **values: object) -> str:
    return neat(_environment().get_template(name).render(**values))


# ------------------------------------------------------------------------------------------------------------
# reports


def scorecard_markdown(doc: scorecard.ScorecardDoc) -> str:
    """One artifact's scorecard (`honestone.scorecard/1`)."""
    return _draw("scorecard.md.j2", doc=doc)


def improvement_markdown(
    doc: ImprovementDoc, *, rubric: Rubric | None = None, diffs: Sequence[tuple[int, str]] = ()
) -> str:
    """The report of a loop. `diffs` are (round, unified diff)."""
    return _draw(
        "improvement.md.j2",
        doc=doc,
        looks=_looks(doc),
        rubric=rubric,
        diffs=[(number, _shown_diff(diff)) for number, diff in diffs],
    )


def _shown_diff(text: str) -> Markup:
    shown = (
        text if len(text) <= LONGEST_DIFF else text[:LONGEST_DIFF] + "\n(the rest is left out here)"
    )
    return Markup(fenced(shown, "diff") if shown.strip() else "No difference in text.")


def _history(doc: ImprovementDoc) -> list[tuple[str, list[Markup]]]:
    """Every criterion's score after every round that was scored; rejected rounds in brackets."""
    before = doc.before
    if before is None:
        return []
    rows = [("baseline", [_span(before), *map(_span, before.criteria)])]
    for one in doc.rounds:
        after = {move.id: _score(move.after) for move in one.criteria}
        scored = one.interval_after or one.score_after is not None
        cells = [numbers.score_or_interval(one.score_after, one.interval_after) if scored else ""]
        cells += [after.get(criterion.id, "") for criterion in before.criteria]
        is_accepted = one.is_accepted
        rows.append(
            (
                f"round {one.round}",
                [cell if is_accepted or not cell else f"({cell})" for cell in cells],
            )
        )
    return [(name, [Markup(cell) for cell in cells]) for name, cells in rows]


def _looks(doc: ImprovementDoc) -> dict[str, object]:
    """Which judges were there, from the baseline to the last round, and the reasons of those that
    were not.
    """
    looks: list[tuple[str, Sequence[scorecard.JudgeDoc]]] = [
        ("baseline", doc.baseline.judges if doc.baseline else [])
    ]
    looks += [(f"round {one.round}", one.judges) for one in doc.rounds]
    rows = []
    known: list[scorecard.JudgeDoc] = []
    for name, judges in looks:
        states = {one.id: one.state for one in judges}
        new = [one for one in judges if one.reason and one not in known]
        rows.append((name, states, states_words(new)))
        known += new
    return {
        "judges": _asked(looks),
        "rows": rows,
    }


def _asked(looks: Sequence[tuple[str, Sequence[scorecard.JudgeDoc]]]) -> list[str]:
    """The judges by name. The looks of one that was never there are one."""
    judges = [one for _, judges in looks for one in judges]
    was_there = {scorecard.first_look(one.id) for one in judges if one.state != "SKIPPED"}
    return list(
        dict.fromkeys(
            one.id if scorecard.first_look(one.id) in was_there else scorecard.first_look(one.id)
            for one in judges
        )
    )


def comparison_markdown(doc: suite.ComparisonDoc) -> str:
    """Two runs of a suite, compared (`honestone.comparison/1`)."""
    return neat(_macro("comparison.md.j2", "whole")(doc))


def trend_markdown(doc: suite.TrendDoc) -> str:
    """Runs in the order given (`honestone.trend/1`), as a table."""
    return neat(_macro("comparison.md.j2", "trend")(doc))


def _macro(template: str, name: str) -> Callable[..., str]:
    return macro(_environment(), template, name)


def measured_markdown(name: str, **values: object) -> str:
    """One of the pages of `measured.md.j2`."""
    return neat(_macro("measured.md.j2", name)(**values))


# ------------------------------------------------------------------------------------------------------
# runs of suites

# What a comment on GitHub may hold.
MOST: Final = 65_536

_ROWS_SHARE: Final = 0.6  # of what is left after the summary; the rest is for details
_ICONS: Final = {
    "passed": "✅",
    "failed": "❌",
    "inconclusive": "❔",
    "target-error": "⚠️",
    "skipped": "⏭️",
}
_TABLE: Final = (
    "## Cases\n\n| case | status | score | time | why |\n| --- | --- | ---: | ---: | --- |\n"
)
_DETAILS: Final = "## What they miss\n\n"


def suite_markdown(report: suite.SuiteReportDoc | SuiteReport, *, most: int = MOST) -> str:
    """One run of a suite (`honestone.report/1`) in at most `most` characters: a comment or a CI
    summary has a limit.

    What does not fit is left out, and the page says so: passed cases first, then details.
    """
    report = SuiteReport.of(report)
    doc = report.brief()
    top, bottom = (neat(_macro("suite.md.j2", name)(doc)) for name in ("top", "bottom"))
    left = most - len(top) - len(bottom) - 600
    listed = doc.judge_states
    rows = _rows(doc, report.worst_first(doc), listed, int(left * _ROWS_SHARE))
    table = _TABLE + "\n".join(rows) if rows else ""
    details = _details(report.worst_first(doc), listed, left - len(table))
    without_details = sum(case.is_open for case in doc.cases) - len(details)
    cut = _cut_words(doc.worst_first[len(rows) :], without_details, doc)
    details_part = _DETAILS + "\n\n".join(details) if details else ""
    text = (
        "\n\n".join(part.strip("\n") for part in (top, table, details_part, cut, bottom) if part)
        + "\n"
    )
    return (
        text
        if len(text) <= most
        else _last_resort(doc.verdict_words, doc.name, doc.counts_words, most)
    )


def table_markdown(doc: TableDoc, *, most: int = MOST) -> str:
    """A table (`honestone.table/1`) in at most `most` characters, its open cases first."""
    top, head, bottom = (
        neat(_macro("table.md.j2", name)(doc)) for name in ("top", "head", "bottom")
    )
    left = most - len(top) - len(head) - len(bottom) - 600
    draw, row = _macro("table.md.j2", "detail"), _macro("table.md.j2", "row")
    rows = fitting([row(case) for case in doc.worst_first], int(left * _ROWS_SHARE))
    all_details = [neat(draw(case)).rstrip("\n") for case in doc.worst_first if case.is_open]
    details = fitting(all_details, left - sum(len(one) + 1 for one in rows))
    without = len(doc.cases) - len(rows)
    cut = f"_Cut to fit: {without:,} cases have no row, {len(all_details) - len(details):,} no details; the JSON has them._"
    parts = [
        top,
        head.rstrip("\n") + "\n" + "\n".join(rows),
        _DETAILS + "\n\n".join(details) if details else "",
    ]
    parts += [cut if without or len(details) < len(all_details) else "", bottom]
    text = "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
    return text if len(text) <= most else _last_resort(doc.verdict_words, doc.name, [], most)


def fitting(parts: Sequence[str], size: int) -> list[str]:
    """The first of them that fit together."""
    sums = accumulate(len(part) + 2 for part in parts)
    return [part for part, until in zip(parts, sums, strict=True) if until <= size]


def _rows(
    doc: suite.SuiteReportDoc,
    cases: Iterable[CaseDoc],
    listed: Sequence[scorecard.JudgeDoc],
    size: int,
) -> list[str]:
    """A row a case, as many as fit."""
    draw = _macro("suite.md.j2", "row")
    shown: list[str] = []
    for case in cases:
        drawn = draw(case, listed, doc.sure_words_of(case))
        size -= len(drawn) + 1
        if size < 0:
            break
        shown.append(drawn)
    return shown


def _details(
    cases: Iterable[CaseDoc], listed: Sequence[scorecard.JudgeDoc], size: int
) -> list[str]:
    """What the open cases miss, each folded, as many as fit; the open ones come first."""
    draw = _macro("suite.md.j2", "detail")
    parts: list[str] = []
    size -= len(_DETAILS)
    for case in cases:
        if not case.is_open:
            break
        drawn = neat(draw(case, listed)).rstrip("\n")
        size -= len(drawn) + 2
        if size < 0:
            break
        parts.append(drawn)
    return parts


def _cut_words(
    without_row: Sequence[CaseDoc], without_details: int, doc: suite.SuiteReportDoc
) -> str:
    """What is not on the page, and where it is."""
    missing = []
    if without_row:
        kinds = ", ".join(part for part in _kinds(without_row) if not part.startswith("0 "))
        missing.append(f"{count(len(without_row), 'case has', 'cases have')} no row ({kinds})")
    if without_details:
        missing.append(f"the details of {without_details:,} cases are left out")
    where = (
        f"`honestone show {md(doc.run)} --format html` has them" if doc.run else "the JSON has them"
    )
    return f"_Cut to fit: {'; '.join(missing)}; {where}._" if missing else ""


def _kinds(cases: Sequence[CaseDoc]) -> list[str]:
    statuses = [case.status for case in cases]
    return suite.counts_words({status: sum(one == status for one in statuses) for status in _ICONS})


def _last_resort(verdict: str, name: str, counts: Sequence[str], most: int) -> str:
    """Names or reasons alone are too long: the verdict and the counts."""
    rest = "_The rest is too long for this page; the JSON has it._"
    return neat(f"# {verdict}: {md(name, 60)}\n\n{', '.join(counts)}\n\n{rest}")[:most]
