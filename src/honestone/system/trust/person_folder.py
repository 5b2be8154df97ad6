"""The folders that an account has for itself, outside of every checkout."""

from __future__ import annotations

import os
from pathlib import Path


def person_folder(variable: str, default: str) -> Path:
    """Ours among the folders of the person: where an XDG variable says, else at `default` in the
    home.
    """
    named = os.environ.get(variable, "")
    return (Path(named) if os.path.isabs(named) else Path.home() / default) / "honestone"
