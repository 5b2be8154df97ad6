"""What the parts of a suite's report (`honestone.report/1`) are called, and the few figures that are only shown.

One wording for text, Markdown, JUnit, CSV, JSONL and HTML.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from honestone.core.numbers import exact, show_bar, show_points
from honestone.report.draw import Number, count, line
from honestone.report.words import Doc, applies, is_problem, is_unanswered, order_of, score_line, usage_parts

STATUSES: Final = {  # in the order of a summary: glyph of `draw.GLYPHS`, colour
    "passed": ("yes", "green"),
    "failed": ("no", "red"),
    "inconclusive": ("unknown", "yellow"),
    "target-error": ("warn", "yellow"),
    "skipped": ("absent", "dim"),
}
_STATUS_OF: Final = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive", "skipped": "skipped"}


def status_of(case: Doc) -> str:
    """`passed`, `failed`, `inconclusive`, `target-error` or `skipped`; what nobody knows could not be judged."""
    status = case.get("status") or _STATUS_OF.get(case.get("verdict") or "")
    return status if status in STATUSES else "inconclusive"


def status_mark(status: str) -> tuple[str, str]:
    return STATUSES[status]


def counts_of(doc: Doc) -> dict[str, int]:
    """How many cases ended how, as the report says or else counted."""
    told = doc.get("counts")
    if isinstance(told, Mapping):
        return {status: int(told.get(status) or 0) for status in STATUSES}
    found = dict.fromkeys(STATUSES, 0)
    for case in cases_of(doc):
        found[status_of(case)] += 1
    return found


def counts_words(counts: Mapping[str, int]) -> list[str]:
    """`["2 passed", "1 failed"]`; the first always, the others where there are some."""
    return [f"{counts[status]:,} {status}" for status in STATUSES if counts[status] or status == "passed"]


def cases_of(doc: Doc) -> Sequence[Doc]:
    return doc.get("cases") or ()


def suite_name(doc: Doc) -> str:
    """The suite's title, else its path."""
    suite = doc.get("suite") or {}
    return line(suite.get("title") or suite.get("path") or "suite")


def suite_path(doc: Doc) -> str:
    return line((doc.get("suite") or {}).get("path") or "")


def source_words(doc: Doc) -> list[tuple[str, str]]:
    """What was run: suite, artifact, target, baseline; only what is known."""
    suite, artifact, baseline = (doc.get(name) or {} for name in ("suite", "artifact", "baseline"))
    dialect = suite.get("dialect")
    path = line(suite.get("path") or "")
    facts = [
        ("suite", f"{path} ({line(dialect)})" if dialect and dialect not in _OURS and path else path),
        ("artifact", line(artifact.get("path") or "")),
        ("target", line(doc.get("target") or "")),
        ("baseline", side_name(baseline)),
    ]
    return [(name, told) for name, told in facts if told]


_OURS: Final = ("honestone", "native")


def side_name(side: Any) -> str:
    """A side of a comparison: the id of a run, or what was given for it."""
    if isinstance(side, Mapping):
        given = next((side[key] for key in ("given", "name", "path", "ref", "run") if side.get(key)), "")
        kind = side.get("kind")
        return line(f"{given} ({kind})" if kind and given else given)
    return line(side or "")


# ------------------------------------------------------------------------------------------------------------- figures


def percent(rate: Number | None) -> str:
    """A rate 0-1 as a percentage, cut: 2 of 3 is 66.6%."""
    return "n/a" if rate is None else f"{show_points(exact(rate))}%"


def rate_words(rate: Number | None, interval: Sequence[Number] | None) -> str:
    """`75.0%`, or what is known of it: `between 50.0% and 75.0%`."""
    if rate is None and interval:
        low, high = interval
        return percent(low) if low == high else f"between {percent(low)} and {percent(high)}"
    return percent(rate)


def least_rate(doc: Doc) -> Number | None:
    """The bar of the pass rate. Beside a baseline the comparison decides, and a bar of 1 is only the default."""
    least: Number | None = doc.get("min_pass_rate")
    return None if least == 1 and doc.get("comparison") else least


def needs_words(doc: Doc) -> str:
    """The bar of the pass rate in words, where there is one."""
    least = least_rate(doc)
    return "" if least is None else f"needs {show_bar(exact(least))}%"


def judged_count(doc: Doc) -> tuple[int, int]:
    """(passed, not skipped)."""
    counts = counts_of(doc)
    return counts["passed"], sum(counts.values()) - counts["skipped"]


def signed(value: Fraction | Number | None, minus: str = "−") -> str:
    """Points with their sign, cut: +25.0, −3.1, 0.0."""
    if value is None:
        return "n/a"
    by = exact(value)
    told = show_points(abs(by) / 100)
    if told == "0.0":
        return told
    return (minus if by < 0 else "+") + told


def signed_rate(value: Number | None, minus: str = "−") -> str:
    """A difference of rates (-1 to 1) in points."""
    return signed(None if value is None else exact(value) * 100, minus)


def duration_words(milliseconds: Number | None) -> str:
    """`12 ms`, `3.4 s`, `2 min 5 s`, `1 h 2 min`; empty when nobody measured."""
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{int(milliseconds)} ms"
    seconds = int(milliseconds) // 1000
    if seconds < 60:
        return f"{int(milliseconds) // 100 / 10:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600:,} h {seconds % 3600 // 60} min"


