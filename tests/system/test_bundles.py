"""Files travel whole or not at all: what a runner lays out is what was ordered, and no file that
keys are kept in goes along.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

import honestone.system.bundles as bundles
from honestone.core.errors import FileError, StoreError
from honestone.core.record.plan import Bundle, BundleFile
from honestone.system.bundles import collect, lay_out


class Blobs(dict[str, bytes]):
    def keep(self, more: Mapping[str, bytes]) -> None:
        self.update(more)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    for name, data in {
        "suite.yaml": b"suite: 1\n",
        "tools/a.sh": b"cat\n",
        "empty": b"",
        "tools/.git/x": b"no",
    }.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(data)
    (made / "tools/a.sh").chmod(0o755)
    return made


def test_what_is_collected_is_laid_out(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Content, names and whether it can be run; in pieces where it is big; without version control;
    for one person alone.
    """
    monkeypatch.setattr(bundles, "CHUNK", 1000)
    big = os.urandom(2500)
    (root / "tools/big.bin").write_bytes(big)
    blobs = Blobs()
    bundle = collect(
        root, [root / "suite.yaml", root / "tools", root / "empty", root / "tools/a.sh"], blobs.keep
    )
    assert [one.path for one in bundle.files] == [
        "empty",
        "suite.yaml",
        "tools/a.sh",
        "tools/big.bin",
    ]
    assert [len(one.chunks) for one in bundle.files] == [
        0,
        1,
        1,
        3,
    ] and bundle.blobs == blobs.keys()
    place = tmp_path / "there"
    place.mkdir()
    lay_out(Bundle.from_plain(bundle.to_plain()), blobs.get, place)
    assert (place / "tools/big.bin").read_bytes() == big and (place / "empty").read_bytes() == b""
    assert os.access(place / "tools/a.sh", os.X_OK) and not os.access(place / "suite.yaml", os.X_OK)
    assert place.stat().st_mode & 0o077 == 0 and (place / "tools").stat().st_mode & 0o077 == 0
    again = Blobs()
    assert collect(place, [place], again.keep).digest == bundle.digest and again == blobs


@pytest.mark.parametrize("name", [".env", ".env.local", "server.pem", "id_ed25519", ".pgpass"])
def test_a_file_that_keys_are_kept_in_does_not_travel(root: Path, name: str) -> None:
    """Not in a folder that is copied, not by itself and not by a link; the error names it, and
    nothing of it is kept.
    """
    (root / "tools" / name).write_text("sk-mark")
    (root / "link").symlink_to(root / "tools" / name)
    blobs = Blobs()
    for place in (root / "tools", root / "tools" / name, root / "link"):
        with pytest.raises(FileError, match="keys are kept in"):
            collect(root, [place], blobs.keep)
    assert b"sk-mark" not in blobs.values()


def test_a_key_in_a_file_does_not_travel(root: Path) -> None:
    """Whatever the file is called; the error names the file and the line, and does not repeat the
    key.
    """
    (root / "tools/notes.txt").write_text("one\napi_token: Zx81kPq02LmN4rTv7WyB\n")
    with pytest.raises(FileError, match=r"notes\.txt.*holds a key \(line 2") as raised:
        collect(root, [root / "tools"], Blobs().keep)
    assert "Zx81kPq02" not in str(raised.value)


def test_a_hidden_file_travels_only_where_it_is_named(root: Path) -> None:
    """Else the order is refused with its name: a workspace without it would be another one on the
    runner.
    """
    (root / "tools/.eslintrc").write_text("{}")
    (root / "tools/.gitignore").write_text("x")
    with pytest.raises(FileError, match=r"tools/\.eslintrc"):
        collect(root, [root / "tools"], Blobs().keep)
    bundle = collect(root, [root / "tools", root / "tools/.eslintrc"], Blobs().keep)
    assert [one.path for one in bundle.files] == [
        "tools/.eslintrc",
        "tools/.gitignore",
        "tools/a.sh",
    ]


def test_nothing_from_outside_travels(root: Path, tmp_path: Path) -> None:
    """Neither by a path nor by a link in a folder; what is missing is named."""
    (tmp_path / "outside.txt").write_text("secret")
    (root / "tools/link").symlink_to(tmp_path / "outside.txt")
    for place in (tmp_path / "outside.txt", root / ".." / "outside.txt", root / "tools"):
        with pytest.raises(FileError, match="outside"):
            collect(root, [place], Blobs().keep)
    with pytest.raises(FileError, match="not a file or folder"):
        collect(root, [root / "missing.txt"], Blobs().keep)


def test_content_that_is_another_is_refused(root: Path, tmp_path: Path) -> None:
    """A store that was tampered with, or lost a piece."""
    blobs = Blobs()
    bundle = collect(root, [root / "suite.yaml"], blobs.keep)
    (digest,) = bundle.blobs
    for changed, said in (({digest: b"other"}, "not what was ordered"), ({}, "missing")):
        with pytest.raises(StoreError, match=said):
            lay_out(bundle, Blobs(changed).get, tmp_path)
    assert not (tmp_path / "suite.yaml").exists()


def test_a_name_that_is_not_utf_8_cannot_travel(root: Path) -> None:
    """It would be another name there."""
    try:
        (root / "tools" / os.fsdecode(b"a\xff")).write_text("x")
    except OSError:
        pytest.skip("the file system takes no such names")
    with pytest.raises(FileError, match="UTF-8"):
        collect(root, [root / "tools"], Blobs().keep)


def test_a_file_of_no_pieces_is_empty(tmp_path: Path) -> None:
    """It needs nothing from the store."""
    lay_out(Bundle(files=(BundleFile(path="a/b", chunks=()),)), lambda digest: None, tmp_path)
    assert (tmp_path / "a/b").read_bytes() == b""
