"""A suite run as Markdown, for the comment on a pull request and the summary of a CI step.

Both have a limit of characters, so the page says what it left out: passed cases first, then details.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from honestone.report.comparison_text import comparison_parts
from honestone.report.draw import line, points, score_or_interval
from honestone.report.markdown import bullets, findings, md, page, table
from honestone.report.suite_words import (
    STATUSES,
    case_duration,
    case_name,
    cases_of,
    counts_of,
    counts_words,
    duration_words,
    flags_of,
    is_open,
    judged_count,
    judges_of,
    mean_words,
    needs_words,
    quoting_output,
    rate_words,
    reasons_of,
    source_words,
    spend_parts,
    status_of,
    suite_name,
    text_of,
    time_parts,
    unstable_cases,
)
from honestone.report.words import Doc, flags_to_show, verdict_words, warnings

MOST: Final = 65_536
"""What a comment on GitHub may hold."""

_ROWS_SHARE: Final = 0.6  # of what is left after the summary; the rest is for details
_REASON: Final = 300
_OUTPUT: Final = 500
_ICONS: Final = {"passed": "✅", "failed": "❌", "inconclusive": "❔", "target-error": "⚠️", "skipped": "⏭️"}


def suite_markdown(doc: Doc, *, most: int = MOST) -> str:
    """One run of a suite (`honestone.report/1`) in at most `most` characters."""
    before = [
        f"# {verdict_words(doc)}: {md(suite_name(doc), 200)}",
        bullets(md(reason, 1000) for reason in (doc.get("reasons") or ())[:20]),
        _summary(doc),
    ]
    comparison = doc.get("comparison")
    if comparison:
        before += ["## Against the baseline", *_against(doc, comparison)]
    after = [*_judges(doc), _record(doc)]
    room = most - len(page([*before, *after])) - 600
    rows, hidden_rows = _rows(cases_of(doc), int(room * _ROWS_SHARE))
    cases = ["## Cases", table(["case", "status", "score", "time", "why"], rows, right=[2, 3])] if rows else []
    room -= len(page(cases))
    details, hidden_details = _details(cases_of(doc), room)
    cut = _cut_words(hidden_rows, hidden_details, doc)
    text = page([*before, *cases, *details, cut, *after])
    return text if len(text) <= most else _last_resort(doc, most)


def _summary(doc: Doc) -> str:
    passed, judged = judged_count(doc)
    rate = f"**pass rate {rate_words(doc.get('pass_rate'), doc.get('pass_rate_interval'))}**"
    told = [rate, f"{passed:,} of {judged:,} passed", needs_words(doc)]
    if mean_words(doc):
        told.append(f"mean score {mean_words(doc)}")
    unstable = unstable_cases(doc)
    lines = [
        ", ".join(part for part in told if part),
        ", ".join(counts_words(counts_of(doc))),
        *([f"unstable: {md(', '.join(unstable), 1000)}"] if unstable else []),
        *(f"**{name}**: {why}" for name, why in warnings(doc)),
        *(md(flag, 500) for flag in (*flags_to_show({**doc, "flags": flags_of(doc)}), *(doc.get("notes") or ()))[:20]),
    ]
    return bullets(lines)


def _against(doc: Doc, comparison: Doc) -> list[str]:
    rates = {"baseline_pass_rate": doc.get("baseline_pass_rate"), "pass_rate": doc.get("pass_rate")}
    return comparison_parts({**comparison, **rates}, level=3)


# --------------------------------------------------------------------------------------------------------------- cases


def _rows(cases: Sequence[Doc], room: int) -> tuple[list[list[str]], list[Doc]]:
    """A row a case in the order of the file. When they do not all fit, the open ones come before the rest."""
    drawn = [(case, _row(case)) for case in cases]
    wanted = sorted(range(len(drawn)), key=lambda index: (not is_open(drawn[index][0]), index))
    kept: set[int] = set()
    for index in wanted:
        room -= sum(map(len, drawn[index][1])) + 3 * 5 + 2
        if room < 0:
            break
        kept.add(index)
    shown = [row for index, (_, row) in enumerate(drawn) if index in kept]
    return shown, [case for index, (case, _) in enumerate(drawn) if index not in kept]


def _row(case: Doc) -> list[str]:
    status = status_of(case)
    why = "; ".join(md(one, _REASON) for one in reasons_of(case)[:2])
    if case.get("unstable"):
        why = "; ".join(part for part in ("unstable", why) if part)
    return [
        md(case_name(case), 200),
        f"{_ICONS[status]} {status}",
        _score(case),
        duration_words(case_duration(case)),
        why,
    ]


def _score(case: Doc) -> str:
    if status_of(case) in ("target-error", "skipped") and case.get("score") is None:
        return ""
    return score_or_interval(case.get("score"), case.get("interval"))


def _details(cases: Sequence[Doc], room: int) -> tuple[list[str], int]:
    """What the open cases miss, each folded away. The name of one is in a code span, where sites look for no mention."""
    parts: list[str] = []
    hidden = 0
    for case in filter(is_open, cases):
        told = _detail(case)
        if not parts:
            room -= len("## What they miss\n\n")
        room -= len(told) + 2
        if room < 0 or hidden:
            hidden += 1
            continue
        parts.append(told)
    return (["## What they miss", *parts] if parts else []), hidden


def _detail(case: Doc) -> str:
    name = escape(line(case_name(case), 200))
    lines = [md(reason, 1000) for reason in reasons_of(case)[:10]]
    attempts = case.get("attempts") or ()
    if len(attempts) > 1:
        told = ", ".join(
            f"{md(one.get('attempt', ''))} {status_of(one)} {points(one.get('score'))}" for one in attempts
        )
        lines.append(f"attempts: {told}")
    output = text_of(case.get("output"))
    lines += [f"output: {md(output, _OUTPUT)}"] if output.strip() else []
    return page(
        [
            f"<details><summary><code>{name}</code> {status_of(case)}</summary>",
            bullets(lines),
            *findings(quoting_output(case), "###"),
            "</details>",
        ]
    ).rstrip("\n")


def _cut_words(rows: Sequence[Doc], details: int, doc: Doc) -> str:
    """What is not on the page, and where it is."""
    told = []
    if rows:
        counts = {status: sum(status_of(case) == status for case in rows) for status in STATUSES}
        kinds = ", ".join(f"{number:,} {status}" for status, number in counts.items() if number)
        told.append(f"{len(rows):,} cases have no row ({kinds})")
    if details:
        told.append(f"the details of {details:,} cases are left out")
    if not told:
        return ""
    where = f"`honestone show {md(doc['run'])} --format html` has them" if doc.get("run") else "the JSON has them"
    return f"_Cut to fit: {'; '.join(told)}; {where}._"


def _last_resort(doc: Doc, most: int) -> str:
    """Names or reasons alone are too long: the verdict and the counts."""
    return page(
        [
            f"# {verdict_words(doc)}: {md(suite_name(doc), 60)}",
            ", ".join(counts_words(counts_of(doc))),
            "_The rest is too long for this page; the JSON has it._",
        ]
    )[:most]


# ---------------------------------------------------------------------------------------------------------------- rest


def _judges(doc: Doc) -> list[str]:
    rows = [
        [md(one["id"], 200), md(one.get("state") or ""), md(one.get("reason") or "", _REASON)]
        for one in judges_of(doc)[:40]
    ]
    return ["## Judges", table(["judge", "state", "why"], rows)] if rows else []


def _record(doc: Doc) -> str:
    """What was run, what it cost, and the ids by which it can be found and compared."""
    facts = [
        *source_words(doc),
        ("time", ", ".join(time_parts(doc))),
        ("spent", ", ".join(spend_parts(doc.get("usage")))),
        ("run", doc.get("run")),
        ("contract", doc.get("contract")),
    ]
    return bullets(f"{name}: {md(value, 300)}" for name, value in facts if value)
