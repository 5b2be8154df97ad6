"""What a loop may do next, and how it may end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from honestone.core.events import Role


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


EXIT_CODES: dict[Result, int] = {
    Result.PASSED: 0,
    Result.UNCONFIRMED: 3,
    Result.COULD_NOT_JUDGE: 3,
    Result.CONTRACT_CHANGED: 3,
    Result.INTERRUPTED: 130,
}
"""The rest are 1."""


def exit_code(result: Result) -> int:
    return EXIT_CODES.get(result, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Have these judges score a version. `role` says whether they steer or certify."""

    judges: tuple[str, ...]
    version: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """Have the worker try a focus on top of `base`, until there are `candidates` proposals to choose from.

    `ranked`: the proposals are ranked before one of them is judged, also when there is only one. Candidates that the
    state still holds count: the worker is called for the missing ones only.
    """

    focus: tuple[str, ...]
    base: str
    candidates: int = 1
    ranked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    version: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """`is_final` False: whoever started the loop closes its run, or leaves it open so that the same command resumes it.
    `changed`: the files that judge and are no longer what they were."""

    result: Result
    reason: str
    is_final: bool = True
    changed: tuple[str, ...] = ()


Action: TypeAlias = Ask | Propose | Accept | RollBack | Stop
