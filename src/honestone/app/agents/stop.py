"""The stop hook: whether a session may end its turn. It may, unless it owns a run that is not
finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from honestone.app.agents.holds import MOST, count_hold
from honestone.app.agents.hook_call import HookCall
from honestone.app.agents.owned_run import find_owned_run


class StopAnswer(Struct, frozen=True, kw_only=True):
    """Held with a reason, or let go; `word` is what the person should know of a loop that was given
    up.
    """

    reason: str | None = None
    word: str | None = None


def may_hold(call: HookCall) -> bool:
    """Whether this is a turn's own end, with nothing under way: not a sub-agent's, not planning, no
    work in the background.
    """
    return (
        call.event in ("Stop", "AfterAgent")
        and call.permission_mode != "plan"
        and not call.has_background_tasks
    )


def answer_stop(call: HookCall, places: Sequence[Path]) -> StopAnswer:
    """What the hook answers. `places` are the folders where the session works, the current one
    first.

    Raises OSError, ValueError and sqlite3.Error for damage, which lets go.
    """
    owned = find_owned_run(call.session, places) if may_hold(call) and call.session else None
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
