"""Artifacts on disk: read whole or refused, copied, read back, replaced at once."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version
from honestone.core.errors import FileError
from honestone.system.files import (
    NEVER_PART,
    deliver,
    load_artifact,
    load_file,
    make_copy,
    materialise,
    printable,
    read_back,
    write_atomically,
)
from property_examples import examples


def folder(root: Path, **files: bytes) -> Path:
    for name, data in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def version_of(**files: str) -> Version:
    found = {name.replace("__", "/"): Entry(text.encode()) for name, text in files.items()}
    return Version(dict(sorted(found.items())), is_folder=True)


def file_version(data: bytes, name: str = "note.md") -> Version:
    return Version({name: Entry(data)}, is_folder=False)


# ----------------------------------------------------------------------------------------------------------
# reading


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "empty"),
        (b" \r\n\t", "empty"),
        (b"a\0", "offset 1"),
        (b"ab\xff", "0xff at offset 2"),
        (b"\xff\xfea\0", "binary"),
    ],
)
def test_what_is_no_text_is_refused_by_name(tmp_path: Path, data: bytes, word: str) -> None:
    """Empty, binary and not UTF-8 are told apart."""
    path = tmp_path / "a b.md"
    path.write_bytes(data)
    with pytest.raises(FileError, match=word) as caught:
        load_artifact(path)
    assert "a b.md" in caught.value.message
    assert caught.value.hint


def test_a_byte_order_mark_is_no_binary(tmp_path: Path) -> None:
    """The mark stays in the bytes and is no part of the text."""
    path = tmp_path / "a.md"
    path.write_bytes(b"\xef\xbb\xbfhi")
    version = load_file(path)
    assert version.files["a.md"].data == b"\xef\xbb\xbfhi"
    assert version.text == "hi"


@pytest.mark.parametrize("size", [9, 10, 11])
def test_the_size_limit_is_exact(tmp_path: Path, size: int) -> None:
    """As many bytes as the limit are allowed, one more is not; the hint allows it."""
    path = tmp_path / "a.md"
    path.write_bytes(b"x" * size)
    if size <= 10:
        assert load_file(path, max_bytes=10).size == size
        return
    with pytest.raises(FileError) as caught:
        load_file(path, max_bytes=10)
    assert "--max-size 1" in str(caught.value.hint)


def test_the_limit_of_a_folder_is_for_all_its_files_together(tmp_path: Path) -> None:
    """Two files of six bytes are more than ten."""
    folder(tmp_path, a=b"x" * 6, b=b"y" * 6)
    with pytest.raises(FileError, match="more than the limit"):
        load_artifact(tmp_path, max_bytes=10)
    assert load_artifact(tmp_path, max_bytes=12).version.size == 12


def test_a_folder_is_read_in_path_order_without_caches_and_links(tmp_path: Path) -> None:
    """Version control, caches, our store and links are no part; each link is noted."""
    root = folder(
        tmp_path / "f",
        b=b"b",
        a__c=b"c",
        a__b=b"b",
        **{".git__config": b"x", ".honestone__store.db": b"x"},
    )
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "m.cpython-311.pyc").write_bytes(b"x")
    (root / "node_modules").mkdir()
    (root / "node_modules" / "x.js").write_text("x")
    (root / "link").symlink_to("b")
    (root / "dangling").symlink_to("nowhere")
    (root / "up").symlink_to("..", target_is_directory=True)
    loaded = load_artifact(root)
    assert list(loaded.version.files) == ["a/b", "a/c", "b"]
    assert sorted(loaded.notes) == [
        "left out dangling: a link",
        "left out link: a link",
        "left out up: a link",
    ]


def test_what_is_excluded_is_no_part_and_changes_no_digest(tmp_path: Path) -> None:
    """The rubric in a folder is left out by its real path."""
    root = folder(tmp_path / "f", a=b"a", rubric=b"1")
    exclude = {(root / "rubric").resolve()}
    before = load_artifact(root, exclude=exclude).version
    folder(root, rubric=b"2")
    after = load_artifact(root, exclude=exclude).version
    assert list(before.files) == ["a"]
    assert before.digest == after.digest
    assert load_artifact(root).version.digest != before.digest


def test_a_name_that_is_not_utf8_in_a_folder_is_left_out_and_noted(tmp_path: Path) -> None:
    """Such a file cannot be shown to a judge under its name; the rest is read."""
    folder(tmp_path, a=b"a")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).write_text("x")
    loaded = load_artifact(tmp_path)
    assert list(loaded.version.files) == ["a"]
    assert loaded.notes == ("left out caf\\xe9: its name is not UTF-8",)
    loaded.version.digest  # noqa: B018 - it can be computed


def test_whether_a_file_may_be_run_is_part_of_a_folder(tmp_path: Path) -> None:
    """The digest of a folder changes with the right to run a script."""
    root = folder(tmp_path, run=b"x")
    before = load_artifact(root).version
    (root / "run").chmod(0o755)
    after = load_artifact(root).version
    assert not before.files["run"].executable
    assert after.files["run"].executable
    assert before.digest != after.digest


def test_missing_paths_have_near_matches(tmp_path: Path) -> None:
    """A misspelt name is told with the one that is there; a name that cannot exist is no crash."""
    (tmp_path / "readme.md").write_text("x")
    with pytest.raises(FileError) as caught:
        load_artifact(tmp_path / "raedme.md")
    assert "readme.md" in str(caught.value.hint)
    for odd in (tmp_path / "readme.md" / "x", tmp_path / ("n" * 300), Path("a\0b")):
        with pytest.raises(FileError):
            load_artifact(odd)


@pytest.mark.parametrize(
    ("path", "shown"),
    [("plain.md", "plain.md"), ("früh.md", "früh.md"), ("caf\udce9.md", "caf\\xe9.md")],
)
def test_a_path_can_always_be_printed(path: str, shown: str) -> None:
    """Bytes that are no UTF-8 become escapes; everything else stays."""
    assert printable(Path(path)) == shown
    printable(Path(path)).encode()


# ----------------------------------------------------------------------------------------------------------
# writing


def test_a_reader_sees_the_old_or_the_new_bytes_and_nothing_else(tmp_path: Path) -> None:
    """While a file is replaced over and over, no read is partial, and no other file is left behind."""
    path = tmp_path / "a.md"
    old, new = b"a" * 200_000, b"b" * 200_000
    path.write_bytes(old)
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for data in (new, old) * 10:
        write_atomically(path, data)
    done.set()
    reader.join()
    assert seen <= {old, new}
    assert os.listdir(tmp_path) == ["a.md"]


def test_rights_and_links_are_kept(tmp_path: Path) -> None:
    """A link that a person named stays a link, its file keeps its rights; a new file is readable."""
    real = tmp_path / "real.md"
    real.write_text("x")
    real.chmod(0o600)
    (tmp_path / "link.md").symlink_to(real)
    write_atomically(tmp_path / "link.md", b"new", through_links=True)
    assert (tmp_path / "link.md").is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    write_atomically(tmp_path / "deep" / "new.md", b"x", executable=True)
    assert stat.S_IMODE((tmp_path / "deep" / "new.md").stat().st_mode) == 0o755


def test_a_write_that_fails_leaves_the_old_bytes_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full when the file is synced: the file is as before."""
    path = tmp_path / "a.md"
    path.write_bytes(b"old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.md"]
    with pytest.raises(FileError, match="No space left") as caught:
        deliver(path, file_version(b"old", "a.md"), file_version(b"new", "a.md"))
    assert caught.value.hint


