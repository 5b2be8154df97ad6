"""The normal distribution: what beliefs need of it, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, exp, inf, log, log1p, log2, pi, prod, sqrt
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


def at_levels(atoms: Sequence[Atom], levels: Sequence[float], within: float) -> tuple[Atom, ...]:
    """The atoms, with what is `within` so much of a level at the level itself. `levels` rise, and
    are further apart than that. Beyond the ends of the scale (0 and 100) there is nothing, so an end
    has what would be there.
    """
    found: dict[float, float] = {}
    rest: list[Atom] = []
    for atom in atoms:
        mass, mean, var = atom
        if var <= 0.0:
            rest.append(atom)
            continue
        far = within + _HARDLY * sqrt(var)
        near = [level for level in levels if abs(level - mean) < far]
        low = -inf
        for level in near:
            start = -inf if level <= 0.0 else level - within
            end = inf if level >= 100.0 else level + within
            if start > mean - far:
                rest.append(cut(atom, low, start))
            at = _share(atom, start, end)
            found[level] = found.get(level, 0.0) + mass * at
            low = end
        if not near:
            rest.append(atom)
        elif low < mean + far:
            rest.append(cut(atom, low, inf))
    points = [Atom(mass, level, 0.0) for level, mass in found.items()]
    return tuple([one for one in (*points, *rest) if one.mass > 0.0])


# Standard deviations beyond which there is hardly anything.
_HARDLY: Final = 6.0


def _share(atom: Atom, low: float, high: float) -> float:
    """Which part of an atom is from `low` to `high`."""
    sd = sqrt(atom.var)
    return below((high - atom.mean) / sd) - below((low - atom.mean) / sd)


def sum_of_parts(parts: Sequence[Sequence[Atom]], most: int) -> list[Atom]:
    """The distribution of a sum of independent parts: what comes of their points alone, each value
    with its mass, and all else as one atom. Where there would be more than so many points, all of
    it is one.
    """
    whole = [merged(list(part)) for part in parts]
    mass, mean = prod([one.mass for one in whole]), sum([one.mean for one in whole])
    all_of_it = Atom(mass, mean, sum([one.var for one in whole]))
    sums = {0.0: 1.0}
    for part in parts:
        own = [atom for atom in part if atom.var <= 0.0]
        then: dict[float, float] = {}
        for at, before in sums.items():
            for one in own:
                place = round(at + one.mean, 9)
                then[place] = then.get(place, 0.0) + before * one.mass
        sums = then
        if not sums or len(sums) > most:
            return [all_of_it]
    points = [Atom(own, at, 0.0) for at, own in sums.items() if own > 0.0]
    return [*points, *rest_of(all_of_it, points)]


def rest_of(whole: Atom, points: Sequence[Atom]) -> list[Atom]:
    """What of a distribution is in none of these points of it, as one atom."""
    left = whole.mass - sum([one.mass for one in points])
    if left <= 1e-12:
        return []
    mean = (whole.mass * whole.mean - sum([one.mass * one.mean for one in points])) / left
    square = whole.mass * (whole.var + whole.mean**2)
    square -= sum([one.mass * one.mean**2 for one in points])
    return [Atom(left, mean, max(square / left - mean * mean, 1e-9))]
