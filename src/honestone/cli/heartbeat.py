"""How often runners say that they are alive: the variable HONESTONE_HEARTBEAT, else the settings."""

from __future__ import annotations

import math
import os

from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.record.store_address import SHORTEST_HEARTBEAT


def heartbeat_of(workspace: Workspace) -> float:
    """The interval of a heartbeat in seconds. Raises UsageError for a variable that is not a
    number, or too small a one.
    """
    given = os.environ.get("HONESTONE_HEARTBEAT")
    if not given:
        return workspace.settings.store.heartbeat
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= SHORTEST_HEARTBEAT):
        raise UsageError(
            f"HONESTONE_HEARTBEAT is `{given}`, but must be a number of seconds of at least {SHORTEST_HEARTBEAT:g}",
            hint="10 is what it is where nothing says otherwise",
        )
    return seconds
