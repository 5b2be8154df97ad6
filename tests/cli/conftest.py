"""Fixtures of the command's tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from .desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    for name in ("work", "home", "logs"):
        (tmp_path / name).mkdir()
    yield Desk(tmp_path / "work", tmp_path / "home", tmp_path / "logs")
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """A desk with `note.md` (apple, no pear, no farewell: 37.5 points) and `rubric.yaml` on it."""
    desk.rubric()
    desk.file("note.md", "# Fruit\n\nAn apple a day.\n")
    return desk
