"""What the numbers and states of a report are called, in every format: one wording for text, Markdown and JUnit.

A *document* is the plain dict that `--json` prints. Renderers read documents, so a saved report can be shown too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from honestone.report.draw import count, line, points

Doc: TypeAlias = Mapping[str, Any]

VERDICTS: Final = {
    "pass": "PASSED",
    "fail": "DID NOT PASS",
    "inconclusive": "COULD NOT BE JUDGED",
    "skipped": "SKIPPED",
}

BREAKERS: Final = {
    "PLATEAU": "no progress",
    "ROUND_LIMIT": "round limit",
    "BUDGET": "budget",
    "METRIC_DEAD": "the score cannot move",
    "NO_CHANGE": "the worker changed nothing",
    "WORKER_FAILED": "the worker failed",
}
"""The results that end a loop short of its goal, and what tripped."""

RESULTS: Final = {
    "PASSED": "PASSED",
    "UNCONFIRMED": "UNCONFIRMED",
    "COULD_NOT_JUDGE": "COULD NOT BE JUDGED",
    "INTERRUPTED": "INTERRUPTED",
}

LOW_CONFIDENCE: Final = "fewer than two judges marked everything, so nothing cross-checks the score"
SELF_EVALUATED: Final = "the marks come from the worker's own model"
APART: Final = 20
"""Judges further apart than this on one criterion are flagged (DESIGN §8)."""


def verdict_words(doc: Doc) -> str:
    return VERDICTS.get(doc["verdict"], line(doc["verdict"]).upper())


def result_words(doc: Doc) -> str:
    """PASSED, UNCONFIRMED, CIRCUIT BREAKER (which), ..."""
    result = line(doc["result"])
    if result in BREAKERS:
        return f"CIRCUIT BREAKER ({BREAKERS[result]})"
    return RESULTS.get(result, result)


def is_problem(item: Doc) -> bool:
    """Whether half or more say no; of a penalty, that half or more say yes."""
    return applies(item) and bool(item.get("unmet"))


def is_unanswered(item: Doc) -> bool:
    """No vote at all, which is neither met nor unmet."""
    return applies(item) and item.get("unmet") is None


def is_improvable(criterion: Doc, item: Doc) -> bool:
    """Good enough, but not fully: some judge disagrees, or the mark is below the top of its scale."""
    met = item.get("met")
    if not applies(item) or is_problem(item) or is_unanswered(item) or met is None:
        return False
    return bool(met > 0 if criterion.get("is_penalty") else met < 1)


def applies(thing: Doc) -> bool:
    return thing.get("applies", True) is not False


def requirement(thing: Doc) -> str:
    """What is asked, or the id where a document does not say."""
    return line(thing.get("requirement") or thing["id"])


def is_whole(criterion: Doc, item: Doc) -> bool:
    """Whether the item is its criterion itself, so that a heading would say the same twice."""
    return len(criterion.get("items", ())) == 1 and item["id"] == criterion["id"]


def votes_by_answer(item: Doc) -> list[tuple[str, list[str]]]:
    """`[("no", ["codex", "gemini"]), ("yes", ["claude"])]`; marks on a scale in the order of the judges."""
    groups: dict[str, list[str]] = {}
    for judge, answer in (item.get("votes") or {}).items():
        said = line(answer) if isinstance(answer, str) else mark_number(answer)
        groups.setdefault(said, []).append(line(judge))
    order = {"no": 0, "yes": 1, "n/a": 3}
    return sorted(groups.items(), key=lambda group: order.get(group[0], 2))


def mark_number(answer: Any) -> str:
    """A mark on its own scale, as it was given."""
    if isinstance(answer, float) and answer.is_integer():
        return str(int(answer))
    return line(answer)


def scale_words(item: Doc) -> str:
    scale = item.get("scale")
    return f"{mark_number(scale[0])} to {mark_number(scale[1])}" if scale else ""


def evidence_words(quote: Doc) -> str:
    """Where a quote stands: in the artifact (or what `of` names), not in it, or not looked up."""
    text = quote.get("of", "artifact")
    return {True: f"in the {text}", False: f"NOT in the {text}", None: ""}[quote.get("found")]


def suggestions(item: Doc) -> list[tuple[str, str]]:
    """(judge, text) of every suggestion; the judge is empty where the document does not say."""
    many = [
        (line(one.get("judge") or ""), line(one["text"])) for one in item.get("suggestions") or () if one.get("text")
    ]
    if not many and item.get("suggestion"):
        many = [("", line(item["suggestion"]))]
    return many


def usage_parts(usage: Doc | None, *, whole_run: bool = False) -> list[str]:
    """`["2 judge calls", "1 recorded reply", "1,234 tokens in, 56 out", "cost unknown"]`."""
    if not usage:
        return []
    judged, worked, recorded = (usage.get(key) or 0 for key in ("judge_calls", "worker_calls", "cached_calls"))
    parts = [count(judged, "judge call")]
    if whole_run and usage.get("target_calls"):
        parts.insert(0, count(usage["target_calls"], "target call"))
    if recorded:
        parts.append(count(recorded, "recorded reply", "recorded replies"))
    if worked or whole_run:
        parts.append(count(worked, "worker call"))
    tokens = [usage.get("input_tokens") or 0, usage.get("output_tokens") or 0]
    if any(tokens):
        parts.append(f"{count(tokens[0], 'token')} in, {tokens[1]:,} out")
    if judged or any(tokens) or usage.get("usd") is not None:
        parts.append("cost unknown" if usage.get("usd") is None else money(usage["usd"]))
    elif not worked:
        parts.append("nothing spent")
    return parts


def money(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def evidence_share(doc: Doc) -> str | None:
    share = doc.get("evidence_found")
    if not share or not share.get("quoted"):
        return None
    quoted = count(share["quoted"], "quote")
    return f"{share['found']:,} of {quoted} found word for word in the artifact"


def judge_is_absent(judge: Doc) -> bool:
    return judge.get("state") != "AVAILABLE"


def states_words(judges: Any) -> str:
    """The judges of a round that were not there, with why; empty when all were."""
    gone = [one for one in judges or () if judge_is_absent(one)]
    return "; ".join(
        f"{line(one['id'])} {line(one['state'])}" + (f": {line(one['reason'], 120)}" if one.get("reason") else "")
        for one in gone
    )


_DISAGREEMENT: Final = "disagreement: "


def flags_to_show(doc: Doc) -> list[str]:
    """The flags that no other line of the report says; all disagreements as one, with what it may mean."""
    said = ("low confidence", "low_confidence", "self-evaluated", "self_evaluated")
    flags = [flag for flag in map(line, doc.get("flags") or ()) if flag.lower() not in said]
    split = [flag.removeprefix(_DISAGREEMENT) for flag in flags if flag.startswith(_DISAGREEMENT)]
    others = [flag for flag in flags if not flag.startswith(_DISAGREEMENT)]
    if split:
        others.insert(0, f"judges disagree on {', '.join(split)}: they may read the wording differently")
    return others


def warnings(doc: Doc) -> list[tuple[str, str]]:
    found = []
    if doc.get("self_evaluated"):
        found.append(("SELF-EVALUATED", SELF_EVALUATED))
    if doc.get("low_confidence"):
        found.append(("LOW CONFIDENCE", LOW_CONFIDENCE))
    return found


def depths(criteria: Any) -> dict[str, int]:
    """How deep each criterion stands in its tree; parents come before children."""
    found: dict[str, int] = {}
    for one in criteria:
        parent = one.get("parent")
        found[one["id"]] = found[parent] + 1 if parent in found else 0
    return found


def order_of(criteria: Any) -> Iterator[tuple[Doc, Doc]]:
    """Every item with its criterion, in the order of the rubric."""
    for criterion in criteria:
        for item in criterion.get("items") or ():
            yield criterion, item


def outcome_words(one_round: Doc) -> str:
    """What the worker's proposal was, from its bytes."""
    outcome = line(one_round.get("outcome") or "")
    detail = line(one_round.get("outcome_detail") or "", 200)
    return f"{outcome}: {detail}" if detail else outcome


def diff_words(diff: Doc | None) -> str:
    """`+12 -3`, and in how many files when there are several."""
    if not diff:
        return ""
    files = diff.get("files") or 0
    where = f" in {files:,} files" if files > 1 else ""
    return f"+{diff.get('added') or 0:,} -{diff.get('removed') or 0:,}{where}"


def artifact_path(doc: Doc) -> str:
    return line((doc.get("artifact") or {}).get("path") or "artifact")


def run_id(doc: Doc) -> str | None:
    return line(doc["run"]) if doc.get("run") else None


def score_line(doc: Doc) -> str:
    """The overall score in words: `61.7`, or `between 50.0 and 100.0`."""
    if doc.get("score") is None and doc.get("interval"):
        low, high = doc["interval"]
        return f"between {points(low)} and {points(high)}"
    return points(doc.get("score"))
