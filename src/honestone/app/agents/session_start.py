"""The session-start hook: what a session that was resumed or compacted must know of its run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from honestone.app.agents.hook_call import HookCall
from honestone.app.agents.own_command import own_command
from honestone.app.agents.owned_run import OwnedRun, find_owned_run
from honestone.core.events import LoopStarted
from honestone.core.json_value import quoted, visible
from honestone.core.numbers import show_bar

# Characters that an agent is given.
LIMIT: Final = 1400


def answer_start(call: HookCall, places: Sequence[Path], unknown: str | None = None) -> str | None:
    """What the session is reminded of; None where there is nothing. `unknown` is its id where its
    shell has none.

    Raises OSError, ValueError, sqlite3.Error and StoreError for damage.
    """
    owned = find_owned_run(call.session, places) if call.session else None
    lines = [] if owned is None else [_reminder(owned, places[0])]
    if unknown:
        given_too = f"step next ... --session {shlex.quote(unknown)}"
        lines.append(
            f"Commands of honestone in this session: `{own_command(places[0])} {given_too}`."
        )
    return visible(" ".join(lines), LIMIT) if lines else None


def _reminder(owned: OwnedRun, here: Path) -> str:
    from honestone.app.workspace import Workspace

    with Workspace.at(Path(owned.started_in)).open_store(readonly=True) as store:
        first = next(store.iter_events(owned.run))
    assert isinstance(first, LoopStarted)
    rubric = first.rubric
    return (
        f"This session's honestone run {owned.run} is not finished. Resume it with `{owned.command(here)}`, carry out what it "
        f"prints, and repeat until the action is `done`. The contract: {quoted(first.artifact.path, 200)} is to reach "
        f"{show_bar(rubric.threshold)} of 100, no criterion below {show_bar(rubric.floor)}, by the rubric "
        f"{quoted(rubric.title, 200)} in {quoted(owned.rubric, 200)}, which must not be edited."
    )
