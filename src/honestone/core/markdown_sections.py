"""Sections of a Markdown text: found by their heading outside code and front matter, added and replaced as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from honestone.core.skill.front_matter import lines_of, split

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_CLOSING = re.compile(r"(?:\A|(?<=[ \t]))#+\Z")
_CODE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_WRITTEN = re.compile(r"\s|[-*+] |\d+[.)] |[#|>]|```|~~~|\Z")
"""How a line of content begins that is written as it stands; any other becomes an entry of a list."""


@dataclass(frozen=True, slots=True)
class Section:
    """`start` to `end` in the text, the heading with it; `level` 1 to 6."""

    level: int
    title: str
    start: int
    end: int


class NoSuchSection(ValueError):
    """The section is not there, or there more than once."""


def sections(text: str) -> list[Section]:
    """Every section. One ends where the next of its own or a higher level begins."""
    found = list(_headings(text))
    ends = [len(text)] * len(found)
    still_open: list[int] = []
    for at, (level, _, start) in enumerate(found):
        while still_open and found[still_open[-1]][0] >= level:
            ends[still_open.pop()] = start
        still_open.append(at)
    return [Section(*heading, end) for heading, end in zip(found, ends, strict=True)]


def _headings(text: str) -> Iterator[tuple[int, str, int]]:
    parts = split(text)
    at = len(text) - len(parts.body)
    fence = ""
    for line in lines_of(parts.body):
        bare = line.rstrip("\r\n")
        code = _CODE.match(bare)
        if fence:
            if code is not None and code[1].startswith(fence) and not code[2].strip():
                fence = ""
        elif code is not None and not (code[1][0] == "`" and "`" in code[2]):
            fence = code[1]
        elif (heading := _HEADING.match(bare)) is not None:
            yield len(heading[1]), _title(bare[heading.end() :]), at
        at += len(line)


def parsed_heading(written: str) -> tuple[int | None, str]:
    """`## More` is level 2 and its title; a title alone may have any level. Raises ValueError for more than one line."""
    if "\n" in written or "\r" in written or not written.strip("# \t"):
        raise ValueError(f"{written[:60]!r} is no heading")
    match = _HEADING.match(written)
    return (len(match[1]), _title(written[match.end() :])) if match else (None, _title(written))


def find(text: str, heading: str) -> list[Section]:
    level, title = parsed_heading(heading)
    return [one for one in sections(text) if one.title == title and level in (None, one.level)]


def the_section(text: str, heading: str) -> Section:
    found = find(text, heading)
    if len(found) != 1:
        what = "is not there" if not found else f"stands there {len(found)} times"
        raise NoSuchSection(f"the section {heading.strip()!r} {what}")
    return found[0]


def rendered(heading: str, lines: Sequence[str], newline: str, *, level: int = 2) -> str:
    """A section as text: heading, blank line, content. A title without signs gets this level."""
    own, _ = parsed_heading(heading)
    head = heading.strip() if own is not None else f"{'#' * level} {heading.strip()}"
    return newline.join([head, "", *(_content(line) for line in lines)]).rstrip("\r\n") + newline


def _content(line: str) -> str:
    return line if _WRITTEN.match(line) else f"- {line}"


def with_section_at(text: str, at: int, section: str, newline: str) -> str:
    """The text with a section put in, parted by one blank line from what is around it."""
    before, after = text[:at], text[at:]
    return before + _gap(before, newline) + section + (newline if after.strip() else "") + after


def _gap(before: str, newline: str) -> str:
    if not before.strip("\ufeff"):
        return ""
    bare = before.replace("\r\n", "\n")
    return "" if bare.endswith("\n\n") else newline if bare.endswith("\n") else newline * 2


def newline_of(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _title(written: str) -> str:
    """A title without the signs that may close a heading, its spaces made equal."""
    return " ".join(_CLOSING.sub("", written.strip()).split())
