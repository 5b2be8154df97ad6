"""Choosing a part of many cases so that each kind of them keeps its share. The same seed chooses
the same.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush


def shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """How many to take of each stratum: in proportion to its size by largest remainders, one at
    least as far as `count` reaches (the largest strata first), never more than there are.
    """
    whole = sum(sizes.values())
    count = min(count, whole)
    by_size = sorted(sizes, key=lambda name: (-sizes[name], name))
    taken = {name: int(at < count) for at, name in enumerate(by_size)}
    over = [
        (taken[name] - Fraction(sizes[name] * count, whole), at)
        for at, name in enumerate(by_size)
        if taken[name] < sizes[name]
    ]
    heapify(over)
    for _ in range(
        count - sum(taken.values())
    ):  # one more to the stratum that is furthest below its share
        by, at = heappop(over)
        taken[by_size[at]] += 1
        if taken[by_size[at]] < sizes[by_size[at]]:
            heappush(over, (by + 1, at))
    return taken


def stratified(names: Sequence[str], strata: Sequence[str], count: int, *, seed: int) -> list[int]:
    """The indexes chosen, in their order. `names` name what is chosen from, `strata` the stratum of
    each: within one, those come first whose name and seed have the lowest hash, so another name
    more moves few others.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for index, stratum in enumerate(strata):
        groups[stratum].append(index)
    chosen: list[int] = []
    for stratum, most in shares(
        {name: len(group) for name, group in groups.items()}, count
    ).items():
        chosen += sorted(groups[stratum], key=lambda index: _rank(seed, names[index]))[:most]
    return sorted(chosen)


def _rank(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{name}".encode("utf-8", "surrogatepass")).digest()
