"""What a page that is passed on says of the machine it was made on, and which texts it holds."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from markupsafe import escape

from honestone.report.documents.scorecard import CriterionDoc, items_of
from honestone.report.documents.suite import CaseDoc, text_of
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


def last_part(name: str) -> str:
    """`ask.py` of `script:python3 /home/me/ask.py --key 1`; a name that is not a command line as it is."""
    if not name.startswith(_COMMANDS):
        return name
    command = name.partition(":")[2]
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    files = [
        word for word in words[1:] if not word.startswith("-") and "=" not in word and ("/" in word or "." in word)
    ]
    return Path((files or words or [name])[0]).name or name


def without_commands(page: str, names: Iterable[str]) -> str:
    """A page with command lines as their last part; two that end alike are numbered."""
    shown: dict[str, str] = {}
    for name in dict.fromkeys(names):
        short, number = last_part(name), 1
        if short != name:
            while short in shown.values():
                number += 1
                short = f"{last_part(name)} ({number})"
            shown[name] = short
    for name in sorted(shown, key=len, reverse=True):
        for written in dict.fromkeys((clean(name), line(name))):
            page = page.replace(str(escape(written)), str(escape(line(shown[name]))))
    return page


def without_folders(page: str, here: Path, *others: Path) -> str:
    """A page with paths below `here` as seen from it, and the names of `others` left out."""
    found = {str(escape(one)): "" for folder in (here, *others) for one in (folder, folder.resolve())}
    for folder in sorted((one for one in found if len(one) > 1), key=len, reverse=True):
        end = r"(?![\w.-])"
        if folder in (str(escape(here)), str(escape(here.resolve()))):
            page = re.sub(re.escape(folder) + "/(?=[^\\s<])", "", page)
            page = re.sub(re.escape(folder) + end, ".", page)
        else:
            page = re.sub(re.escape(folder) + end, "…", page)
    return page


# -------------------------------------------------------------------------------------------- which texts are in it


def text_words(name: str, text: str | None) -> list[str]:
    return [f"the text of {line(name, 120)} ({count(len(text), 'character')})"] if text else []


def answer_words(criteria: Iterable[CriterionDoc]) -> list[str]:
    """The words of judges: how many quotes, how many suggestions."""
    quotes = advice = 0
    for _, item in items_of(criteria):
        quotes += len(item.evidence)
        advice += len(item.advice)
    return [count(number, *words) for number, words in ((quotes, ("quote",)), (advice, ("suggestion",))) if number]


def case_words(cases: Sequence[CaseDoc]) -> list[str]:
    """The texts of cases: `17 inputs`, `3 references`, ..., without the empty ones."""
    texts: dict[str, list[object]] = {
        "input": [case.input for case in cases],
        "reference": [case.reference for case in cases],
        "output": [case.output for case in cases],
        "error": [case.error for case in cases],
        "diff": [case.diff for case in cases],
        "trace": [case.trace and "trace" for case in cases],
    }
    held = {name: sum(bool(text_of(value)) for value in values) for name, values in texts.items()}
    criteria = [criterion for case in cases for criterion in case.criteria]
    return [count(number, name) for name, number in held.items() if number] + answer_words(criteria)
