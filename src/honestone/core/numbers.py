"""Exact numbers. A score is a `Fraction` from 0 to 1, so a comparison never depends on float rounding."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

ZERO, ONE = Fraction(0), Fraction(1)


def exact(number: int | float | str | Fraction) -> Fraction:
    """The decimal that was written: `exact(0.1)` is 1/10, not the nearest binary float.

    Raises ValueError for NaN, infinities, booleans and text that is no decimal number.
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
