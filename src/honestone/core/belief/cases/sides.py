"""How probable it is that more cases of a suite truly pass on one side than on another."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import MappingProxyType
from typing import Final

_TAIL: Final = 1e-12


def better_than(
    now: Mapping[str, float],
    before: Mapping[str, float],
    texts_now: Mapping[str, Hashable] = MappingProxyType({}),
    texts_before: Mapping[str, Hashable] = MappingProxyType({}),
) -> tuple[float, float]:
    """P(more of the shared cases truly pass now than before), and P(fewer do). `now` and `before` are
    by case the probability that it passes, the others the name of its text (`CaseBelief.name`).

    A case whose text is the same on both sides is neither better nor worse. Cases that share a text on
    either side are one coin there; those that share it on one side only are taken to be independent.
    """
    found = {0: 1.0}
    for id, worth in _moved(sorted(now.keys() & before.keys()), texts_now, texts_before).items():
        up, down = now[id] * (1.0 - before[id]), before[id] * (1.0 - now[id])
        moved: dict[int, float] = {}
        for by, chance in found.items():
            for step, share in ((worth, up), (-worth, down), (0, 1.0 - up - down)):
                if share * chance > _TAIL:
                    moved[by + step] = moved.get(by + step, 0.0) + chance * share
        found = moved
    return (
        sum([chance for by, chance in found.items() if by > 0]),
        sum([chance for by, chance in found.items() if by < 0]),
    )


def _moved(
    ids: Iterable[str], now: Mapping[str, Hashable], before: Mapping[str, Hashable]
) -> dict[str, int]:
    """One case of each pair of texts that differ, in the order of the ids (sums of floats depend on
    it), with how many cases have that pair.
    """
    first: dict[Hashable, str] = {}
    found: dict[str, int] = {}
    for id in ids:
        new, old = now.get(id), before.get(id)
        if new is None or old is None:
            found[id] = 1
        elif new != old:
            one = first.setdefault((new, old), id)
            found[one] = found.get(one, 0) + 1
    return found
