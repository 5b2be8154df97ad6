"""Reports as Markdown, for pull requests, wikis and the file that every loop leaves behind.

Outside text is shown as the characters it has: it makes no link, image, heading, mention, HTML or table cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from honestone.core.numbers import exact, show_bar
from honestone.report.draw import bar_number, change, clean, line, points, score_or_interval
from honestone.report.words import (
    Doc,
    applies,
    artifact_path,
    depths,
    diff_words,
    evidence_share,
    evidence_words,
    flags_to_show,
    is_improvable,
    is_problem,
    is_unanswered,
    order_of,
    outcome_words,
    requirement,
    result_words,
    scale_words,
    states_words,
    suggestions,
    usage_parts,
    verdict_words,
    votes_by_answer,
    warnings,
)

LONGEST: Final = 2000  # characters of one quote or suggestion; the record holds all of it
LONGEST_DIFF: Final = 200_000


# --------------------------------------------------------------------------------------------------------- escaping

# An underscore inside a word never starts emphasis, so `snake_case` stays readable.
_SPECIAL: Final = re.compile(r"[\\`*\[\]<>#|~&${}]|(?<![^\W_])_|_(?![^\W_])")
_MARKER: Final = re.compile(r"^(?:[-+=]|\d{1,9}[.)])")
_SCHEME: Final = re.compile(r"(?i)(?<=[a-z0-9+.\-]):(?=//)|(?<=mailto):|(?<=xmpp):")
_WWW: Final = re.compile(r"(?i)(?<=\bwww)\.")
# Sites look for `@name` and `#12` after rendering, where an escape is gone; a code span is never searched.
_MENTION: Final = re.compile(r"(?:@|\\#(?=\d))+")


def md(text: object, limit: int = LONGEST) -> str:
    """Outside text on one line, without any meaning in Markdown or HTML; safe in a table cell and after a bullet."""
    safe = _SPECIAL.sub(r"\\\g<0>", line(text, limit))
    safe = _SCHEME.sub(r"\\:", safe)
    safe = _WWW.sub(r"\\.", safe)
    safe = _MENTION.sub(lambda found: f"`{found[0].replace(chr(92), '')}`", safe)
    marker = _MARKER.match(safe)
    return f"{safe[: marker.end() - 1]}\\{safe[marker.end() - 1 :]}" if marker else safe


def fenced(text: str, language: str = "") -> str:
    """A code block that its content cannot close: the fence is longer than any run of backticks inside."""
    body = clean(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """A table of cells that are already safe; the columns numbered in `right` hold numbers."""
    rule = ["---:" if column in right else "---" for column in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in ([*head], rule, *rows))


def page(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


# --------------------------------------------------------------------------------------------------------- scorecard


def scorecard_markdown(doc: Doc) -> str:
    """One artifact's scorecard (`honestone.scorecard/1`)."""
    return page([f"# {verdict_words(doc)}: {md(artifact_path(doc))}", *_scorecard_parts(doc, level=2)])


def scorecards_markdown(docs: Sequence[Doc]) -> str:
    """Several artifacts: a table, then each scorecard."""
    if len(docs) == 1:
        return scorecard_markdown(docs[0])
    passed = sum(doc["verdict"] == "pass" for doc in docs)
    rows = [
        [
            md(artifact_path(doc)),
            verdict_words(doc),
            _overall(doc),
            "; ".join(md(one) for one in doc.get("reasons") or ()),
        ]
        for doc in docs
    ]
    parts = [f"# {passed} of {len(docs)} passed", table(["artifact", "verdict", "score", "why"], rows, right=[2])]
    for doc in docs:
        parts += [f"## {verdict_words(doc)}: {md(artifact_path(doc))}", *_scorecard_parts(doc, level=3)]
    return page(parts)


def _scorecard_parts(doc: Doc, *, level: int) -> list[str]:
    heading = "#" * level
    return [
        f"Rubric: {md(doc['title'])}" if doc.get("title") else "",
        f"**Overall: {_overall(doc)}** of 100, needs {bar_number(doc.get('threshold'))}",
        bullets([*(md(reason) for reason in doc.get("reasons") or ()), *_remarks(doc)]),
        f"{heading} Criteria",
        criteria_table(doc),
        *findings(doc, heading),
        f"{heading} Judges" if doc.get("judges") else "",
        _judges(doc.get("judges") or ()),
        _record(doc),
    ]


def _overall(doc: Doc) -> str:
    return score_or_interval(doc.get("score"), doc.get("interval"))


def bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {one}" for one in lines)


