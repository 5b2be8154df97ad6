"""What a shell can complete: the names that a workspace knows, each with a word about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from honestone.app.workspace import Workspace
from honestone.core.errors import HonestoneError
from honestone.ports import Judge, Target, Worker

Offers: TypeAlias = Iterator[tuple[str, str]]
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


def offered_names(workspace: Workspace, what: Literal["judges", "workers", "targets"]) -> Offers:
    """Those of the settings, and what is built in and complete by itself: what follows a colon only
    a person knows.
    """
    from honestone.adapters.registry import JUDGES, TARGETS, WORKERS, RegistryEntry

    tables: dict[str, Sequence[RegistryEntry[Judge | Worker | Target | None]]]
    tables = {"judges": JUDGES, "workers": WORKERS, "targets": TARGETS}
    yield from ((name, "from the settings") for name in getattr(workspace.settings, what))
    yield from ((one.name, one.help) for one in tables[what] if one.is_listed and not one.takes)


def offered_templates(workspace: Workspace) -> Offers:
    from honestone.templates import template_names

    return ((name, "a shipped rubric") for name in template_names())
