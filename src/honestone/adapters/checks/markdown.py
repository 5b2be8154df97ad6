"""Links and anchors of a Markdown page, read as GitHub renders it. Pure; the work grows with the
length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Final


@dataclass(frozen=True, slots=True)
class Link:
    """A link or image, unescaped, and its line. Undefined: `target` is the label of a definition
    that is not there.
    """

    target: str
    line: int
    is_undefined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    links: tuple[Link, ...]
    anchors: frozenset[str]


def read_page(text: str) -> Page:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    prose = _without_code_blocks(lines)
    return Page(links=tuple(_links(prose)), anchors=frozenset(_anchors(prose)))


# ---------------------------------------------------------------------------------------------------------
# blocks

_FENCE: Final = re.compile(r"[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*)*(`{3,}(?=[^`]*$)|~{3,})")
_CLOSING: Final = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*$")
_LIST: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")


def _without_code_blocks(lines: list[str]) -> list[str]:
    """The lines with front matter, fenced and indented code and comments emptied, so that numbers
    stay true.
    """
    kept = list(lines)
    _empty_front_matter(kept)
    fence, after_blank, in_list = "", True, False
    for index, line in enumerate(kept):
        if fence:
            closing = _CLOSING.match(line)
            if closing and closing[1][0] == fence[0] and len(closing[1]) >= len(fence):
                fence = ""
            kept[index] = ""
            continue
        if opening := _FENCE.match(line):
            fence, kept[index], after_blank = opening[1], "", True
            continue
        if not line.strip():
            after_blank = True
            continue
        indented = line.startswith(("    ", "\t"))
        if indented and after_blank and not in_list:
            kept[index] = ""
            continue
        in_list = bool(_LIST.match(line)) or (
            in_list and (indented or line.startswith(" ") or not after_blank)
        )
        after_blank = False
    return _without_comments(kept)


def _empty_front_matter(lines: list[str]) -> None:
    if not lines or lines[0].rstrip() != "---":
        return
    for index in range(1, len(lines)):
        if lines[index].rstrip() in ("---", "..."):
            lines[: index + 1] = [""] * (index + 1)
            return


def _without_comments(lines: list[str]) -> list[str]:
    text, out, at = "\n".join(lines), [], 0
    while (start := text.find("<!--", at)) >= 0:
        if text.count("`", text.rfind("\n", 0, start) + 1, start) % 2:  # in a code span
            out.append(text[at : start + 4])
            at = start + 4
            continue
        end = text.find("-->", start + 4)
        if end < 0:
            break
        out += [text[at:start], re.sub(r"[^\n]", " ", text[start : end + 3])]
        at = end + 3
    return "".join([*out, text[at:]]).split("\n")


# --------------------------------------------------------------------------------------------------------
# anchors

_ATX: Final = re.compile(r" {0,3}(?:>[ ]?)*(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT: Final = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_HTML_HEADING: Final = re.compile(r"\s*<h[1-6]\b[^<>]*>(.*)</h[1-6]>\s*$", re.IGNORECASE)
_TAG: Final = re.compile(r"<[a-zA-Z/][^<>]*>")
_NAMED: Final = re.compile(
    r"""<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))"""
)


def _anchors(lines: list[str]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for heading in _headings(lines):
        yield _unique(slug_of_heading(heading), seen)
    for line in lines:
        for match in _NAMED.finditer(line):
            yield unescape(match[1] or match[2] or match[3] or "")


def _headings(lines: list[str]) -> Iterator[str]:
    paragraph: list[str] = []
    for line in lines:
        if match := _ATX.match(line):
            paragraph = []
            yield _without_closing_marks(match[2] or "")
        elif match := _HTML_HEADING.match(line):
            paragraph = []
            yield match[1]
        elif paragraph and _SETEXT.match(line):
            yield " ".join(paragraph)
            paragraph = []
        elif (
            not line.strip()
            or _LIST.match(line)
            or line.startswith("    ")
            or line.lstrip().startswith((">", "|"))
        ):
            paragraph = []
        else:
            paragraph.append(line.strip())


def _without_closing_marks(heading: str) -> str:
    bare = heading.rstrip().rstrip("#")
    return bare.rstrip() if bare == "" or bare.endswith((" ", "\t")) else heading.strip()


_KEPT: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"})


def slug_of_heading(heading: str) -> str:
    """The anchor that GitHub makes of a heading: its words in lower case, spaces as `-`,
    punctuation gone.
    """
    pieces = re.split(r"(`+)(.+?)\1", heading[:1000])
    text = ""
    for index, piece in enumerate(pieces):
        if index % 3 == 0:
            text += _plain(piece)
        elif index % 3 == 2:
            text += piece
    kept = (c for c in text.strip().lower() if c in " -\u200d" or unicodedata.category(c) in _KEPT)
    return "".join(kept).replace(" ", "-")


def _plain(piece: str) -> str:
    """A piece of a heading as it reads: links by their text, no images, tags or marks of emphasis."""
    piece = re.sub(r"!\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])", "", piece)
    piece = re.sub(r"\[([^\[\]]*)\](?:\([^()]*\)|\[[^\[\]]*\])", r"\1", piece)
    piece = unescape(_TAG.sub("", piece))
    return re.sub(r"(?<!\w)(_{1,3})([^_\s](?:[^_]*[^_\s])?)\1(?!\w)", r"\2", piece)


def _unique(slug: str, seen: dict[str, int]) -> str:
    """The second of its name gets -1, the third -2; a name that is taken is stepped over."""
    name = slug
    while name in seen:
        seen[slug] += 1
        name = f"{slug}-{seen[slug]}"
    seen[name] = 0
    return name


# ----------------------------------------------------------------------------------------------------------
# links

_DEFINITION: Final = re.compile(
    r" {0,3}(?:>[ ]?)*\[(?!\^)((?:[^\[\]\\]|\\.)+)\]:[ \t]*(?:<([^<>]*)>|(\S+))(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_SPAN: Final = re.compile(r"`+")
_HTML_LINK: Final = re.compile(
    r"""<(?:a|img|source|video)\b[^<>]*?\s(?:href|src)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""",
    re.IGNORECASE,
)
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_AUTOLINK: Final = re.compile(r"<[a-zA-Z][a-zA-Z0-9+.-]*:[^\s<>]*>")


def _links(lines: list[str]) -> Iterator[Link]:
    lines = list(lines)
    defined: set[str] = set()
    for index, line in enumerate(lines):
        if match := _DEFINITION.match(line):
            defined.add(_label(match[1]))
            yield Link(_clean(match[2] if match[2] is not None else match[3]), index + 1)
            lines[index] = ""
    start = 0
    for index in [*(i for i, line in enumerate(lines) if not line.strip()), len(lines)]:
        if index > start:
            yield from _links_of_paragraph("\n".join(lines[start:index]), start + 1, defined)
        start = index + 1


def _links_of_paragraph(text: str, first_line: int, defined: set[str]) -> Iterator[Link]:
    text = _without_spans(text)
    breaks = [match.start() for match in re.finditer("\n", text)]

    def line_at(at: int) -> int:
        return first_line + bisect_left(breaks, at)

    for match in _HTML_LINK.finditer(text):
        yield Link(unescape(match[1] or match[2] or match[3] or "").strip(), line_at(match.start()))
    for start, target, is_undefined in _bracketed(
        _AUTOLINK.sub(lambda m: " " * len(m[0]), text), defined
    ):
        yield Link(target, line_at(start), is_undefined)


def _without_spans(text: str) -> str:
    """Code spans as spaces: a run of backticks up to the next run of the same length."""
    runs = [(m.start(), m.end()) for m in _SPAN.finditer(text)]
    later: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[index][1] - runs[index][0], []).append(index)
    out, at, index = [], 0, 0
    while index < len(runs):
        start, end = runs[index]
        if start > 0 and text[start - 1] == "\\" and (start < 2 or text[start - 2] != "\\"):
            start += 1  # the first one is escaped
        partners = later.get(end - start, [])
        while partners and partners[-1] <= index:
            partners.pop()
        if not partners or end == start:
            index += 1
            continue
        closing = partners.pop()
        out += [text[at:start], re.sub(r"[^\n]", " ", text[start : runs[closing][1]])]
        at, index = runs[closing][1], closing + 1
    return "".join([*out, text[at:]])


def _bracketed(text: str, defined: set[str]) -> Iterator[tuple[int, str, bool]]:
    """(start, target, is undefined) of every [text](target), [text][label] and [label][] of a
    paragraph.
    """
    open_brackets: list[int] = []
    at = 0
    while at < len(text):
        c = text[at]
        if c == "\\":
            at += 2
            continue
        if c == "[":
            open_brackets.append(at)
        elif c == "]" and open_brackets:
            start = open_brackets.pop()
            follows = text[at + 1 : at + 2]
            if follows == "(":
                target, end = _destination(text, at + 2)
                if target is not None:
                    yield start, _clean(target), False
                    at = end
                    continue
            elif follows == "[" and not (
                start > 0 and (text[start - 1].isalnum() or text[start - 1] in "_])")
            ):
                close = text.find("]", at + 2, at + 1002)
                label = text[at + 2 : close] if close >= 0 else ""
                shown = text[start + 1 : at]
                is_label = close >= 0 and "[" not in label and not (label or shown).startswith("^")
                if is_label and (label or shown).strip() and _label(label or shown) not in defined:
                    yield start, " ".join((label or shown).split()), True
                if is_label:
                    at = close + 1
                    continue
        at += 1


_LONGEST_LINK: Final = 4000
_SPACE: Final = re.compile(r"\s*")
_PLAIN: Final = r"(?:[^\s()\\]|\\.)"
# Round brackets in pairs, three deep. It never goes back, so that a text full of opening ones costs
# little.
_BARE: Final = re.compile(rf"(?:{_PLAIN}|\((?:{_PLAIN}|\((?:{_PLAIN}|\({_PLAIN}*+\))*+\))*+\))*+")
_ANGLED: Final = re.compile(r"<([^<>\n]*)>")
_TITLE: Final = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\)", re.DOTALL
)


def _destination(text: str, at: int) -> tuple[str | None, int]:
    """The target of an inline link whose round bracket opens before `at`, and where the link ends."""
    at = _skip_space(text, at)
    end = min(len(text), at + _LONGEST_LINK)
    if text[at : at + 1] == "<":
        close = _ANGLED.match(text, at, end)
        if close is None:
            return None, at
        target, at = close[1], close.end()
    else:
        bare = _BARE.match(text, at, end)
        target, at = ("", at) if bare is None else (bare[0], bare.end())
    at = _skip_space(text, at)
    title = _TITLE.match(text, at, at + _LONGEST_LINK)
    if title is not None:
        at = _skip_space(text, title.end())
    return (target, at + 1) if text[at : at + 1] == ")" else (None, at)


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at, at + _LONGEST_LINK)
    return found.end() if found else at


def _label(label: str) -> str:
    return " ".join(label.split()).casefold()


def _clean(target: str) -> str:
    return unescape(_ESCAPED.sub(r"\1", target)).strip()