def _remarks(doc: Doc) -> list[str]:
    lines = [f"**{name}**: {why}" for name, why in warnings(doc)]
    lines += [md(flag) for flag in (*flags_to_show(doc), *(doc.get("notes") or ()))]
    share = evidence_share(doc)
    return [*lines, *([f"evidence: {share}"] if share else [])]


def criteria_table(doc: Doc) -> str:
    """A row per criterion: score, what it needs, its weight and each judge's score; a tree by arrows."""
    criteria = doc.get("criteria") or []
    judges = list(dict.fromkeys(judge for one in criteria for judge in one.get("by_judge") or {}))
    depth = depths(criteria)
    rows = []
    for one in criteria:
        by_judge = one.get("by_judge") or {}
        rows.append(
            [
                "↳ " * depth[one["id"]] + md(one["id"]),
                _criterion_score(one),
                bar_number(one.get("floor")) if one.get("floor") else "",
                bar_number(one.get("weight")),
                *(points(by_judge[judge]) if judge in by_judge else "" for judge in judges),
                ", ".join(_criterion_notes(one)),
            ]
        )
    head = ["criterion", "score", "needs", "weight", *(md(judge) for judge in judges), "note"]
    return table(head, rows, right=range(1, len(head) - 1))


def _criterion_score(one: Doc) -> str:
    return score_or_interval(one.get("score"), one.get("interval")) if applies(one) else "n/a"


def _criterion_notes(one: Doc) -> list[str]:
    notes = [] if applies(one) else ["does not apply"]
    notes += ["**below floor**"] if one.get("below_floor") else []
    notes += ["required"] if one.get("required") else []
    if one.get("is_penalty"):
        notes.append("penalty incurred" if one.get("score") else "penalty, not incurred")
    spread = one.get("spread")
    return [*notes, f"judges {points(spread)} apart"] if spread else notes


def findings(doc: Doc, heading: str) -> list[str]:
    """Items not met, not answered, and met but not in full; each with votes, evidence and suggestions."""
    pairs = list(order_of(doc.get("criteria") or ()))
    groups = [
        ("Not met", [pair for pair in pairs if is_problem(pair[1])]),
        ("Not answered", [pair for pair in pairs if is_unanswered(pair[1])]),
        ("Met, but not in full", [pair for pair in pairs if is_improvable(*pair)]),
    ]
    parts = []
    for title, found in groups:
        if found:
            parts += [f"{heading} {title}", "\n".join(_finding(criterion, item) for criterion, item in found)]
    return parts


def _finding(criterion: Doc, item: Doc) -> str:
    said = "penalty incurred: " if criterion.get("is_penalty") and is_problem(item) else ""
    lines = [f"- **{md(criterion['id'])}**: {said}{md(requirement(item))}"]
    votes = "; ".join(
        f"{md(answer)}: {', '.join(md(one) for one in judges)}" for answer, judges in votes_by_answer(item)
    )
    if votes:
        lines.append(f"  - {votes}" + (f" (on {scale_words(item)})" if scale_words(item) else ""))
    if item.get("note"):
        lines.append(f"  - {md(item['note'])}")
    for quote in item.get("evidence") or ():
        where = ", ".join(one for one in (md(quote.get("judge") or ""), evidence_words(quote)) if one)
        lines.append(f"  - “{md(quote.get('quote') or '')}”" + (f" ({where})" if where else ""))
    for judge, text in suggestions(item):
        lines.append(f"  - suggestion: {md(text)}" + (f" ({md(judge)})" if judge else ""))
    return "\n".join(lines)


def _judges(judges: Sequence[Doc]) -> str:
    if not judges:
        return ""
    rows = []
    for one in judges:
        told = [md(one["reason"])] if one.get("reason") else []
        told += [md(problem) for problem in one.get("problems") or ()]
        rows.append([md(one["id"]), md(one["state"]), "; ".join(told)])
    return table(["judge", "state", "why"], rows)


def _record(doc: Doc) -> str:
    """What it cost, and the ids by which it can be found and compared."""
    artifact = doc.get("artifact") or {}
    facts = [
        ("spent", ", ".join(usage_parts(doc.get("usage"))) or None),
        ("run", doc.get("run")),
        ("contract", doc.get("contract")),
        ("artifact", artifact.get("digest")),
    ]
    return bullets(f"{name}: {md(value)}" for name, value in facts if value)


# -------------------------------------------------------------------------------------------------------- improvement


