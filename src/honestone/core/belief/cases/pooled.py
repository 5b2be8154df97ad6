"""Several texts under one rubric as one: what the mean of them is believed to be.

The mean over texts of a criterion is the mean of its items over all of them, so each text adds its
own copy of every item. Where an item does not apply to one text, its criterion weighs less there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.rubric import Criterion, Rubric

# Rubrics by the identity of the one that they are made of, which each holds, and by their number.
_POOLED: Final[dict[tuple[int, int], tuple[Rubric, Rubric]]] = {}
_MOST: Final = 512


def pooled_text(rubric: Rubric, texts: Sequence[Iterable[Ballot]]) -> TextBelief:
    """What is believed of the mean of these texts, by the ballots about each."""
    found = TextBelief(_pooled(rubric, len(texts)))
    for number, ballots in enumerate(texts):
        found.see_all(_about(ballot, number) for ballot in ballots)
    return found


def _about(ballot: Ballot, number: int) -> Ballot:
    marks = {(id, _name(item, number)): mark for (id, item), mark in ballot.marks.items()}
    return replace(ballot, marks=marks)


def _name(item: str, number: int) -> str:
    return f"{number}/{item}"


def _pooled(rubric: Rubric, count: int) -> Rubric:
    key = id(rubric), count
    found = _POOLED.get(key)
    if found is None:
        if len(_POOLED) >= _MOST:
            _POOLED.clear()
        criteria = tuple(_copies(one, count) for one in rubric.criteria)
        found = _POOLED[key] = rubric, replace(rubric, criteria=criteria)
    return found[1]


def _copies(criterion: Criterion, count: int) -> Criterion:
    return replace(
        criterion,
        items=tuple(
            replace(item, id=_name(item.id, number))
            for number in range(count)
            for item in criterion.items
        ),
        children=tuple(_copies(child, count) for child in criterion.children),
    )
