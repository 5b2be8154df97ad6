"""rulph's state.json: where its loop is, as its own stop hook reads it, but with floors, fractions
and zeros right.
"""

from __future__ import annotations

import math
from typing import Final, TypedDict

from msgspec import Struct

from honestone.core.json_value import Json, is_number, listed
from honestone.system.loose_json import record

NAMESPACE: Final = "rulph"


class RulphState(Struct, frozen=True, kw_only=True):
    """`score` is None before the first scoring; `floor` is 0 where the state knows none."""

    status: str = "active"
    session_id: str = ""
    score: float | None = None
    threshold: float = 100
    floor: float = 0
    below_floor: tuple[str, ...] = ()
    round: float = 0
    max_rounds: float = 5
    iteration: int = 0
    max_iterations: int = 15

    @property
    def is_over(self) -> bool:
        """Whether the loop need not continue: completed, passed, out of rounds, or held often
        enough.
        """
        return (
            self.status == "completed"
            or self.has_passed
            or self.round > self.max_rounds
            or self.iteration >= self.max_iterations
        )

    @property
    def has_passed(self) -> bool:
        """A mean under the floor means that some criterion is."""
        return (
            self.score is not None
            and self.score >= max(self.threshold, self.floor)
            and not self.below_floor
        )

    def __str__(self) -> str:
        score = "no score yet" if self.score is None else f"score {self.score}"
        below = f", below the floor: {listed(self.below_floor)}" if self.below_floor else ""
        return (
            f"{score}, threshold {self.threshold}{below}; round {self.round} of {self.max_rounds}"
        )


def read_state(plain: Json) -> RulphState | None:
    """The state of a loop; None without a loop. Raises ValueError for anything else."""
    state = plain.get(NAMESPACE) if isinstance(plain, dict) else None
    if not isinstance(plain, dict) or not isinstance(state, dict | None):
        raise ValueError("it is not the state of a rulph loop")
    if state is None:
        return None
    plain_state = record(state, _PlainState)
    score = plain_state.get("score")
    return RulphState(
        status=_state_text("status", plain_state.get("status", "active")),
        session_id=_state_text("session_id", plain_state.get("session_id", "")),
        score=None if score is None else _number_in_state("score", score),
        threshold=_number_in_state("threshold", plain_state.get("threshold", 100)),
        floor=_number_in_state("floor", plain_state.get("floor", 0)),
        below_floor=_names("below_floor", plain_state.get("below_floor", [])),
        round=_number_in_state("round", plain_state.get("round", 0)),
        max_rounds=_number_in_state("max_rounds", plain_state.get("max_rounds", 5)),
        iteration=_whole("iteration", plain_state.get("iteration", 0)),
        max_iterations=_whole("max_iterations", plain_state.get("max_iterations", 15)),
    )


class _PlainState(TypedDict, total=False):
    """The state as the plugin writes it."""

    status: Json
    session_id: Json
    score: Json
    threshold: Json
    floor: Json
    below_floor: Json
    round: Json
    max_rounds: Json
    iteration: Json
    max_iterations: Json


def _state_text(key: str, value: Json) -> str:
    if not isinstance(value, str):
        raise ValueError(f"its `{key}` is not a text")
    return value


def _number_in_state(key: str, value: Json) -> float:
    if not is_number(value) or value != value or abs(value) == math.inf:
        raise ValueError(f"its `{key}` is not a number")
    return value


def _whole(key: str, value: Json) -> int:
    number = _number_in_state(key, value)
    if not isinstance(number, int):
        raise ValueError(f"its `{key}` is not a whole number")
    return number


def _names(key: str, value: Json) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"its `{key}` is not a list")
    return tuple(map(str, value))
