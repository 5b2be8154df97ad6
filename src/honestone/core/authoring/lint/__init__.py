"""The rubric linter: what is allowed in a rubric but rarely meant. Pure: a rubric in, remarks out,
in the order of the file.

Each rule is a function in a file of this package; what it says is in `rules.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from honestone.core.authoring.lint.anchors import anchor_texts, coarse_anchors
from honestone.core.authoring.lint.code_answers import check_for, code_could_answer, flow, written
from honestone.core.authoring.lint.duplicates import near_duplicates
from honestone.core.authoring.lint.ids import ids, suggested_id
from honestone.core.authoring.lint.numbers import (
    bars,
    item_count,
    one_criterion,
    required_without_weight,
    weights_sum,
)
from honestone.core.authoring.lint.remark import Remark
from honestone.core.authoring.lint.two_questions import two_questions
from honestone.core.authoring.lint.wording import double_negatives, not_observable, vague_wording
from honestone.core.judging.rubric import Rubric

RULES: Final[tuple[Callable[[Rubric], Iterator[Remark]], ...]] = (
    bars,
    weights_sum,
    one_criterion,
    required_without_weight,
    item_count,
    ids,
    coarse_anchors,
    anchor_texts,
    vague_wording,
    two_questions,
    code_could_answer,
    not_observable,
    double_negatives,
    near_duplicates,
)


def lint(rubric: Rubric) -> list[Remark]:
    """Every remark of every rule, in the order of the file."""
    remarks = [remark for rule in RULES for remark in rule(rubric)]
    return sorted(remarks, key=lambda remark: _position(remark.path))


def _position(path: tuple[str | int, ...]) -> tuple[tuple[int, int, str], ...]:
    """Bars first, then criteria one after another: numbers by value, keys by name, what is around
    before what is in it.
    """
    return tuple(
        (0, step, "") if isinstance(step, int) else (int(step == "criteria"), 0, step)
        for step in path
    )


__all__ = ["RULES", "Remark", "check_for", "flow", "lint", "suggested_id", "written"]
