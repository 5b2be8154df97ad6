"""Links and anchors of a Markdown page, as GitHub renders it: markdown-it-py parses, this collects."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from honestone.core.checking.gave_up import GaveUp
from honestone.core.json_value import late_pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


class Link(Struct, frozen=True):
    """A link or image, unescaped, and its line. Undefined: `target` is the label of a definition
    that is not there.
    """

    target: str
    line: int
    is_undefined: bool = False


class Page(Struct, frozen=True, kw_only=True):
    links: tuple[Link, ...]
    anchors: frozenset[str]


def read_page(text: str) -> Page:
    """Raises GaveUp for a page of brackets."""
    definitions: dict[str, Any] = {}
    tokens = _parser().parse(_without_front_matter(text), definitions)
    links = [*_defined(definitions), *_links(tokens)]
    return Page(links=tuple(links), anchors=frozenset(_anchors(tokens)))


@cache
def _parser() -> MarkdownIt:
    """Imported when the first page is read: it takes 50 ms."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"store_labels": True})
    # Escaped brackets stay apart from the text next to them, so that they make no reference.
    parser.disable("text_join")
    # Targets as they are written: whoever reads them decides which are files.
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    for rule in parser.inline.ruler.__rules__:
        if rule.name in _LOCATED:
            rule.fn = _located(rule.fn)
    parser.core.ruler.at("inline", _read_paragraphs)
    return parser


# Brackets in the paragraphs of a page: more take half a minute, and no page for readers has them.
_MOST_BRACKETS: Final = 500_000


def _read_paragraphs(state: StateCore) -> None:
    """Read what may hold a link, an anchor or a heading's words; the parser takes 10 microseconds a
    mark. Raises GaveUp.
    """
    brackets, before = 0, ""
    for token in state.tokens:
        if token.type == "inline":
            text = token.content
            token.children = []
            is_heading = state.inlineMode or before == "heading_open"
            if is_heading or "]" in text or "<" in text:
                brackets += text.count("[")
                if brackets > _MOST_BRACKETS:
                    raise GaveUp(
                        f"it has more than {_MOST_BRACKETS:,} brackets to look for links in"
                    )
                state.md.inline.parse(text, state.md, state.env, token.children)
        before = token.type


# Rules of the parser that put a span into their token (`_located`), and the types of these tokens.
_LOCATED: Final = frozenset({"link", "image", "autolink", "html_inline", "backticks", "escape"})
_TYPES: Final = frozenset({"link_open", "image", "html_inline", "code_inline", "text_special"})


