"""A desk in an agent's session: steps by the installed command, and the hooks as a host calls them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .host import Host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A desk with `note.md` (apple, no pear, no farewell: 37.5 points) and `rubric.yaml` on it."""
    for name in ("work", "home", "logs"):
        (tmp_path / name).mkdir()
    found = Host(tmp_path / "work", tmp_path / "home", tmp_path / "logs")
    found.rubric()
    found.file("note.md", "# Fruit\n\nAn apple a day.\n")
    yield found
    shutil.rmtree(tmp_path, ignore_errors=True)
