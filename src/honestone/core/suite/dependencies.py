"""Cases that wait for others: which names are wrong, and an order in which each comes after those
it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter


def wrong_dependencies(waits_for: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """The id of a case and what is wrong with what it waits for: a case that is not there, or that
    waits for it in turn.
    """
    for id, names in waits_for.items():
        for name in names:
            if name not in waits_for:
                yield id, f"it depends on `{name}`, but the suite has no such case"
    circle = _circle(waits_for)
    if circle:
        yield (
            circle[0],
            f"these cases wait for one another: {', '.join(f'`{id}`' for id in circle)}",
        )


def _circle(waits_for: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Cases that wait for one another, each named once; empty where there are none."""
    try:
        TopologicalSorter(waits_for).prepare()
    except CycleError as error:
        return tuple(dict.fromkeys(error.args[1]))
    return ()


def in_order(waits_for: Mapping[str, Sequence[str]], ids: Iterable[str]) -> list[str]:
    """The ids, each after those of them that it waits for, else as they are given. Raises
    ValueError for a circle.
    """
    known = list(ids)
    among = set(known)
    sorter = TopologicalSorter(
        {id: [one for one in waits_for.get(id, ()) if one in among] for id in known}
    )
    places = {id: number for number, id in enumerate(known)}
    sorter.prepare()
    ordered: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=places.__getitem__)
        ordered += ready
        sorter.done(*ready)
    return ordered


def with_needed(waits_for: Mapping[str, Sequence[str]], ids: Iterable[str]) -> list[str]:
    """The ids as they are given, each of them right after those that it waits for, of those in
    `waits_for`. They form a graph without a circle.
    """
    ordered: dict[str, None] = {}
    for id in ids:
        under_way = [id]
        while under_way:
            one = under_way[-1]
            needed = [
                name for name in waits_for.get(one, ()) if name in waits_for and name not in ordered
            ]
            if needed:
                under_way += reversed(needed)
            else:
                ordered[under_way.pop()] = None
    return list(ordered)
