"""What a page that is passed on says of the machine it was made on, and which texts it holds."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import escape
from msgspec import Struct

from honestone.report.documents.scorecard import CriterionDoc, first_look, items_of
from honestone.report.documents.suite_case import CaseDoc, text_of
from honestone.system.drawing import clean, count, line

_COMMANDS: Final = ("script:", "cmd:")


class SharedPage(str):
    """A page in a file of its own; `holds` says in words which texts are in it."""

    __slots__ = ("holds",)

    def __new__(cls, text: str, holds: Sequence[str] = ()) -> SharedPage:
        made = super().__new__(cls, text)
        made.holds = tuple(holds)
        return made

    holds: tuple[str, ...]


class SharedPieces(Struct, frozen=True):
    """The same piece by piece: each ends with a tag, so that no name and no folder reaches over the
    end of one.
    """

    pieces: Iterator[str]
    holds: tuple[str, ...]

    @property
    def whole(self) -> SharedPage:
        """All of it, which can be had once."""
        return SharedPage("".join(self.pieces), self.holds)


def last_part(name: str) -> str:
    """`ask.py` of `script:python3 /home/me/ask.py --key 1`; a name that is not a command line as it
    is.
    """
    if not name.startswith(_COMMANDS):
        return name
    command = name.partition(":")[2]
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    files = [
        word
        for word in words[1:]
        if not word.startswith("-") and "=" not in word and ("/" in word or "." in word)
    ]
    return Path((files or words or [name])[0]).name or name


def without_commands(pieces: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    """The pieces of a page with command lines as their last part; two that end alike are numbered.
    The looks of one judge keep its name, as `judge.py#2`.
    """
    swaps = [
        (str(escape(written)), str(escape(line(short))))
        for name, short in _short_commands(names)
        for written in dict.fromkeys((clean(name), line(name)))
    ]
    for piece in pieces:
        for long, short in swaps:
            piece = piece.replace(long, short)
        yield piece


def _short_commands(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each command line and what stands for it, the longest first."""
    shown: dict[str, str] = {}
    # A loop's later look may be of a version that its judge's first look is not listed with. Words
    # that end in # and a number may be a command's own.
    listed = dict.fromkeys(
        name if name.rpartition("#")[2].isdigit() else first_look(name) for name in names
    )
    for name in listed:
        if name != first_look(name) and first_look(name) in listed:
            continue
        short, number = last_part(name), 1
        if short != name:
            while short in shown.values():
                number += 1
                short = f"{last_part(name)} ({number})"
            shown[name] = short
    return sorted(shown.items(), key=lambda one: len(one[0]), reverse=True)


def without_folders(page: str, here: Path, *others: Path) -> str:
    """A page, or a piece of one, with paths below `here` as seen from it, and the names of `others`
    left out.
    """
    found = {
        str(escape(one)): "" for folder in (here, *others) for one in (folder, folder.resolve())
    }
    for folder in sorted((one for one in found if len(one) > 1), key=len, reverse=True):
        end = r"(?![\w.-])"
        if folder in (str(escape(here)), str(escape(here.resolve()))):
            page = re.sub(re.escape(folder) + "/(?=[^\\s<])", "", page)
            page = re.sub(re.escape(folder) + end, ".", page)
        else:
            page = re.sub(re.escape(folder) + end, "…", page)
    return page


# -------------------------------------------------------------------------------------------- which
# texts are in it


def text_words(name: str, text: str | None) -> list[str]:
    return [f"the text of {line(name, 120)} ({count(len(text), 'character')})"] if text else []


def answer_words(criteria: Iterable[CriterionDoc]) -> list[str]:
    """The words of judges: how many quotes, how many suggestions."""
    quotes = advice = 0
    for _, item in items_of(criteria):
        quotes += len(item.evidence)
        advice += len(item.advice)
    return [
        count(number, *words)
        for number, words in ((quotes, ("quote",)), (advice, ("suggestion",)))
        if number
    ]


def case_words(cases: Iterable[CaseDoc]) -> list[str]:
    """The texts of cases: `17 inputs`, `3 references`, ..., without the empty ones."""
    held = HeldTexts()
    for case in cases:
        held.add(case)
    return held.words


class HeldTexts:
    """Counts the texts of cases, one case after another."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, case: CaseDoc) -> None:
        texts = (
            case.input,
            case.reference,
            case.output,
            case.own_error,
            case.diff,
            case.trace and "trace",
        )
        self._counts.update(
            name for name, value in zip(_TEXTS, texts, strict=True) if text_of(value)
        )
        for _, item in items_of(case.criteria):
            self._counts["quote"] += len(item.evidence)
            self._counts["suggestion"] += len(item.advice)

    @property
    def words(self) -> list[str]:
        return [
            count(self._counts[name], name) for name in (*_TEXTS, *_ANSWERS) if self._counts[name]
        ]


_TEXTS: Final = ("input", "reference", "output", "error", "diff", "trace")
_ANSWERS: Final = ("quote", "suggestion")
