"""The regularized incomplete beta function, and quantiles of the beta and F distributions."""

from __future__ import annotations

import math
from typing import Final

_TINY: Final = 1e-300
_HALVINGS: Final = 200


def beta_cdf(x: float, a: float, b: float) -> float:
    """P(X <= x) of a beta distribution with a, b > 0 (NIST DLMF §8.17.22, the continued fraction by
    Lentz's method).
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
        - math.log(a)
    )
    return front * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _off_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _off_zero(1 + factor * d)
            c = _off_zero(1 + factor / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _off_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def beta_quantile(p: float, a: float, b: float) -> float:
    """The x in [0, 1] with P(X <= x) = p, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if beta_cdf(middle, a, b) < p else (low, middle)
    return (low + high) / 2


def f_quantile(p: float, above: float, below: float) -> float:
    """The quantile of an F distribution with `above` and `below` degrees of freedom, both > 0; they
    need not be whole.
    """
    # 1 - x is found by itself, so that nothing is lost where x is nearly 1.
    rest = beta_quantile(1 - p, below / 2, above / 2)
    return math.inf if rest == 0 else below * (1 - rest) / (above * rest)
