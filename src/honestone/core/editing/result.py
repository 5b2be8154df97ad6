"""How a loop may end, and what its command then exits with."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

# A loop by belief says PASSED of no version that meets the contract with a lower probability.
LEAST_STATED: Final = 0.8


class Result(StrEnum):
    PASSED = "PASSED"
    UNCONFIRMED = "UNCONFIRMED"
    PLATEAU = "PLATEAU"
    ROUND_LIMIT = "ROUND_LIMIT"
    BUDGET = "BUDGET"
    METRIC_DEAD = "METRIC_DEAD"
    NO_CHANGE = "NO_CHANGE"
    WORKER_FAILED = "WORKER_FAILED"
    COULD_NOT_JUDGE = "COULD_NOT_JUDGE"
    CONTRACT_CHANGED = "CONTRACT_CHANGED"
    INTERRUPTED = "INTERRUPTED"


class Standing(Struct, frozen=True, kw_only=True):
    """What was believed of a version when a round was decided, by every vote so far: the expected
    `score` with its 95 % interval and those of the criteria (points, 0-100), and the `probability`
    that the contract is met (0-1).
    """

    score: float
    low: float
    high: float
    criteria: Mapping[str, float]
    probability: float


class DeliveryRule(StrEnum):
    """Why a version is delivered: it PASSED, or it is better than the original; else the original
    stays.
    """

    PASSED = "passed"
    BETTER = "better"
    ORIGINAL = "original"


class Delivery(Struct, frozen=True, kw_only=True):
    """The version that a loop delivers, and why. `probability` (0-1): that a version is better than
    the original, where that decided.
    """

    version: str
    rule: DeliveryRule
    reason: str
    probability: float | None = None


# The rest are 1.
EXIT_CODES: dict[Result, int] = {
    Result.PASSED: 0,
    Result.UNCONFIRMED: 3,
    Result.COULD_NOT_JUDGE: 3,
    Result.CONTRACT_CHANGED: 3,
    Result.INTERRUPTED: 130,
}


def exit_code(result: Result) -> int:
    return EXIT_CODES.get(result, 1)