def improvement_markdown(
    doc: Doc, *, rubric: Mapping[str, Any] | None = None, diffs: Sequence[Mapping[str, Any]] | None = None
) -> str:
    """The report of a loop: result, rubric, history, final scores, who was there in each round, certification, diffs.

    `rubric` is `core.rubric.to_plain`; `diffs` are `{"round": 2, "diff": text}`.
    """
    final = doc.get("final") or doc.get("baseline") or {}
    return page(
        [
            f"# {result_words(doc)}: {md(artifact_path(doc))}",
            md(doc["reason"]) if doc.get("reason") else "",
            _summary(doc, final),
            *_history(doc),
            *_rounds(doc),
            "## Final scores",
            criteria_table(final) if final else "Nothing was scored.",
            bullets(_remarks({**final, "flags": doc.get("flags") or final.get("flags")})),
            *(findings(final, "##") if final else []),
            *_availability(doc),
            *_certification(doc),
            *_rubric_parts(rubric),
            *_diff_parts(diffs or ()),
            "## Record",
            _improvement_record(doc),
        ]
    )


def _summary(doc: Doc, final: Doc) -> str:
    before = doc.get("baseline") or {}
    lines = [
        f"score: {_overall(before)} → {_overall(final)}, needs {bar_number(doc.get('threshold'))}" if before else "",
        f"rubric: {md(doc['title'])}" if doc.get("title") else "",
        f"floor: {bar_number(doc['floor'])}" if doc.get("floor") else "",
        f"best version: {_version_name(doc.get('best_round') or 0)}",
        f"policy: {md(doc['policy'])}" if doc.get("policy") else "",
        "resumed from an earlier, unfinished run" if doc.get("resumed") else "",
    ]
    return bullets(one for one in lines if one)


def _version_name(number: int) -> str:
    return f"round {number}" if number else "the original"


def _history(doc: Doc) -> list[str]:
    """Every criterion's score after every round that was scored; rejected rounds in brackets."""
    before = doc.get("baseline") or {}
    if not before:
        return []
    ids = [one["id"] for one in before.get("criteria") or ()]
    rows = [["baseline", _overall(before), *(_criterion_score(one) for one in before.get("criteria") or ())]]
    for one in doc.get("rounds") or ():
        known = {criterion["id"]: criterion for criterion in one.get("criteria") or ()}
        scores = [_after(known[name]) if name in known else "" for name in ids]
        whole = score_or_interval(one.get("score_after"), one.get("interval_after"))
        cells = [whole if one.get("interval_after") or one.get("score_after") is not None else "", *scores]
        kept = one.get("decision") == "accepted"
        rows.append([f"round {md(one['round'])}", *(cell if kept or not cell else f"({cell})" for cell in cells)])
    head = ["version", "overall", *(md(name) for name in ids)]
    note = "Scores in brackets belong to versions that were not kept."
    return ["## Score history", table(head, rows, right=range(1, len(head))), note if len(rows) > 1 else ""]


def _after(criterion: Doc) -> str:
    return points(criterion["after"]) if criterion.get("after") is not None else "?"


def _rounds(doc: Doc) -> list[str]:
    rounds = doc.get("rounds") or []
    if not rounds:
        return []
    rows = []
    for one in rounds:
        scores = f"{_or_unknown(one.get('score_before'))} → {_or_unknown(one.get('score_after'))}"
        by = change(one.get("score_before"), one.get("score_after"))
        rows.append(
            [
                md(one["round"]),
                ", ".join(md(name) for name in one.get("focus") or ()),
                md(outcome_words(one)),
                f"{md(one.get('decision') or '')}" + (f": {md(one['reason'])}" if one.get("reason") else ""),
                scores + (f" ({by})" if by else "") if one.get("score_after") is not None else "",
                diff_words(one.get("diff")),
                ", ".join(md(name) for name in one.get("floor_violations") or ()),
                "; ".join(md(flag) for flag in one.get("flags") or ()),
            ]
        )
    head = ["round", "focus", "outcome", "decision", "score", "lines", "below floor", "flags"]
    return ["## Rounds", table(head, rows, right=[0])]


def _or_unknown(score: Any) -> str:
    return "?" if score is None else points(score)


def _availability(doc: Doc) -> list[str]:
    """Which judges were there, from the baseline to the last round, and the reasons of those that were not."""
    looks = [("baseline", (doc.get("baseline") or {}).get("judges") or [])]
    looks += [(f"round {one['round']}", one.get("judges") or []) for one in doc.get("rounds") or ()]
    ids = list(dict.fromkeys(judge["id"] for _, judges in looks for judge in judges))
    if not ids:
        return []
    rows = []
    for name, judges in looks:
        states = {judge["id"]: judge["state"] for judge in judges}
        rows.append([md(name), *(md(states.get(judge, "not asked")) for judge in ids), md(states_words(judges))])
    return ["## Judges", table(["version", *(md(judge) for judge in ids), "why"], rows)]


