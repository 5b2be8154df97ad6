"""Probes: questions whose answers are known, made from a rubric and an artifact.

Each is a change that must not move an answer, or moves it in one way only. Items whose answer the
change may rightly move (a requirement about headings where headings are added) are left out.
Nothing here is random: the same rubric and bytes give the same questions, so that no answer is paid
for twice.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.artifact import Entry, Version
from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import AskedCriterion
from honestone.core.judging.choices import Ask
from honestone.core.judging.rubric import Key
from honestone.core.reading.evidence import find_quote
from honestone.core.tables import table_text


class ProbeKind(StrEnum):
    """In the order of the reports."""

    ORDER = "order"
    PADDING = "padding"
    FORMATTING = "formatting"
    PRAISE = "praise"
    AUTHORITY = "authority"
    INJECTION = "injection"
    EMPTY = "empty"
    NO_OP = "no-op"
    SWAPPED_QUOTES = "swapped-quotes"


# The question that others are compared with: the artifact and the rubric as they are.
UNTOUCHED: Final = "untouched"
# What words that are asked about by themselves are compared with: a text about something else.
UNRELATED: Final = "unrelated"


class Variant(Struct, frozen=True, kw_only=True):
    """One question. `known`: the items whose answer is known. `on`: the question whose answers it
    is compared with.
    """

    probe: str
    name: str
    version: Version
    criteria: tuple[AskedCriterion, ...]
    known: tuple[Key, ...]
    on: str = UNTOUCHED


class Probes(Struct, frozen=True, kw_only=True):
    """All questions that can be asked of every judge: the probes' and `unrelated`. `left_out`:
    probes without one, and why.
    """

    untouched: Variant
    variants: tuple[Variant, ...]
    left_out: Mapping[ProbeKind, str]


def make_probes(
    criteria: tuple[AskedCriterion, ...], version: Version, *, ask: Ask = "rubric"
) -> Probes:
    """Make the probes of an audit: questions whose answers are known. `ask`: what one call covers,
    which decides what an order of items is.
    """
    maker = _Maker(criteria, version)
    makers: Sequence[tuple[ProbeKind, Callable[[], list[Variant] | str]]] = (
        (ProbeKind.EMPTY, maker.empty),
        (ProbeKind.ORDER, partial(maker.order, ask)),
        (ProbeKind.PADDING, maker.padding),
        (ProbeKind.FORMATTING, maker.formatting),
        (ProbeKind.PRAISE, partial(maker.added, ProbeKind.PRAISE)),
        (ProbeKind.AUTHORITY, partial(maker.added, ProbeKind.AUTHORITY)),
        (ProbeKind.INJECTION, partial(maker.added, ProbeKind.INJECTION)),
        (ProbeKind.NO_OP, maker.no_op),
    )
    untouched = Variant(
        probe=UNTOUCHED, name="", version=version, criteria=criteria, known=maker.keys
    )
    asked, found = {_identity(untouched)}, [maker.unrelated()]
    left_out: dict[ProbeKind, str] = {}
    for probe, make in makers:
        made = make()
        if isinstance(made, str):
            left_out[probe] = made
            continue
        for one in made:
            if one.known and _identity(one) not in asked:
                asked.add(_identity(one))
                found.append(one)
        if not any(one.probe is probe for one in found):
            left_out[probe] = _TABLE["why_none_is_known"][probe]
    return Probes(untouched=untouched, variants=tuple(found), left_out=left_out)


def _identity(one: Variant) -> tuple[str, tuple[Key, ...]]:
    """Equal for questions that are the same to a judge: the second would say nothing new."""
    return one.version.digest, tuple(
        (criterion.id, item.id) for criterion in one.criteria for item in criterion.items
    )


_NO_TEXT: Final = "the artifact holds no text"


class _Maker:
    """`main`: the file that words are added to, None where no file is text."""

    def __init__(self, criteria: tuple[AskedCriterion, ...], version: Version) -> None:
        self._criteria, self._version = criteria, version
        self._wanted = {
            (criterion.id, item.id): item.requirement
            for criterion in criteria
            for item in criterion.items
        }
        self.keys: tuple[Key, ...] = tuple(self._wanted)
        self._main = min(version.texts, key=lambda path: _rank(path, version), default=None)

    def empty(self) -> list[Variant]:
        known = [
            key for key, wanted in self._wanted.items() if not _distinct_words(wanted) & _ABSENCE
        ]
        return [self._variant(ProbeKind.EMPTY, "nothing", _emptied(self._version), known)]

    def unrelated(self) -> Variant:
        return self._variant(UNRELATED, "", self._alone(_UNRELATED_TEXT), None)

    def order(self, ask: Ask) -> list[Variant] | str:
        if ask == "item" or len(self.keys) < 2:
            return (
                "the judge is asked one item at a time"
                if len(self.keys) > 1
                else "the rubric asks judges one item"
            )
        many = [one for one in self._criteria if ask == "rubric" or len(one.items) > 1]
        known = [(criterion.id, item.id) for criterion in many for item in criterion.items]
        found = []
        for name, turned in (("reversed", _reversed), ("second half first", _halved)):
            criteria = tuple(
                replace(one, items=turned(one.items)) for one in turned(self._criteria)
            )
            found.append(
                replace(
                    self._variant(ProbeKind.ORDER, name, self._version, known), criteria=criteria
                )
            )
        return found

    def padding(self) -> list[Variant] | str:
        if self._main is None:
            return _NO_TEXT
        size = sum(map(len, self._version.texts.values()))
        asked = {word for wanted in self._wanted.values() for word in _topics(wanted)}
        makers = (("its own filler", asked), ("all of it once more", frozenset[str]()))
        return [
            self._edited(ProbeKind.PADDING, name, partial(_padded, size, words))
            for name, words in makers
        ]

    def formatting(self) -> list[Variant] | str:
        if self._main is None:
            return _NO_TEXT
        if not _is_prose(self._main):
            return f"{self._main} is not prose"
        known = [
            key for key, wanted in self._wanted.items() if not _distinct_words(wanted) & _FORMAT
        ]
        found = []
        for name, formatted in (
            ("sentences as bullets", _bulleted),
            ("headings and bold", _headed),
        ):
            one = self._edited(
                ProbeKind.FORMATTING, name, partial(_each_paragraph, formatted), known
            )
            if one.version.digest != self._version.digest:
                found.append(one)
        return found or f"{self._main} has no paragraph of prose"

    def added(self, probe: ProbeKind) -> list[Variant]:
        """Words put into the artifact, one wording after the other; and the first two with nothing
        else, where even an item that the artifact meets can rise.
        """
        rows = _TABLES[probe]
        alone = "\n\n".join(row["text"] for row in rows[:2]) + "\n"
        on_nothing = self._variant(
            probe, "nothing but that", self._alone(alone), self._unless_in(alone)
        )
        put_in = rows if self._main is not None else []
        return [
            *(
                self._edited(
                    probe, row["name"], partial(_with_text, row), self._unless_in(row["text"])
                )
                for row in put_in
            ),
            replace(on_nothing, on=UNRELATED),
        ]

    def no_op(self) -> list[Variant] | str:
        if self._main is None:
            return _NO_TEXT
        edits = (("a line break at the end", _line_added), ("a space behind a line", _space_added))
        found = [self._edited(ProbeKind.NO_OP, name, edit) for name, edit in edits]
        return [
            *found,
            self._edited(ProbeKind.NO_OP, "both", lambda text: _line_added(_space_added(text))),
        ]

    def _unless_in(self, text: str) -> list[Key]:
        """Items that the text does not speak of: it cannot be what they ask for."""
        return [key for key, wanted in self._wanted.items() if not _topics(wanted) & _topics(text)]

    def _edited(
        self,
        probe: ProbeKind,
        name: str,
        edit: Callable[[str], str],
        known: Sequence[Key] | None = None,
    ) -> Variant:
        assert self._main is not None
        entry = self._version.files[self._main]
        text = edit(entry.data.decode("utf-8"))
        files = {**self._version.files, self._main: replace(entry, data=text.encode("utf-8"))}
        return self._variant(probe, name, Version(files, is_folder=self._version.is_folder), known)

    def _alone(self, text: str) -> Version:
        nothing = _emptied(self._version)
        (name, entry), *_ = (nothing.files or {"README.md": _EMPTY_FILE}).items()
        return Version({name: replace(entry, data=text.encode())}, is_folder=nothing.is_folder)

    def _variant(
        self, probe: str, name: str, version: Version, known: Sequence[Key] | None
    ) -> Variant:
        keys = self.keys if known is None else tuple(known)
        return Variant(probe=probe, name=name, version=version, criteria=self._criteria, known=keys)


# ------------------------------------------------------------------------------------------------------------
# the words

_TABLE: Final = tomllib.loads(table_text("audit/probes"))
_TABLES: Final[Mapping[ProbeKind, list[dict[str, str]]]] = {
    probe: _TABLE[probe] for probe in (ProbeKind.PRAISE, ProbeKind.AUTHORITY, ProbeKind.INJECTION)
}
_OTHER: Final[str] = _TABLE["other"]["text"]
_UNRELATED_TEXT: Final = "\n\n".join(_OTHER.split(". ")[:2]) + ".\n"
_FORMAT, _ABSENCE, _COMMON = (
    frozenset(_TABLE["words"][name].split()) for name in ("format", "absence", "common")
)


def _distinct_words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+(?:['’][^\W_]+)?", text.casefold().replace("’", "'")))


def _topics(text: str) -> set[str]:
    """What a text speaks of: its words of five letters or more that are not in every text."""
    return {word for word in _distinct_words(text) if len(word) > 4} - _COMMON


# -----------------------------------------------------------------------------------------------------------
# the texts

# Endings of names.
_PROSE: Final = frozenset({"md", "markdown", "mdx", "rst", "adoc", "txt", ""})
# Between two paragraphs.
_BREAK: Final = late_pattern(r"(\r?\n(?:[ \t]*\r?\n)+)")
# A line that is more than prose: a heading, a list, a table, code, front matter.
_MARKED: Final = late_pattern(r"^(?: {4}|\t|\s*(?:[#>|`*+=~<\[:\\-]|\d+[.)]))", re.MULTILINE)
_SENTENCE: Final = late_pattern(r"""(?<=[.!?])\s+(?=["'(\[]?[^\W_a-z])|(?<=[。！？])""")
_FENCE: Final = "```"
_EMPTY_FILE: Final = Entry(b"")


def _is_prose(path: str) -> bool:
    return _name(path).partition(".")[2].rpartition(".")[2] in _PROSE


def _name(path: str) -> str:
    return path.rpartition("/")[2].lower()


def _rank(path: str, version: Version) -> tuple[bool, bool, bool, int, str]:
    """The text that a reader of a folder begins with comes first, then prose, then the longest."""
    name = _name(path)
    return (
        name != "skill.md",
        not name.startswith("readme"),
        not _is_prose(path),
        -len(version.texts[path]),
        path,
    )


def _emptied(version: Version) -> Version:
    """A file with nothing in it, a folder without a file."""
    files = {} if version.is_folder else dict.fromkeys(version.files, _EMPTY_FILE)
    return Version(files, is_folder=version.is_folder)


def _padded(size: int, asked: Set[str], text: str) -> str:
    """The text with at least `size` characters of its own paragraphs once more: those with none of
    the words `asked`, where they are a fifth of it.
    """
    blocks = [
        block for block in _BREAK.split(text)[::2] if block.strip() and not block.startswith("---")
    ] or [text]
    filler = [block for block in blocks if not _topics(block) & asked]
    if 5 * sum(map(len, filler)) < len(text):
        filler = blocks
    more = "".join(f"\n\n{block.strip()}" for block in filler)
    return text.rstrip() + more * -(-size // len(more)) + "\n"


def _with_text(row: Mapping[str, str], text: str) -> str:
    first = _BREAK.search(text) if row["at"] == "beginning" else None
    if first is None:
        return f"{text.rstrip()}\n\n{row['text']}\n"
    return f"{text[: first.start()]}\n\n{row['text']}\n\n{text[first.end() :]}"


def _line_added(text: str) -> str:
    return text + ("\n" if text.endswith("\n") else "\n\n")


def _space_added(text: str) -> str:
    """Behind its last word."""
    end = len(text.rstrip())
    return f"{text[:end]} {text[end:]}"


def _each_paragraph(make: Callable[[str], str], text: str) -> str:
    """Every paragraph of prose changed; what is marked up already, and code, stay as they are."""
    parts, in_code = _BREAK.split(text), False
    for at in range(0, len(parts), 2):
        block = parts[at]
        if block.strip() and not in_code and _FENCE not in block and not _MARKED.search(block):
            parts[at] = make(block)
        in_code ^= bool(block.count(_FENCE) % 2)
    return "".join(parts)


def _sentences(block: str) -> list[str]:
    return [one.strip() for one in _SENTENCE.split(block) if one.strip()]


def _bulleted(block: str) -> str:
    end = "\n" if block.endswith("\n") else ""
    return "\n".join(f"- {one}" for one in _sentences(block)) + end


def _headed(block: str) -> str:
    """The first of several sentences becomes a heading, a single one is bold."""
    first, *others = _sentences(block)
    end = "\n" if block.endswith("\n") else ""
    return (
        f"## {' '.join(first.split())}\n\n{' '.join(others)}" if others else f"**{first}**"
    ) + end


# -----------------------------------------------------------------------------------------------------------
# the orders

_T = TypeVar("_T")


def _reversed(parts: tuple[_T, ...]) -> tuple[_T, ...]:
    return parts[::-1]


def _halved(parts: tuple[_T, ...]) -> tuple[_T, ...]:
    middle = (len(parts) + 1) // 2
    return parts[middle:] + parts[:middle]


# -----------------------------------------------------------------------------------------------------------
# the quotes

# How often one quote is looked for in a text that repeats itself.
_OFTEN: Final = 50


def swapped_quotes(untouched: Variant, quotes: Iterable[str]) -> Variant | None:
    """The artifact with these quotes replaced by words of another text; None where it holds none of
    them.
    """
    version, wanted = untouched.version, tuple(dict.fromkeys(quotes))
    files = dict(version.files)
    for path, text in version.texts.items():
        swapped = _without(text, wanted)
        if swapped != text:
            files[path] = replace(files[path], data=swapped.encode())
    if files == version.files:
        return None
    swapped_version = Version(files, is_folder=version.is_folder)
    return replace(
        untouched,
        probe=ProbeKind.SWAPPED_QUOTES,
        name="its quotes replaced",
        version=swapped_version,
    )


def _without(text: str, quotes: Iterable[str]) -> str:
    for quote in quotes:
        for _ in range(_OFTEN):
            found = find_quote(quote, text)
            if found is None:
                break
            size = found.end - found.start
            text = (
                text[: found.start]
                + (_OTHER * (size // len(_OTHER) + 1))[:size]
                + text[found.end :]
            )
    return text
