"""The normal distribution: what beliefs need of it, and no more."""

from __future__ import annotations

from math import erfc, exp, log, log1p, log2, pi, sqrt
from typing import Final, NamedTuple

_ROOT_2: Final = sqrt(2.0)
_ROOT_2PI: Final = sqrt(2.0 * pi)
# Below it `erfc` runs out of floating point, and the tail's asymptotic series is exact to seven
# digits.
_FAR: Final = -30.0

# The seven Gauss-Hermite nodes of a standard normal, each with its weight: exact for polynomials up
# to degree 13.
NODES: Final = (
    (-3.750439717725742, 0.0005482688559722184),
    (-2.366759410734541, 0.0307571239675865),
    (-1.154405394739968, 0.2401231786050127),
    (0.0, 0.4571428571428571),
    (1.154405394739968, 0.2401231786050127),
    (2.366759410734541, 0.0307571239675865),
    (3.750439717725742, 0.0005482688559722184),
)


def density(z: float) -> float:
    return exp(-0.5 * z * z) / _ROOT_2PI


def below(z: float) -> float:
    """P(Z <= z)."""
    return 0.5 * erfc(-z / _ROOT_2)


def log_below(z: float) -> float:
    """log P(Z <= z), also where the probability itself is too small for a float."""
    if z > _FAR:
        return log(below(z))
    return -0.5 * z * z - log(-z * _ROOT_2PI) + log1p(-1.0 / (z * z))


def bits(chance: float) -> float:
    """The entropy of a yes or no that is yes with this probability (0-1), in bits."""
    if not 0.0 < chance < 1.0:
        return 0.0
    return -chance * log2(chance) - (1.0 - chance) * log2(1.0 - chance)


class Atom(NamedTuple):
    """A part of a distribution: so much mass, normal around `mean` with the variance `var`; with 0
    it is one value.
    """

    mass: float
    mean: float
    var: float


def cut(atom: Atom, low: float, high: float) -> Atom:
    """What of an atom is from `low` to `high`, by its mean and variance (Johnson, Kotz &
    Balakrishnan, vol. 1, 13.10).
    """
    sd = sqrt(atom.var)
    a, b = (low - atom.mean) / sd, (high - atom.mean) / sd
    share = below(b) - below(a) if a < 0 else below(-a) - below(-b)
    if share <= 1e-12:
        return Atom(0.0, min(max(atom.mean, low), high), 0.0)
    at_a, at_b = density(a) if a > -9 else 0.0, density(b) if b < 9 else 0.0
    shift = (at_a - at_b) / share
    curve = ((a * at_a if at_a else 0.0) - (b * at_b if at_b else 0.0)) / share
    return Atom(
        atom.mass * share, atom.mean + sd * shift, atom.var * max(1.0 + curve - shift * shift, 0.0)
    )


def merged(atoms: list[Atom]) -> Atom:
    """Several atoms as one, with their mass, mean and variance."""
    if len(atoms) == 1:
        return atoms[0]
    mass = sum([a[0] for a in atoms])
    if mass <= 0.0:
        return Atom(0.0, 0.0, 0.0)
    mean = sum([w * m for w, m, _ in atoms]) / mass
    return Atom(mass, mean, sum([w * (v + (m - mean) ** 2) for w, m, v in atoms]) / mass)
