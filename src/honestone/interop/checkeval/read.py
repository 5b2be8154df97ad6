"""CheckEval question banks: one dimension a criterion, its yes/no questions the items."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from honestone.core.numbers import ZERO
from honestone.core.rubric import Criterion, Item, Rubric, slug
from honestone.formats.document import Document
from honestone.formats.reader import FileEntry, FileReading, shown
from honestone.formats.source import ForeignRubric
from honestone.interop.criteria import checklist, unique_ids
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables


def _signs(document: Document) -> int:
    if not isinstance(document.mapping.get("sub_aspect"), dict):
        return 0
    return 90 if "definition" in document.mapping else 70


def _read(document: Document) -> ForeignRubric:
    reading = FileReading(document.marked)
    top = reading.at()
    if not top.read(TABLES["bank"]):
        reading.finish()
    title, criteria = _definition(top), _dimensions(top)
    if not criteria and not reading.problems:
        reading.problem(
            "`sub_aspect` has no questions",
            ("sub_aspect",),
            "give each dimension its yes/no questions",
        )
    reading.finish(*FORMATS.defaults("checkeval"))
    rubric = Rubric(criteria=unique_ids(criteria), title=title, floor=ZERO)
    return reading.rubric_source(rubric, "checkeval")


def _definition(top: FileEntry) -> str:
    """What the questions are about, in words; some banks have one a data set."""
    value = top.raw("definition")
    if value is None or isinstance(value, str):
        return (value or "").strip()
    if not isinstance(value, dict):
        top.reading.problem(
            f"`definition` must be text or a mapping, not {shown(value)}", ("definition",)
        )
        return ""
    at = top.below("definition")
    texts = [at.text(str(name)) for name in value if isinstance(name, str)]
    return " ".join(dict.fromkeys(text.strip() for text in texts if text))


def _dimensions(top: FileEntry) -> list[Criterion]:
    if "sub_aspect" not in top:
        top.problem("`sub_aspect` is missing", hint="it maps each dimension to its questions")
    at = top.mapping("sub_aspect", TABLES["dimensions"])
    if at is None:
        return []
    criteria = []
    for name, value in at.value.items():
        questions = _questions(at, name, value)
        if questions:
            items = [Item(id=slug(question), requirement=question) for question in questions]
            words = at.reading.marked.raw_key((*at.path, name)).strip()
            criteria.append(checklist(slug(words), items, words, weight=Fraction(len(items))))
    return criteria


def _questions(at: FileEntry, name: Any, value: Any) -> list[str]:
    """Questions one after another in a text, as the files have them, or in a list."""
    path = (*at.path, name)
    if isinstance(value, str):
        found = [_tidy(part) for part in re.split(r"(?<=[?？])\s+", value)]
    elif isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        found = [_tidy(entry) for entry in value]
    else:
        at.reading.problem(f"`{name}` must hold yes/no questions, not {shown(value)}", path)
        return []
    found = [question for question in found if question]
    if not found:
        at.reading.problem(f"`{name}` has no question", path)
    for question in found:
        if not question.endswith(("?", "？")):
            at.note(f"checkeval: no question mark ends `{question[:60]}`; it is read as a question")
    return found


def _tidy(text: str) -> str:
    return " ".join(text.split())


READERS: tuple[Reader, ...] = (FORMATS.reader("checkeval", _signs, _read),)
