"""Ids that say nothing: reports, replies and histories show the id, so it should name what is
asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from honestone.core.authoring.lint.remark import Remark, asked, criteria_of
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Path, Rubric, slug

_SAYS_NOTHING: Final = late_pattern(
    r"(?:check|item|criterion|criteria|crit|rubric|rule|test|req|requirement|question|point|id|no|nr|sub|[a-z])?[-_ .]?(?:\d+[a-z]?)?",
    re.IGNORECASE,
)


def says_nothing(id: str) -> bool:
    return _SAYS_NOTHING.fullmatch(id) is not None


def ids(rubric: Rubric) -> Iterator[Remark]:
    """Ids of criteria and items that were written, not made of the text, and name nothing."""
    for criterion, path in criteria_of(rubric):
        yield from _remarks_on(criterion.id, criterion.requirement, path, criterion.id, None)
    for question in asked(rubric):
        if not question.item.whole:
            yield from _remarks_on(
                question.item.id,
                question.text,
                question.path,
                question.criterion.id,
                question.item.id,
            )


def _remarks_on(
    id: str, requirement: str, path: Path, criterion: str, item: str | None
) -> Iterator[Remark]:
    if says_nothing(id) and id != slug(requirement):
        better = suggested_id(requirement)
        facts = {"id": id, "example": f", for example `{better}`" if better else ""}
        place, rule = (*path, "id"), "id-says-nothing"
        yield Remark(
            rule=rule, path=place, criterion=criterion, item=item, text=requirement, facts=facts
        )


def suggested_id(requirement: str) -> str | None:
    """An id made of the text, or None when that says nothing either."""
    made = slug(requirement, limit=32)
    return None if says_nothing(made) or made == "item" else made