def case_duration(case: Doc) -> Number | None:
    """Milliseconds in the target; None when it was not run."""
    return None if status_of(case) == "skipped" else case.get("duration_ms")


def time_parts(doc: Doc) -> list[str]:
    """How long the run took, and the target by itself."""
    total = total_duration(doc)
    parts = [duration_words(doc.get("duration_ms"))]
    parts += [f"{duration_words(total)} in the target, all cases together"] if total is not None else []
    return [part for part in parts if part]


def mean_words(doc: Doc) -> str:
    """The mean score, or what is known of it; empty when nothing is."""
    mean, interval = doc.get("mean_score"), doc.get("mean_score_interval")
    if mean is None and not interval:
        return ""
    return score_line({"score": mean, "interval": interval})


def total_duration(doc: Doc) -> Number | None:
    """All cases one after another; None when none was measured."""
    known = [time for time in map(case_duration, cases_of(doc)) if time is not None]
    return sum(known) if known else None


def spend_parts(usage: Doc | None) -> list[str]:
    """As for one artifact, with the calls of the target in front. What those cost is not nothing, but not known."""
    if not usage:
        return []
    calls = usage.get("target_calls")
    if not calls:
        return usage_parts(usage)
    return [count(calls, "target call"), *(part for part in usage_parts(usage) if part != "nothing spent")]


# --------------------------------------------------------------------------------------------------------------- cases


def case_name(case: Doc) -> str:
    return line(case["id"]) or "(no name)"


def first_reason(case: Doc) -> str:
    """Why a case did not pass, in one line; empty when it passed without a word."""
    reasons = reasons_of(case)
    return reasons[0] if reasons else ""


def reasons_of(case: Doc) -> list[str]:
    """Every reason; a target's own words when there is none beside them."""
    reasons = [line(one) for one in case.get("reasons") or ()]
    if not reasons and case.get("error"):
        reasons = [line(case["error"])]
    return reasons


def flags_of(doc: Doc) -> list[str]:
    """The flags of the run, and those that every judged case has."""
    judged = [set(case.get("flags") or ()) for case in cases_of(doc) if case.get("criteria")]
    common = set.intersection(*judged) if judged else set()
    return list(dict.fromkeys([*(doc.get("flags") or ()), *sorted(common, key=str)]))


def unstable_cases(doc: Doc) -> list[str]:
    """Cases whose attempts disagree."""
    return [case_name(case) for case in cases_of(doc) if case.get("unstable")]


def is_open(case: Doc) -> bool:
    """Whether a reader has to look: everything but passed and skipped."""
    return status_of(case) not in ("passed", "skipped")


def findings_of(case: Doc) -> list[tuple[Doc, Doc]]:
    """The items that are not met or not answered, each with its criterion."""
    return [pair for pair in order_of(case.get("criteria") or ()) if is_problem(pair[1]) or is_unanswered(pair[1])]


def quoting_output(case: Doc) -> Doc:
    """The case, its quotes saying that they come from the output of a target, not from an artifact."""
    criteria = [
        {
            **criterion,
            "items": [
                {**item, "evidence": [{**quote, "of": "output"} for quote in item.get("evidence") or ()]}
                for item in criterion.get("items") or ()
            ],
        }
        for criterion in case.get("criteria") or ()
    ]
    return {**case, "criteria": criteria}


def text_of(value: Any) -> str:
    """An input, output or reference as text: messages as `role: content` blocks, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(_is_message(one) for one in value):
        if len(value) == 1:
            return str(value[0]["content"])
        return "\n\n".join(f"{one.get('role', 'user')}: {one['content']}" for one in value)
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("content"), str)


def judge_score(case: Doc, judge: str) -> Fraction | None:
    """One judge's overall score in points: the weighted mean over the top-level criteria, as the gate has it.

    Criteria that code answers alone count as they are. None when the judge left something open.
    """
    total = positive = Fraction(0)
    took_part = False
    for criterion in case.get("criteria") or ():
        if criterion.get("parent") is not None or not applies(criterion):
            continue
        by_judge = criterion.get("by_judge") or {}
        took_part |= judge in by_judge
        score = by_judge.get(judge)
        if score is None and criterion.get("voters") is None:
            score = criterion.get("score")
        if score is None:
            return None
        weight = exact(criterion.get("weight", 1))
        total += weight * exact(score)
        positive += max(weight, Fraction(0))
    if not took_part or not positive:
        return None
    return max(Fraction(0), min(total / positive, Fraction(100)))


def judges_of(doc: Doc) -> list[Doc]:
    """Each judge once, in its worst state: one case that it failed on must not hide behind the others."""
    worst: dict[str, Doc] = {}
    for judge in _all_judges(doc):
        known = worst.get(judge["id"])
        if known is None or (judge.get("state") != "AVAILABLE" and known.get("state") == "AVAILABLE"):
            worst[judge["id"]] = judge
    return list(worst.values())


def _all_judges(doc: Doc) -> Iterable[Doc]:
    yield from doc.get("judges") or ()
    for case in cases_of(doc):
        yield from case.get("judges") or ()


def as_number(value: Fraction | Number | None) -> str:
    """A number for a machine: not rounded, whole ones without a point, empty when there is none."""
    if value is None:
        return ""
    found = float(value)
    return str(int(found)) if found.is_integer() else repr(found)
