"""Skills: a folder with a SKILL.md that an agent is given; the front matter and the sections of
that file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite

from msgspec import Struct

from honestone.core.artifact import Version, as_text
from honestone.core.json_value import late_pattern

SKILL_FILE = "SKILL.md"


class Skill(Struct, frozen=True, kw_only=True):
    """`name` is the front matter's, else the folder's; the version holds what is installed, nothing
    else.
    """

    name: str
    version: Version

    @property
    def text(self) -> str:
        return as_text(self.version.files[SKILL_FILE].data) or ""


def is_skill(version: Version) -> bool:
    return version.is_folder and SKILL_FILE in version.files


def skill_name(text: str, folder: str) -> str:
    """The `name` in a SKILL.md's front matter when it can be a folder's name, else the folder's
    own.
    """
    front = re.match(r"\A---\s*\n(.*?)\n---\s*(\n|\Z)", text, re.S)
    match = re.search(r"^name:\s*[\"']?([^\"'\n#]+)", front[1], re.M) if front else None
    name = match[1].strip() if match else ""
    return name if re.fullmatch(r"[\w][\w.-]*", name) else folder


_FENCE = late_pattern(r"---[ \t]*(?:\r\n|\n|\Z)")
_END = late_pattern(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\Z)", re.M)
_KEY = late_pattern(r"([A-Za-z_][\w.-]*)[ \t]*:(?=[ \t\r\n]|\Z)")
_PLAIN = late_pattern(r"[A-Za-z](?:[\w ,.()/+-]*[\w.)])?")
_NOT_TEXT = late_pattern(r"(?i)true|false|yes|no|on|off|null|y|n")
_MAX_DEPTH = 20


class FrontMatter(Struct, frozen=True):
    """A Markdown text in three: up to and with the opening line, the block between the fences, and
    the rest with its closing fence. `block` is None without front matter, or one that never ends.
    """

    opening: str
    block: str | None
    rest: str

    @property
    def body(self) -> str:
        """What comes after the front matter."""
        return self.rest if self.block is None else _END.sub("", self.rest, count=1)


def lines_of(text: str) -> list[str]:
    """The lines with their ends. Only a line feed ends one: exotic separators are ordinary
    characters here.
    """
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
    """Whether every top-level key is written so that `entries` sees it: no quoted or computed key,
    no flow mapping.
    """
    return all(
        _KEY.match(line) is not None or line[:1] in " \t\r\n#-" for line in lines_of(block)
    ) and not re.search(r"^\s*<<[ \t]*:", block, re.M)


def updated(text: str, updates: Mapping[str, object]) -> str:
    """The text with these keys set, in place where they are, else at the end of the block. Raises
    ValueError.
    """
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
    """A value as YAML on one line: plain where that is surely the same text, else JSON, which YAML
    reads.
    """
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
    if isinstance(value, str) and (
        "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value)
    ):
        raise ValueError("a value holds a character that no file can hold")
    inner: Iterable[object] = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        inner = value.values()
    for one in inner:
        _require_plain_data(one, depth + 1)


_HEADING = late_pattern(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_CLOSING = late_pattern(r"(?:\A|(?<=[ \t]))#+\Z")
_CODE = late_pattern(r" {0,3}(`{3,}|~{3,})(.*)$")
# How a line of content begins that is written as it is; any other becomes an entry of a list.
_WRITTEN = late_pattern(r"\s|[-*+] |\d+[.)] |[#|>]|```|~~~|\Z")


class Section(Struct, frozen=True):
    """`start` to `end` in the text, the heading with it; `level` 1 to 6."""

    level: int
    title: str
    start: int
    end: int

    @property
    def heading(self) -> str:
        return f"{'#' * self.level} {self.title}"


class NoSuchSection(ValueError):
    """The section is not there, or there more than once."""


def sections(text: str) -> list[Section]:
    """Every section. One ends where the next of its own or a higher level begins."""
    headings = list(_headings(text))
    ends = [len(text)] * len(headings)
    still_open: list[int] = []
    for at, (level, _, start) in enumerate(headings):
        while still_open and headings[still_open[-1]][0] >= level:
            ends[still_open.pop()] = start
        still_open.append(at)
    return [Section(*heading, end) for heading, end in zip(headings, ends, strict=True)]


def _headings(text: str) -> Iterator[tuple[int, str, int]]:
    parts = split(text)
    at = len(text) - len(parts.body)
    for line, is_code, _ in with_fences(lines_of(parts.body)):
        bare = line.rstrip("\r\n")
        if not is_code and (heading := _HEADING.match(bare)) is not None:
            yield len(heading[1]), _title(bare[heading.end() :]), at
        at += len(line)


def with_fences(lines: Iterable[str]) -> Iterator[tuple[str, bool, str]]:
    """Each line, whether it belongs to a block of code, and the fence of the block that is open
    after it.
    """
    fence = ""
    for line in lines:
        code, before = _CODE.match(line.rstrip("\r\n")), fence
        if fence and code is not None and code[1].startswith(fence) and not code[2].strip():
            fence = ""
        elif not fence and code is not None and not (code[1][0] == "`" and "`" in code[2]):
            fence = code[1]
        yield line, bool(before or fence), fence


def parsed_heading(written: str) -> tuple[int | None, str]:
    """`## More` is level 2 and its title; a title alone may have any level. Raises ValueError for
    more than one line.
    """
    if "\n" in written or "\r" in written or not written.strip("# \t"):
        raise ValueError(f"{written[:60]!r} is not a heading")
    match = _HEADING.match(written)
    return (len(match[1]), _title(written[match.end() :])) if match else (None, _title(written))


def find(text: str, heading: str) -> list[Section]:
    level, title = parsed_heading(heading)
    return [one for one in sections(text) if one.title == title and level in (None, one.level)]


def the_section(text: str, heading: str) -> Section:
    found = find(text, heading)
    if len(found) != 1:
        what = "is not there" if not found else f"is there {len(found)} times"
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
    if bare.endswith("\n\n"):
        return ""
    return newline if bare.endswith("\n") else newline * 2


def newline_of(text: str) -> str:
    return "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"


def _title(written: str) -> str:
    """A title without the signs that may close a heading, its spaces made equal."""
    return " ".join(_CLOSING.sub("", written.strip()).split())
