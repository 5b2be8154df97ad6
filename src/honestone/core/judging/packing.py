"""Artifacts too big for a judge: how big they are, and what of them is shown where a person allows
parts.

A size in tokens is an estimate, characters / 4, and is called one. Lines are kept whole or not at
all.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, TypedDict

from msgspec import Struct

from honestone.core.artifact import Entry, Version
from honestone.core.judging.choices import Pack
from honestone.core.tables import table_text

CHARACTERS_PER_TOKEN: Final = 4
# What a judge is sent at most, where settings say nothing else. An estimate.
MAX_INPUT_TOKENS: Final = 150_000


class Budget(Struct, frozen=True, kw_only=True):
    """How much one judge is sent at most, and what is done with more."""

    tokens: int = MAX_INPUT_TOKENS
    pack: Pack = Pack.NONE

    @property
    def characters(self) -> int:
        return self.tokens * CHARACTERS_PER_TOKEN

    def holds(self, text: str) -> bool:
        return len(text) <= self.characters


def estimate_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def text_size(version: Version) -> int:
    """Characters of all its texts."""
    return sum(map(len, version.texts.values()))


# -------------------------------------------------------------------------------------------------------
# refusing


def too_big(judge_budget: Budget, characters: int, versions: Sequence[Version]) -> str:
    """Why a judge is not asked: the estimate, its limit, and the largest files. `what_to_do`
    belongs next to it.
    """
    return (
        f"too big for it: about {estimate_tokens(characters):,} tokens (an estimate: characters / "
        f"{CHARACTERS_PER_TOKEN}), its limit is {judge_budget.tokens:,}; largest: {_largest(versions)}"
    )


def what_to_do(pack: Pack = Pack.NONE) -> str:
    """What a person can do whose artifact is too big."""
    packing = (
        "" if pack is not Pack.NONE else ", or show parts of it with --pack head or --pack outline"
    )
    return f"leave files out, raise `max_input_tokens` of the judge in honestone.toml if its model takes more{packing}"


def _largest(versions: Sequence[Version], count: int = 3) -> str:
    sizes = [(len(text), path) for version in versions for path, text in version.texts.items()]
    sizes.sort(key=lambda one: (-one[0], one[1]))
    return ", ".join(f"{path} ({size:,} characters)" for size, path in sizes[:count])


# --------------------------------------------------------------------------------------------------------
# packing


class Part(Struct, frozen=True, kw_only=True):
    """How many of a file's lines are shown."""

    lines: int
    of: int

    @property
    def is_whole(self) -> bool:
        return self.lines == self.of


class PlainPart(TypedDict):
    """How many `lines` of a file are shown, `of` how many."""

    path: str
    lines: int
    of: int


class PlainPacked(TypedDict):
    """What is shown of an artifact that is too big, as JSON: sizes in characters, and every file
    that is not shown whole. `shown` says it in one sentence.
    """

    strategy: str
    shown: str
    characters: int
    of: int
    files: list[PlainPart]


