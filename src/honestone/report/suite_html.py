"""A suite run as one HTML page that needs nothing else: no network, no other file, and no JavaScript to read it.

Every case is in the page as plain elements, folded away; the script only opens, sorts and filters. A policy in the
page lets run nothing but that script. The parts that hold no data are in `html/`.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from honestone.core.ballot import CHECK
from honestone.core.numbers import exact
from honestone.core.reading.evidence import find_quote
from honestone.report import html_plots as plots
from honestone.report.comparison_text import MEANINGS, NAMED, changed_cases, figures
from honestone.report.draw import bar_number, line, points, score_or_interval
from honestone.report.html_text import Marks, anchor_of, esc, esc_line, longest_text, who
from honestone.report.suite_words import (
    STATUSES,
    case_duration,
    case_name,
    cases_of,
    counts_of,
    counts_words,
    duration_words,
    flags_of,
    judged_count,
    judges_of,
    least_rate,
    mean_words,
    needs_words,
    rate_words,
    reasons_of,
    signed,
    source_words,
    spend_parts,
    status_of,
    suite_name,
    text_of,
    total_duration,
    unstable_cases,
)
from honestone.report.words import (
    Doc,
    applies,
    depths,
    flags_to_show,
    is_improvable,
    is_problem,
    is_unanswered,
    is_whole,
    mark_number,
    requirement,
    scale_words,
    suggestions,
    verdict_words,
    warnings,
)

OPEN_UP_TO: Final = 3000  # characters: a longer text is folded
MOST_PAIRS: Final = 24
_GLYPHS: Final = {"passed": "✓", "failed": "✗", "inconclusive": "?", "target-error": "!", "skipped": "–"}
_VERDICT_LOOKS: Final = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "skipped": "skipped"}


def suite_html(doc: Doc) -> str:
    """One run of a suite (`honestone.report/1`) as a whole page."""
    view = _view(doc)
    style, script = _part("style.css"), _part("page.js")
    return _filled(
        _part("page.html"),
        {
            "style": style,
            "script": script,
            "style_hash": _hash(style),
            "script_hash": _hash(script),
            "title": esc_line(f"{suite_name(doc)}: {verdict_words(doc).lower()}", 300),
            "head": _head(doc),
            "summary": _summary(doc),
            "figures": _scores(doc),
            "comparison": _comparison(doc, view),
            "toolbar": _toolbar(doc, view),
            "table": _table(doc, view),
            "judges": _judges(doc, view),
            "record": _record(doc),
        },
    )


@lru_cache(maxsize=4)
def _part(name: str) -> str:
    return (Path(__file__).parent / "html" / name).read_text("utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """In one pass, so that braces in a part stay what they are."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What all cases share: the numbers of the judges, how long a text may be, and the changes from a baseline."""

    numbers: Mapping[str, int]
    longest: int
    changes: Mapping[str, Doc]
    ids: frozenset[str]

    def name(self, number: int) -> str:
        return next(name for name, given in self.numbers.items() if given == number)


def _view(doc: Doc) -> _View:
    names = [one["id"] for one in judges_of(doc)]
    for case in cases_of(doc):
        for criterion in case.get("criteria") or ():
            for item in criterion.get("items") or ():
                names += [judge for judge in item.get("votes") or {} if judge != CHECK]
    changes = {case["id"]: case for case in (doc.get("comparison") or {}).get("cases") or ()}
    return _View(
        numbers={name: number for number, name in enumerate(dict.fromkeys(names), 1)},
        longest=longest_text(_sizes(doc)),
        changes=changes,
        ids=frozenset(case["id"] for case in cases_of(doc)),
    )


def _sizes(doc: Doc) -> Iterable[int]:
    for case in cases_of(doc):
        for key in ("input", "reference", "output", "diff", "trace"):
            yield len(text_of(case.get(key)))
        attempts = case.get("attempts") or ()
        for one in attempts if len(attempts) > 1 else ():
            for key in ("output", "diff", "trace"):
                yield len(text_of(one.get(key)))


# ------------------------------------------------------------------------------------------------------------ the top


def _badge(status: str, words: str | None = None) -> str:
    return (
        f'<span class="badge {status}"><i aria-hidden="true">{_GLYPHS[status]}</i> {esc_line(words or status)}</span>'
    )


