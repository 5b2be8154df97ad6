"""Front matter: the YAML block that opens a Markdown file, edited line by line so that nothing else in it changes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

_FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\Z)")
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\Z)", re.M)
_KEY = re.compile(r"([A-Za-z_][\w.-]*)[ \t]*:(?=[ \t\r\n]|\Z)")
_PLAIN = re.compile(r"[A-Za-z](?:[\w ,.()/+-]*[\w.)])?")
_NOT_TEXT = re.compile(r"(?i)true|false|yes|no|on|off|null|y|n")
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A Markdown text in three: up to and with the opening line, the block between the fences, and the rest with its
    closing fence. `block` is None where there is no front matter, or one that never ends."""

    opening: str
    block: str | None
    rest: str

    @property
    def body(self) -> str:
        """What comes after the front matter."""
        return self.rest if self.block is None else _END.sub("", self.rest, count=1)


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends one: exotic separators are ordinary characters here."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def split(text: str) -> FrontMatter:
    start = 1 if text.startswith("\ufeff") else 0
    fence = _FENCE.match(text, start)
    end = None if fence is None else _END.search(text, fence.end())
    if fence is None or end is None:
        return FrontMatter("", None, text)
    return FrontMatter(text[: fence.end()], text[fence.end() : end.start()], text[end.start() :])


def entries(block: str) -> dict[str, str]:
    """The top-level keys of a block, each with its lines as they are written."""
    found: dict[str, str] = {}
    key = ""
    for line in lines_of(block):
        match = _KEY.match(line)
        if match is not None:
            key = match[1]
        found[key] = found.get(key, "") + line
    return found


def is_plain(block: str) -> bool:
    """Whether every top-level key is written so that `entries` sees it: no quoted or computed key, no flow mapping."""
    return all(_KEY.match(line) is not None or line[:1] in " \t\r\n#-" for line in lines_of(block)) and not re.search(
        r"^\s*<<[ \t]*:", block, re.M
    )


def updated(text: str, updates: Mapping[str, object]) -> str:
    """The text with these keys set, in place where they stand, else at the end of the block. Raises ValueError."""
    parts = split(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if parts.block is None:
        if _FENCE.match(text.removeprefix("\ufeff")):
            raise ValueError("its front matter never ends")
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        block = "".join(_line(key, value, newline) for key, value in updates.items())
        return f"{mark}---{newline}{block}---{newline}{newline}{text.removeprefix(mark)}"
    if not is_plain(parts.block):
        raise ValueError("its front matter is written so that no key can be replaced safely")
    known = entries(parts.block)
    for key, value in updates.items():
        known[key] = _line(key, value, newline) + _trailing_comments(known.get(key, ""))
    return parts.opening + "".join(known.values()) + parts.rest


def _trailing_comments(old: str) -> str:
    """Comment and blank lines that end an entry belong to what follows it: they stay."""
    lines = lines_of(old)
    end = len(lines)
    while end > 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return "".join(lines[end:])


def _line(key: str, value: object, newline: str) -> str:
    if _KEY.fullmatch(f"{key}:") is None:
        raise ValueError(f"`{key}` cannot be a key of front matter")
    return f"{key}: {_scalar(value)}{newline}"


def _scalar(value: object) -> str:
    """A value as YAML on one line: plain where that is surely the same text, else JSON, which YAML reads."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and not _NOT_TEXT.fullmatch(value):
        return value
    _require_plain_data(value, 0)
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in written)


def _escaped(sign: str) -> str:
    return f"\\u{ord(sign):04x}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08x}"


def _require_plain_data(value: object, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueError("a value is nested too deeply")
    if isinstance(value, float) and not isfinite(value):
        raise ValueError("a value is not a finite number")
    if isinstance(value, str) and ("\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value)):
        raise ValueError("a value holds a character that no file can hold")
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _require_plain_data(below, depth + 1)