def _located(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The rule, which also writes into its token which part of the paragraph it was made from.

    The parser knows the line of a paragraph only, and a message names the line of a link.
    """

    def locate(state: StateInline, silent: bool) -> bool:
        start, first = state.pos, len(state.tokens)
        matched = rule(state, silent)
        if matched and not silent:
            for token in state.tokens[first : first + 2]:  # text before it may come first
                if token.type in _TYPES:
                    token.meta["span"] = (start, state.pos)
                    break
        return matched

    return locate


def _without_front_matter(text: str) -> str:
    """Its lines emptied, so that numbers of lines stay true."""
    lines = re.split(r"\r\n?|\n", text)
    if lines[0].rstrip() != "---":
        return text
    for index, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return "\n".join([*[""] * (index + 1), *lines[index + 1 :]])
    return text


# --------------------------------------------------------------------------------------------------------
# links


def _defined(definitions: Mapping[str, Any]) -> Iterator[Link]:
    """The targets of `[label]: target`."""
    definitions_of = definitions.get("references", {}).items()
    others = ((one["label"], one) for one in definitions.get("duplicate_refs", ()))
    for label, definition in (*definitions_of, *others):
        if not label.startswith("^"):
            yield Link(definition["href"].strip(), definition["map"][0] + 1)


def _links(tokens: Sequence[Token]) -> Iterator[Link]:
    for token in tokens:
        line = token.map[0] + 1 if token.map else 1
        if token.type == "html_block":
            html = _without_comments(token.content)
            breaks = _breaks(html)
            for at, target in _links_of_html(html):
                yield Link(target, line + bisect_left(breaks, at))
        elif token.type == "inline":
            breaks = _breaks(token.content)
            for at, target, is_undefined in _links_of_paragraph(token):
                yield Link(target, line + bisect_left(breaks, at), is_undefined)


def _breaks(text: str) -> list[int]:
    return [match.start() for match in re.finditer("\n", text)]


_COMMENT: Final = late_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_HTML_LINK: Final = late_pattern(
    r"""<(?:a|img|source|video)\b[^<>]*?\s(?:href|src)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))""",
    re.IGNORECASE,
)


def _without_comments(html: str) -> str:
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), html)


def _links_of_html(html: str) -> Iterator[tuple[int, str]]:
    for match in _HTML_LINK.finditer(html):
        yield match.start(), unescape(match[1] or match[2] or match[3] or "").strip()


def _links_of_paragraph(paragraph: Token) -> Iterator[tuple[int, str, bool]]:
    """(start, target, is undefined). A link by a label has the target of its definition."""
    text, spans = paragraph.content, []
    for token in paragraph.children or ():
        if "span" not in token.meta:
            continue
        start, end = token.meta["span"]
        spans.append((start, end))
        if token.type == "html_inline":
            for at, target in _links_of_html(token.content):
                yield start + at, target, False
        elif token.type in ("link_open", "image") and "label" not in token.meta:
            url = token.attrs["href" if token.type == "link_open" else "src"]
            yield start, str(url).strip(), False
    yield from _undefined(text, spans)


# `[text][label]` and `[label][]`, but neither `matrix[i][j]` nor a footnote.
_REFERENCE: Final = late_pattern(r"(?<![\w\])])\[([^\[\]]*)\]\[([^\[\]]*)\]")


def _undefined(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, str, bool]]:
    """What reads as a reference in a paragraph, outside of links, code, HTML and escapes."""
    pieces, at = [], 0
    for start, end in spans:
        if start >= at:
            pieces += [text[at:start], "\0" * (end - start)]
            at = end
    text = "".join([*pieces, text[at:]])
    for match in _REFERENCE.finditer(text):
        label = (match[2] or match[1]).strip("\0 \n")
        if label and not label.startswith("^"):
            yield match.start(), " ".join(label.split()), True


# --------------------------------------------------------------------------------------------------------
# anchors

_HTML_HEADING: Final = late_pattern(r"(?im)^\s*<h[1-6]\b[^<>]*>(.*)</h[1-6]>\s*$")
_NAMED: Final = late_pattern(
    r"""<[a-zA-Z][^<>]*?\s(?:id|name)\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)'|([^\s"'<>]+))"""
)


def _anchors(tokens: Sequence[Token]) -> Iterator[str]:
    """Those that GitHub makes of headings, then those that HTML names."""
    seen: dict[str, int] = {}
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            yield _unique(_slug(tokens[index + 1]), seen)
        elif token.type == "html_block":
            html = _without_comments(token.content)
            for heading in _HTML_HEADING.findall(html):
                yield _unique(slug_of_heading(heading), seen)
            yield from _named_anchors(html)
        elif token.type == "inline":
            for part in token.children or ():
                if part.type == "html_inline":
                    yield from _named_anchors(part.content)


def _named_anchors(html: str) -> Iterator[str]:
    for match in _NAMED.finditer(html):
        yield unescape(match[1] or match[2] or match[3] or "")


def slug_of_heading(heading: str) -> str:
    """The anchor that GitHub makes of a heading: its words in lower case, spaces as `-`,
    punctuation gone.
    """
    return _slug(_parser().parseInline(heading)[0])


_IN_SLUGS: Final = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "Pc"})


def _slug(heading: Token) -> str:
    shown = ("text", "text_special", "code_inline")
    parts = [part.content for part in heading.children or () if part.type in shown]
    text = "".join(parts).strip().lower()
    letters = (c for c in text if c in " -\u200d" or unicodedata.category(c) in _IN_SLUGS)
    return "".join(letters).replace(" ", "-")


def _unique(slug: str, seen: dict[str, int]) -> str:
    """The second of its name gets -1, the third -2; a name that is taken is stepped over."""
    name = slug
    while name in seen:
        seen[slug] += 1
        name = f"{slug}-{seen[slug]}"
    seen[name] = 0
    return name
