"""What a skill's text says: its rules, its examples, when it is for and when it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.core.skill.skill_file import sections
from honestone.core.skill.structure import front_values
from honestone.core.tables import table_json


class Exchange(Struct, frozen=True, kw_only=True):
    """Something asked, and what the skill says to it."""

    asked: str
    answer: str


class SkillText(Struct, frozen=True, kw_only=True):
    """A skill's text in the parts that tasks are made of."""

    name: str
    description: str
    uses: tuple[str, ...] = ()
    not_uses: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    examples: tuple[Exchange, ...] = ()
    bad: tuple[str, ...] = ()
    outputs: tuple[Exchange, ...] = ()
    steps: tuple[str, ...] = ()

    @property
    def requests(self) -> tuple[str, ...]:
        """What somebody asks for who needs the skill: the phrases it is said to answer to, then its
        uses.
        """
        quoted = re.findall(r"[\"“「]([^\"”」\n]{8,120})[\"”」]", self.description)
        phrases = [phrase.strip(" .,") for phrase in quoted if not phrase.startswith(("$", "/"))]
        return tuple(
            dict.fromkeys(
                [*phrases, *(_as_need(use) for use in self.uses), *_asked_for(self.description)]
            )
        )


TABLES: Final = json.loads(table_json("authoring/drafting"))["tasks"]
_ASKS: Final = late_pattern(TABLES["asks"])


def _asked_for(description: str) -> list[str]:
    """The parts of `Use when the user asks to A, B, or C`."""
    return [
        part.strip()
        for clause in _ASKS.findall(description)
        for part in re.split(r",\s*(?:and\s+|or\s+)?|\s+or\s+", clause)
        if len(part.split()) >= 2
    ]


_KINDS: Final = [
    (kind, late_pattern(rf"(?i)(?:^|\b|\W)(?:{words})(?:\b|\W|$)"))
    for kind, words in TABLES["titles"].items()
]
_BULLET: Final = late_pattern(
    r"^[ \t]{0,8}(?:[-*+]|\d{1,3}[.)])[ \t]+(.+(?:\n[ \t]{2,}(?![-*+]|\d{1,3}[.)]).+)*)", re.M
)
_TABLE_ROW: Final = late_pattern(r"^[ \t]*\|(.+)\|[ \t]*$", re.M)
_TAGS: Final = ("anti-example", "bad-example", "example")


def read_skill(name: str, text: str) -> SkillText:
    """The parts of a SKILL.md, by the titles of its sections and its <example> blocks. Works on the
    first million letters.
    """
    text = text[:1_000_000]
    parts: dict[str, list[str]] = {kind: [] for kind, _ in _KINDS}
    tables: list[Exchange] = []
    prose: list[Exchange] = []
    for kind, body in _kinds_of_sections(text):
        if kind == "outputs":
            tables += _rows(body)
        if kind == "examples":
            prose += _examples(body)
        parts[kind] += _bullets(body)
    examples, bad = list(prose), list(parts["bad"])
    for tag, inside in tagged(text, _TAGS)[1]:
        if tag == "example":
            examples += _examples(inside)
        else:
            bad += [line for line in (one_line(line) for line in inside.split("\n")) if line][:5]
    rules = parts["rules"] + [step for step in parts["steps"] if _BINDING.search(step)]
    return SkillText(
        name=name,
        description=one_line(front_values(text).get("description", "")),
        uses=_some(parts["uses"]),
        not_uses=_some(parts["not_uses"]),
        rules=_some(rules),
        examples=tuple(dict.fromkeys(examples))[:20],
        bad=_some(bad),
        outputs=tuple(dict.fromkeys(tables))[:20],
        steps=_some(parts["steps"]),
    )


def _some(texts: Iterable[str], most: int = 60) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))[:most]


