"""The probability that a rubric's contract is met, from what is believed about its items.

Items are independent here (what they share is in the bank of `beliefs`, which asks once for each
member). Yes/no items alone have few possible scores, so the distribution is exact; where anchored
items take part, one or two of them keep their shape and the others count by mean and variance, with
what is below a floor cut off. The arithmetic of criteria and groups is that of `core.judging.scorecard`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from math import inf, sqrt
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.belief.counting import (
    LEAST_MASS,
    Summand,
    coins,
    mass_of_points,
    rest_of,
    sum_of_parts,
    summed,
)
from honestone.core.belief.normal import Atom, below, cut, log_below, merged
from honestone.core.judging.rubric import Criterion, Key, Rubric

# Points above each bar that an anchored score is believed to need, so that common leniency costs
# less.
MARGIN: Final = 1.25
SOFT_OVERALL: Final = 3.0
# Points that make the value of a version smooth: how much of a bar one round can hope to move.
SOFT_CRITERION: Final = 4.0

_CLOSE: Final = 1e-6
_BINS: Final = 24
# Distributions of marks on a scale that are remembered.
_MOST_KNOWN: Final = 1_024
# Values of a sum of items on scales that are told apart.
_MOST_POINTS: Final = 200
# So many parts of a sum that are partly points are added up as they are.
_FEW_MIXED: Final = 2
# What has a bar of its own is worked out as finely as this part of the whole at least.
_NEAR_A_BAR: Final = 0.125


# What is believed about an item's answer: the probability of yes, or where it is marked on a scale
# (or code answered) the distribution of its points.
Odds: TypeAlias = float | tuple[Atom, ...]


class Moments(NamedTuple):
    mean: float
    var: float


class ContractNode(Struct, frozen=True):
    """A criterion: its share among its siblings is `weight`. `bar` is what its score has to reach,
    0 for none; above it for `required`. `sure` says that code alone answers it. Nodes with equal
    answers below them and an equal `shape` are distributed alike, whatever they weigh.
    """

    id: str
    weight: float
    bar: float
    required: bool
    negate: bool
    sure: bool
    keys: tuple[Key, ...] = ()
    children: tuple[ContractNode, ...] = ()

    @property
    def shape(self) -> Hashable:
        return self.bar, self.required, self.negate


class ContractModel:
    """A rubric, ready to be asked how probable it is that it is met. Scores are points, 0-100.

    `keeps_points`: what is believed to be at one value of a scale stays at it, however many items
    are added up, so that a bar at that value is reached.
    """

    def __init__(
        self, rubric: Rubric, margin: float = MARGIN, *, keeps_points: bool = False
    ) -> None:
        self._margin = margin
        self._keeps_points = keeps_points
        self.top = tuple(self._node(rubric, criterion, None) for criterion in rubric.criteria)
        weights = [max(node.weight, 0.0) for node in self.top]
        anchored = sum(
            w * _anchored_share(c) for w, c in zip(weights, rubric.criteria, strict=True)
        ) / sum(weights)
        self.threshold = self._aim(float(rubric.threshold * 100), anchored)
        bars = {node.id: node.bar for node in _all(self.top)}
        # Whether a bar is at the top of a scale, so that nothing is above it.
        self.wants_full_marks = (anchored > 0 and self.threshold >= 100.0) or any(
            bars[one.id] >= 100.0 and _anchored_share(one) > 0 for one, _ in rubric.walk()
        )
        numbers: dict[Hashable, int] = {}
        marked = {
            one.id
            for one, _ in rubric.walk()
            if any(item.check is not None or item.anchors is not None for item in one.items)
        }
        self._kinds = dict(_kinds_of(self.top, ""))
        self._marks_known: dict[Hashable, Sequence[Atom] | None] = {}
        self._marked = [node for node in leaves(self.top) if node.id in marked]
        self._shapes = {
            node.id: numbers.setdefault(node.shape, len(numbers)) for node in _all(self.top)
        }

    @classmethod
    def for_edits(cls, rubric: Rubric) -> ContractModel:
        """With the margin that edits aim for. Full marks can be reached where a bar asks for them."""
        found = cls(rubric)
        return cls(rubric, keeps_points=True) if found.wants_full_marks else found

    def _node(self, rubric: Rubric, criterion: Criterion, parent: str | None) -> ContractNode:
        judged = _anchored_share(criterion)
        return ContractNode(
            id=criterion.id,
            weight=float(criterion.weight),
            bar=self._aim(float(rubric.floor_of(criterion, parent) * 100), judged),
            required=criterion.required,
            negate=criterion.negate,
            sure=not any(item.check is None for one, _ in criterion.walk() for item in one.items),
            keys=tuple((criterion.id, item.id) for item in criterion.items),
            children=tuple(self._node(rubric, child, criterion.id) for child in criterion.children),
        )

    def _aim(self, bar: float, anchored: float) -> float:
        """The bar with the margin, which never asks for more than full marks."""
        return min(bar + self._margin * anchored, 100.0) if bar > 0 else 0.0

    # ------------------------------------------------------------------------------------------------
    # probability

    def probability(self, odds: Mapping[Key, Odds | None]) -> float:
        """The probability (0-1) that every bar is met; 0 where nothing applies."""
        shaped = self._shaped(odds)
        found = self._group(self.top, odds, shaped, 1.0)
        return (
            0.0
            if found is None
            else min(sum([_reaching(atom, self.threshold) for atom in found]), 1.0)
        )

    def kinds(self, odds: Mapping[Key, Odds | None]) -> list[list[Key]]:
        """The yes/no items that apply, those together of which only the number of yes matters."""
        kinds: dict[Hashable, list[Key]] = {}
        for key, kind in self._kinds.items():
            if isinstance(odds[key], float):
                kinds.setdefault(kind, []).append(key)
        return list(kinds.values())

    def applies(self, away: Collection[Key]) -> bool:
        """Whether anything that carries weight applies where these items do not."""
        return _apply(self.top, away)

    @property
    def has_bars(self) -> bool:
        """Whether anything but the score of the whole has a bar."""
        return any(node.bar > 0 or node.required for node in _all(self.top))

    @cached_property
    def floors(self) -> frozenset[float]:
        """The bars of criteria in points, as marks of an item would reach them."""
        return frozenset([100.0 - one.bar if one.negate else one.bar for one in _all(self.top)])

    def scores(self, odds: Mapping[Key, Odds | None]) -> list[Atom]:
        """What the whole scores, in points, where every bar is met: each score with its probability.
        Empty where nothing applies.
        """
        found = self._group(self.top, odds, self._shaped(odds), 1.0) or []
        inside = [_above(atom, self.threshold, strictly=False) for atom in found]
        parts = [part for atom in inside if atom.mass > 0 for part in _points_of(atom)]
        return parts if len(parts) <= len(found) else _near_as_one(parts)

    def _shaped(self, odds: Mapping[Key, Odds | None]) -> set[str]:
        """The criteria that keep the shape of their distribution: of anchored ones, two if there
        are no more, or the one that is wider than all others together. A sum of several that are
        alike is near enough to normal.
        """
        wide = []
        spread: dict[tuple[Atom, ...], float] = {}
        for node in self._marked:
            var = 0.0
            for key in node.keys:
                one = odds[key]
                if isinstance(one, tuple):
                    if one not in spread:
                        spread[one] = merged(list(one)).var
                    var += spread[one]
            if var > 0:
                wide.append((var * (node.weight / len(node.keys)) ** 2, node.id))
        wide.sort()
        if len(wide) > 2:
            wide = wide[-1:] if 2 * wide[-1][0] > sum([var for var, _ in wide]) else []
        return {name for _, name in wide}

    def _group(
        self,
        nodes: Sequence[ContractNode],
        odds: Mapping[Key, Odds | None],
        shaped: set[str],
        share: float,
    ) -> list[Atom] | None:
        """The distribution of a group's score without what is below a bar of its members; None:
        nothing applies. `share`: of the whole, 0-1, where everything applies.
        """
        counts: dict[tuple[Hashable, float], int] = {}
        heaviest: dict[Hashable, ContractNode] = {}
        for node in nodes:
            kind = self._kind(node, odds, shaped)
            counts[kind, node.weight] = counts.get((kind, node.weight), 0) + 1
            if kind not in heaviest or node.weight > heaviest[kind].weight:
                heaviest[kind] = node
        weights = sum([max(node.weight, 0.0) for node in nodes])
        found = {
            kind: self._distribution(node, odds, shaped, share * max(node.weight, 0.0) / weights)
            for kind, node in heaviest.items()
        }
        parts = [
            (weight, atoms, count)
            for (kind, weight), count in counts.items()
            if (atoms := found[kind]) is not None
        ]
        total = sum([count * weight for weight, _, count in parts if weight > 0])
        if total <= 0:
            return None
        scaled = [
            Summand([Atom(w, part * m, part * part * v) for w, m, v in atoms], count)
            for weight, atoms, count in parts
            for part in (weight / total,)
        ]
        mixed = [_is_mixed(atoms) for atoms, _ in scaled] if self._keeps_points else []
        if sum([one.times for one, own in zip(scaled, mixed, strict=False) if own]) > _FEW_MIXED:
            smooth = [
                Summand([merged(list(one.atoms))], one.times) if own else one
                for one, own in zip(scaled, mixed, strict=True)
            ]
            sums = _with_points(summed(smooth, share=share), scaled, share)
        else:
            sums = summed(scaled, share=share)
        if any(weight < 0 for weight, _, _ in parts):
            sums = [Atom(w, min(max(m, 0.0), 100.0), v) for w, m, v in sums]
        return sums

    def _kind(
        self, node: ContractNode, odds: Mapping[Key, Odds | None], shaped: set[str]
    ) -> Hashable:
        """Equal for nodes that are distributed alike."""
        if node.children:
            members: dict[Hashable, int] = {}
            for child in node.children:
                kind = self._kind(child, odds, shaped), child.weight
                members[kind] = members.get(kind, 0) + 1
            return self._shapes[node.id], frozenset(members.items())
        found = tuple([odds[key] for key in node.keys])
        return self._shapes[node.id], found, node.id if node.id in shaped else None

    def _distribution(
        self,
        node: ContractNode,
        odds: Mapping[Key, Odds | None],
        shaped: set[str],
        share: float,
    ) -> Sequence[Atom] | None:
        is_shaped = node.id in shaped
        if node.children:
            fine = max(share, _NEAR_A_BAR) if node.bar > 0 else share
            atoms = self._group(node.children, odds, shaped, fine)
            return None if atoms is None else self._over_bars(node, atoms, is_shaped)
        found = tuple([odds[key] for key in node.keys])
        if all(one is None or isinstance(one, float) for one in found):
            return self._of_items(node, found, is_shaped)
        # Marks on a scale are dear, and many an outcome of the other items leaves them as they are.
        place = node.id, found, is_shaped
        if place not in self._marks_known:
            if len(self._marks_known) >= _MOST_KNOWN:
                self._marks_known.clear()
            self._marks_known[place] = self._of_items(node, found, is_shaped)
        return self._marks_known[place]

    def _of_items(
        self, node: ContractNode, found: Sequence[Odds | None], is_shaped: bool
    ) -> list[Atom] | None:
        atoms = _leaf(found, self._keeps_points)
        return None if atoms is None else self._over_bars(node, atoms, is_shaped)

    def _over_bars(self, node: ContractNode, atoms: list[Atom], is_shaped: bool) -> list[Atom]:
        """What is not below the bar of a criterion."""
        if node.negate:
            atoms = [Atom(w, 100.0 - m, v) for w, m, v in atoms]
        if all(atom.var <= 0 for atom in atoms):
            return _points_above(atoms, node.bar, node.required)
        if node.keys:
            atoms = [part for atom in atoms for part in _capped(atom)]
        if is_shaped:
            atoms = [part for atom in atoms for part in _bins(atom, node.bar)]
        if node.bar > 0 or node.required:
            atoms = [
                atom
                for one in atoms
                if (atom := _above(one, node.bar, node.required)).mass > LEAST_MASS
            ]
        if any(v > 0 for _, _, v in atoms) and not is_shaped and not node.children:
            atoms = _apart(atoms) if self._keeps_points else [merged(atoms)]
        return atoms

    def likeliest(
        self, odds: Mapping[Key, Odds | None], bad: Collection[Key]
    ) -> dict[Key, Odds | None]:
        """What is true of yes/no items if the contract is met, as far as a guess goes: each as it
        probably is, and the likeliest of the unmet ones met until every bar is reached. Yes is
        unmet for `bad` ones.
        """
        met = dict(odds)
        unmet: list[tuple[float, Key]] = []
        for key, one in odds.items():
            if isinstance(one, float):
                met[key] = 1.0 if one >= 0.5 else 0.0
                if (one >= 0.5) == (key in bad):
                    unmet.append((abs(one - 0.5), key))
        for _, key in sorted(unmet):
            if self.probability(met) > 0.5:
                break
            met[key] = 0.0 if key in bad else 1.0
        return met

    # ------------------------------------------------------------------------------------------------
    # value

    def value(self, moments: Mapping[str, Moments], overall: Moments) -> float:
        """How near a version is to the contract, as the sum of the logarithms of the probability of
        each bar, made smooth: 0 is certainty, and it has a slope everywhere.
        """
        total = _soft(overall, self.threshold, SOFT_OVERALL) if self.threshold > 0 else 0.0
        for node in _all(self.top):
            if (node.bar > 0 or node.required) and node.id in moments:
                total += _soft(moments[node.id], node.bar or _CLOSE, SOFT_CRITERION)
        return total

    def moments(self, items: Mapping[Key, Moments | None]) -> tuple[dict[str, Moments], Moments]:
        """Mean and variance of each criterion that applies, and of the whole, from those of the
        items.
        """
        moments: dict[str, Moments] = {}
        overall = self._moments(self.top, items, moments)
        return moments, overall or Moments(0.0, 0.0)

    def _moments(
        self,
        nodes: Sequence[ContractNode],
        items: Mapping[Key, Moments | None],
        found: dict[str, Moments],
    ) -> Moments | None:
        for node in nodes:
            own = (
                self._moments(node.children, items, found)
                if node.children
                else _leaf_moments(node, items)
            )
            if own is not None:
                found[node.id] = Moments(100.0 - own.mean, own.var) if node.negate else own
        return _weighted(nodes, found)

    def moved(
        self, criteria: Mapping[str, Moments], by: Mapping[str, float]
    ) -> tuple[dict[str, Moments], Moments]:
        """The moments after criteria with items moved by so many points of their own."""
        moved: dict[str, Moments] = {}
        overall = self._moved(self.top, criteria, by, moved)
        return moved, overall or Moments(0.0, 0.0)

    def _moved(
        self,
        nodes: Sequence[ContractNode],
        old: Mapping[str, Moments],
        by: Mapping[str, float],
        found: dict[str, Moments],
    ) -> Moments | None:
        for node in nodes:
            if node.id not in old:
                continue
            if node.children:
                own = self._moved(node.children, old, by, found) or old[node.id]
                found[node.id] = Moments(100.0 - own.mean, own.var) if node.negate else own
            else:
                mean, var = old[node.id]
                found[node.id] = Moments(mean + by.get(node.id, 0.0), var)
        return _weighted(nodes, found)


def _weighted(nodes: Sequence[ContractNode], found: Mapping[str, Moments]) -> Moments | None:
    total = mean = var = 0.0
    for node in nodes:
        if node.id in found:
            own = found[node.id]
            total += max(node.weight, 0.0)
            mean += node.weight * own.mean
            var += node.weight * node.weight * own.var
    return Moments(mean / total, var / (total * total)) if total > 0 else None


def _anchored_share(criterion: Criterion) -> float:
    """Which part of a criterion's items judges mark on a scale."""
    items = [item for one, _ in criterion.walk() for item in one.items]
    return sum(item.anchors is not None for item in items) / len(items)