class Packed(Struct, frozen=True, kw_only=True):
    """What is shown of a version. `whole` is the version itself, which keeps its digest and its
    file names.

    `version` holds the texts that are shown; a file of which no line is shown is not in it. `parts`
    are all text files in path order.
    """

    strategy: Pack
    whole: Version
    version: Version
    parts: Mapping[str, Part]

    @property
    def cut(self) -> dict[str, Part]:
        """The files that are not shown whole."""
        return {path: part for path, part in self.parts.items() if not part.is_whole}

    def label(self, path: str) -> str:
        """What a list of the files says behind a name: nothing where the file is shown whole."""
        part = self.cut.get(path)
        if part is None:
            return ""
        if part.lines == 0:
            return f"not shown, {_lines(part.of)}"
        return f"{self._which} {part.lines} of {_lines(part.of)}"

    @property
    def _which(self) -> str:
        return "first" if self.strategy is Pack.HEAD else "outline,"

    @property
    def sentence(self) -> str:
        """How much is shown, in one plain line: of one file its lines, of many how many files are
        whole.
        """
        if not self.whole.is_folder:
            (part,) = self.parts.values()
            lines = f"{part.lines} of {_lines(part.of)}"
            return (
                f"the first {lines}"
                if self.strategy is Pack.HEAD
                else f"{lines}, headings and definitions"
            )
        cut = self.cut
        gone = sum(part.lines == 0 for part in cut.values())
        how = "their beginning" if self.strategy is Pack.HEAD else "their headings and definitions"
        return f"{len(self.parts) - len(cut)} of {len(self.parts)} files whole, {len(cut) - gone} by {how}, {gone} not at all"

    def to_plain(self) -> PlainPacked:
        """The form for `--json`."""
        return {
            "strategy": str(self.strategy),
            "shown": self.sentence,
            "characters": text_size(self.version),
            "of": text_size(self.whole),
            "files": [
                {"path": path, "lines": part.lines, "of": part.of}
                for path, part in self.cut.items()
            ],
        }


def _lines(count: int) -> str:
    return f"{count} line{'' if count == 1 else 's'}"


def pack(version: Version, strategy: Pack, characters: int) -> Packed | None:
    """The version cut to so many characters of text; None where not one line would be left. The
    same every time.

    `head` keeps the beginning of each file in proportion to its length. `outline` reduces the
    largest files, one after another and no more than needed, to headings and definitions, and cuts
    those like `head` if that is too much.
    """
    lines = {path: text.splitlines(keepends=True) for path, text in version.texts.items()}
    chosen = dict(lines)
    if strategy is Pack.OUTLINE:
        chosen = _outlined(lines, characters)
    if _size(chosen) > characters:
        chosen = _heads(chosen, characters)
    if strategy is Pack.NONE or not any(chosen.values()):
        return None
    return Packed(
        strategy=strategy,
        whole=version,
        version=Version(
            {
                path: Entry("".join(some).encode(), version.files[path].executable)
                for path, some in chosen.items()
                if some or not lines[path]
            },
            is_folder=version.is_folder,
        ),
        parts={path: Part(lines=len(chosen[path]), of=len(lines[path])) for path in lines},
    )


def _size(files: Mapping[str, Sequence[str]]) -> int:
    return sum(_length(lines) for lines in files.values())


def _length(lines: Iterable[str]) -> int:
    return sum(map(len, lines))


def _heads(files: Mapping[str, Sequence[str]], characters: int) -> dict[str, list[str]]:
    total = _size(files) or 1  # of nothing, any share is nothing
    return {
        path: _head(lines, max(characters, 0) * _length(lines) // total)
        for path, lines in files.items()
    }


def _head(lines: Sequence[str], characters: int) -> list[str]:
    head: list[str] = []
    for line in lines:
        characters -= len(line)
        if characters < 0:
            break
        head.append(line)
    return head


# A line that says what follows it, in the usual kinds of text and code.
@cache
def _heading() -> re.Pattern[str]:
    return re.compile(tomllib.loads(table_text("judging/packing"))["heading"], re.VERBOSE)


def _outlined(files: Mapping[str, list[str]], characters: int) -> dict[str, list[str]]:
    outlined = dict(files)
    for path in sorted(files, key=lambda path: (-_length(files[path]), path)):
        if _size(outlined) <= characters:
            break
        outlined[path] = [line for line in files[path] if _heading().match(line)]
    return outlined


def characters_for_text(budget: Budget, prompt: str, versions: Sequence[Version]) -> int:
    """Characters of text that a prompt may hold which is too long with all of it: what else it says
    stays.
    """
    around = len(prompt) - sum(map(text_size, versions))
    notices = sum(_SENTENCE + _LABEL * len(version.files) for version in versions)
    return budget.characters - around - notices


_SENTENCE: Final = 250
# What it takes to say that a text, and each file of it, is shown in part.
_LABEL: Final = 50
