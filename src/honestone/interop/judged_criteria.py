"""How the assertions of other tools become criteria: a check, a judge's question, and the gate over them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from honestone.core.checks import check_problem
from honestone.core.errors import RubricError
from honestone.core.numbers import ONE, ZERO
from honestone.core.rubric import Check, Criterion, Item, Rubric, as_written, slug
from honestone.formats.check_words import check_in_words
from honestone.interop.base import Steps, Walk, unique_ids, yes_no

MAJORITY: Final = Fraction(51, 100)
"""The floor of a yes/no question that has to be answered yes: by more than half of the judges."""

FROM_0_TO_1: Final[Mapping[Fraction, str]] = {ZERO: "not met at all", ONE: "met in full"}
"""The scale of a judge that gives a score instead of a yes or no."""


def sound_check(
    walk: Walk, path: Steps, kind: str, value: Any, *, negated: bool = False, **options: Any
) -> Check | None:
    """A check of ours. One that cannot be is a problem; a pattern that only another language can read is lost."""
    check = Check(
        kind=kind, value=as_written(value) if isinstance(value, Fraction) else value, negated=negated, options=options
    )
    wrong = check_problem(check)
    if wrong is None:
        return check
    message, hint = wrong
    if kind == "regex" and isinstance(value, str) and value:
        walk.loss(f"{message} (patterns are Python's here)", path, hint)
    else:
        walk.problem(message, path, hint)
    return None


def check_item(check: Check) -> Item:
    words = check_in_words(check)
    return Item(id=slug(words), requirement=words, check=check)


def check_criterion(
    check: Check,
    *,
    id: str | None = None,
    requirement: str | None = None,
    weight: Fraction = ONE,
    floor: Fraction | None = None,
) -> Criterion:
    """A criterion that code answers."""
    words = requirement or check_in_words(check)
    id = id or slug(words)
    item = Item(id=id, requirement=words, check=check, whole=True)
    return Criterion(id=id, requirement=words, weight=weight, floor=floor, items=(item,))


def checklist(id: str, items: Sequence[Item], *, weight: Fraction = ONE, floor: Fraction | None = None) -> Criterion:
    """A criterion whose score is the share of its items that are met, their ids made unique."""
    seen: dict[str, int] = {}
    named = []
    for item in items:
        seen[item.id] = number = seen.get(item.id, 0) + 1
        unique = item.id if number == 1 else f"{item.id}-{number}"
        named.append(Item(id=unique, requirement=item.requirement, check=item.check, may_not_apply=item.may_not_apply))
    return Criterion(id=id, requirement=id, weight=weight, floor=floor, items=tuple(named))


def gated(
    walk: Walk, path: Steps, criteria: Sequence[Criterion], threshold: Fraction | None = None, *, title: str = ""
) -> Rubric | None:
    """The rubric of one case: a threshold for the mean where the file has one, else every floor has to be met.

    None when nothing here decides: no criterion, or only ones of weight 0 (which are shown and do not count).
    """
    if not any(criterion.weight > 0 for criterion in criteria):
        return None
    bar = implied_floor(criteria) if threshold is None else threshold
    try:
        return Rubric(criteria=unique_ids(criteria), threshold=bar, floor=ZERO, title=title)
    except RubricError as error:
        walk.problem(error.message, path, error.hint)
        return None


def implied_floor(criteria: Sequence[Criterion]) -> Fraction:
    """The mean of criteria that are all at their floors: where every floor is met this is met too, so it decides
    nothing more; but it is the right bar where only the mean is looked at."""
    total = sum((c.weight for c in criteria), ZERO)
    return sum((c.weight * (c.floor or ZERO) for c in criteria), ZERO) / total


def undecided() -> Rubric:
    """Stands in for the rubric of a case that is skipped because nothing says what a good output is."""
    return Rubric(criteria=(yes_no("undecided", "Nothing says what a good output is"),), floor=ZERO)


def expected_answer(answers: Sequence[str]) -> Criterion:
    """A judge's question about a reference answer, for data that names one and no way of scoring."""
    if len(answers) == 1:
        return yes_no("expected-answer", f"Gives the expected answer: {answers[0]}")
    listed = "\n".join(f"- {answer}" for answer in answers)
    return yes_no("expected-answer", f"Gives one of these expected answers:\n{listed}")


def as_text(value: Any) -> str:
    """A plain value as text: what stands in a prompt for it."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def distinct(id: str, taken: Mapping[str, Any]) -> str:
    """An id that no other case has yet."""
    unique, number = id, 2
    while unique in taken:
        unique, number = f"{id}-{number}", number + 1
    return unique


def settle(walk: Walk, *others: Walk) -> None:
    """All that several walks found, each thing once (one default is read for many cases). Raises SourceErrors."""
    for other in others:
        walk.join(other)
    walk.losses = list(dict.fromkeys(walk.losses))
    walk.problems = list({(problem.place, problem.message): problem for problem in walk.problems}.values())
    walk.finish()


__all__ = [
    "FROM_0_TO_1",
    "MAJORITY",
    "as_text",
    "check_criterion",
    "check_item",
    "checklist",
    "distinct",
    "expected_answer",
    "gated",
    "implied_floor",
    "settle",
    "sound_check",
    "undecided",
]
