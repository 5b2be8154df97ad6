"""Exact numbers, and numbers in words. A score is a `Fraction` from 0 to 1, so a comparison never
depends on float rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Final, TypeAlias

Number: TypeAlias = int | float

ZERO, ONE = Fraction(0), Fraction(1)
# Standard deviations around the mean of a normal distribution that hold 95 % of it:
# `NormalDist().inv_cdf(0.975)` of `statistics`, which takes long to import.
NORMAL: Final = 1.9599639845400536


def exact(number: int | float | str | Fraction) -> Fraction:
    """The decimal that was written: `exact(0.1)` is 1/10, not the nearest binary float.

    Raises ValueError for NaN, infinities, booleans and text that is not a decimal number.
    """
    if isinstance(number, Fraction):
        return number
    if isinstance(number, bool):
        raise ValueError("a boolean is not a number")
    if isinstance(number, int):
        return Fraction(number)
    if isinstance(number, float):
        if not isfinite(number):
            raise ValueError(f"{number} is not a finite number")
        return Fraction(repr(number))
    if "/" in number:
        raise ValueError(f"{number!r} is not a decimal number")
    return Fraction(number)


def to_points(score: Fraction) -> float:
    """0-1 as 0-100 for JSON: the nearest float, not rounded to any number of places."""
    return score.numerator * 100 / score.denominator


def show_points(score: Fraction) -> str:
    """0-1 as 0-100 for people: one decimal, cut and never rounded up, so 69.99 never reads as 70.0."""
    tenths = abs(score) * 1000
    whole = tenths.numerator // tenths.denominator
    sign = "-" if score < 0 and whole else ""
    return f"{sign}{whole // 10}.{whole % 10}"


def show_bar(score: Fraction) -> str:
    """A threshold or floor as it was written: 70, 72.5."""
    points = score * 100
    return str(points.numerator) if points.denominator == 1 else str(float(points))


def hundredfold(points: Fraction) -> str | None:
    """`80` for 0.8: what is meant where points of 100 are asked for and a share was given; None for
    other numbers.
    """
    return show_bar(points) if 0 < points < 1 else None


# -------------------------------------------------------------------------------------------------------
# in words


def points(value: Number | None) -> str:
    """A score 0-100 with one decimal, cut: 69.99 is 69.9. Without one: n/a."""
    return "n/a" if value is None else show_points(exact(value) / 100)


def bar_number(value: Number | None) -> str:
    """A threshold, floor or weight as it was written: 70, 72.5, -10."""
    return "" if value is None else show_bar(exact(value) / 100)


def score_or_interval(score: Number | None, interval: Sequence[Number] | None) -> str:
    """A score, or what is known of it: `50.0-100.0`."""
    if score is not None or not interval:
        return points(score)
    low, high = interval
    return f"{points(low)}-{points(high)}"


def change(before: Number | None, after: Number | None, minus: str = "−") -> str:
    """The difference of two scores as they are shown: +18.8, −2.0, 0.0. Empty when one is unknown."""
    if before is None or after is None:
        return ""
    by = Fraction(points(after)) - Fraction(points(before))
    shown = show_points(abs(by) / 100)
    if by == 0:
        return shown
    return f"+{shown}" if by > 0 else f"{minus}{shown}"


def percent(rate: Number | Fraction | None, bar: Number | Fraction | None = None) -> str:
    """A rate 0-1 as a percentage, rounded to one decimal: 29 of 30 is 96.7%. It is cut where
    rounding would reach a bar that it misses: `bar` (0-1), or all.
    """
    if rate is None:
        return "n/a"
    known = exact(rate)
    tenths = rounded = _half_up(abs(known) * 1000)
    for one in (ONE, ONE if bar is None else exact(bar)):
        if known < one <= Fraction(rounded, 1000):
            tenths = known.numerator * 1000 // known.denominator
    sign = "-" if known < 0 and tenths else ""
    return f"{sign}{tenths // 10}.{tenths % 10}%"


def _half_up(number: Fraction) -> int:
    return (2 * number.numerator + number.denominator) // (2 * number.denominator)


def rate_change_words(by: Fraction | Number | None, minus: str = "−") -> str:
    """The difference of two rates (0-1) in points with its sign, rounded: +25.0, −3.3, 0.0."""
    if by is None:
        return "n/a"
    return change_words(
        Fraction(_half_up(abs(exact(by)) * 1000), 10) * (-1 if by < 0 else 1), minus
    )


def chance_words(chance: float, *, decimals: int = 0) -> str:
    """A probability 0-1 as `97% sure`, cut. Only certainty is 0 % or 100 %."""
    return f"{chance_percent(chance, decimals=decimals)} sure"


_LEAST_CHANCE: Final = 1e-9


def sure(chance: float) -> str:
    """The same of what is not certain, though a float may be: never 0% or 100%."""
    return chance_words(min(max(chance, _LEAST_CHANCE), 1.0 - _LEAST_CHANCE))


@lru_cache(maxsize=1_024)  # of many texts few have a chance that no other has
def chance_percent(chance: float, *, decimals: int = 0) -> str:
    """A probability 0-1 as `97%`, cut after so many decimals, or `less than 1%`."""
    steps = 10**decimals
    shown = int(exact(chance) * 100 * steps)
    if shown == 0 and chance > 0:
        return f"less than {1 / steps:g}%"
    return f"{show_bar(Fraction(shown, 100 * steps))}%"


def rate_words(
    rate: Number | None, interval: Sequence[Number] | None, bar: Number | None = None
) -> str:
    """`75.0%`, or what is known of it: `between 50.0% and 75.0%`. `bar`: what it needs, 0-1."""
    if rate is None and interval:
        low, high = (percent(end, bar) for end in interval)
        return low if low == high else f"between {low} and {high}"
    return percent(rate, bar)


def change_words(by: Fraction | Number | None, minus: str = "−") -> str:
    """A difference of points with its sign, cut: +25.0, −3.1, 0.0."""
    if by is None:
        return "n/a"
    shown = show_points(abs(exact(by)) / 100)
    if shown == "0.0":
        return shown
    return f"{minus}{shown}" if by < 0 else f"+{shown}"


def duration_words(milliseconds: Number | None) -> str:
    """`12 ms`, `3.4 s`, `2 min 5 s`, `1 h 2 min`; empty where it was not measured."""
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{int(milliseconds)} ms"
    seconds = int(milliseconds) // 1000
    if seconds < 60:
        return f"{int(milliseconds) // 100 / 10:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600:,} h {seconds % 3600 // 60} min"


def money(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"
