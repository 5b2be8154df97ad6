"""Near-duplicates: two items that ask for the same in other words count it twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from honestone.core.authoring.lint.remark import PlacedQuestion, Remark, asked, short
from honestone.core.authoring.lint.words import NEGATIONS, quoted_in, stems
from honestone.core.judging.rubric import Rubric

_SHORTEST: Final = 4
# Words of the longer of two wordings that overlap.
_LONGEST: Final = 9


def near_duplicates(rubric: Rubric) -> Iterator[Remark]:
    """Each item that repeats an earlier one, within a criterion or across them."""
    questions = list(asked(rubric))
    wordings = [stems(question.text) for question in questions]
    for later, earlier in _alike_pairs(wordings):
        ours, theirs = questions[later], questions[earlier]
        if _is_repeated(ours, theirs):
            where = (
                ""
                if ours.criterion.id == theirs.criterion.id
                else f" of criterion `{theirs.criterion.id}`"
            )
            what = "says the same as" if wordings[later] == wordings[earlier] else "overlaps with"
            yield ours.remark("near-duplicate", what=what, other=short(theirs.text), where=where)


def _alike_pairs(wordings: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """(later, earlier) of wordings that are equal, or one of which has one word more than the
    other; each later one once, with the first that is like it. Wordings are looked up by their
    words, so that the time is linear in their number.
    """
    first: dict[frozenset[str], int] = {}
    longer: dict[frozenset[str], int] = {}  # by their words without one
    for later, words in enumerate(wordings):
        if len(words) < 2:
            continue
        shorter = list(_without_one(words))
        found = (first.get(words), longer.get(words), *(first.get(less) for less in shorter))
        match = min((earlier for earlier in found if earlier is not None), default=None)
        if match is not None:
            yield later, match
        first.setdefault(words, later)
        for less in shorter:
            longer.setdefault(less, later)


def _without_one(words: frozenset[str]) -> Iterator[frozenset[str]]:
    """The shorter wordings that these overlap with. Words swapped for others make two parallel
    questions, and in a long wording one word more is what it is about.
    """
    if _SHORTEST <= len(words) <= _LONGEST:
        for word in words:
            if word not in NEGATIONS and not any(sign.isdigit() for sign in word):
                yield words - {word}


def _is_repeated(ours: PlacedQuestion, theirs: PlacedQuestion) -> bool:
    if (ours.item.check is None) != (
        theirs.item.check is None
    ) or ours.item.check != theirs.item.check:
        return False  # what code answers is what its check says, whatever the words
    if (
        quoted_in(ours.text) != quoted_in(theirs.text)
        or ours.criterion.is_penalty != theirs.criterion.is_penalty
    ):
        return False
    return _numbers(ours.text) == _numbers(theirs.text)


def _numbers(text: str) -> list[str]:
    return sorted("".join(sign if sign.isdigit() else " " for sign in text).split())
