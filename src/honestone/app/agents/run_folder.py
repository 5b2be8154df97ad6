"""What is kept of a run of steps, in `step/RUN/` of the store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

STEPS: Final = "step"

# What the run was started with, and the session that owns it.
FORM_FILE: Final = "session.json"

# How often the stop hook held the session.
HOLDS: Final = "holds.json"

# One character for each reply of a host agent that was recorded.
REPLIES: Final = "replies"


def read_json(path: Path) -> object:
    """Raises OSError, and ValueError for what is not JSON."""
    try:
        found: object = json.loads(path.read_bytes())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return found
