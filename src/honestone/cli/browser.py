"""The address of pages that this command serves: printed, and opened in the browser."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

from honestone.cli.terminal import dump_line

if TYPE_CHECKING:
    from honestone.app.workspace import Workspace
    from honestone.view.server import Address


def announce(address: Address, workspace: Workspace, out: TextIO, *, as_json: bool, opens: bool) -> None:
    """As `honestone.view/1` or for people."""
    shown = {
        "schema": "honestone.view/1",
        "url": address.url,
        "host": address.host,
        "port": address.port,
        "token": address.token,
        "store": str(workspace.store),
    }
    out.write(dump_line(shown) + "\n" if as_json else f"{address.url}\nCtrl-C ends it.\n")
    out.flush()
    if opens and _has_screen():
        import webbrowser

        webbrowser.open(address.url)


def _has_screen() -> bool:
    """Whether there is a screen for a browser: one for terminals would take this terminal."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