def test_only_what_differs_is_touched(tmp_path: Path) -> None:
    """Of a folder, new files appear, gone ones go with their empty folders, equal ones are not
    written.
    """
    before = version_of(same="same", change="old", gone__deep__x="x", gone__keep="k")
    after = version_of(same="same", change="new", gone__keep="k", fresh__y="y")
    materialise(before, tmp_path)
    untouched = (tmp_path / "same").stat().st_ino
    deliver(tmp_path, before, after)
    assert load_artifact(tmp_path).version == after
    assert (tmp_path / "same").stat().st_ino == untouched
    assert not (tmp_path / "gone" / "deep").exists()


@pytest.mark.parametrize("name", ["../out.md", "/etc/out.md", "a/../../out.md"])
def test_a_version_cannot_be_written_outside_its_place(tmp_path: Path, name: str) -> None:
    """A path that leads out of the artifact is refused."""
    evil = Version({name: Entry(b"x")}, is_folder=True)
    (tmp_path / "in").mkdir()
    for write in (
        lambda: materialise(evil, tmp_path / "in"),
        lambda: deliver(tmp_path / "in", version_of(), evil),
    ):
        with pytest.raises(FileError, match="out of the artifact"):
            write()
    assert os.listdir(tmp_path) == ["in"]


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=20
).filter(
    lambda name: (
        name not in (".", "..", "~text")
        and name not in NEVER_PART
        and len(name.encode()) < 200
        and not name.endswith(".pyc")
    )
)


