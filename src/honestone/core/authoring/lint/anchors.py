"""Anchors: five levels, each with something to see that the others do not have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Final

from honestone.core.authoring.lint.remark import PlacedQuestion, Remark, asked, short
from honestone.core.authoring.lint.words import stems
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Rubric, as_written

LEVELS: Final = 5

_RANGE: Final = late_pattern(
    r"(?<![\w.])(\d+)\s*(?:-|–|to|~)\s*(\d+)\s*%?\s+([^\W\d_]+)", re.IGNORECASE
)
_DEGREES: Final = late_pattern(
    (
        "(?:very |mostly |fairly |quite |extremely |somewhat |매우 |아주 |조금 )?(?:good|bad|"
        "poor|fair|average|excellent|great|ok|okay|weak|strong|low|medium|moderate|"
        "high|best|worst|perfect|partial|partially|full|fully|minimal|absent|none|some|"
        "most|all|adequate|inadequate|acceptable|unacceptable|satisfactory|"
        "unsatisfactory|basic|advanced|outstanding|terrible|mediocre|나쁨|좋음|보통|우수|미흡|부족|"
        "양호|훌륭|최고|최악|상|중|하|없음|완벽)[.!]?"
    ),
    re.IGNORECASE,
)


def coarse_anchors(rubric: Rubric) -> Iterator[Remark]:
    for question in _anchored(rubric):
        assert question.item.anchors is not None
        levels = question.item.anchors.levels
        if len(levels) < LEVELS:
            low, high = levels[0][0], levels[-1][0]
            wanted = ", ".join(
                f"{as_written(low + (high - low) * step / 4)}" for step in range(LEVELS)
            )
            yield question.remark("coarse-anchors", count=len(levels), wanted=wanted)


def anchor_texts(rubric: Rubric) -> Iterator[Remark]:
    """Levels that say nothing, and pairs of levels that say the same."""
    for question in _anchored(rubric):
        assert question.item.anchors is not None
        levels = [(as_written(value), text.strip()) for value, text in question.item.anchors.levels]
        empty = [
            f"{value}: {text or 'nothing'}"
            for value, text in levels
            if not text or _DEGREES.fullmatch(text)
        ]
        if empty:
            many, name = ("levels", "name") if len(empty) > 1 else ("a level", "names")
            yield question.remark(
                "empty-anchors", shown=60, levels=many, name=name, empty=", ".join(empty)
            )
        for (value, text), (other, other_text) in combinations(levels, 2):
            if text and other_text and _same(text, other_text):
                yield question.remark(
                    "anchors-alike", shown=60, low=value, high=other, text=short(text, 60)
                )
        yield from _overlaps(question, levels)


def _anchored(rubric: Rubric) -> Iterator[PlacedQuestion]:
    return (question for question in asked(rubric) if question.item.anchors is not None)


def _same(one: str, other: str) -> bool:
    if one.casefold() == other.casefold():
        return True
    words = stems(one)
    return (
        len(words) >= 3
        and words == stems(other)
        and len(one.split()) == len(other.split())
        and _order(one) == _order(other)
    )


def _order(text: str) -> list[str]:
    """Its meaningful words in their order: "less than ten" and "ten less than" differ."""
    return [stem for word in text.split() for stem in stems(word)]


def _overlaps(question: PlacedQuestion, levels: list[tuple[int | float, str]]) -> Iterator[Remark]:
    """ "1-3 errors" and "3-5 errors": with three errors both levels are right."""
    spans = [
        (value, match.group(0), int(match.group(1)), int(match.group(2)), match.group(3).casefold())
        for value, text in levels
        if (match := _RANGE.search(text))
    ]
    for (value, words, low, high, unit), (
        other,
        other_words,
        other_low,
        other_high,
        other_unit,
    ) in combinations(spans, 2):
        if unit == other_unit and max(low, other_low) <= min(high, other_high):
            yield question.remark(
                "anchors-overlap", shown=60, low=value, words=words, high=other, other=other_words
            )
