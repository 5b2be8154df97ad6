"""Several texts under one rubric as one: what the mean of them is believed to be.

The mean over texts of a criterion is the mean of its items over all of them, so each text adds its
own copy of every item. Where an item does not apply to one text, its criterion weighs less there. A
text that counts several times has one copy, which weighs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from msgspec.structs import replace

from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Key, Rubric
from honestone.core.numbers import ZERO

# Rubrics by the identity of the one that they are made of, which each holds, and by how often each text counts.
_POOLED: Final[dict[tuple[int, tuple[int, ...]], tuple[Rubric, Rubric]]] = {}
_MOST: Final = 512


def pooled_text(
    rubric: Rubric, texts: Sequence[Iterable[Ballot]], counts: Sequence[int] = ()
) -> TextBelief:
    """What is believed of the mean of these texts, by the ballots about each. `counts`: how often
    each of them counts, once where nothing is given.
    """
    times = tuple(counts) or (1,) * len(texts)
    if len(set(times)) == 1:
        times = (1,) * len(times)
    if len(texts) == 1:
        return TextBelief(rubric).see_all(texts[0])
    pooled = _pooled(rubric, times)
    own = {key for key, _ in pooled.questions()}
    found = TextBelief(pooled)
    for number, ballots in enumerate(texts):
        found.see_all(_about(ballot, number, own) for ballot in ballots)
    return found


class Mean(NamedTuple):
    """The mean of several texts, and where some are missing the two `ends` that it may have."""

    text: TextBelief
    ends: tuple[TextBelief, TextBelief] | None


def mean_of(
    rubric: Rubric, texts: Sequence[Iterable[Ballot]], counts: Sequence[int], missing: int = 0
) -> Mean:
    """What is believed of the mean of these texts and of so many more, of which nothing is known: each of
    those is another text.
    """
    unknown: list[list[Ballot]] = [[] for _ in range(missing)]
    text = pooled_text(rubric, [*texts, *unknown], [*counts, *(1 for _ in unknown)])
    return Mean(text, _ends_of(rubric, texts, counts, missing))


def _ends_of(
    rubric: Rubric, texts: Sequence[Iterable[Ballot]], counts: Sequence[int], missing: int
) -> tuple[TextBelief, TextBelief] | None:
    """The mean where all that are missing score nothing, and where they have full marks."""
    if not missing:
        return None
    low, high = (
        pooled_text(rubric, [*texts, [_full_marks(rubric, are_met=are_met)]], [*counts, missing])
        for are_met in (False, True)
    )
    return low, high


def _full_marks(rubric: Rubric, *, are_met: bool) -> Ballot:
    """Answers that score as much as any, or as little."""
    bad = rubric.bad_keys
    answers = {key: (key not in bad) is are_met for key, _ in rubric.questions()}
    marks = {key: Mark(is_yes, score=100.0 * is_yes) for key, is_yes in answers.items()}
    return Ballot(judge=CHECK, marks=marks)


def _about(ballot: Ballot, number: int, own: set[Key]) -> Ballot:
    marks = {}
    for (id, item), mark in ballot.marks.items():
        key = id, _name(item, number)
        marks[key if key in own else (_name(id, number), item)] = mark
    return replace(ballot, marks=marks)


def _name(id: str, number: int) -> str:
    return f"{number}/{id}"


def _pooled(rubric: Rubric, times: tuple[int, ...]) -> Rubric:
    key = id(rubric), times
    found = _POOLED.get(key)
    if found is None:
        if len(_POOLED) >= _MOST:
            _POOLED.clear()
        criteria = _copies_of(rubric.criteria, times)
        found = _POOLED[key] = rubric, replace(rubric, criteria=criteria)
    return found[1]


def _copies(criterion: Criterion, times: tuple[int, ...]) -> tuple[Criterion, ...]:
    # A penalty has one item, so each text has its own part of it.
    if criterion.is_penalty:
        return tuple(
            replace(
                criterion,
                id=_name(criterion.id, number),
                weight=criterion.weight * Fraction(count, sum(times)),
            )
            for number, count in enumerate(times)
        )
    if criterion.items and len(set(times)) > 1:
        children = (
            Criterion(
                id=_name(criterion.id, number),
                requirement=criterion.requirement,
                weight=Fraction(count),
                floor=ZERO,
                items=tuple(replace(item, whole=False) for item in criterion.items),
            )
            for number, count in enumerate(times)
        )
        return (replace(criterion, items=(), children=tuple(children)),)
    items = (
        replace(item, id=_name(item.id, number))
        for number in range(len(times))
        for item in criterion.items
    )
    below = _copies_of(criterion.children, times)
    return (replace(criterion, items=tuple(items), children=below),)


def _copies_of(criteria: Iterable[Criterion], times: tuple[int, ...]) -> tuple[Criterion, ...]:
    return tuple(copy for one in criteria for copy in _copies(one, times))
