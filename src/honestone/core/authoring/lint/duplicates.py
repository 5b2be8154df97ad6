"""Near-duplicates: two items that ask for the same in other words count it twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from honestone.core.authoring.lint.remark import PlacedQuestion, Remark, asked, short
from honestone.core.authoring.lint.words import NEGATIONS, quoted_in, stems
from honestone.core.rubric import Rubric

ALIKE: Final = Fraction(3, 4)
"""The share of its words by which the longer of two wordings has to be found in the shorter."""
_SHORT: Final = 8


def near_duplicates(rubric: Rubric) -> Iterator[Remark]:
    """Each item that repeats an earlier one, within a criterion or across them."""
    questions = list(asked(rubric))
    said = [stems(question.text) for question in questions]
    for later, earlier in _alike_pairs(said):
        ours, theirs = questions[later], questions[earlier]
        if _is_repeated(ours, theirs):
            where = "" if ours.criterion.id == theirs.criterion.id else f" of criterion `{theirs.criterion.id}`"
            what = "says the same as" if said[later] == said[earlier] else "overlaps with"
            yield ours.remark(
                "near-duplicate",
                f"{short(ours.text)} {what} {short(theirs.text)}{where}",
                "keep one of the two, or say in each what only it asks",
            )


def _alike_pairs(said: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """(later, earlier) of wordings one of which holds nearly all words of the other; each later one once.

    Two sets can only be alike when they share one of their rarest words: that keeps thousands of items quick.
    """
    counts = Counter(stem for stems_ in said for stem in stems_)
    seen: defaultdict[str, list[int]] = defaultdict(list)
    for later, words in enumerate(said):
        if len(words) < 2:
            continue
        rare = sorted(words, key=lambda word: (counts[word], word))
        prefix = rare[: len(words) - -(-len(words) * ALIKE.numerator // ALIKE.denominator) + 1]
        candidates = sorted({earlier for word in prefix for earlier in seen[word]})
        match = next((earlier for earlier in candidates if _are_alike(words, said[earlier])), None)
        if match is not None:
            yield later, match
        for word in prefix:
            seen[word].append(later)


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Equal, or a short one is the other with one word more. Words swapped for others make two parallel questions, and in
    a long wording one word more is what it is about."""
    if one == other:
        return True
    small, large = sorted((one, other), key=len)
    more = large - small
    if not small < large or not 3 <= len(small) <= _SHORT or len(more) > 1:
        return False
    return not any(word in NEGATIONS or any(sign.isdigit() for sign in word) for word in more)


def _is_repeated(ours: PlacedQuestion, theirs: PlacedQuestion) -> bool:
    if (ours.item.check is None) != (theirs.item.check is None) or ours.item.check != theirs.item.check:
        return False  # what code answers is what its check says, whatever the words
    if quoted_in(ours.text) != quoted_in(theirs.text) or ours.criterion.is_penalty != theirs.criterion.is_penalty:
        return False
    return _numbers(ours.text) == _numbers(theirs.text)


def _numbers(text: str) -> list[str]:
    return sorted("".join(sign if sign.isdigit() else " " for sign in text).split())