def _head(doc: Doc) -> str:
    look = _VERDICT_LOOKS.get(doc["verdict"], "inconclusive")
    return f"<h1>{esc_line(suite_name(doc))}</h1>\n{_badge(look, verdict_words(doc))}\n{_facts(source_words(doc))}"


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    rows = "".join(f"<dt>{name}</dt><dd>{esc_line(told)}</dd>" for name, told in facts if told)
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def _summary(doc: Doc) -> str:
    reasons = "".join(f"<li>{esc_line(one)}</li>" for one in doc.get("reasons") or ())
    unstable = unstable_cases(doc)
    remarks = [f"{name}: {why}" for name, why in warnings(doc)]
    remarks += [*flags_to_show({**doc, "flags": flags_of(doc)}), *map(line, doc.get("notes") or ())]
    remarks += [f"unstable, the attempts disagree: {', '.join(unstable)}"] if unstable else []
    spent = spend_parts(doc.get("usage"))
    tiles = [
        _rate_tile(doc),
        _tile("Mean score", mean_words(doc) or "n/a", "of 100, skipped cases left out"),
        _tile("Cases", f"{len(cases_of(doc)):,}", ", ".join(counts_words(counts_of(doc)))),
        _time_tile(doc),
        _tile("Spent", spent[-1], ", ".join(spent[:-1])) if spent else "",
    ]
    parts = [
        f'<ul class="reasons">{reasons}</ul>' if reasons else "",
        f'<dl class="tiles">{"".join(tiles)}</dl>',
        f'<ul class="warnings">{"".join(f"<li>{esc_line(one)}</li>" for one in remarks)}</ul>' if remarks else "",
    ]
    return "\n".join(part for part in parts if part)


def _tile(name: str, told: str, more: str) -> str:
    return f'<div class="tile"><dt>{name}</dt><dd class="big">{esc_line(told)}</dd><dd class="soft">{esc_line(more)}</dd></div>'


def _time_tile(doc: Doc) -> str:
    """How long the run took; where nobody measured that, the target by itself."""
    whole, target = duration_words(doc.get("duration_ms")), duration_words(total_duration(doc))
    among = "in the target, all cases together"
    if whole:
        return _tile("Time", whole, f"{target} {among}" if target else "")
    return _tile("Time", target, among) if target else ""


def _rate_tile(doc: Doc) -> str:
    rate, interval = doc.get("pass_rate"), doc.get("pass_rate_interval")
    passed, judged = judged_count(doc)
    told = rate_words(rate, interval)
    more = ", ".join(part for part in (f"{passed:,} of {judged:,} passed", needs_words(doc)) if part)
    drawn = ""
    if rate is not None or interval:
        low, high = (float(exact(end) * 100) for end in (interval or (rate or 0, rate or 0)))
        least = least_rate(doc)
        mark = None if least is None else float(exact(least) * 100)
        look = _VERDICT_LOOKS.get(doc["verdict"], "inconclusive")
        drawn = plots.share_bar(low, high, mark=mark, look=look, says=f"pass rate {told}, {more}")
    return (
        f'<div class="tile rate"><dt>Pass rate</dt><dd class="big">{esc_line(told)}</dd>'
        f'<dd class="soft">{esc_line(more)}{drawn}</dd></div>'
    )


def _scores(doc: Doc) -> str:
    """How the scores are spread; of one or two cases the table says it."""
    scores = [(case["score"], status_of(case)) for case in cases_of(doc) if case.get("score") is not None]
    if len(scores) < 3:
        return ""
    kinds = [kind for kind in plots.KINDS if any(status == kind for _, status in scores)]
    legend = "".join(f'<li><span class="key {kind}"></span>{kind}</li>' for kind in kinds)
    drawn = plots.histogram(scores)
    return (
        '<section class="figures" aria-label="Scores"><figure><h2>Scores</h2>'
        f'{drawn}<figcaption><ul class="legend">{legend}<li>{plots.scored_words(len(scores))}</li></ul></figcaption>'
        "</figure></section>"
    )


# ---------------------------------------------------------------------------------------------------------- comparison


def _comparison(doc: Doc, view: _View) -> str:
    comparison = doc.get("comparison")
    if not comparison:
        return ""
    rates = {"baseline_pass_rate": doc.get("baseline_pass_rate"), "pass_rate": doc.get("pass_rate")}
    pairs = _pairs(comparison, view)
    return (
        '<section aria-label="Against the baseline"><h2>Against the baseline</h2>'
        f'<div class="differences">{_differences({**comparison, **rates})}</div>'
        f"{_named(comparison, view)}{pairs}</section>"
    )


