"""The unfinished run of steps that a session owns, found without settings, tables or the log."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.adapters.stores.unfinished import FILE, unfinished_loops
from honestone.app.agents.hosts import HOSTS
from honestone.app.agents.run_folder import FORM_FILE, REPLIES, STEPS, read_json

# Where a session finds its id in its shell, the first that is set.
SESSION_VARIABLES: Final = (
    "HONESTONE_SESSION",
    *(host.session for host in HOSTS.values() if host.session),
)


class OwnedRun(Struct, frozen=True, kw_only=True):
    """`folder` is the run's in the store, `started_in` where it was started, `called` how honestone
    was called there, as its file says; `recorded` changes with the record.
    """

    run: str
    session: str
    folder: Path
    started_in: str
    called: object
    rubric: str
    recorded: str

    @property
    def store(self) -> Path:
        return self.folder.parent.parent

    def command(self, here: Path) -> str:
        """What continues the run, typed in the folder `here`."""
        from honestone.app.agents.own_command import checked_command

        called = checked_command(self.called, Path(self.started_in))
        words = f"{called} step next --session {shlex.quote(self.session)}"
        return (
            words
            if self.started_in == str(here)
            else f"cd {shlex.quote(self.started_in)} && {words}"
        )


def find_owned_run(session: str, places: Iterable[Path]) -> OwnedRun | None:
    """The newest unfinished run that the session owns, in the stores of these folders and of those
    above them.

    Raises OSError, ValueError and sqlite3.Error where damage keeps it from being found.
    """
    damaged = []
    for store in _stores(places):
        for run, last in _unfinished(store):
            folder = store / STEPS / run
            try:
                plain = read_json(folder / FORM_FILE)
            except FileNotFoundError:
                continue  # a run of `improve`
            except ValueError:
                damaged.append(str(folder / FORM_FILE))
                continue
            match plain:
                case {
                    "session": str(owner),
                    "folder": str(started_in),
                    "rubric": str(rubric),
                    **more,
                } if owner == session:
                    replies = folder / REPLIES
                    return OwnedRun(
                        run=run,
                        session=session,
                        folder=folder,
                        started_in=started_in,
                        called=more.get("command"),
                        rubric=rubric,
                        recorded=f"{last}+{replies.stat().st_size if replies.exists() else 0}",
                    )
    if damaged:
        raise ValueError(f"cannot read {', '.join(damaged)}")
    return None


def _unfinished(store: Path) -> list[tuple[str, int]]:
    """Each unfinished loop and how much is on record, newest first: by one query, or from the store
    that runs share.
    """
    if not _is_elsewhere(store):
        return unfinished_loops(store)
    from honestone.app.workspace import Workspace

    with Workspace.at(store.parent).open_store(readonly=True) as other:
        loops = [run.id for run in other.runs() if run.kind == "improve" and run.finished is None]
        return [(run, sum(1 for _ in other.iter_events(run))) for run in loops]


def _is_elsewhere(store: Path) -> bool:
    """Whether the runs of the folder are kept in another store."""
    return ":" in os.environ.get("HONESTONE_STORE", "") or not (store / FILE).exists()


def _stores(places: Iterable[Path]) -> Iterator[Path]:
    elsewhere = os.environ.get("HONESTONE_STORE", "")
    moved = (
        os.environ.get("HONESTONE_HOME")
        if ":" in elsewhere
        else elsewhere or os.environ.get("HONESTONE_HOME")
    )
    named = moved or ".honestone"
    folders = (folder for place in places for folder in (place, *place.parents))
    for store in dict.fromkeys(folder / named for folder in folders):
        own = _own_folder(store) if store.is_dir() else store
        if (own / STEPS).is_dir():
            yield own


def _own_folder(store: Path) -> Path:
    """Steps that came with a checkout belong to no session: their words would be an agent's orders."""
    from honestone.system.trust.own_stores import Origin, origin_of, own_place_for

    return store if origin_of(store) is not Origin.FOREIGN else own_place_for(store)