def _certification(doc: Doc) -> list[str]:
    held_out = doc.get("certification") or {}
    if not held_out.get("needed") and not held_out.get("judges"):
        return []
    rows = [
        [md(one["id"]), md(one.get("verdict") or ""), _or_unknown(one.get("score")), md(one.get("reason") or "")]
        for one in held_out.get("judges") or ()
    ]
    said = {True: "Certified", False: "Not certified", None: "Not asked for"}[held_out.get("ok")]
    if held_out.get("split"):
        from honestone.report.suite_improvement import certification_words

        return ["## Certification", f"{said} by the test split: {md(certification_words(held_out))}"]
    return [
        "## Certification",
        said + (f": {md(held_out['reason'])}" if held_out.get("reason") else "."),
        table(["held-out judge", "verdict", "score", "why"], rows, right=[2]) if rows else "",
    ]


def _improvement_record(doc: Doc) -> str:
    artifact = doc.get("artifact") or {}
    limits = ", ".join(f"{name} {value}" for name, value in (doc.get("limits") or {}).items() if value is not None)
    facts = [
        ("spent", ", ".join(usage_parts(doc.get("usage"), whole_run=True))),
        ("limits", limits),
        ("run", doc.get("run")),
        ("contract", (doc.get("final") or doc.get("baseline") or {}).get("contract")),
        ("original", artifact.get("original")),
        ("delivered", artifact.get("digest")),
    ]
    return bullets(f"{name}: {md(value)}" for name, value in facts if value)


# ------------------------------------------------------------------------------------------------------------- rubric


def _rubric_parts(rubric: Mapping[str, Any] | None) -> list[str]:
    if not rubric:
        return []
    bars = f"Threshold {_share(rubric['threshold'])}, floor {_share(rubric['floor'])}."
    return ["## Rubric", f"{md(rubric['title'])}. {bars}" if rubric.get("title") else bars, rubric_markdown(rubric)]


def rubric_markdown(rubric: Mapping[str, Any]) -> str:
    """The criteria of a rubric (`core.rubric.to_plain`) as a nested list: weight, floor, items, anchors, checks."""
    return "\n".join(one for criterion in rubric["criteria"] for one in _criterion_lines(criterion, 0))


def _criterion_lines(criterion: Mapping[str, Any], depth: int) -> Iterable[str]:
    facts = [f"weight {show_bar(Fraction(criterion['weight']) / 100)}"]
    facts += [f"floor {_share(criterion['floor'])}"] if "floor" in criterion else []
    facts += ["required"] if criterion.get("required") else []
    yield f"{'  ' * depth}- **{md(criterion['id'])}** ({', '.join(facts)}): {md(criterion['requirement'])}"
    for item in criterion.get("items") or ():
        yield from _rubric_item_lines(item, depth + 1)
    for child in criterion.get("criteria") or ():
        yield from _criterion_lines(child, depth + 1)


def _rubric_item_lines(item: Mapping[str, Any], depth: int) -> Iterable[str]:
    indent = "  " * depth
    facts = []
    if item.get("check"):
        facts.append(f"check {item['check']['kind']}: {item['check'].get('value')}")
    facts += ["may not apply"] if item.get("may_not_apply") else []
    told = f" ({md('; '.join(facts))})" if facts else ""
    if not item.get("whole") or facts:
        yield f"{indent}- {md(item['requirement'])}{told}"
    for value, level in item.get("anchors") or ():
        yield f"{indent}- {_level(value)} = {md(level)}"


def _share(value: str) -> str:
    """A bar as the plain rubric holds it: a fraction of 1."""
    return show_bar(Fraction(value))


def _level(value: Any) -> str:
    return show_bar((Fraction(value) if isinstance(value, str) else exact(value)) / 100)


def _diff_parts(diffs: Sequence[Mapping[str, Any]]) -> list[str]:
    parts = ["## Changes"] if diffs else []
    for one in diffs:
        text = one["diff"]
        shown = text if len(text) <= LONGEST_DIFF else text[:LONGEST_DIFF] + "\n(the rest is left out here)"
        parts += [f"### Round {md(one['round'])}", fenced(shown, "diff") if shown.strip() else "No difference in text."]
    return parts
