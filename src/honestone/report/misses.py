"""What a case misses, in the words of whoever wrote its checks: one wording for every report and
for pytest.

A miss is a requirement and the evidence against it: `contains '14 days'`, `not found`. Bars and
scores are said only of what is scored; a yes/no question is met or not. Each thing is said once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from honestone.core.judging.ballot import CHECK
from honestone.core.judging.scorecard import read_gate_reason
from honestone.core.numbers import bar_number, points
from honestone.report.documents.findings import SharedQuote, is_listed, own_note, shared_quotes
from honestone.report.documents.scorecard import (
    CriterionDoc,
    ItemDoc,
    JudgeDoc,
    mark_number,
    named_looks,
)
from honestone.report.documents.suite_case import CaseDoc
from honestone.system.drawing import line

LONGEST_QUOTE: Final = 400  # characters


class Miss(Struct, frozen=True, kw_only=True):
    """One thing that a case misses, each text on one line and harmless on a terminal.

    `glyph`: `no`, `unknown` (not answered) or `warn` (could not be tried), a name of
    `drawing.GLYPHS`. `details`: what else judges answered: votes, quotes, suggestions.
    """

    glyph: str = "no"
    requirement: str
    evidence: str = ""
    details: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """`contains '14 days': not found`."""
        return f"{self.requirement}: {self.evidence}" if self.evidence else self.requirement


def misses(case: CaseDoc, listed: Iterable[JudgeDoc] = ()) -> list[Miss]:
    """What a case that did not pass misses, in the order of its rubric; nothing of one that passed.
    Of one that failed, what has no answer comes last: it did not decide. Why a judge is absent is said
    once, and not at all where it is `listed` with that reason elsewhere.
    """
    if case.status == "passed":
        return []
    if case.status in ("skipped", "target-error"):
        glyph = "warn" if case.status == "target-error" else "absent"
        return [
            Miss(glyph=glyph, requirement=line(one))
            for one in case.reasons or [case.error or case.status]
        ]
    missed = [miss for one in case.criteria for miss in _of_criterion(one, case)]
    if case.status == "failed":
        missed.sort(key=lambda miss: miss.glyph == "unknown")
    others = [
        Miss(glyph=_glyph(case), requirement=line(one)) for one in _other_reasons(case, missed)
    ]
    bars = [one for one in others if read_gate_reason(one.requirement)]
    return [one for one in others if one not in bars] + missed + bars + _absent_judges(case, listed)


def why(case: CaseDoc, listed: Iterable[JudgeDoc] = ()) -> list[str]:
    """Every miss in words: `["contains '14 days': not found"]`."""
    return [miss.words for miss in misses(case, listed)]


def _glyph(case: CaseDoc) -> str:
    return "no" if case.status == "failed" else "unknown"


def _of_criterion(one: CriterionDoc, case: CaseDoc) -> Iterator[Miss]:
    open_items = [item for item in one.items if item.is_problem or item.is_unanswered]
    for item in open_items:
        yield _of_item(one, item, case.judges)
    if one.below_floor and not open_items and (one.items or _is_scored(one, case.criteria)):
        yield Miss(requirement=one.asked or line(one.id), evidence=_score_words(one))


def _of_item(one: CriterionDoc, item: ItemDoc, judges: Sequence[JudgeDoc]) -> Miss:
    asked = item.asked
    if item.is_unanswered:
        return Miss(
            glyph="unknown",
            requirement=asked,
            evidence=line(own_note(item.note, judges) or "no answer").removeprefix("check: "),
        )
    details = list(_details_of(item))
    if item.kind == "anchors":
        evidence = _score_words(one) if len(one.items) == 1 else points((item.met or 0) * 100)
    elif CHECK in item.votes:
        evidence = _without_repeats(asked, "; ".join(line(quote.quote) for quote in item.evidence))
        details = []
    else:
        evidence = details.pop(0) if len(item.votes) < 2 and item.evidence else ""
    return Miss(
        requirement=f"penalty incurred: {asked}" if one.is_penalty else asked,
        evidence=evidence,
        details=(*details,),
    )


def _score_words(one: CriterionDoc) -> str:
    """`40.0, needs 60`."""
    return points(one.score) + (f", needs {bar_number(one.floor)}" if one.below_floor else "")


def _details_of(item: ItemDoc) -> Iterator[str]:
    """Quotes, marks on a scale or votes where there are several, suggestions."""
    many = len(item.votes) > 1
    for quote in shared_quotes(item):
        yield _quote_words(quote, many)
    if item.scale:
        marks = (f"{line(judge)} {mark_number(mark)}" for judge, mark in item.votes.items())
        yield f"{', '.join(marks)} (on {item.scale_words})"
    elif many:
        yield item.vote_words
    for one in item.advice:
        yield f"suggestion: {line(one.text, LONGEST_QUOTE)}" + (
            f" ({one.source_words})" if many and one.judges else ""
        )


def _quote_words(quote: SharedQuote, many: bool) -> str:
    notes = named_looks(map(line, quote.judges)) if many else []
    notes += ["NOT in the output"] if quote.found is False else []
    return f'"{line(quote.quote, LONGEST_QUOTE)}"' + (f" ({', '.join(notes)})" if notes else "")


# What a check found: how it begins, the words that the requirement may name too, how it ends.
_REPEATS: Final = tuple(
    map(
        re.compile,
        (
            r'(not found|found none of|found all of): (".*")()',
            r'(found) (".*")( on line \d+)',
            r"(nothing matches) /(.*)/()",
        ),
    )
)
_SHORT: Final = {
    "found none of": "not found",
    "found all of": "found",
    "nothing matches": "no match",
}


def _without_repeats(requirement: str, evidence: str) -> str:
    """`not found` of `not found: "14 days"`, where the requirement says '14 days'. Which of several
    words is meant stays.
    """
    match = next((match for pattern in _REPEATS if (match := pattern.fullmatch(evidence))), None)
    if match is None:
        return evidence
    words = match[2][1:-1].split('", "') if match[2].startswith('"') else [match[2]]
    named = [word for word in words if f"'{word}'" in requirement]
    is_clear = bool(match[3]) or requirement.count("'") == 2 * len(words) + sum(
        word.count("'") for word in words
    )
    return _SHORT.get(match[1], match[1]) + match[3] if named == words and is_clear else evidence


def _is_scored(one: CriterionDoc, criteria: Iterable[CriterionDoc]) -> bool:
    """Whether marks on a scale count for a criterion, or for one below it."""
    every = list(criteria)
    return any(item.kind == "anchors" for item in one.items) or any(
        _is_scored(child, every) for child in every if child.parent == one.id
    )


def _other_reasons(case: CaseDoc, missed: list[Miss]) -> Iterator[str]:
    """The reasons that the misses do not say: all but those of bars; and of the threshold where it
    alone decides.
    """
    ids = {one.id for one in case.criteria}
    read = [(reason, read_gate_reason(reason)) for reason in case.reasons]
    has_bar = any(about is not None and about[0] == "criterion" for _, about in read)
    is_scored = any(item.kind == "anchors" for one in case.criteria for item in one.items)
    all_needed = bool(missed) and (
        has_bar or case.threshold == 100 or case.status == "inconclusive"
    )
    for reason, about in read:
        match about:
            case ("criterion", id) if id in ids and missed:
                continue
            case ("answer", _) if any(miss.glyph == "unknown" for miss in missed):
                continue
            case ("threshold", _) if all_needed and not is_scored:
                continue
        yield reason


def _absent_judges(case: CaseDoc, listed: Iterable[JudgeDoc]) -> list[Miss]:
    """Why a case has no verdict, or an item no answer, where judges were not there."""
    is_reason = any(
        item.is_unanswered and item.note and not own_note(item.note, case.judges)
        for _, item in case.findings
    )
    if case.status != "inconclusive" and not is_reason:
        return []
    known = list(listed)
    return [
        Miss(
            glyph="warn",
            requirement=f"{line(one.id)} {one.state}",
            evidence=""
            if is_listed(one, known)
            else line("; ".join(filter(None, (one.reason, one.hint or None)))),
        )
        for one in case.judges
        if one.is_absent
    ]
