"""The stop hook: whether a session may end its turn. It may, unless it owns a run that is not
finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from honestone.app.agents.holds import MOST, count_hold
from honestone.app.agents.owned_run import find_owned_run
from honestone.core.json_value import JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAnswer:
    """Held with a reason, or let go; `word` is what the person should know of a loop that was given
    up.
    """

    reason: str | None = None
    word: str | None = None


def may_hold(given: JsonObject) -> bool:
    """Whether this is a turn's own end, with nothing under way: not a sub-agent's, not planning, no
    work in the background.
    """
    return (
        given.get("hook_event_name") in ("Stop", "AfterAgent")
        and given.get("permission_mode") != "plan"
        and not given.get("background_tasks")
    )


def answer_stop(given: JsonObject, places: Sequence[Path]) -> StopAnswer:
    """What the hook answers. `places` are the folders where the session works, the current one
    first.

    Raises OSError, ValueError and sqlite3.Error for damage, which lets go.
    """
    session = given.get("session_id")
    owned = (
        find_owned_run(session, places)
        if may_hold(given) and isinstance(session, str) and session
        else None
    )
    if owned is None:
        return StopAnswer()
    command = owned.command(places[0])
    holds = count_hold(owned.folder, owned.recorded)
    if holds is None:
        return StopAnswer(
            word=f"honestone: run {owned.run} is not finished, and the session was held often enough. Resume it with: {command}"
        )
    return StopAnswer(
        reason=f"The honestone run {owned.run} is not finished. Resume it with `{command}`, carry out what it prints, and "
        f"repeat until the action is `done` (held {holds.total} of at most {MOST} times)."
    )
