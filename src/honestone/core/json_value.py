"""Plain JSON values: what is arbitrary in files and replies, and what is hashed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]
T = TypeVar("T")


def built(make: Callable[..., T], plain: JsonObject) -> T:
    """What an object on record describes: its values are the arguments of `make`, which says what they are.

    Raises TypeError for a value that is missing or not known.
    """
    return make(**plain)


def without_empty(plain: JsonObject) -> dict[str, Json]:
    """Without what is None, False or empty, so that records stay small. Numbers stay."""
    return {key: value for key, value in plain.items() if value or (value == 0 and value is not False)}
