"""Words that make a question undecidable: vague ones, what cannot be seen in the artifact, two
negations at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from honestone.core.authoring.lint.remark import Remark, asked
from honestone.core.authoring.lint.words import WORDING, compiled, has, needs
from honestone.core.rubric import Rubric


@dataclass(frozen=True, slots=True)
class _Family:
    """Vague words of one kind. `weak` ones are fine where the wording then says what is meant."""

    pattern: str
    instead: str
    weak: bool = False


def _english(words: str) -> str:
    listed = "|".join(
        re.escape(word.strip()).replace(r"\ ", r"[\s-]+") for word in words.split(",")
    )
    return rf"(?<![\w-])(?:{listed})(?![\w-]|\s+(?:language|logs?\b))"


def _korean(words: str) -> str:
    return "(?:" + "|".join(word.strip() for word in words.split(",")) + r")[가-힣]*"


_FAMILIES: Final = [
    _Family(
        _english(row["words"]) if "words" in row else _korean(row["korean"]),
        row["instead"],
        "weak" in row,
    )
    for row in WORDING["vague"]
]
# Signs that a wording says itself what it means: a number, a quote, an example, a list, a remark in
# brackets.
_CONCRETE: Final = re.compile(WORDING["signs"]["concrete"])
_CODE_NAME: Final = re.compile(r"\w[_./]\w|\b[a-z]+[A-Z]\w*")
_SAYS_MORE: Final = re.compile(WORDING["signs"]["says_more"], re.IGNORECASE)


def vague_wording(rubric: Rubric) -> Iterator[Remark]:
    """Yes/no questions that turn on a word of degree or taste. Anchors are for those; code does not
    read words.
    """
    for question in asked(rubric):
        if question.is_yes_no and (found := _vague(question.text)):
            word, family = found
            yield question.remark(
                "vague-wording", word=" ".join(word.split()), instead=family.instead
            )


def _vague(text: str) -> tuple[str, _Family] | None:
    """The first vague word of a wording that does not say itself what it means."""
    if _CONCRETE.search(text) or _CODE_NAME.search(text):
        return None
    found_in = has(text)
    hits = [
        (match.start(), match.group(0), family)
        for family in _FAMILIES
        if needs(family.pattern) in found_in
        if (match := compiled(family.pattern).search(text))
        and not (family.weak and _says_more(text, match))
    ]
    if not hits:
        return None
    _, word, family = min(hits, key=lambda hit: (hit[0], -len(hit[1])))
    return word, family


def _says_more(text: str, match: re.Match[str]) -> bool:
    """Whether a weak word is only an ornament: the rest of the wording could be decided without it."""
    return bool(_SAYS_MORE.search(text, match.end())) or len(text[match.end() :].split()) >= 7


def not_observable(rubric: Rubric) -> Iterator[Remark]:
    """Questions to judges about intentions, history and effects. Code may look elsewhere, so checks
    are left alone.
    """
    for question in asked(rubric):
        found_in = has(question.text)
        rows = (row for row in WORDING["unseen"] if needs(row["pattern"]) in found_in)
        found = (
            (match, row)
            for row in rows
            if (match := compiled(row["pattern"]).search(question.text))
        )
        if question.by_judges and (hit := next(found, None)):
            words, row = " ".join(hit[0].group(0).split()), hit[1]
            yield question.remark(
                "not-observable", words=words, what=row["what"], instead=row["instead"]
            )


_NEGATION: Final = re.compile(WORDING["negation"]["any"], re.IGNORECASE)
_ONLY: Final = re.compile(
    r"\bnot only\b|\bwhy not\b|\bwhether or not\b|\bif not\b|\bor not\b", re.IGNORECASE
)


def double_negatives(rubric: Rubric) -> Iterator[Remark]:
    """Questions to judges with two negations, and negated criteria whose question is negative
    itself.
    """
    for question in asked(rubric):
        if not question.by_judges:
            continue
        text = _ONLY.sub(" ", question.text)
        found_in = has(text)
        patterns = (one for one in WORDING["negation"]["patterns"] if needs(one) in found_in)
        hit = next(
            (match.group(0) for one in patterns if (match := compiled(one).search(text))), None
        )
        if hit is not None:
            says, advice = (
                f'"{" ".join(hit.split())}" negates twice',
                f"say what should be there: {_positive(hit)}",
            )
            yield question.remark("double-negative", says=says, advice=advice)
        elif question.criterion.negate and _NEGATION.search(text):
            says = "its answer is turned round (negate) and its wording is negative too"
            yield question.remark(
                "double-negative", says=says, advice="drop one of the two negations"
            )


def _positive(found: str) -> str:
    """A hint at the positive form."""
    lower = found.casefold()
    for sign, instead in WORDING["positive"].items():
        if sign in lower:
            return str(instead)
    return (
        '"is clear" asks the same as "is not unclear"'
        if re.search(r"\bun", lower)
        else "one plain yes"
    )
