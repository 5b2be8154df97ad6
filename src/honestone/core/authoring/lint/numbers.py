"""Weights, bars and counts: numbers that are allowed but decide nothing, or not what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from honestone.core.authoring.lint.remark import Remark, criteria_of
from honestone.core.judging.rubric import Criterion, Path, Rubric, as_written
from honestone.core.numbers import ZERO
from honestone.core.tables import Fact

# Items of a checklist that judges answer: fewer make coarse scores, more are answered carelessly.
FEWEST, MOST = 5, 10
# Where code answers every item, it answers the last as carefully as the first.
_FEWEST_CHECKS, _MOST_CHECKS = 3, 15
_NEAR_100: Final = (90, 110)


def weights_sum(rubric: Rubric) -> Iterator[Remark]:
    """Weights that look like percent but do not sum to 100. Other sums are relative weights (3, 1,
    2).
    """
    for group, path in groups_of(rubric):
        total = weight_of(group)
        if looks_like_percent(group) and not 99 <= total <= 101:
            yield Remark(
                rule="weights-sum", path=path, at_key=True, facts={"total": as_written(total)}
            )


def looks_like_percent(group: tuple[Criterion, ...]) -> bool:
    return len(group) > 1 and _NEAR_100[0] <= weight_of(group) <= _NEAR_100[1]


def weight_of(group: tuple[Criterion, ...]) -> Fraction:
    """What the weights of siblings sum to; penalties are not part of it."""
    return sum((criterion.weight for criterion in group if not criterion.is_penalty), ZERO)


def groups_of(rubric: Rubric) -> Iterator[tuple[tuple[Criterion, ...], Path]]:
    """Every group of siblings with the path of their list."""
    yield rubric.criteria, ("criteria",)
    for criterion, path in criteria_of(rubric):
        if criterion.children:
            yield criterion.children, (*path, "criteria")


def required_without_weight(rubric: Rubric) -> Iterator[Remark]:
    for criterion, path in criteria_of(rubric):
        if criterion.required and criterion.weight == 0:
            yield _about(criterion, "required-without-weight", (*path, "required"))


def bars(rubric: Rubric) -> Iterator[Remark]:
    """A floor above the threshold, bars written as shares of 1, and a limit of looks alone."""
    if rubric.max_looks is not None and rubric.sure is None:
        yield Remark(rule="limit-without-sure", path=("max_looks",), at_key=True)
    floor, threshold = as_written(rubric.floor * 100), as_written(rubric.threshold * 100)
    if rubric.floor > rubric.threshold:
        facts = {"floor": floor, "threshold": threshold}
        yield Remark(
            rule="floor-above-threshold", path=("floor",), else_path=("threshold",), facts=facts
        )
    for name, bar in (("threshold", threshold), ("floor", floor)):
        if 0 < bar <= 1:
            yield Remark(
                rule="bar-near-zero",
                path=(name,),
                facts={"name": name, "bar": bar, "percent": bar * 100},
            )


def one_criterion(rubric: Rubric) -> Iterator[Remark]:
    if len(rubric.criteria) < 2:
        yield Remark(rule="one-criterion", path=("criteria",), at_key=True)


def item_count(rubric: Rubric) -> Iterator[Remark]:
    """Checklists with too few items or too many."""
    for criterion, path in criteria_of(rubric):
        items = [item for item in criterion.items if not item.whole]
        if not items:
            continue
        count = len(items)
        by_code = all(item.check is not None for item in items)
        fewest, most = (_FEWEST_CHECKS, _MOST_CHECKS) if by_code else (FEWEST, MOST)
        if not fewest <= count <= most:
            rule = "too-few-items" if count < fewest else "too-many-items"
            items_shown = f"{count} item{'s' if count != 1 else ''}"
            yield _about(
                criterion, rule, (*path, "items"), items=items_shown, fewest=FEWEST, most=MOST
            )


def _about(criterion: Criterion, rule: str, path: Path, **facts: Fact) -> Remark:
    return Remark(
        rule=rule,
        path=path,
        at_key=True,
        criterion=criterion.id,
        facts={"id": criterion.id, **facts},
    )
