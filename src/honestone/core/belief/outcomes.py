"""P(contract met) by what a rubric's yes/no items may come to.

Several assumptions about yes/no items meet several about marks on a scale, and under each pair of
them the contract would have to be worked out, which is dear where marks on a scale take part. But
once it is given how many yes/no items of each kind are yes, it makes no difference what was assumed
about them. So the contract is worked out once for each such outcome, and what is assumed only says
how probable the outcome is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, product
from math import prod
from typing import Final, TypeAlias

from honestone.core.belief.contract import ContractModel, Odds
from honestone.core.belief.counting import coins, counts_of
from honestone.core.judging.rubric import Key

# More outcomes than this cost more than they save. Eight items that all differ have half as many.
_MOST: Final = 512
# Less probable outcomes do not count.
_LEAST: Final = 1e-7
# Pairs of assumptions that are less probable than this share of the likeliest do not count.
_LEAST_PAIR: Final = 1e-3
# Probabilities that differ by less are equal.
_EQUAL: Final = 1e-9

# How many items of each kind are yes.
Outcome: TypeAlias = tuple[int, ...]
# P(yes) of the items of each kind.
_Rows: TypeAlias = tuple[tuple[float, ...], ...]


class Outcomes:
    """Ask `chance`. `scored`: what is believed of every item under each assumption about marks on a
    scale, and how probable that assumption is; what is said there of yes/no items does not count.
    """

    def __init__(
        self, contract: ContractModel, scored: Sequence[tuple[float, Mapping[Key, Odds | None]]]
    ) -> None:
        self._contract = contract
        self._scored = scored
        self._kinds = contract.kinds(scored[0][1])
        self._known: dict[Outcome, float] = {}

    def chance(self, members: Iterable[tuple[float, Mapping[Key, Odds | None]]]) -> float:
        """P(contract met) over all assumptions about yes/no items: each with its probability, and
        with P(yes) of each of them if it is so.
        """
        # Many assumptions say the same of every item.
        alike: dict[_Rows, float] = {}
        for weight, odds in members:
            rows = tuple([tuple([_yes(odds[key]) for key in keys]) for keys in self._kinds])
            alike[rows] = alike.get(rows, 0.0) + weight
        are_few = prod([len(keys) + 1 for keys in self._kinds]) <= _MOST
        return self._by_outcomes(alike) if are_few else self._by_pairs(alike)

    def _by_outcomes(self, members: Mapping[_Rows, float]) -> float:
        found: dict[Outcome, float] = {}
        for rows, weight in members.items():
            for outcome, share in _every_outcome(rows):
                found[outcome] = found.get(outcome, 0.0) + weight * share
        likely = {outcome: share for outcome, share in found.items() if share > _LEAST}
        self._know(likely)
        met = sum([share * self._known[outcome] for outcome, share in likely.items()])
        # Probabilities of many assumptions do not sum to 1 exactly, and what code answers is exact.
        return met / sum(members.values())

    def _by_pairs(self, members: Mapping[_Rows, float]) -> float:
        pairs = [
            (weight * share, rows, odds)
            for (rows, weight), (share, odds) in product(members.items(), self._scored)
        ]
        least = _LEAST_PAIR * max([weight for weight, _, _ in pairs])
        total = met = 0.0
        for weight, rows, odds in pairs:
            if weight >= least:
                total += weight
                met += weight * self._contract.probability({**odds, **self._by_key(rows)})
        return met / total

    def _know(self, outcomes: Iterable[Outcome]) -> None:
        """Works these out, row by row: a row differs in the number of the largest kind alone."""
        sizes = [len(keys) for keys in self._kinds]
        axis = sizes.index(max(sizes)) if sizes else 0
        rows: dict[tuple[Outcome, Outcome], list[int]] = {}
        for outcome in outcomes:
            place = outcome[:axis], outcome[axis + 1 :]
            rows.setdefault(place, []).extend(outcome[axis : axis + 1])
        for (before, after), counts in rows.items():
            between = range(min(counts), max(counts) + 1) if counts else ()
            self._know_row([(*before, count, *after) for count in between] or [()])

    def _know_row(self, row: Sequence[Outcome]) -> None:
        """More of a kind only ever help, or only ever harm. So what is between two outcomes that pass
        equally often does as they do.
        """
        first, last = self._if(row[0]), self._if(row[-1])
        if len(row) <= 2:
            return
        if abs(first - last) < _EQUAL:
            self._known |= dict.fromkeys(row, first)
            return
        middle = len(row) // 2
        self._know_row(row[: middle + 1])
        self._know_row(row[middle:])

    def _if(self, outcome: Outcome) -> float:
        if outcome not in self._known:
            counted = zip(self._kinds, outcome, strict=True)
            yes = self._by_key([1.0] * n + [0.0] * (len(keys) - n) for keys, n in counted)
            self._known[outcome] = sum(
                [w * self._contract.probability({**odds, **yes}) for w, odds in self._scored]
            )
        return self._known[outcome]

    def _by_key(self, rows: Iterable[Sequence[float]]) -> dict[Key, float]:
        return dict(zip(chain(*self._kinds), chain(*rows), strict=True))


def _yes(odds: Odds | None) -> float:
    assert isinstance(odds, float)
    return odds


def _every_outcome(rows: _Rows) -> list[tuple[Outcome, float]]:
    """Every number of yes of each kind, with its probability."""
    found: list[tuple[Outcome, float]] = [((), 1.0)]
    for chances in rows:
        first, shares = coins(dict(counts_of(chances)))
        found = [
            ((*outcome, count), so_far * share)
            for outcome, so_far in found
            for count, share in enumerate(shares, first)
        ]
    return found
