"""Opening a page in the browser of this machine."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING

from honestone.system.screen import has_screen

if TYPE_CHECKING:
    from honestone.view.server import Address


def open_page(address: Address) -> None:
    """Open the page where there is a screen."""
    if has_screen():
        webbrowser.open(address.opens)
