"""Deleting runs: which may go, and what they leave behind. A run goes with those that belong to it,
which the list shows as one row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final, TypeAlias

from msgspec import Struct

from honestone.app.history import find_run
from honestone.app.runs.run_list import chosen_runs, figures_of_run, parts_of, without_parts
from honestone.app.workspace import Workspace
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import TableStarted
from honestone.core.json_value import late_pattern
from honestone.core.live import state_now
from honestone.core.record.runs import COLUMN, LAST
from honestone.ports import DeletingStore, RunInfo

_RUN: Final = late_pattern(rb'"([0-9A-HJKMNP-TV-Z]{26})"')
# Ids of one year begin alike: a shorter name, or an empty variable, would mean whatever is there.
_SHORTEST_NAME: Final = 6
# A run with those that belong to it: the columns of a table, the splits of an improvement.
_Whole: TypeAlias = tuple[RunInfo, ...]
_CONTENT: Final = late_pattern(rb"(?:version:)?sha256:[0-9a-f]{64}")


class DeletionRequest(Struct, frozen=True, kw_only=True):
    """Runs by name, or by a rule: those of this project that are older than so many days, those
    beyond the newest so many; with both rules, those that both mean.
    `shown`: the runs that a person was shown and agreed to; None where no person was asked.
    """

    names: tuple[str, ...] = ()
    older_than: float | None = None
    keep: int | None = None
    shown: frozenset[str] | None = None


class RetainedRun(Struct, frozen=True, kw_only=True):
    """A run that is not deleted, and why."""

    run: str
    why: str


class Deletion(Struct, frozen=True, kw_only=True):
    """What is to be deleted: runs, each followed by those inside it, and content that no other run
    mentions, by digest.
    `inside`: which of the runs belong to another of them. `retained` are the runs that were asked
    for and may not go.
    """

    runs: tuple[RunInfo, ...]
    retained: tuple[RetainedRun, ...]
    content: tuple[str, ...]
    inside: frozenset[str] = frozenset()


def plan_deletion(workspace: Workspace, request: DeletionRequest) -> Deletion:
    """Deletes nothing. Raises UsageError for a request without a run, StoreError for a name that
    means none.
    """
    with workspace.open_store() as store:
        if not isinstance(store, DeletingStore):
            raise UsageError("this store deletes no runs", hint="it belongs to another package")
        wholes = _asked(store, request)
        inside = frozenset(part.id for whole in wholes for part in whole[1:])
        # What is named beside the run that it is inside of has no place of its own.
        asked = tuple(
            {run.id: run for whole in wholes if whole[0].id not in inside for run in whole}.values()
        )
        working = {
            run.id for run in store.runs() if run.finished is None and _is_running(store, run)
        }
        busy = [run.id for run in asked if run.id in working]
        why = dict.fromkeys(busy, "it is under way; `honestone runs cancel` or Ctrl-C ends it")
        if request.shown is not None:
            unseen = [run.id for run in asked if run.id not in request.shown and run.id not in why]
            why |= dict.fromkeys(unseen, "it began after you were asked")
        if len(why) == len(asked):
            return Deletion(runs=(), retained=_retained(why), content=())
        mentions = _Mentions(store, {run.id for run in asked})
        going = {run.id for run in asked} - set(why)
        while held := _divided(wholes, going) or _built_on(mentions.held(going)):
            why |= held
            going -= set(held)
        # A run that is under way may have content on record that none of its events names yet.
        content = () if working else mentions.content_of(store, going)
        return Deletion(
            runs=tuple(run for run in asked if run.id in going),
            retained=_retained(why),
            content=content,
            inside=inside & going,
        )


def delete_runs(workspace: Workspace, deletion: Deletion) -> int:
    """The bytes that were given back. Of each run it stays on record that it was deleted."""
    if not deletion.runs:
        return 0
    with workspace.open_store() as store:
        assert isinstance(store, DeletingStore)
        return store.delete_runs(deletion.runs, deletion.content)


def _retained(why: Mapping[str, str]) -> tuple[RetainedRun, ...]:
    return tuple(RetainedRun(run=run, why=words) for run, words in why.items())


def _built_on(held: Mapping[str, str]) -> dict[str, str]:
    return {run: f"run {other} builds on it" for run, other in held.items()}


def _divided(wholes: Iterable[_Whole], going: Collection[str]) -> dict[str, str]:
    """Why what belongs together stays: some of it does."""
    found: dict[str, str] = {}
    for whole in wholes:
        stays = next((run.id for run in whole if run.id not in going), None)
        if stays is not None:
            found |= {
                run.id: f"run {stays}, which belongs with it, is kept"
                for run in whole
                if run.id in going
            }
    return found


def _wholes(store: DeletingStore, every: Sequence[RunInfo]) -> list[_Whole]:
    """Newest first a run for each row of the list, followed by those that belong to it, and each
    column that no table names: the command was killed before its table began.
    """
    figures = cache(lambda run: figures_of_run(store, run))
    by_id = {run.id: run for run in every}
    listed = chosen_runs(every, None, None, figures)
    splits = parts_of(listed, listed, figures)
    rows = [
        (run, *splits.get(run.id, ()), *_columns_of(store, run, by_id))
        for run in without_parts(listed, splits)
    ]
    named = {run.id for whole in rows for run in whole}
    alone = [(run,) for run in every if run.kind == COLUMN and run.id not in named]
    return sorted([*rows, *alone], key=lambda whole: whole[0].id, reverse=True)


def _columns_of(
    store: DeletingStore, run: RunInfo, by_id: Mapping[str, RunInfo]
) -> Iterator[RunInfo]:
    """None of a table that cannot be read: a damaged run is one that a person deletes."""
    if run.kind != TableStarted.kind:
        return
    with suppress(StoreError):
        first = next(store.iter_events(run.id), None)
        if isinstance(first, TableStarted):
            yield from (by_id[one.run] for one in first.columns if one.run in by_id)


def _beyond(wholes: Sequence[_Whole], keep: int) -> list[_Whole]:
    """Those older than the newest `keep` rows. A column without a table does not count as a row."""
    newest = [whole[0].id for whole in wholes if whole[0].kind != COLUMN][:keep]
    return [whole for whole in wholes if not newest or whole[0].id < newest[-1]]


def _asked(store: DeletingStore, request: DeletionRequest) -> list[_Whole]:
    by_rule = request.older_than is not None or request.keep is not None
    if bool(request.names) == by_rule:
        raise UsageError(
            "name runs, or say which with --older-than and --keep",
            hint="honestone runs delete RUN..., or --older-than DAYS, or --keep N",
        )
    if request.names:
        for name in request.names:
            if len(name) < _SHORTEST_NAME and name not in LAST:
                raise UsageError(
                    f"`{name}` is too short to delete a run by: {_SHORTEST_NAME} letters of its id"
                    " at least",
                    hint="honestone runs lists them",
                )
        named = [find_run(store, name) for name in request.names]
        known = {whole[0].id: whole for whole in _wholes(store, store.runs())}
        return [known.get(run.id, (run,)) for run in named]
    beyond = _beyond(_wholes(store, store.runs(own=True)), request.keep or 0)
    if request.older_than is None:
        return beyond
    limit = (datetime.now(UTC) - timedelta(days=request.older_than)).isoformat()
    return [whole for whole in beyond if (whole[0].finished or whole[0].started) < limit]


def _is_running(store: DeletingStore, run: RunInfo) -> bool:
    age = (datetime.now(UTC) - datetime.fromisoformat(run.started)).total_seconds()
    if state_now(is_finished=False, age=age, latest=store.live(run.id)) == "running":
        return True
    if not run.identity:  # A run without limits is not taken up again, and nothing locks it.
        return False
    if not store.lock(run.identity):
        return True
    store.unlock(run.identity)
    return False


class _Mentions:
    """What the events and cases of each run mention: other runs, and content by its digest."""

    def __init__(self, store: DeletingStore, asked: set[str]) -> None:
        self._asked = asked
        self._runs: dict[str, set[str]] = {}
        self._content: dict[str, set[bytes]] = {}
        for run, data in _texts(store):
            others = {one.decode() for one in _RUN.findall(data)} & asked - {run}
            self._runs.setdefault(run, set()).update(others)
            self._content.setdefault(run, set()).update(_CONTENT.findall(data))

    def held(self, going: set[str]) -> dict[str, str]:
        """Runs among `going` that a run which stays mentions, each with that run."""
        return {
            one: run
            for run, mentioned in self._runs.items()
            if run not in going
            for one in mentioned & going
        }

    def content_of(self, store: DeletingStore, going: set[str]) -> tuple[str, ...]:
        """Digests of content that only these runs mention, directly or in content of theirs."""
        staying = self._reached(store, (run for run in self._content if run not in going))
        leaving = self._reached(store, iter(going))
        return tuple(sorted(one.decode() for one in leaving - staying))

    def _reached(self, store: DeletingStore, runs: Iterator[str]) -> set[bytes]:
        left = [one for run in runs for one in self._content.get(run, ())]
        reached: set[bytes] = set()
        while left:
            digest = left.pop()
            # A version is mentioned by its digest and kept under a name of its own.
            for name in (digest, b"version:" + digest.removeprefix(b"version:")):
                if name not in reached:
                    reached.add(name)
                    if name.startswith(b"version:"):
                        left += _CONTENT.findall(store.blob(name.decode()) or b"")
        return reached


def _texts(store: DeletingStore) -> Iterator[tuple[str, bytes]]:
    for run, _, data in store.rows_of("events"):
        if isinstance(data, bytes):
            yield str(run), data
    for run, _, _, data in store.rows_of("cases"):
        if isinstance(data, bytes):
            yield str(run), data
