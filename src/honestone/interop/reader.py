"""What a format of another tool says of itself: how it is recognised, read and shown on the reference page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from honestone.formats.document import Document
from honestone.formats.reader import Keys
from honestone.formats.source import ForeignRubric, SuiteSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One foreign format. `signs` gives 0 (not it) to 100 (certainly it) by content alone, never by the file's name.

    `defaults` are the dialect's own rules in words (threshold, required, floor), shown with every result.
    """

    name: str
    title: str
    gives: Literal["suite", "rubric"]
    signs: Callable[[Document], int]
    read: Callable[[Document], SuiteSource | ForeignRubric]
    keys: tuple[Keys, ...]
    defaults: tuple[str, ...] = ()
    looks_like: tuple[str, ...] = ()
    """Top-level keys by which a file that no reader recognises is said to look closest to this."""
    example: str = ""