def _apply(nodes: Sequence[ContractNode], away: Collection[Key]) -> bool:
    return any(
        node.weight > 0
        and (_apply(node.children, away) or any(key not in away for key in node.keys))
        for node in nodes
    )


def _all(nodes: Sequence[ContractNode]) -> list[ContractNode]:
    return [one for node in nodes for one in (node, *_all(node.children))]


def leaves(nodes: Sequence[ContractNode]) -> list[ContractNode]:
    """The criteria that have items of their own."""
    return [node for node in _all(nodes) if node.keys]


def _soft(moments: Moments, bar: float, width: float) -> float:
    return log_below((moments.mean - bar) / sqrt(moments.var + width * width))


def _leaf_moments(node: ContractNode, items: Mapping[Key, Moments | None]) -> Moments | None:
    known = [one for key in node.keys if (one := items[key]) is not None]
    count = len(known)
    if not count:
        return None
    return Moments(sum([m for m, _ in known]) / count, sum([v for _, v in known]) / (count * count))


def _is_mixed(atoms: Sequence[Atom]) -> bool:
    """Whether some of it is at points, and some is not."""
    return any(v > 0 for _, _, v in atoms) and any(v <= 0 for _, _, v in atoms)


def _apart(atoms: Sequence[Atom]) -> list[Atom]:
    """Points as they are, each value once, and all else as one atom."""
    points: dict[float, float] = {}
    for mass, mean, var in atoms:
        if var <= 0:
            points[mean] = points.get(mean, 0.0) + mass
    rest = merged([one for one in atoms if one.var > 0])
    return [*[Atom(mass, mean, 0.0) for mean, mass in points.items()], rest]


