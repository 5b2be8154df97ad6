"""What a panel's scores of a candidate come to: how far the judges agree, and whether to try it.

CONSENSUS   all on one side of 6, within 1 point
VERIFIED    all on one side
SPLIT       as many for as against
DISPUTED    the rest
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from honestone.core.skill.risk import NOT_KEPT_ALONE, Category, Risk

FOR_FROM: Final = Fraction(6)
"""A score of 6 or more speaks for a candidate."""
REJECTED_BELOW: Final = Fraction(4)
UNJUDGED: Final = Fraction(7)
"""What `rank` without judges gives a candidate whose plan can be applied: no judge has said anything against it."""
RISK_PENALTY: Final = {Risk.LOW: Fraction(0), Risk.MEDIUM: Fraction(3, 2), Risk.HIGH: Fraction(3)}
"""Shown next to the score, never taken from it."""

_NEAR: Final = Fraction(1)


class Label(StrEnum):
    CONSENSUS = "CONSENSUS"
    VERIFIED = "VERIFIED"
    SPLIT = "SPLIT"
    DISPUTED = "DISPUTED"


class Recommendation(StrEnum):
    ACCEPT = "accept_for_execution"
    HOLD = "hold"
    REJECT = "reject"


def label_of(scores: Sequence[Fraction]) -> Label | None:
    """Of the judges' scores, 0 to 10; None without any."""
    if not scores:
        return None
    in_favour = sum(1 for score in scores if score >= FOR_FROM)
    if in_favour in (0, len(scores)):
        return Label.CONSENSUS if max(scores) - min(scores) <= _NEAR else Label.VERIFIED
    return Label.SPLIT if 2 * in_favour == len(scores) else Label.DISPUTED


def mean_of(scores: Sequence[Fraction]) -> Fraction | None:
    return sum(scores, Fraction(0)) / len(scores) if scores else None


def recommendation_of(score: Fraction | None, label: Label | None) -> Recommendation:
    """`score` None: no judge could score it. `label` None with a score: no judge was asked.

    Accepted when the score speaks for it and the panel is not divided; rejected below 4, or when all are against it.
    """
    if score is None:
        return Recommendation.REJECT
    if score < REJECTED_BELOW:
        return Recommendation.REJECT
    divided = label in (Label.SPLIT, Label.DISPUTED)
    if score < FOR_FROM:
        return Recommendation.HOLD if divided else Recommendation.REJECT
    return Recommendation.HOLD if divided else Recommendation.ACCEPT


def notes_about(risk: Risk, category: Category) -> list[str]:
    """What will happen to it at the gate, in words."""
    if risk is Risk.LOW and category not in NOT_KEPT_ALONE:
        return ["low risk: it is kept when its evaluation passes"]
    return [f"{risk} risk, category {category}: a person decides, also when its evaluation passes"]