def _differences(comparison: Doc) -> str:
    told = dict(figures(comparison))
    rows = []
    for name, value, interval, times in (
        ("pass rate", comparison.get("delta"), comparison.get("interval"), 100),
        ("mean score", comparison.get("score_delta"), comparison.get("score_interval"), 1),
    ):
        drawn = "<span></span>"
        if value is not None:
            by, ends = value * times, [end * times for end in interval or (value, value)]
            reach = plots.reach_of([by, *ends])
            drawn = plots.difference(by, ends, reach, f"{name}: {told[name]}")
        rows.append(f'<span>{name}</span>{drawn}<span class="by">{esc_line(told[name])}</span>')
    rows.append(f'<span>by case</span><span></span><span class="by">{esc_line(told["by case"])}</span>')
    return "".join(rows)


def _named(comparison: Doc, view: _View) -> str:
    rows = []
    for field, name, _, _ in NAMED:
        ids = comparison.get(field) or ()
        if ids:
            links = ", ".join(_link(one, view) for one in ids)
            rows.append(f'<li><b>{name}</b>{links} <span class="soft">({MEANINGS[field]})</span></li>')
    return f'<ul class="named">{"".join(rows)}</ul>' if rows else ""


def _link(id: str, view: _View) -> str:
    if id not in view.ids:
        return esc_line(id)
    return f'<a href="#{anchor_of(id)}">{esc_line(id)}</a>'


def _pairs(comparison: Doc, view: _View) -> str:
    """The cases that changed, the largest loss first; of many those that changed most."""
    changed = [case for case in changed_cases(comparison) if case.get("delta") is not None]
    if not changed:
        return ""
    most = sorted(changed, key=lambda case: -abs(case["delta"]))[:MOST_PAIRS]
    kept = {case["id"] for case in most}
    rows = []
    for case in changed:
        if case["id"] in kept:
            before, after = ((case.get(side) or {}).get("score") for side in ("baseline", "candidate"))
            says = f"{case['id']}: from {points(before)} to {points(after)}"
            rows.append(
                f'<span class="name">{_link(case["id"], view)}</span>{plots.pair(before, after, says)}'
                f'<span class="by">{signed(case["delta"])}</span>'
            )
    more = len(changed) - len(kept)
    rest = f"<li>{more:,} more changed less</li>" if more else ""
    return (
        f'<h3>Cases that changed, scores 0 to 100</h3><div class="pairs">{"".join(rows)}</div>'
        '<ul class="legend"><li><span class="key ring"></span>baseline</li><li><span class="key dot"></span>this run</li>'
        f"<li>a dashed line fell</li>{rest}</ul>"
    )


# --------------------------------------------------------------------------------------------------------------- cases


def _toolbar(doc: Doc, view: _View) -> str:
    """Only of use with the script, which shows it."""
    counts = {status: sum(status_of(case) == status for case in cases_of(doc)) for status in STATUSES}
    buttons = "".join(
        f'<button type="button" data-status="{status}" aria-pressed="false"><span aria-hidden="true">{_GLYPHS[status]}</span> '
        f"{status} {number:,}</button>"
        for status, number in counts.items()
        if number
    )
    tags = sorted({line(tag) for case in cases_of(doc) for tag in case.get("tags") or ()})
    splits = sorted({line(case["split"]) for case in cases_of(doc) if case.get("split")})
    orders = [("order up", "file order"), ("status up", "status, failed first"), ("score up", "score, lowest first")]
    orders += [("change up", "change, largest loss first")] if view.changes else []
    orders += [("time down", "time, longest first"), ("case up", "name")]
    return (
        '<div id="toolbar" class="toolbar" role="search" aria-label="Filter the cases" hidden>'
        f'<div class="group" role="group" aria-label="Status">{buttons}</div>'
        '<input id="search" type="search" placeholder="Search in all cases" aria-label="Search in all cases" autocomplete="off">'
        f"{_select('tags', 'Tag', 'every tag', tags)}{_select('split', 'Split', 'every split', splits)}"
        '<select id="sorter" class="only-narrow" aria-label="Order" autocomplete="off">'
        + "".join(f'<option value="{value}">{told}</option>' for value, told in orders)
        + '</select><span id="shown" class="shown" role="status"></span></div>'
    )


