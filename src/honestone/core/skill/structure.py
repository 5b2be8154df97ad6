"""The structure of a skill: front matter, links, size, when it is meant to be used. A fast look at
its files.

It is advice and never part of a score: a well-formed skill may do harm and an ugly one may help.
Only running tasks tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote

from msgspec import Struct, field

from honestone.core.artifact import Version
from honestone.core.json_value import late_pattern
from honestone.core.skill.skill_file import (
    SKILL_FILE,
    entries,
    lines_of,
    sections,
    split,
    with_fences,
)
from honestone.core.tables import Fact, RuledRemark, rule_texts

RULES: Final = rule_texts("skill/structure")

MOST_LINES: Final = 500
MOST_DESCRIPTION: Final = 1024
FEWEST_LETTERS: Final = 20


class StructureRemark(RuledRemark, Struct, frozen=True):
    """`line` is where in SKILL.md, from 1."""

    rules = RULES

    rule: str
    line: int = 1
    facts: Mapping[str, Fact] = field(default_factory=dict)
    place: str = ""


def check_structure(version: Version, *, folder: str) -> list[StructureRemark]:
    """What the files of a skill let one doubt, in the order of SKILL.md. `folder` is its folder's
    name.
    """
    text = version.texts.get(SKILL_FILE, "")
    remarks = [*_front(text, folder), *_body(text), *_links(text, version)]
    return sorted(remarks, key=lambda one: one.line)


# ------------------------------------------------------------------------------------------------
# front matter


def front_values(text: str) -> dict[str, str]:
    """The top-level keys of the front matter as text: quoted, plain, or a block of lines. No YAML
    beyond that.
    """
    block = split(text).block
    return (
        {}
        if block is None
        else {key: _value(lines) for key, lines in entries(block).items() if key}
    )


def _value(lines: str) -> str:
    first, *rest = lines.split("\n")
    value = first.partition(":")[2].strip()
    below = [line.strip() for line in rest if line.strip() and not line.lstrip().startswith("#")]
    if re.fullmatch(r"[|>][+-]?\d?", value):
        return "\n".join(below) if value[0] == "|" else " ".join(below)
    whole = " ".join([value, *below]) if value else "\n".join(below)
    if len(whole) >= 2 and whole[0] in "\"'":
        inner, closed, _ = whole[1:].rpartition(whole[0])
        if closed:
            return (
                inner.replace("''", "'") if whole[0] == "'" else re.sub(r'\\(["\\])', r"\1", inner)
            )
    return re.sub(r"\s#.*$", "", whole)


def _line_of_key(text: str, key: str) -> int:
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(rf"{re.escape(key)}[ \t]*:", line):
            return number
    return 1


_WHEN: Final = late_pattern(
    r"(?i)\b(?:when(?:ever)?|if|for|use(?:d)?\s+(?:to|it|this|for)|trigger|asks?|before|after|while)\b|当|时|用于|使用|适用|触发|때|경우|위해|사용|とき|場合|際"
)
_WHEN_HEADING: Final = late_pattern(
    r"(?i)when to use|use cases?|triggers?|何时使用|适用|使用场景|언제|사용"
)


def _front(text: str, folder: str) -> Iterator[StructureRemark]:
    if split(text).block is None:
        yield StructureRemark("no-front-matter")
        return
    values = front_values(text)
    name, described = values.get("name", "").strip(), values.get("description", "").strip()
    if not name:
        yield StructureRemark("no-name", 1, {"folder": folder})
    elif not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > 64:
        yield StructureRemark("odd-name", _line_of_key(text, "name"), {"name": name})
    elif name != folder:
        yield StructureRemark(
            "other-folder", _line_of_key(text, "name"), {"name": name, "folder": folder}
        )
    yield from _description(text, described)


def _description(text: str, described: str) -> Iterator[StructureRemark]:
    line = _line_of_key(text, "description")
    if not described:
        yield StructureRemark("no-description", line)
        return
    if len(described) > MOST_DESCRIPTION:
        yield StructureRemark("long-description", line, {"count": len(described)})
    letters = sum(2 if ord(sign) > 0x2E80 else 1 for sign in described if sign.isalnum())
    if letters < FEWEST_LETTERS:
        yield StructureRemark("short-description", line, {"described": described})
    has_section = any(_WHEN_HEADING.search(section.title) for section in sections(text))
    if not _WHEN.search(described) and not has_section:
        yield StructureRemark("no-trigger", line)


# ------------------------------------------------------------------------------------------------
# body

_UNFINISHED: Final = late_pattern(
    r"\b(?:TODO|TBD|FIXME|XXX)\b(?=\s*(?:[:：(\]]|$))|\blorem ipsum\b"
)


def _body(text: str) -> Iterator[StructureRemark]:
    parts = split(text)
    first = len(lines_of(text)) - len(lines_of(parts.body)) + 1
    lines = parts.body.split("\n")
    if not any(line.strip() and not line.lstrip().startswith("#") for line in lines):
        yield StructureRemark("no-body", first)
    count = len(lines_of(parts.body))
    if count > MOST_LINES:
        yield StructureRemark("long-body", first, {"count": count})
    opened, fence = 0, ""
    for number, (line, is_code, still_open) in enumerate(with_fences(lines), first):
        opened, fence = opened if fence else number, still_open
        if not is_code and (match := _UNFINISHED.search(line)):
            yield StructureRemark("unfinished", number, {"note": match[0]})
    if fence:
        yield StructureRemark("open-code", opened, {"fence": fence})


# ------------------------------------------------------------------------------------------------
# links

_LINK: Final = late_pattern(
    r"!?\[[^\]\n]{0,300}\]\(\s*<?([^)\s>]{1,300})>?(?:\s+[\"'][^)\n]{0,200})?\)"
)
_NAMED_FILE: Final = late_pattern(
    r"`((?:\./)?(?:references|scripts|assets|templates|resources|examples)/[\w./-]{1,200}\.\w{1,8})`"
)


def _links(text: str, version: Version) -> Iterator[StructureRemark]:
    """Links between Markdown files and files named in code: outside of blocks of code, which show
    what may be.
    """
    folders = {
        name[:at] or "." for name in version.files for at, sign in enumerate(name) if sign == "/"
    } | {"."}
    seen: set[str] = set()
    for number, line in _prose(text):
        for written in (*_LINK.findall(line), *_NAMED_FILE.findall(line)):
            target = unquote(written.partition("#")[0].partition("?")[0])
            if (
                not re.search(r"[./]", target)
                or re.match(r"[a-z][a-z0-9+.-]*:|//|[{<$]", target, re.I)
                or target in seen
            ):
                continue
            seen.add(target)
            inside = _inside(target)
            if inside is None:
                yield StructureRemark("link-outside", number, {"target": target})
            elif inside not in version.files and inside not in folders:
                yield StructureRemark("broken-link", number, {"target": target})
    yield from _unused(text, version.texts)


def _inside(target: str) -> str | None:
    """A relative path without `.` and `..`; None when it leads out."""
    if target.startswith("/"):
        return None
    parts: list[str] = []
    for part in target.split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or "."


_FOR_PEOPLE: Final = ("readme.md", "license.md", "changelog.md", "contributing.md")


def _unused(text: str, files: Mapping[str, str]) -> Iterator[StructureRemark]:
    """Markdown files that neither SKILL.md nor another file of the skill names."""
    for name in files:
        place, _, own = name.rpartition("/")
        if not own.endswith(".md") or name == SKILL_FILE or own.lower() in _FOR_PEOPLE:
            continue
        others = [other for at, other in files.items() if at != name]
        folder = place.rpartition("/")[2]
        if not any(own in other or (folder and f"{folder}/" in other) for other in others):
            yield StructureRemark("unused-file", len(lines_of(text)) or 1, {"name": name})


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines outside of blocks of code."""
    for number, (line, is_code, _) in enumerate(with_fences(text.split("\n")), 1):
        if not is_code:
            yield number, line
