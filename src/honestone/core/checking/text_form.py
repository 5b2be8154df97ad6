"""The normal form in which checks compare texts: a line break is LF, characters are composed (NFC).

`é` is one character or two (`e` and an accent), Korean typed on a Mac is decomposed, and a file
from Windows ends its lines with CRLF. Each pair looks the same, and Unicode calls it equal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

T = TypeVar("T")


def normal(text: str) -> str:
    """The text in normal form; most texts are already."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def normal_value(value: T) -> T:
    """A JSON value with every text in it, keys too, in normal form."""
    made: object = value
    if isinstance(value, str):
        made = normal(value)
    elif isinstance(value, Mapping):
        made = {normal_value(key): normal_value(inner) for key, inner in value.items()}
    elif isinstance(value, Sequence):
        made = [normal_value(inner) for inner in value]
    return cast(T, made)


def form_words(*texts: str) -> str:
    """What of their form may make these texts differ, in words."""
    parts = []
    if any("\r\n" in text for text in texts):
        parts.append("line breaks (CRLF, not LF)")
    if any(not unicodedata.is_normalized("NFC", text) for text in texts):
        parts.append("Unicode normal form (NFD, not NFC)")
    return " and ".join(parts)


def asks_for_line_breaks(text: str) -> bool:
    """Whether a text is nothing but line breaks with a CR: who looks for these means the bytes."""
    return "\r" in text and not text.strip()
