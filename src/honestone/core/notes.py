"""Words from outside in notes: safe to show on one line, and short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

NOTE_LIMIT: Final = 300


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def visible(text: str, limit: int = NOTE_LIMIT) -> str:
    """A text from outside, safe to show: what cannot be printed is escaped, and it is cut."""
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return cut if len(text) <= limit and len(cut) <= limit else cut[: limit - 3] + "..."


def quoted(text: str, limit: int = 60) -> str:
    return f'"{visible(text, limit)}"'


def listed(words: Sequence[str], most: int = 5) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return visible(", ".join(quoted(word, 40) for word in words[:most]) + more)