def _with_points(sums: list[Atom], parts: Sequence[Summand], share: float) -> list[Atom]:
    """A sum of parts that are partly points: what comes of points alone is at its value, and the
    rest is spread as the sum is, around its own mean.
    """
    alone = [Summand([one for one in atoms if one.var <= 0], count) for atoms, count in parts]
    if not sums or not all(atoms for atoms, _ in alone):
        return sums
    is_likely = mass_of_points([one for one, count in alone for _ in range(count)]) > LEAST_MASS
    sum_of_alone = summed(alone, share=share) if is_likely else []
    points = [one for one in sum_of_alone if one.mass > LEAST_MASS]
    whole = merged(sums)
    rest = rest_of(whole, points)
    if not rest or whole.var <= 0:
        return points
    (own,) = rest
    narrower = sqrt(own.var / whole.var)
    return [
        *points,
        *[
            Atom(
                mass * own.mass / whole.mass,
                own.mean + narrower * (mean - whole.mean),
                narrower * narrower * var,
            )
            for mass, mean, var in sums
        ],
    ]


def _kinds_of(nodes: Sequence[ContractNode], group: str) -> Iterator[tuple[Key, Hashable]]:
    """Each item with what its yes counts as: one of a list, or one of equal criteria of a group."""
    for node in nodes:
        kind = node.id if len(node.keys) > 1 else (group, node.weight, node.shape)
        yield from [(key, kind) for key in node.keys]
        yield from _kinds_of(node.children, node.id)


