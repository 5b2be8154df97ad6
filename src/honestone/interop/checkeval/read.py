"""CheckEval question banks: one dimension a criterion, its yes/no questions the items."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from honestone.core.numbers import ZERO
from honestone.core.rubric import Criterion, Item, Rubric, slug
from honestone.formats.document import Document
from honestone.interop.base import ForeignRubric, KnownKey, Reader, Taking, Walk, shown
from honestone.interop.criteria import checklist, unique_ids

DEFAULTS: Final = (
    "checkeval: the score is the share of all questions answered yes, so a dimension weighs as many as it has questions",
    "checkeval: the format has no threshold, so honestone's 70 holds, and no floor",
)


def _signs(document: Document) -> int:
    value = document.value
    if document.is_lines or not isinstance(value, dict) or not isinstance(value.get("sub_aspect"), dict):
        return 0
    return 90 if "definition" in value else 70


def _read(document: Document) -> ForeignRubric:
    walk = Walk(document.marked)
    top = walk.at()
    title = ""
    criteria: list[Criterion] = []
    if top.require_mapping("a CheckEval question bank"):
        title = _definition(top)
        criteria = _dimensions(top)
        top.close("a question bank")
    if not criteria and not walk.problems:
        walk.problem("`sub_aspect` has no questions", ("sub_aspect",), "give each dimension its yes/no questions")
    for note in DEFAULTS:
        walk.note(note)
    walk.finish()
    rubric = Rubric(criteria=unique_ids(criteria), title=title, floor=ZERO)
    return ForeignRubric(
        rubric=rubric, dialect="checkeval", marked=document.marked, notes=tuple(walk.notes), losses=tuple(walk.losses)
    )


def _definition(top: Taking) -> str:
    """What the questions are about, in words; some banks have one a data set."""
    value = top.raw("definition")
    if value is None or isinstance(value, str):
        return (value or "").strip()
    if not isinstance(value, dict):
        top.walk.problem(f"`definition` must be text or a mapping, not {shown(value)}", ("definition",))
        return ""
    at = top.below("definition")
    texts = [at.text(str(name)) for name in value if isinstance(name, str)]
    at.close("`definition`")
    return " ".join(dict.fromkeys(text.strip() for text in texts if text))


def _dimensions(top: Taking) -> list[Criterion]:
    at = top.below("sub_aspect") if "sub_aspect" in top else None
    if at is None:
        top.walk.problem("`sub_aspect` is missing", (), "it maps each dimension to its questions")
        return []
    if not at.require_mapping("`sub_aspect`"):
        return []
    criteria = []
    for name, value in at.value.items():
        questions = _questions(at, name, value)
        if questions:
            items = [Item(id=slug(question), requirement=question) for question in questions]
            words = at.walk.marked.raw_key((*at.path, name)).strip()
            criterion = checklist(slug(words), items, weight=Fraction(len(items)))
            criteria.append(
                Criterion(
                    id=criterion.id, requirement=words or criterion.id, weight=criterion.weight, items=criterion.items
                )
            )
    return criteria


def _questions(at: Taking, name: Any, value: Any) -> list[str]:
    """Questions one after another in a text, as the files have them, or in a list."""
    path = (*at.path, name)
    if isinstance(value, str):
        found = [_tidy(part) for part in re.split(r"(?<=[?？])\s+", value)]
    elif isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        found = [_tidy(entry) for entry in value]
    else:
        at.walk.problem(f"`{name}` must hold yes/no questions, not {shown(value)}", path)
        return []
    found = [question for question in found if question]
    if not found:
        at.walk.problem(f"`{name}` has no question", path)
    for question in found:
        if not question.endswith(("?", "？")):
            at.walk.note(f"checkeval: no question mark ends `{question[:60]}`; it is read as a question")
    return found


def _tidy(text: str) -> str:
    return " ".join(text.split())


KEYS: Final = (
    KnownKey(key="definition", meaning="The rubric's title: what the questions are about."),
    KnownKey(key="sub_aspect", meaning="Each dimension is a criterion; its weight is the number of its questions."),
    KnownKey(key="sub_aspect.NAME", meaning="Yes/no questions, one after another or in a list: the criterion's items."),
)

EXAMPLE: Final = """\
definition:
  letters: How well the letter answers a complaint.
sub_aspect:
  Answer:
    Does the letter name what went wrong?
    Does the letter say what happens next?
  Tone:
    Is the letter free of excuses?
"""

CHECKEVAL: Final = Reader(
    name="checkeval",
    title="a CheckEval question bank",
    gives="rubric",
    signs=_signs,
    read=_read,
    keys=KEYS,
    defaults=DEFAULTS,
    looks_like=("definition", "sub_aspect"),
    example=EXAMPLE,
)

READERS: tuple[Reader, ...] = (CHECKEVAL,)