def _select(name: str, label: str, every: str, values: Sequence[str]) -> str:
    if not values:
        return ""
    options = "".join(f'<option value="{esc_line(one)}">{esc_line(one)}</option>' for one in values)
    return f'<select data-filter="{name}" aria-label="{label}" autocomplete="off"><option value="">{every}</option>{options}</select>'


def _table(doc: Doc, view: _View) -> str:
    """Two rows a case in a body of their own, so that they are sorted together. Roles: on a phone it is no grid."""
    columns = [("case", "Case"), ("status", "Status"), ("score", "Score")]
    columns += [("change", "Change")] if view.changes else []
    columns += [("time", "Time"), ("", "Why")]
    head = "".join(_head_cell(key, name) for key, name in columns)
    bodies = "\n".join(_case(case, index, len(columns), view) for index, case in enumerate(cases_of(doc), 1))
    return (
        '<table class="cases" role="table" aria-label="Cases">'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>\n{bodies}\n</table>'
    )


def _head_cell(key: str, name: str) -> str:
    look = f"c-{key or 'why'}{' c-num' if key in _NUMBERS else ''}"
    sortable = f' data-key="{key}"' if key else ""
    return f'<th role="columnheader" scope="col" class="{look}"{sortable}>{name}</th>'


_NUMBERS: Final = ("score", "change", "time")


def _case(case: Doc, index: int, columns: int, view: _View) -> str:
    status = status_of(case)
    anchor = anchor_of(case["id"])
    change = view.changes.get(case["id"])
    data = {
        "order": str(index),
        "is": status,
        "case": case_name(case),
        "status": str(("failed", "target-error", "inconclusive", "skipped", "passed").index(status)),
        "score": _number(case.get("score")),
        "change": _number((change or {}).get("delta")),
        "time": _number(case_duration(case)),
        "tags": json.dumps([line(tag) for tag in case.get("tags") or ()]),
        "split": json.dumps([line(case["split"])] if case.get("split") else []),
    }
    attributes = "".join(f' data-{key}="{esc_line(value)}"' for key, value in data.items())
    reasons = "; ".join(reasons_of(case)[:2])
    cells = [
        ("c-case", f'<a class="open" href="#{esc(anchor)}">{esc_line(case_name(case))}</a>{_tags(case)}'),
        ("c-status", _badge(status)),
        ("c-score c-num", _score_cell(case, status)),
        *([("c-change c-num", _change_cell(change))] if view.changes else []),
        ("c-time c-num", duration_words(case_duration(case))),
        ("c-why", f'<span class="clamp">{esc_line(reasons, 600)}</span>' if reasons else ""),
    ]
    row = "".join(f'<td role="cell" class="{look}">{told}</td>' for look, told in cells)
    return (
        f'<tbody role="rowgroup" id="{esc(anchor)}"{attributes}><tr role="row" class="row">{row}</tr>'
        f'<tr role="row" class="detail" id="opened-{index}"><td role="cell" colspan="{columns}"><details class="whole">'
        f"<summary>input, output and answers of {esc_line(case_name(case), 120)}</summary>{_opened(case, index, view)}"
        "</details></td></tr></tbody>"
    )


def _number(value: Any) -> str:
    return "" if value is None else f"{float(value):.6g}"


def _tags(case: Doc) -> str:
    """What a case is beside its name: its description, split, tags, and whether its attempts disagree."""
    told = f'<div class="soft">{esc_line(case["description"], 200)}</div>' if case.get("description") else ""
    tags = [f'<span class="tag">{esc_line(one, 60)}</span>' for one in case.get("tags") or ()]
    tags += ['<span class="tag flips">unstable</span>'] if case.get("unstable") else []
    return told + (f"<div>{''.join(tags)}</div>" if tags else "")


def _score_cell(case: Doc, status: str) -> str:
    interval = case.get("interval")
    if case.get("score") is None and (not interval or status in ("target-error", "skipped")):
        return '<span class="soft">n/a</span>'
    told = score_or_interval(case.get("score"), interval)
    low, high = interval or (case["score"], case["score"])
    drawn = plots.share_bar(low, high, mark=case.get("threshold"), look=status, says=f"score {told} of 100", height=6)
    return f'{told}<div class="bar">{drawn}</div>'


