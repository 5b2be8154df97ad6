"""rulph's state.json: where its loop is, as its own stop hook reads it, but with floors, fractions
and zeros right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from honestone.core.json_value import Json, JsonObject, listed

NAMESPACE: Final = "rulph"


@dataclass(frozen=True, slots=True, kw_only=True)
class RulphState:
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
    return RulphState(
        status=_state_text(state, "status", "active"),
        session_id=_state_text(state, "session_id", ""),
        score=None if state.get("score") is None else _number_in_state(state, "score", 0),
        threshold=_number_in_state(state, "threshold", 100),
        floor=_number_in_state(state, "floor", 0),
        below_floor=_names(state, "below_floor"),
        round=_number_in_state(state, "round", 0),
        max_rounds=_number_in_state(state, "max_rounds", 5),
        iteration=_whole(state, "iteration", 0),
        max_iterations=_whole(state, "max_iterations", 15),
    )


def _state_text(state: JsonObject, key: str, default: str) -> str:
    value = state.get(key, default)
    if not isinstance(value, str):
        raise ValueError(f"its `{key}` is not a text")
    return value


def _number_in_state(state: JsonObject, key: str, default: float) -> float:
    value = state.get(key, default)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or value != value
        or abs(value) == math.inf
    ):
        raise ValueError(f"its `{key}` is not a number")
    return value


def _whole(state: JsonObject, key: str, default: int) -> int:
    value = _number_in_state(state, key, default)
    if not isinstance(value, int):
        raise ValueError(f"its `{key}` is not a whole number")
    return value


def _names(state: JsonObject, key: str) -> tuple[str, ...]:
    value = state.get(key, [])
    if not isinstance(value, list):
        raise ValueError(f"its `{key}` is not a list")
    return tuple(map(str, value))
