"""Two outputs side by side: from where they begin to differ, with the words that changed marked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Final, TypeAlias

from msgspec import Struct

from honestone.core.json_value import late_pattern

# Characters compared of each side; words are compared with all others, so long texts are cut first.
LONGEST: Final = 2000
MOST_WORDS: Final = 600
# Sides that share less of the shorter one are two texts, not one that was changed.
LEAST_SAME: Final = 0.3
_BACK: Final = 160  # characters shown before the first difference

_WORD: Final = late_pattern(r"\w+(?:['’-]\w+)*|\s+|[^\w\s]")


class DiffPiece(Struct, frozen=True):
    """A part of one side, and whether the other side does not have it."""

    text: str
    is_changed: bool = False


Pieces: TypeAlias = list[DiffPiece]


def word_diff(before: str, after: str, *, longest: int = LONGEST) -> tuple[Pieces, Pieces]:
    """Both sides in pieces, at most `longest` characters of each; what is left out at either end is
    `…`.
    """
    start = _start(before, after)
    sides = [_split_words(text[start : start + longest], longest) for text in (before, after)]
    pieces: tuple[Pieces, Pieces] = ([], [])
    for is_same, old, new in _joined(*sides):
        for side, text in zip(pieces, (old, new), strict=True):
            if text:
                side.append(DiffPiece(text, not is_same))
    for side, text in zip(pieces, (before, after), strict=True):
        end = start + sum(len(piece.text) for piece in side)
        if start:
            side.insert(0, DiffPiece("…"))
        if end < len(text):
            side.append(DiffPiece("…"))
    return pieces


def first_difference(before: str, after: str) -> int:
    """How many characters the two have in common at their beginning."""
    most = min(len(before), len(after))
    return bisect_left(range(most), True, key=lambda end: before[: end + 1] != after[: end + 1])


def _start(before: str, after: str) -> int:
    """Where to begin: the line of the first difference or the two before it, in a long line some
    words before.
    """
    at = first_difference(before, after)
    if at <= _BACK:
        return 0
    line = before.rfind("\n", at - _BACK, at)
    return line + 1 if line >= 0 else at - _BACK


def _split_words(text: str, longest: int) -> list[str]:
    return _WORD.findall(text)[: MOST_WORDS * longest // LONGEST]


def _joined(before: list[str], after: list[str]) -> Iterator[tuple[bool, str, str]]:
    """(whether it is the same, before, after); changes with only a space between them are one
    change.
    """
    held_old = held_new = ""
    matcher = SequenceMatcher(None, before, after)
    same = sum(
        len("".join(before[block.a : block.a + block.size]).strip())
        for block in matcher.get_matching_blocks()
    )
    if same < LEAST_SAME * min(sum(map(len, before)), sum(map(len, after))):
        yield from _change("".join(before), "".join(after))
        return
    for kind, a, b, c, d in matcher.get_opcodes():
        old, new = "".join(before[a:b]), "".join(after[c:d])
        is_changed = kind != "equal"
        is_gap = not is_changed and old in (" ", "") and bool(held_old or held_new)
        if is_changed or is_gap:
            held_old, held_new = held_old + old, held_new + new
            continue
        yield from _change(held_old, held_new)
        held_old = held_new = ""
        yield True, old, new
    yield from _change(held_old, held_new)


def _change(old: str, new: str) -> Iterator[tuple[bool, str, str]]:
    """White space that both end with is not part of the change."""
    if not old and not new:
        return
    same = 0
    while (
        same < min(len(old), len(new))
        and old[-1 - same] == new[-1 - same]
        and old[-1 - same].isspace()
    ):
        same += 1
    yield False, old[: len(old) - same], new[: len(new) - same]
    if same:
        yield True, old[-same:], new[-same:]
