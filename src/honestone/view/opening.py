"""Opening a page in the browser of this machine."""

from __future__ import annotations

import os
import sys
import webbrowser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from honestone.view.server import Address


def has_screen() -> bool:
    """Whether there is a screen for a browser: one for terminals would take this terminal."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )


def open_page(address: Address) -> None:
    """Open the page where there is a screen."""
    if has_screen():
        webbrowser.open(address.opens)
