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
    private._forget(left)
    looked_at: list[str] = []
    is_left = private._is_left
    monkeypatch.setattr(
        private, "_is_left", lambda place: looked_at.append(place.name) or is_left(place)
    )
    try:
        assert private.sweep() == 1
    finally:
        private._forget(ours)
    assert looked_at == [left.name] and ours.is_dir() and not left.exists()


def test_what_a_kill_leaves_of_a_removal_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock, by which it is found, goes last."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = private.make_private("honestone-target-")
    for name in ("a", "home", "z"):
        (place / name / "inner").mkdir(parents=True)
    remove = private.remove

    def killed(at: Path) -> None:
        if at == place:
            raise KeyboardInterrupt
        remove(at)

    with monkeypatch.context() as patch:
        patch.setattr(private, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            private.release(place)
    assert [path.name for path in place.iterdir()] == [private._LOCK]
    private._forget(place)
    assert private.sweep() == 1 and not place.exists()
