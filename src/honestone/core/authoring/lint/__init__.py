"""The rubric linter: what is allowed in a rubric but rarely meant. Pure: a rubric in, remarks out, in the order of the file.

Each rule is a function in a file of this package; `WHY` says for each rule id why it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from honestone.core.authoring.lint.anchors import anchor_texts, coarse_anchors
from honestone.core.authoring.lint.code_answers import check_for, code_could_answer, written
from honestone.core.authoring.lint.duplicates import near_duplicates
from honestone.core.authoring.lint.ids import ids, suggested_id
from honestone.core.authoring.lint.negation import double_negatives
from honestone.core.authoring.lint.numbers import bars, item_count, one_criterion, required_without_weight, weights_sum
from honestone.core.authoring.lint.observable import not_observable
from honestone.core.authoring.lint.remark import Remark
from honestone.core.authoring.lint.two_questions import two_questions
from honestone.core.authoring.lint.vague import vague_wording
from honestone.core.rubric import Rubric

WHY: Final = {
    "vague-wording": "judges who may each read a word their own way disagree, and it cannot be said who is right",
    "two-questions": "when one half holds and the other does not, there is no right answer",
    "near-duplicate": "what is asked twice counts twice",
    "code-could-answer": "a judge costs money and may be wrong about what code simply counts",
    "not-observable": "a judge sees the artifact and nothing else, so it would have to guess",
    "double-negative": "readers mix up which answer is the good one",
    "weights-sum": "people read such weights as shares of 100",
    "required-without-weight": "it can fail everything, yet the score never shows it",
    "floor-above-threshold": "whoever meets every floor meets the threshold too",
    "bar-near-zero": "points go from 0 to 100, so nearly everything passes this bar",
    "one-criterion": "one number cannot tell what is weak",
    "too-few-items": "with four items or fewer one slip of a judge moves the score by 25 points or more",
    "too-many-items": "each item counts for little, and the last ones are answered carelessly",
    "coarse-anchors": "judges fall between levels that are far apart, and each in another place",
    "empty-anchors": "a degree without something to see is a matter of taste",
    "anchors-alike": "two marks for one thing are given by chance",
    "anchors-overlap": "two levels are right at once",
    "id-says-nothing": "reports, replies and histories show the id and not the text",
    "never-discriminates": "an item that is always met, or never, says nothing about an artifact",
    "judges-disagree": "the mark depends on who judges, not on the artifact",
    "runs-against-the-rest": "what is better by all other items is worse by this one: it may be turned round or about something else",
    "loss": "what this program cannot represent is not scored",
}

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
    found = [remark for rule in RULES for remark in rule(rubric)]
    return sorted(found, key=lambda remark: _position(remark.path))


def _position(path: tuple[str | int, ...]) -> tuple[tuple[int, int, str], ...]:
    """Bars first, then criteria one after another: numbers by value, keys by name, what is around before what is in it."""
    return tuple((0, step, "") if isinstance(step, int) else (int(step == "criteria"), 0, step) for step in path)


__all__ = ["RULES", "WHY", "Remark", "check_for", "lint", "suggested_id", "written"]
