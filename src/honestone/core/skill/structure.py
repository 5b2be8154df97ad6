"""The structure of a skill: front matter, links, size, when it is meant to be used. A fast look at its files.

It is advice and never part of a score: a well-formed skill may do harm and an ugly one may help. Only running tasks tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from honestone.core.artifact import Version
from honestone.core.skill.skill_file import SKILL_FILE, entries, lines_of, sections, split

WHY: Final = {
    "no-front-matter": "agents find a skill by the name and description in its front matter",
    "no-name": "agents call a skill by its name",
    "odd-name": "some agents load only names of lower-case letters, digits and hyphens, 64 at most",
    "other-folder": "some agents expect the folder to have the skill's name",
    "no-description": "the description is all that an agent sees before it decides to load the skill",
    "long-description": "agents cut descriptions at 1024 characters",
    "short-description": "an agent cannot tell from it when the skill is meant",
    "no-trigger": "an agent that does not know when a skill is meant loads it too seldom or too often",
    "no-body": "a skill without instructions teaches nothing",
    "long-body": "the whole file is read whenever the skill is used, and pushes out what the task needs",
    "broken-link": "the agent looks for a file that is not there",
    "link-outside": "what lies outside of the skill's folder is not installed with it",
    "unused-file": "an agent does not read a file that nothing names",
    "unfinished": "the agent takes the note for an instruction",
    "open-code": "everything after it is code",
}

MOST_LINES: Final = 500
MOST_DESCRIPTION: Final = 1024
FEWEST_LETTERS: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureRemark:
    """`line` is where in SKILL.md, from 1."""

    rule: str
    message: str
    suggestion: str
    line: int = 1

    @property
    def why(self) -> str:
        return WHY[self.rule]


def check_structure(version: Version, *, folder: str) -> list[StructureRemark]:
    """What the files of a skill let one doubt, in the order of SKILL.md. `folder` is its folder's name."""
    text = version.texts.get(SKILL_FILE, "")
    found = [*_front(text, folder), *_body(text), *_links(text, version)]
    return sorted(found, key=lambda one: one.line)


# ------------------------------------------------------------------------------------------------ front matter


def front_values(text: str) -> dict[str, str]:
    """The top-level keys of the front matter as text: quoted, plain, or a block of lines. No YAML beyond that."""
    block = split(text).block
    return {} if block is None else {key: _value(lines) for key, lines in entries(block).items() if key}


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
            return inner.replace("''", "'") if whole[0] == "'" else re.sub(r'\\(["\\])', r"\1", inner)
    return re.sub(r"\s#.*$", "", whole)


def _line_of_key(text: str, key: str) -> int:
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(rf"{re.escape(key)}[ \t]*:", line):
            return number
    return 1


_WHEN: Final = re.compile(
    r"(?i)\b(?:when(?:ever)?|if|for|use(?:d)?\s+(?:to|it|this|for)|trigger|asks?|before|after|while)\b|当|时|用于|使用|适用|触发|때|경우|위해|사용|とき|場合|際"
)
_WHEN_HEADING: Final = re.compile(r"(?i)when to use|use cases?|triggers?|何时使用|适用|使用场景|언제|사용")


def _front(text: str, folder: str) -> Iterator[StructureRemark]:
    if split(text).block is None:
        yield StructureRemark(
            rule="no-front-matter",
            message="it does not begin with front matter",
            suggestion="begin the file with `---`, `name:`, `description:` and `---`",
        )
        return
    values = front_values(text)
    name, described = values.get("name", "").strip(), values.get("description", "").strip()
    if not name:
        yield StructureRemark(
            rule="no-name", message="its front matter has no name", suggestion=f"add `name: {folder}`"
        )
    elif not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", name) or len(name) > 64:
        yield StructureRemark(
            rule="odd-name",
            line=_line_of_key(text, "name"),
            message=f"its name is `{name[:80]}`",
            suggestion="use lower-case words joined by hyphens",
        )
    elif name != folder:
        yield StructureRemark(
            rule="other-folder",
            line=_line_of_key(text, "name"),
            message=f"its name is `{name}`, its folder is `{folder}`",
            suggestion="give both the same name",
        )
    yield from _description(text, described)


