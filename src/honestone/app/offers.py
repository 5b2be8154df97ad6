"""What a shell can complete: the names that a workspace knows, each with a word about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from honestone.app.workspace import Workspace
from honestone.core.errors import HonestoneError

if TYPE_CHECKING:
    from honestone.adapters.registry import RegistryEntry
    from honestone.ports import Judge, Target, Worker

Offers: TypeAlias = Iterator[tuple[str, str]]
Made = TypeVar("Made", "Judge", "Worker", "Target | None")
_MOST_RUNS: Final = 100


def offered_runs(workspace: Workspace) -> Offers:
    """`last`, then the newest ones."""
    yield "last", "the newest run"
    with workspace.open_store(readonly=True) as store:
        yield from ((run.id, f"{run.kind} {run.subject}") for run in store.runs(limit=_MOST_RUNS))


def offered_cases(workspace: Workspace, named: Sequence[str]) -> Offers:
    """Those of the first of these files that is a suite."""
    from honestone.interop.recognise import read_any_suite

    for name in named:
        try:
            cases = read_any_suite(workspace.path(Path(name))).suite.cases
        except HonestoneError:
            continue
        yield from ((case.id, case.split or "") for case in cases)
        return


def offered_judges(workspace: Workspace) -> Offers:
    from honestone.adapters.registry import JUDGES

    return _names(workspace.settings.judges, JUDGES)


def offered_workers(workspace: Workspace) -> Offers:
    from honestone.adapters.registry import WORKERS

    return _names(workspace.settings.workers, WORKERS)


def offered_targets(workspace: Workspace) -> Offers:
    from honestone.adapters.registry import TARGETS

    return _names(workspace.settings.targets, TARGETS)


def offered_templates(workspace: Workspace) -> Offers:
    from honestone.templates import template_names

    return ((name, "a shipped rubric") for name in template_names())


def _names(settings: Iterable[str], entries: Sequence[RegistryEntry[Made]]) -> Offers:
    """Those of the settings, and what is built in and complete by itself: what follows a colon only a person knows."""
    yield from ((name, "from the settings") for name in settings)
    yield from ((one.name, one.help) for one in entries if one.is_listed and not one.takes)
