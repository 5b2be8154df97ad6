"""Questions: all that a judge is given. There is no field for earlier scores, rounds, suggestions, weights or bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from honestone.core.artifact import Artifact
from honestone.core.rubric import Item, Key, Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedCriterion:
    """A criterion with the items that judges have to answer (those with a check are left out)."""

    id: str
    requirement: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One output to be judged against the items of one rubric.

    `input` and `reference` are the case's, None when a plain artifact is judged. `output` is what a target produced,
    None when the artifact itself is judged. `workspace` is {"path", "diff"} or None. `draw` numbers repeated looks of
    one judge from 0. `case` and `attempt` say where it comes from: recorded answers are found by them, and no judge sees them.
    """

    artifact: Artifact
    criteria: tuple[AskedCriterion, ...]
    input: str | None = None
    reference: str | None = None
    output: str | None = None
    workspace: Mapping[str, Any] | None = None
    draw: int = 0
    case: str | None = None
    attempt: int = 1

    def items(self) -> Iterator[tuple[Key, Item]]:
        """Every item asked, in the order of the rubric."""
        for criterion in self.criteria:
            for item in criterion.items:
                yield (criterion.id, item.id), item


def asked_criteria(rubric: Rubric) -> tuple[AskedCriterion, ...]:
    """The part of a rubric that judges answer."""
    asked = []
    for criterion, _ in rubric.walk():
        items = tuple(item for item in criterion.items if item.check is None)
        if items:
            asked.append(AskedCriterion(id=criterion.id, requirement=criterion.requirement, items=items))
    return tuple(asked)
