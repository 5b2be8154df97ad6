"""A reply with one opening bracket too many, read without it where that is possible in one way only.

The bracket costs the answer that it is in, because what was meant there is not known; a bracket
between answers costs none. It is dropped alone, or with the closing bracket that belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.core.reading import json_text, tolerant_json

_STRING: Final = r'"(?:[^"\\]|\\.)*+"'
_TOKENS: Final = late_pattern(rf"{_STRING}|[{{}}\[\],:]", re.DOTALL)
_COMMENT: Final = late_pattern(r"//|/\*|#|<!--")
_STRING_OR_COMMENT: Final = late_pattern(rf"{_STRING}|({_COMMENT.pattern})", re.DOTALL)
_CLOSES: Final = {"}": "{", "]": "["}
# Readings are tried for each bracket; a reply with more of them, or a longer one, stays unread.
_MAX_BRACKETS: Final = 400
_MAX_CHARS: Final = 100_000


class Mended(Struct, frozen=True):
    """The object as it is read without the bracket; `lost`: the answer that the bracket was in, by
    its key or its place in a list, or None.
    """

    found: json_text.FoundObject
    lost: str | int | None


class _Bracket(Struct, frozen=True):
    """`path`: the keys and places that lead to it. `closed_at`: where the bracket that belongs to it
    is, if there is one.
    """

    at: int
    path: tuple[str | int, ...]
    closed_at: int | None


def without_stray_opening(text: str) -> Mended | None:
    """None where no single opening bracket is too many, or where two ways to drop one differ."""
    start = text.find("{")
    if start < 0 or len(text) > _MAX_CHARS or _has_comment(text, start):
        return None
    brackets = _opening_brackets(text, start)
    if len(brackets) > _MAX_BRACKETS:
        return None
    found: Mended | None = None
    for bracket in brackets:
        for dropped in ((bracket.at,), (bracket.at, bracket.closed_at)):
            value = None if None in dropped else _whole_object(text, start, dropped)
            if value is None:
                continue
            lost = _lost(bracket)
            if found is not None:
                # Of two brackets next to each other either can be dropped: an answer that one of
                # them is in is lost.
                known = {one for one in (found.lost, lost) if one is not None}
                if found.found.value != value or len(known) > 1:
                    return None
                lost = next(iter(known), None)
            repairs = ("a stray opening bracket",)
            one = json_text.FoundObject(value, start, len(text.rstrip()), repairs)
            found = Mended(one, lost)
    return found


def _has_comment(text: str, start: int) -> bool:
    """Whether something may be commented out: the bracket that is too many may belong to a
    comment, or the whole object may be in one. Before the object quotes are prose and protect
    nothing.
    """
    if _COMMENT.search(text, 0, start):
        return True
    return any(match[1] for match in _STRING_OR_COMMENT.finditer(text, start))


def _lost(bracket: _Bracket) -> str | int | None:
    return bracket.path[1] if len(bracket.path) > 1 and bracket.path[0] == "answers" else None


def _whole_object(
    text: str, start: int, dropped: tuple[int | None, ...]
) -> dict[str, object] | None:
    """The one object that the text holds without these characters."""
    pieces = "".join(char for at, char in enumerate(text[start:], start) if at not in dropped)
    if not pieces.startswith("{"):
        return None
    try:
        value, end = tolerant_json.decode_strictly(pieces)
    except (ValueError, RecursionError):
        return None
    return None if re.search(r"[{}\[\]]", pieces[end:]) else value


def _opening_brackets(text: str, start: int) -> list[_Bracket]:
    """Every opening bracket outside of strings, in order."""
    return sorted(_walked(text, start), key=lambda one: one.at)


def _walked(text: str, start: int) -> Iterator[_Bracket]:
    """Follows keys and places as far as the text is JSON; from the stray bracket on the path means
    nothing, and nothing after it is dropped alone.
    """
    stack: list[tuple[str, int]] = []
    names: list[str | int | None] = []
    opened: list[_Bracket] = []
    string = ""
    for token in _TOKENS.finditer(text, start):
        part = token[0]
        if part in "{[":
            path = tuple(name for name in names if name is not None)
            opened.append(_Bracket(token.start(), path, None))
            stack.append((part, len(opened) - 1))
            names.append(0 if part == "[" else None)
        elif part in _CLOSES:
            if not stack or stack[-1][0] != _CLOSES[part]:
                break
            _, at = stack.pop()
            names.pop()
            opened[at] = _Bracket(opened[at].at, opened[at].path, token.start())
        elif part == ":" and names:
            names[-1] = string
        elif part == "," and names:
            place = names[-1]
            names[-1] = place + 1 if isinstance(place, int) else None
        else:
            string = part[1:-1]
    yield from opened
