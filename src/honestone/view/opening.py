"""Opening a page in the browser of this machine."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from honestone.system.screen import has_screen

if TYPE_CHECKING:
    from honestone.view.listening import Address


def open_page(address: Address) -> None:
    """Open the page where there is a screen, while the program continues: a browser that has to
    start takes seconds, and one in a terminal ends when its reader has had enough.
    """
    if has_screen():
        threading.Thread(target=_open, args=(address.opens,), name="opening", daemon=True).start()


def _open(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