def _leaf(found: Sequence[Odds | None], keeps_points: bool = False) -> list[Atom] | None:
    """The mean of a criterion's items: every number of yes exactly, and the anchored ones as one
    sum on top.
    """
    alike: dict[float, int] = {}
    marked: list[Sequence[Atom]] = []
    size = 0
    for one in found:
        if one is None:
            continue
        size += 1
        if isinstance(one, float):
            alike[one] = alike.get(one, 0) + 1
        else:
            marked.append(one)
    if not size:
        return None
    first, counts = coins(alike)
    if not marked:
        return [Atom(p, 100.0 * k / size, 0.0) for k, p in enumerate(counts, first)]
    rest = marked[0]
    if len(marked) > 1 and keeps_points:
        rest = sum_of_parts(marked, _MOST_POINTS)
    elif len(marked) > 1:
        ones = [merged(list(atoms)) for atoms in marked]
        rest = [Atom(1.0, sum([one.mean for one in ones]), sum([one.var for one in ones]))]
    return [
        Atom(p * w, (100.0 * k + m) / size, v / (size * size))
        for k, p in enumerate(counts, first)
        for w, m, v in rest
        if p * w > 1e-9
    ]


def _capped(atom: Atom) -> list[Atom]:
    """What is believed above full marks is at full marks."""
    if atom.var <= 0 or atom.mean + 2.5 * sqrt(atom.var) < 100.0:
        return [atom]
    inside = cut(atom, -inf, 100.0)
    return [one for one in (inside, Atom(atom.mass - inside.mass, 100.0, 0.0)) if one.mass > 0]


