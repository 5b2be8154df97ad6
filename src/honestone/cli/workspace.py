"""Where a command works: the current folder, with the person at its terminal."""

from __future__ import annotations

from pathlib import Path

from honestone.app.terminal import terminal_person
from honestone.app.workspace import Workspace


def here() -> Workspace:
    """Raises SettingsError for settings that cannot be read."""
    return Workspace.at(Path(), person=terminal_person)