def _change_cell(change: Doc | None) -> str:
    if change is None:
        return '<span class="soft">new</span>'
    before = status_of(change.get("baseline") or {})
    was = f'<div class="soft">was {before}</div>' if before != status_of(change.get("candidate") or {}) else ""
    return f"{signed(change.get('delta'))}{was}"


# --------------------------------------------------------------------------------------------------------- one, opened


def _opened(case: Doc, index: int, view: _View) -> str:
    output = text_of(case.get("output"))
    marks = Marks(output[: view.longest], f"q{index}")
    answers = _answers(case, marks, output, view)
    texts = [
        _text("Input", text_of(case.get("input")), view),
        _text("Reference", text_of(case.get("reference")), view),
        _text("Output", output, view, shown=marks.html(view.name)) if case.get("output") is not None else "",
        _text("Error", text_of(case.get("error")), view),
        _diff(text_of(case.get("diff")), view),
        _trace(case.get("trace"), view),
        _attempts(case, output, view),
    ]
    reasons = "".join(f"<li>{esc_line(one)}</li>" for one in reasons_of(case))
    return (
        f'<div class="case">{f"<ul class=reasons>{reasons}</ul>" if reasons else ""}<div class="columns">'
        f"<div>{''.join(texts)}{_facts(_case_facts(case))}</div><div>{answers}{_case_judges(case)}</div></div></div>"
    )


def _case_facts(case: Doc) -> list[tuple[str, str]]:
    return [
        ("split", line(case.get("split") or "")),
        ("threshold", bar_number(case.get("threshold"))),
        ("floor", bar_number(case.get("floor")) if case.get("floor") else ""),
        ("contract", line(case.get("contract") or "", 24)),
        ("flags", "; ".join(flags_to_show(case))),
    ]


def _text(name: str, text: str, view: _View, *, shown: str | None = None, look: str = "") -> str:
    """A text under its name, folded when long. `shown`: the same as HTML, its length the page's limit at most."""
    if not text:
        return f'<p class="text"><b>{name}</b> <span class="soft">empty</span></p>' if shown is not None else ""
    cut = len(text) - view.longest
    told = f"{len(text):,} characters"
    is_open = " open" if len(text) <= OPEN_UP_TO else ""
    rest = (
        f'<p class="cut">Cut here: {cut:,} more characters are in the record, not in this page.</p>' if cut > 0 else ""
    )
    body = shown if shown is not None else esc(text[: view.longest])
    # A line break directly behind <pre> is not part of its text.
    return (
        f'<details class="text"{is_open}><summary>{name} <span class="soft num">{told}</span></summary>'
        f"<pre{f' class={look}' if look else ''}>\n{body}</pre>{rest}</details>"
    )


def _diff(text: str, view: _View, name: str = "Diff") -> str:
    if not text.strip():
        return ""
    lines = [_diff_line(one) for one in text[: view.longest].split("\n")]
    return _text(name, text, view, shown="".join(lines), look="diff")


def _diff_line(text: str) -> str:
    kinds = (("+++", "file"), ("---", "file"), ("diff ", "file"), ("@@", "hunk"), ("+", "add"), ("-", "del"))
    look = next((kind for start, kind in kinds if text.startswith(start)), "")
    return f"<span{f' class={look}' if look else ''}>{esc(text) or ' '}</span>"


def _trace(trace: Any, view: _View, name: str = "Trace") -> str:
    """What the target told of its own run: the calls of its tools, tokens, money."""
    if not trace:
        return ""
    if not isinstance(trace, Mapping):
        return _text(name, text_of(trace), view)
    facts = [
        ("tokens in", _count(trace.get("input_tokens"))),
        ("tokens out", _count(trace.get("output_tokens"))),
        ("cost", f"${trace['usd']:,.4f}" if isinstance(trace.get("usd"), int | float) else ""),
        ("duration", duration_words(trace.get("duration_ms"))),
        ("skill loaded", "" if trace.get("skill_loaded") is None else "yes" if trace["skill_loaded"] else "no"),
    ]
    calls = trace.get("tool_calls")
    told = "tool calls not told" if calls is None else f"{len(calls):,} tool calls"
    room = view.longest
    rows = []
    for call in calls or ():
        if room <= 0:
            rows.append("<li>the rest is in the record, not in this page</li>")
            break
        drawn, size = _call(call, room)
        room -= size
        rows.append(f"<li>{drawn}</li>")
    listed = f'<ol class="calls">{"".join(rows)}</ol>' if rows else ""
    extra = _text("Told beside it", text_of(trace["extra"]), view) if trace.get("extra") else ""
    return (
        f'<details class="text"><summary>{name} <span class="soft">{told}</span></summary>'
        f"{_facts(facts)}{listed}{extra}</details>"
    )