def _kinds_of_sections(text: str) -> Iterator[tuple[str, str]]:
    """Each section's own text, by what its title says; a section without such a title belongs to
    the one around it.
    """
    around: list[tuple[int, str | None]] = []
    found = sections(text)
    for at, section in enumerate(found):
        while around and around[-1][0] >= section.level:
            around.pop()
        own = next((kind for kind, words in _KINDS if words.search(section.title)), None)
        kind = own or (around[-1][1] if around else None)
        around.append((section.level, kind))
        if kind is not None:
            end = found[at + 1].start if at + 1 < len(found) else section.end
            body = text[section.start : min(end, section.end)].partition("\n")[2]
            yield kind, tagged(body, _TAGS)[0]


def tagged(text: str, tags: Sequence[str]) -> tuple[str, list[tuple[str, str]]]:
    """A text without its blocks `<tag ...> ... </tag>`, and the blocks. A tag that is never closed
    is text. Linear in the text.
    """
    opening = re.compile(rf"<({'|'.join(map(re.escape, tags))})\b[^<>]{{0,200}}>", re.I)
    folded = text.lower() if len(text.lower()) == len(text) else text
    outside: list[str] = []
    blocks: list[tuple[str, str]] = []
    open_ended: set[str] = set()
    at = 0
    while (match := opening.search(text, at)) is not None:
        tag = match[1].lower()
        end = -1 if tag in open_ended else folded.find(f"</{tag}>", match.end())
        if end < 0:
            open_ended.add(tag)
            outside.append(text[at : match.end()])
            at = match.end()
            continue
        outside.append(text[at : match.start()])
        blocks.append((tag, text[match.end() : end]))
        at = end + len(tag) + 3
    return "".join([*outside, text[at:]]), blocks


def _bullets(body: str) -> list[str]:
    outside = re.sub(r"^[ \t]*(```|~~~).*?^[ \t]*\1", "", body, flags=re.M | re.S)
    return [line for bullet in _BULLET.findall(outside) if (line := one_line(bullet))]


def _rows(body: str) -> list[Exchange]:
    """The rows of the tables of a section, without their heads: first cell and the rest."""
    out = []
    rows = [[one_line(cell) for cell in row.split("|")] for row in _TABLE_ROW.findall(body)]
    for number, cells in enumerate(rows):
        is_rule = all(re.fullmatch(r":?-{1,}:?", cell) for cell in cells)
        is_head = number + 1 < len(rows) and all(
            re.fullmatch(r":?-{1,}:?", cell) for cell in rows[number + 1]
        )
        if len(cells) >= 2 and not is_rule and not is_head and cells[0] and cells[1]:
            out.append(Exchange(asked=cells[0], answer=", ".join(cells[1:])))
    return out


_IN_OUT: Final = late_pattern(TABLES["in_out"])
ARROW: Final = late_pattern(r"\s*(?:→|⇒|=>|->|➜)\s*")


def _examples(body: str) -> list[Exchange]:
    """`Input: ... Output: ...`, or something and an arrow to what comes of it."""
    text = re.sub(r"^[ \t]*(?:```|~~~).*$", "", body, flags=re.M)[:20_000]
    pairs = [
        Exchange(asked=asked.strip(), answer=answer.strip())
        for asked, answer in _IN_OUT.findall(text)
    ]
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    for number, line in enumerate(lines):
        before, *after = ARROW.split(re.sub(r"^(?:[-*+]|\d+[.)])\s+", "", line), maxsplit=1)
        if after:
            asked = before or (lines[number - 1] if number else "")
            if asked and after[0] and not re.match(r"[\[(→|│└├]", asked):
                pairs.append(Exchange(asked=one_line(asked), answer=one_line(after[0])))
    return pairs


def one_line(text: str) -> str:
    return " ".join(text.split()).strip()


def bare_text(text: str) -> str:
    """The text without the marks of Markdown."""
    return re.sub(r"\*\*|__|`|<[^>]{1,60}>", "", text).strip()


_BINDING: Final = late_pattern(TABLES["binding"])


def _as_need(use: str) -> str:
    """`When the user asks for X` is a need for X."""
    bare = bare_text(use).strip(" .")
    return re.sub(TABLES["user_asks"], "", bare, count=1) or bare
