"""Names that honestone chooses are never written through links; files that a person names are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.errors import FileError
from honestone.system.files import Home, deliver, write_atomically, write_below
from property_examples import examples


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_is_not_written_through(tmp_path: Path, is_dangling: bool) -> None:
    """Neither to a file nor to where one would be made; the link stays."""
    victim = tmp_path / "victim"
    if not is_dangling:
        victim.write_text("safe")
    link = tmp_path / "r.yaml.lock"
    link.symlink_to(victim)
    with pytest.raises(OSError, match="is a link"):
        write_atomically(link, b"new")
    assert link.is_symlink()
    assert not victim.exists() if is_dangling else victim.read_text() == "safe"


def test_what_a_person_named_is(tmp_path: Path) -> None:
    """`--output` may be a link: the file that it leads to changes, the link stays."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "out").symlink_to("real")
    write_atomically(tmp_path / "out", b"new", through_links=True)
    assert (tmp_path / "real").read_text() == "new" and (tmp_path / "out").is_symlink()


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4), st.data())
def test_no_part_of_an_own_name_is_a_link(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str], data: st.DataObject
) -> None:
    """Whichever folder on the way is a link, nothing appears where it leads."""
    root, outside = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("outside")
    at = data.draw(st.integers(0, len(parts) - 1))
    place = root.joinpath(*parts[:at])
    place.mkdir(parents=True, exist_ok=True)
    (place / parts[at]).symlink_to(outside)
    with pytest.raises(OSError):
        write_below(root, "/".join(parts), b"x")
    assert os.listdir(outside) == []


def test_own_files_are_private(tmp_path: Path) -> None:
    write_below(tmp_path / "store", "reports/run.md", b"x")
    assert (tmp_path / "store/reports/run.md").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "store/reports").stat().st_mode & 0o777 == 0o700


def version(text: str) -> Version:
    return Version({"a.md": Entry(text.encode(), False)}, is_folder=True)


@pytest.mark.parametrize("how", ["link", "another folder", "link above"])
def test_the_folder_of_a_delivery_stays_the_one_that_was_read(tmp_path: Path, how: str) -> None:
    """A folder that became a link, or another one of that name, gets nothing."""
    artifact = tmp_path / "up/art"
    artifact.mkdir(parents=True)
    (artifact / "a.md").write_text("old")
    home = Home.of(artifact)
    (tmp_path / "victim/art").mkdir(parents=True)
    for place in (tmp_path / "victim", tmp_path / "victim/art"):
        (place / "a.md").write_text("old")
    if how == "link above":
        (tmp_path / "up").rename(tmp_path / "was")
        (tmp_path / "up").symlink_to("victim")
    else:
        artifact.rename(tmp_path / "was")
        if how == "link":
            artifact.symlink_to("../victim")
        else:
            (tmp_path / "victim/art").rename(artifact)
    with pytest.raises(FileError, match="is not the place that it was"):
        deliver(artifact, version("old"), version("new"), home=home)
    assert "new" not in [path.read_text() for path in tmp_path.rglob("a.md")]


def test_an_artifact_that_is_a_link_is_delivered_where_it_led(tmp_path: Path) -> None:
    """Honest: a link that was there from the beginning stays one, and its file gets the new bytes."""
    (tmp_path / "real.md").write_text("old")
    (tmp_path / "a.md").symlink_to("real.md")
    home = Home.of(tmp_path / "a.md")
    one = Version({"a.md": Entry(b"new", False)}, is_folder=False)
    deliver(tmp_path / "a.md", one, one, home=home)
    assert (tmp_path / "real.md").read_text() == "new" and (tmp_path / "a.md").is_symlink()