def _description(text: str, described: str) -> Iterator[StructureRemark]:
    line = _line_of_key(text, "description")
    if not described:
        yield StructureRemark(
            rule="no-description",
            line=line,
            message="its front matter has no description",
            suggestion="say in a sentence or two what it does and when to use it",
        )
        return
    if len(described) > MOST_DESCRIPTION:
        yield StructureRemark(
            rule="long-description",
            line=line,
            message=f"its description has {len(described)} characters",
            suggestion=f"say it in {MOST_DESCRIPTION}",
        )
    letters = sum(2 if ord(sign) > 0x2E80 else 1 for sign in described if sign.isalnum())
    if letters < FEWEST_LETTERS:
        yield StructureRemark(
            rule="short-description",
            line=line,
            message=f'its description is "{described}"',
            suggestion="say what it does and when to use it",
        )
    has_section = any(_WHEN_HEADING.search(section.title) for section in sections(text))
    if not _WHEN.search(described) and not has_section:
        yield StructureRemark(
            rule="no-trigger",
            line=line,
            message="neither its description nor a section says when to use it",
            suggestion="end the description with `Use when ...`",
        )


# ------------------------------------------------------------------------------------------------ body

_UNFINISHED: Final = re.compile(r"\b(?:TODO|TBD|FIXME|XXX)\b(?=\s*(?:[:：(\]]|$))|\blorem ipsum\b")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


def _body(text: str) -> Iterator[StructureRemark]:
    parts = split(text)
    first = len(lines_of(text)) - len(lines_of(parts.body)) + 1
    lines = parts.body.split("\n")
    if not any(line.strip() and not line.lstrip().startswith("#") for line in lines):
        yield StructureRemark(
            rule="no-body", line=first, message="it has no instructions", suggestion="write what the agent shall do"
        )
    count = len(lines_of(parts.body))
    if count > MOST_LINES:
        yield StructureRemark(
            rule="long-body",
            line=first,
            message=f"it has {count} lines",
            suggestion=f"keep {MOST_LINES} at most, and move details to files that it names",
        )
    opened = 0
    fence = ""
    for number, line in enumerate(lines, first):
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence, opened = mark[1], number
        elif mark is not None and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence and (found := _UNFINISHED.search(line)):
            yield StructureRemark(
                rule="unfinished",
                line=number,
                message=f"it holds the note `{found[0]}`",
                suggestion="finish it, or take it out",
            )
    if fence:
        yield StructureRemark(
            rule="open-code",
            line=opened,
            message="a block of code begins here and never ends",
            suggestion=f"close it with `{fence}`",
        )


# ------------------------------------------------------------------------------------------------ links

_LINK: Final = re.compile(r"!?\[[^\]\n]{0,300}\]\(\s*<?([^)\s>]{1,300})>?(?:\s+[\"'][^)\n]{0,200})?\)")
_NAMED_FILE: Final = re.compile(
    r"`((?:\./)?(?:references|scripts|assets|templates|resources|examples)/[\w./-]{1,200}\.\w{1,8})`"
)


def _links(text: str, version: Version) -> Iterator[StructureRemark]:
    """Links between Markdown files and files named in code: outside of blocks of code, which show what may be."""
    folders = {name[:at] or "." for name in version.files for at, sign in enumerate(name) if sign == "/"} | {"."}
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
                yield StructureRemark(
                    rule="link-outside",
                    line=number,
                    message=f"`{target}` lies outside of the skill's folder",
                    suggestion="copy it into the folder, or say in words what is meant",
                )
            elif inside not in version.files and inside not in folders:
                yield StructureRemark(
                    rule="broken-link",
                    line=number,
                    message=f"there is no file `{target}` in the skill",
                    suggestion="add the file, or take the link out",
                )
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
            yield StructureRemark(
                rule="unused-file",
                line=len(lines_of(text)) or 1,
                message=f"nothing in the skill names `{name}`",
                suggestion="say in SKILL.md when to read it",
            )


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Numbered lines outside of blocks of code."""
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        mark = _FENCE.match(line)
        if mark is None:
            if not fence:
                yield number, line
        elif not fence:
            fence = mark[1]
        elif mark[1].startswith(fence):
            fence = ""
