"""Events that several tasks append to runs at about the same time: one transaction a run, whoever wished for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from honestone.core.events import Event
    from honestone.ports import Recordable, Store

Lost: TypeAlias = "Mapping[int, Event | None]"
"""Events that were not kept, by their place among those of a wish, with what is on record instead."""
_NONE: Lost = {}


class AppendWish(NamedTuple):
    """Events that a task appends to a run."""

    run: str
    events: Sequence[Recordable]

    def lost(self, found: Mapping[int, Lost]) -> Lost:
        """Its part of what `append_wishes` returned."""
        return found.get(id(self), _NONE)


def append_wishes(store: Store, wishes: Sequence[AppendWish]) -> Mapping[int, Lost]:
    """Appends all in order. What was lost, by the `id` of the wish; wishes that lost nothing are left out."""
    found: dict[int, Lost] = {}
    runs = {wish.run for wish in wishes}
    for run in runs:
        some = wishes if len(runs) == 1 else [wish for wish in wishes if wish.run == run]
        events = [event for wish in some for event in wish.events]
        lost = _append(store, run, events)
        if lost:
            start = 0
            for wish in some:
                end = start + len(wish.events)
                found[id(wish)] = {place - start: event for place, event in lost.items() if start <= place < end}
                start = end
    return found


def _append(store: Store, run: str, events: Sequence[Recordable]) -> Lost:
    """One statement is a transaction of its own."""
    if len(events) > 1:
        return store.append_many(run, events)
    return _NONE if (other := store.append(run, events[0])) is None else {0: other}