def _count(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else ""


def _call(call: Any, room: int) -> tuple[str, int]:
    """A call as `name(arguments) -> result`, and how much of the room it took."""
    if not isinstance(call, Mapping):
        text = text_of(call)[:room]
        return esc(text), len(text) + 1
    parts = [f"<code>{esc_line(call.get('name') or '', 200)}</code>"]
    size = 1
    for value in (call.get("arguments"), call.get("result")):
        if value not in (None, "", {}, []):
            text = text_of(value)
            shown = text[: max(room - size, 0)]
            size += len(shown)
            parts.append(f"<pre>\n{esc(shown)}{'…' if len(shown) < len(text) else ''}</pre>")
    return "".join(parts), size


def _attempts(case: Doc, output: str, view: _View) -> str:
    """All attempts in a table; below it the outputs that are not the one shown."""
    attempts = case.get("attempts") or ()
    if len(attempts) < 2:
        return ""
    rows, texts = [], []
    for one in attempts:
        number = esc_line(one.get("attempt", ""))
        own = text_of(one.get("output"))
        why = "; ".join(reasons_of(one)[:2])
        cells = [number, _badge(status_of(one)), points(one.get("score")), duration_words(one.get("duration_ms"))]
        cells.append(esc_line(why, 400) or ("the output above" if own and own == output else ""))
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
        if own != output:
            texts.append(_text(f"Output of attempt {number}", own, view))
            texts.append(_diff(text_of(one.get("diff")), view, f"Diff of attempt {number}"))
            texts.append(_trace(one.get("trace"), view, f"Trace of attempt {number}"))
    head = "".join(f"<th scope=col>{name}</th>" for name in ("attempt", "status", "score", "time", "why"))
    return (
        f'<details class="text" open><summary>Attempts <span class="soft">{len(attempts):,}</span></summary>'
        f'<div class="scroll"><table class="attempts"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        f"{''.join(texts)}</details>"
    )


# ------------------------------------------------------------------------------------------------------------- answers


def _answers(case: Doc, marks: Marks, output: str, view: _View) -> str:
    criteria = case.get("criteria") or ()
    if not criteria:
        return '<p class="text soft">Nothing was judged.</p>'
    depth = depths(criteria)
    return '<h3 class="text">Answers</h3>' + "".join(
        _criterion(one, depth[one["id"]], marks, output, view) for one in criteria
    )


def _criterion(one: Doc, depth: int, marks: Marks, output: str, view: _View) -> str:
    score = score_or_interval(one.get("score"), one.get("interval")) if applies(one) else "n/a"
    notes = [f"weight {bar_number(one.get('weight'))}"] if one.get("weight") is not None else []
    notes += [f"floor {bar_number(one['floor'])}"] if one.get("floor") else []
    notes += ["required"] if one.get("required") else []
    notes += ["below its floor"] if one.get("below_floor") else []
    notes += [f"judges {points(one['spread'])} apart"] if one.get("spread") else []
    notes += [] if applies(one) else ["does not apply"]
    items = "".join(_item(one, item, marks, output, view) for item in one.get("items") or ())
    asked = one.get("requirement")
    told = f'<p class="soft">{esc_line(asked)}</p>' if asked and line(asked) != line(one["id"]) else ""
    return (
        f'<section class="criterion{" child" if depth else ""}"><header><h4>{esc_line(one["id"])}</h4>'
        f'<span class="needs"><b>{score}</b> · {esc_line(", ".join(notes))}</span></header>{told}'
        + (f'<ul class="items">{items}</ul>' if items else "")
        + "</section>"
    )


def _item(criterion: Doc, item: Doc, marks: Marks, output: str, view: _View) -> str:
    glyph, look, state = _state_of(criterion, item)
    asked = "" if is_whole(criterion, item) else f"{esc_line(requirement(item))} "
    scale = f' <span class="soft">on {scale_words(item)}</span>' if scale_words(item) else ""
    votes = "".join(_vote(judge, answer, view) for judge, answer in (item.get("votes") or {}).items())
    said = [_quote(quote, marks, output, view) for quote in item.get("evidence") or ()]
    said += [
        f'<li class="advice">{esc(text)}{f" <span class=soft>({esc_line(judge)})</span>" if judge else ""}</li>'
        for judge, text in suggestions(item)
    ]
    said += [f'<li class="soft">{esc_line(item["note"])}</li>'] if item.get("note") else []
    return (
        f'<li><span class="glyph {look}" aria-hidden="true">{glyph}</span><div>'
        f'{asked}<span class="{look}">{state}</span>{scale}<div class="votes">{votes}</div>'
        + (f'<ul class="said">{"".join(said)}</ul>' if said else "")
        + "</div></li>"
    )


def _state_of(criterion: Doc, item: Doc) -> tuple[str, str, str]:
    if not applies(item):
        return "–", "skipped", "does not apply"
    if is_unanswered(item):
        return "?", "inconclusive", "not answered"
    if is_problem(item):
        return "✗", "failed", "penalty incurred" if criterion.get("is_penalty") else "not met"
    if is_improvable(criterion, item):
        return "~", "inconclusive", "met, but not in full"
    return "✓", "passed", "no penalty" if criterion.get("is_penalty") else "met"


def _vote(judge: str, answer: Any, view: _View) -> str:
    number = view.numbers.get(judge)
    told = line(answer) if isinstance(answer, str) else mark_number(answer)
    return f"<span>{who(number) if number else ''}{esc_line(judge)}: <b>{esc_line(told)}</b></span>"


def _quote(quote: Any, marks: Marks, output: str, view: _View) -> str:
    """A judge's quote, linked to where it stands in the output; or that it does not stand there."""
    words, judge = (quote, "") if isinstance(quote, str) else (quote.get("quote") or "", quote.get("judge") or "")
    number = view.numbers.get(judge)
    label = who(number) if number else ""
    told = f"<q>{esc_line(words, 2000)}</q>"
    if not number:
        return f"<li>{told}</li>"
    place = marks.add(words, number)
    if place:
        return f'<li>{label}{told} <a href="#{place}">in the output</a></li>'
    if quote.get("found") or (len(output) > len(marks.text) and find_quote(words, output)):
        return f'<li>{label}{told} <span class="soft">in what is not marked here</span></li>'
    if quote.get("found") is False:
        return f'<li>{label}{told} <span class="absent">not in the output</span></li>'
    return f"<li>{label}{told}</li>"


def _case_judges(case: Doc) -> str:
    """Judges that gave no whole answer to this case, with the reason."""
    rows = [
        f"<li>{esc_line(one['id'])}: {esc_line(one.get('state') or '')}"
        + (f" ({esc_line(one['reason'], 400)})" if one.get("reason") else "")
        + "".join(f"<br>{esc_line(problem, 300)}" for problem in (one.get("problems") or ())[:5])
        + "</li>"
        for one in case.get("judges") or ()
        if one.get("state") != "AVAILABLE" or one.get("problems")
    ]
    return f'<h3>Judges with trouble</h3><ul class="said">{"".join(rows)}</ul>' if rows else ""


# ---------------------------------------------------------------------------------------------------------------- rest


def _judges(doc: Doc, view: _View) -> str:
    judges = judges_of(doc)
    if not judges:
        return ""
    rows = "".join(
        f"<tr><td>{who(view.numbers[one['id']])} {esc_line(one['id'])}</td><td>{esc_line(one.get('state') or '')}</td>"
        f"<td>{esc_line(one.get('reason') or '', 400)}</td></tr>"
        for one in judges
    )
    return (
        '<section aria-label="Judges"><h2>Judges</h2><div class="scroll"><table class="judges"><thead><tr><th scope=col>judge</th>'
        f"<th scope=col>state</th><th scope=col>why</th></tr></thead><tbody>{rows}</tbody></table></div></section>"
    )


def _record(doc: Doc) -> str:
    return _facts(
        [
            ("run", line(doc.get("run") or "")),
            ("contract", line(doc.get("contract") or "")),
            ("artifact", line((doc.get("artifact") or {}).get("digest") or "")),
        ]
    )
