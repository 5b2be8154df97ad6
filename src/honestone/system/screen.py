"""Whether this machine shows windows."""

from __future__ import annotations

import os
import sys


def has_screen() -> bool:
    """Whether there is a screen for a browser: one for terminals would take this terminal."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
