"""What is kept of a run of steps, in `step/RUN/` of the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

STEPS: Final = "step"

KEPT: Final = "session.json"
"""What the run was started with, and the session that owns it."""

HOLDS: Final = "holds.json"
"""How often the stop hook held the session."""

REPLIES: Final = "replies"
"""One character for each reply of a host agent that was recorded."""


def read_json(path: Path) -> object:
    """Raises OSError, and ValueError for what is not JSON."""
    try:
        found: object = json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return found
