"""Judges that were measured before: in which runs, and what is not as it was then."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct

from honestone.core.events import Started
from honestone.core.judging.contract import ContractDocument, Identity, canonical
from honestone.ports import Store


class Before(Struct, frozen=True, kw_only=True):
    """A run in which a judge was measured, its name there, and what has `changed` since."""

    run: str
    judge: str
    changed: tuple[str, ...]


def judges_of(contract: ContractDocument) -> list[Identity]:
    judges = contract.get("judges")
    return list(judges) if isinstance(judges, list | tuple) else []


def measured_before(
    store: Store,
    kinds: Collection[tuple[str | None, str | None]],
    now: ContractDocument,
    judge: Identity,
) -> Iterator[Before]:
    """Newest first. `kinds`: the kinds of runs and their results that count; `now`: the contract
    that the judge is in. A judge of the same name counts too: it may have changed.
    """
    for info in store.runs():
        if (info.kind, info.result) not in kinds:
            continue
        first = next(store.iter_events(info.id))
        if isinstance(first, Started):
            for then in judges_of(first.contract):
                changed = _changed(first.contract, then, now, judge)
                if (
                    not changed
                    or then.get("id") == judge.get("id")
                    or _essence(then) == _essence(judge)
                ):
                    yield Before(run=info.id, judge=str(then.get("id")), changed=changed)


F = TypeVar("F")


def newest_that_holds(
    runs: Iterable[Before], figures: Callable[[Before], F | None]
) -> tuple[Before, F] | str | None:
    """The newest run since which nothing changed, with its figures of the judge. Otherwise what
    changed since the newest one, in words; None where no run has figures of it.
    """
    stale = None
    for before in runs:
        found = figures(before)
        if found is not None and not before.changed:
            return before, found
        if found is not None and stale is None:
            stale = f"{' and '.join(before.changed)} changed since (run {before.run})"
    return stale


def _essence(judge: Identity) -> str:
    """Who a judge is, whatever it is called and whichever look it takes."""
    return canonical({name: value for name, value in judge.items() if name not in ("id", "draw")})


def _asked_by(contract: ContractDocument) -> object:
    """The rubric without who may decide, which says nothing of what is asked."""
    rubric = contract.get("rubric")
    if not isinstance(rubric, Mapping):
        return rubric
    return {
        name: value
        for name, value in rubric.items()
        if name not in ("require_calibration", "require_tier", "sure")
    }


def _changed(
    before: ContractDocument, then: Identity, now: ContractDocument, judge: Identity
) -> tuple[str, ...]:
    parts = {
        "the rubric": canonical(_asked_by(before)) != canonical(_asked_by(now)),
        "the judge": _essence(then) != _essence(judge),
        "the options of judging": canonical(before.get("options")) != canonical(now.get("options")),
    }
    return tuple(name for name, is_another in parts.items() if is_another)