def _points_above(atoms: list[Atom], bar: float, strictly: bool) -> list[Atom]:
    if bar <= 0 and not strictly:
        return atoms
    least = max(bar - _CLOSE, _CLOSE) if strictly else bar - _CLOSE
    return [one for one in atoms if one[1] >= least and one[0] > LEAST_MASS]


def _above(atom: Atom, bar: float, strictly: bool) -> Atom:
    if atom.var <= 0:
        is_met = bool(_points_above([atom], bar, strictly))
        return atom if is_met else Atom(0.0, atom.mean, 0.0)
    if (bar - atom.mean) ** 2 > 36.0 * atom.var:
        return atom if atom.mean > bar else Atom(0.0, atom.mean, 0.0)
    return cut(atom, max(bar, _CLOSE if strictly else bar), inf)


def _reaching(atom: Atom, bar: float) -> float:
    mass, mean, var = atom
    if var <= 1e-12:
        return mass if mean >= bar - _CLOSE else 0.0
    return mass * below((mean - bar) / sqrt(var))


def _points_of(atom: Atom) -> list[Atom]:
    """An atom as single points."""
    if atom.var <= 0:
        return [atom]
    return [Atom(mass, mean, 0.0) for part in _capped(atom) for mass, mean, _ in _bins(part, 0.0)]


def _near_as_one(points: Sequence[Atom]) -> list[Atom]:
    """Points of answers on a scale, those within a tenth as one: nothing tells them apart."""
    masses: dict[int, float] = {}
    sums: dict[int, float] = {}
    for mass, mean, _ in points:
        place = round(10.0 * mean)
        masses[place] = masses.get(place, 0.0) + mass
        sums[place] = sums.get(place, 0.0) + mass * mean
    return [Atom(mass, sums[place] / mass, 0.0) for place, mass in masses.items()]


def _bins(atom: Atom, bar: float) -> list[Atom]:
    """An atom from the bar up, in slices that are narrow enough for cuts further up."""
    sd = sqrt(atom.var)
    low, high = max(bar, atom.mean - 4.0 * sd), atom.mean + 4.0 * sd
    if sd == 0 or low >= high:
        return [atom]
    width = (high - low) / _BINS
    edges = [low + width * i for i in range(_BINS)]
    return [
        one
        for a, b in zip(edges, [*edges[1:], inf], strict=True)
        if (one := cut(atom, a, b)).mass > 0
    ]
