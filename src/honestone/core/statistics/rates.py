"""Rates: how often something happened, of how many trials."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from honestone.core.numbers import NORMAL


def wilson(happened: int, of: int) -> tuple[float, float]:
    """95% score interval of one rate, 0-1 (Wilson 1927). `of` is above 0."""
    rate, square = happened / of, NORMAL**2 / of
    middle = (rate + square / 2) / (1 + square)
    half = NORMAL * sqrt(rate * (1 - rate) / of + square / (4 * of)) / (1 + square)
    return min(rate, max(0.0, middle - half)), max(rate, min(1.0, middle + half))


def mean_interval(numbers: Sequence[float]) -> tuple[float, float] | None:
    """95% of the mean of a sample, by its standard error and the normal distribution; None of fewer
    than two numbers.
    """
    if len(numbers) < 2:
        return None
    from statistics import fmean, stdev

    mean, half = fmean(numbers), NORMAL * stdev(numbers) / sqrt(len(numbers))
    return mean - half, mean + half
