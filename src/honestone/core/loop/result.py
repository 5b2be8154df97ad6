"""How a loop may end, and what its command then exits with."""

from __future__ import annotations

from enum import StrEnum


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