@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.dictionaries(NAMES, st.tuples(st.binary(max_size=50), st.booleans()), min_size=1, max_size=5)
)
def test_a_folder_that_is_written_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, tuple[bytes, bool]]
) -> None:
    """Whatever names and bytes: written, read and read back from a private copy, a version is
    itself.
    """
    entries = {name: Entry(data, run) for name, (data, run) in files.items()}
    version = Version(
        {**dict(sorted(entries.items())), "~text": Entry(b"something to read")}, is_folder=True
    )
    root = tmp_path_factory.mktemp("copy")
    copy = make_copy(version, root, name="artifact")
    back = read_back(copy)
    assert back.version is not None
    assert back.version.digest == version.digest
    assert (back.strays, back.trouble) == ((), None)


# ----------------------------------------------------------------------------------------------------------
# private copies


def test_a_copy_is_private_and_is_read_back_as_it_was_left(tmp_path: Path) -> None:
    """An edit in the copy is a new version; the original bytes are not touched by it."""
    copy = make_copy(file_version(b"old\r\n"), tmp_path, name="ignored")
    assert copy.place == tmp_path / "note.md"
    copy.place.write_bytes(b"new\r\n")
    back = read_back(copy)
    assert back.version is not None
    assert back.version.files["note.md"].data == b"new\r\n"


@pytest.mark.parametrize("gone", [lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
def test_a_deleted_or_emptied_artifact_is_gone(tmp_path: Path, gone: object) -> None:
    """Both are no version and no trouble: the artifact is gone."""
    copy = make_copy(file_version(b"old"), tmp_path, name="x")
    gone(copy.place)  # type: ignore[operator]
    back = read_back(copy)
    assert (back.version, back.trouble) == (None, None)


def test_strays_are_named(tmp_path: Path) -> None:
    """Files beside the artifact, links, and edits of what lies in it but is no part of it."""
    rubric = Entry(b"rubric: 1")
    copy = make_copy(version_of(a="a"), tmp_path, name="artifact", siblings={"rubric.yaml": rubric})
    assert read_back(copy).strays == ()
    (tmp_path / "beside.txt").write_text("x")
    (copy.place / "link").symlink_to("/etc")
    (copy.place / "rubric.yaml").write_text("rubric: 2")
    back = read_back(copy)
    assert set(back.strays) == {"beside.txt", "artifact/link (a link)", "rubric.yaml"}
    (copy.place / "rubric.yaml").unlink()
    assert "rubric.yaml" in read_back(copy).strays


def test_an_editors_leftovers_beside_a_file_are_no_strays(tmp_path: Path) -> None:
    """Backup and swap files that editors leave are not held against a worker."""
    copy = make_copy(file_version(b"old"), tmp_path, name="x")
    for name in ("note.md~", ".note.md.swp", "note.md.bak", "note.md.orig"):
        (tmp_path / name).write_text("x")
    assert read_back(copy).strays == ()


def test_a_file_that_became_a_folder_or_binary_is_trouble(tmp_path: Path) -> None:
    """What cannot be read back is said in words without our own paths."""
    copy = make_copy(file_version(b"old"), tmp_path, name="x")
    copy.place.write_bytes(b"a\0b")
    back = read_back(copy)
    assert back.version is None
    assert "binary" in str(back.trouble)
    assert str(tmp_path) not in str(back.trouble)
    copy.place.unlink()
    copy.place.mkdir()
    assert "no longer a file" in str(read_back(copy).trouble)


def test_the_size_limit_holds_for_what_a_worker_leaves(tmp_path: Path) -> None:
    """A proposal larger than an artifact may be is trouble."""
    copy = make_copy(file_version(b"old"), tmp_path, name="x")
    copy.place.write_bytes(b"x" * 100)
    assert "more than the limit" in str(read_back(copy, max_bytes=50).trouble)
