"""How alike two texts are: edit distance, ROUGE-N, BLEU, GLEU, and the cosine of two vectors. Pure
arithmetic, in bounded time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from honestone.core.json_value import late_pattern

# BLEU and GLEU compare runs of one to so many words.
LONGEST_N: Final = 4

# Comparisons of characters that one edit distance may take: some seconds.
MOST_STEPS: Final = 30_000_000

# In place of a precision of 0, which has no logarithm.
_SMOOTHED: Final = 1e-7

_TOKEN: Final = late_pattern(r"n['’]t\b|['’]\w+|\w+?(?=n['’]t\b)|\w+(?:[-.,]\w+)*|[^\w\s]")


def edit_distance(text: str, other: str, most: int) -> int | None:
    """How many characters are put in, left out or replaced to make one text of the other; None
    where it is more than `most`.

    Only a band of so many characters around the diagonal is looked at. Raises ValueError where even
    that takes too long.
    """
    text, other = _without_common_ends(text, other)
    if abs(len(text) - len(other)) > most:
        return None
    most = min(most, max(len(text), len(other)))
    if len(text) * (2 * most + 1) > MOST_STEPS:
        raise ValueError(
            f"texts of {len(text)} and {len(other)} characters take too long to compare"
        )
    never = most + 1
    # A row holds the columns from `most` left of the diagonal to `most` right of it; one more on
    # each side is never reached.
    above = [never] * (most + 1) + list(range(most + 1)) + [never]
    for row, letter in enumerate(text, 1):
        line = [never] * (2 * most + 3)
        for at in range(max(1, most + 1 - row), min(2 * most + 1, most + 1 + len(other) - row) + 1):
            column = row + at - most - 1
            if column == 0:
                line[at] = row
            else:
                same = above[at] + (letter != other[column - 1])
                line[at] = min(same, above[at + 1] + 1, line[at - 1] + 1)
        above = line
    distance = above[len(other) - len(text) + most + 1]
    return distance if distance <= most else None


def _without_common_ends(text: str, other: str) -> tuple[str, str]:
    start, shorter = 0, min(len(text), len(other))
    while start < shorter and text[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and text[-1 - end] == other[-1 - end]:
        end += 1
    return text[start : len(text) - end], other[start : len(other) - end]


def rouge_n(text: str, reference: str, n: int = 1) -> float:
    """ROUGE-N (Lin, 2004), 0-1: of the runs of `n` words those that both have, as the harmonic mean
    of precision and recall.
    """
    runs, wanted = Counter(_runs(_tokens(text), n)), Counter(_runs(_tokens(reference), n))
    both = (runs & wanted).total()
    return 0.0 if both == 0 else 2 * both / (runs.total() + wanted.total())


def bleu(text: str, references: Sequence[str]) -> float:
    """BLEU (Papineni et al., 2002), 0-1: the geometric mean of how many runs of 1 to 4 words a
    reference has too, less where the text is shorter than the nearest reference.
    """
    own_words = _lower_words(text)
    if not own_words:
        return 0.0
    against = [_lower_words(reference) for reference in references]
    total = 0.0
    for n in range(1, LONGEST_N + 1):
        runs = Counter(_runs(own_words, n))
        clipped = max(((runs & Counter(_runs(words, n))).total() for words in against), default=0)
        share = clipped / runs.total() if runs else 0.0
        total += math.log(share or _SMOOTHED) / LONGEST_N
    sizes = (len(words) for words in against)
    nearest = min(sizes, key=lambda size: abs(size - len(own_words)), default=0)
    penalty = 1.0 if len(own_words) > nearest else math.exp(1 - nearest / len(own_words))
    return penalty * math.exp(total)


def gleu(text: str, references: Sequence[str]) -> float:
    """GLEU (Wu et al., 2016), 0-1: of all runs of 1 to 4 words the share that both have, the lower
    of recall and precision. Of several references the best counts.
    """
    runs = [run for n in range(1, LONGEST_N + 1) for run in _runs(_lower_words(text), n)]
    best = 0.0
    for reference in references:
        wanted = [run for n in range(1, LONGEST_N + 1) for run in _runs(_lower_words(reference), n)]
        longer = max(len(runs), len(wanted))
        if longer:
            best = max(best, (Counter(runs) & Counter(wanted)).total() / longer)
    return best


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of two vectors, -1 to 1. Raises ValueError for vectors of different lengths, or
    without a direction.
    """
    if len(one) != len(other) or not one:
        raise ValueError(f"vectors of {len(one)} and {len(other)} numbers cannot be compared")
    lengths = _norm(one) * _norm(other)
    if not lengths or not math.isfinite(lengths):
        raise ValueError("a vector of zeros has no direction")
    return max(-1.0, min(1.0, math.fsum(a * b for a, b in zip(one, other, strict=True)) / lengths))


def _norm(vector: Sequence[float]) -> float:
    return math.sqrt(math.fsum(number * number for number in vector))


def _lower_words(text: str) -> list[str]:
    return text.lower().split()


def _tokens(text: str) -> list[str]:
    """Words and single signs of punctuation; a contraction is two words, as in the Penn Treebank
    (`do` `n't`).
    """
    return _TOKEN.findall(text)


def _runs(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + n]) for at in range(len(words) - n + 1)]
