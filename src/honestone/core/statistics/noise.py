"""How much the same bytes score differently when they are judged again.

tolerance   1.96 sqrt(2) sd: with 95% chance two looks at the same bytes are less far apart (the repeatability limit of ISO 5725-6)
flip rate   2 k (n - k) / (n (n - 1)): the chance that two of n looks differ of which k passed
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from honestone.core.numbers import NORMAL


class Spread(Struct, frozen=True, kw_only=True):
    """Of some numbers: the mean (None of none) and the sample standard deviation (None of fewer
    than two).
    """

    mean: float | None
    sd: float | None


def spread_of(numbers: Sequence[float]) -> Spread:
    if not numbers:
        return Spread(mean=None, sd=None)
    mean = math.fsum(numbers) / len(numbers)
    if len(numbers) < 2:
        return Spread(mean=mean, sd=None)
    squares = math.fsum((number - mean) ** 2 for number in numbers)
    return Spread(mean=mean, sd=math.sqrt(squares / (len(numbers) - 1)))


def flip_rate(passes: int, looks: int) -> float | None:
    """None of fewer than two looks."""
    return None if looks < 2 else 2 * passes * (looks - passes) / (looks * (looks - 1))


def tolerance_of(sd: float) -> float:
    return NORMAL * math.sqrt(2) * sd
