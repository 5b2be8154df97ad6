"""Private folders: what a killed process left behind goes, what is in use stays."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from honestone.system.processes import private


def test_a_folder_of_ours_is_not_even_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the folder for temporary files is named by a link. One that nobody holds goes."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    monkeypatch.setattr(tempfile, "tempdir", str(link))
    ours, left = private.make_private("honestone-check-"), private.make_private("honestone-check-")
    private.forget(left)
    looked_at: list[str] = []
    is_left = private._is_left
    monkeypatch.setattr(
        private, "_is_left", lambda place: looked_at.append(place.name) or is_left(place)
    )
    try:
        assert private.sweep() == 1
    finally:
        private.forget(ours)
    assert looked_at == [left.name] and ours.is_dir() and not left.exists()
