"""Artifacts: content has a name of its own, whatever the file is called."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.artifact import Entry, Version, as_text, digest_of

paths = st.text(st.sampled_from("abc/."), min_size=1, max_size=6)
entries = st.builds(Entry, st.binary(max_size=8), st.booleans())


def folder(**files: str) -> Version:
    return Version({name: Entry(text.encode()) for name, text in files.items()}, is_folder=True)


def test_a_file_is_its_bytes() -> None:
    """The digest is the plain SHA-256, so anybody can check it; name and mode do not count."""
    one = Version.of_text("hello\n")
    assert one.digest == "sha256:" + hashlib.sha256(b"hello\n").hexdigest() == digest_of(b"hello\n")
    other = Version({"b.sh": Entry(b"hello\n", executable=True)}, is_folder=False)
    assert other.digest == one.digest


@given(st.dictionaries(paths, entries, max_size=4), st.dictionaries(paths, entries, max_size=4))
def test_two_folders_have_one_digest_only_if_they_are_equal(
    one: dict[str, Entry], other: dict[str, Entry]
) -> None:
    """Paths, contents and modes count; the order in which files were read does not."""
    first, second = Version(one, is_folder=True), Version(other, is_folder=True)
    assert (first.digest == second.digest) == (one == other)
    assert Version(dict(reversed(one.items())), is_folder=True).digest == first.digest


def test_content_cannot_pose_as_another_file() -> None:
    """Moving bytes between the name and the content of a file is a change."""
    assert folder(a="b", c="d").digest != folder(a="bc", d="").digest
    assert folder(ab="").digest != folder(a="b").digest
    assert folder(a="x").digest != Version.of_text("x").digest


def test_texts_are_the_text_files_in_path_order() -> None:
    """Binary files are left out, never guessed at."""
    version = Version(
        {
            "b.md": Entry(b"two"),
            "a.md": Entry("één".encode()),
            "p.png": Entry(b"\x89PNG\0"),
            "l.txt": Entry(b"\xff\xfe"),
        },
        is_folder=True,
    )
    assert list(version.texts.items()) == [("a.md", "één"), ("b.md", "two")]
    assert version.text == "één\ntwo"
    assert version.size == 5 + 3 + 5 + 2


def test_a_byte_order_mark_is_no_text() -> None:
    """It counts as bytes, but nobody has to read it."""
    assert as_text(b"\xef\xbb\xbfhi") == "hi"
    assert digest_of(b"\xef\xbb\xbfhi") != digest_of(b"hi")


@given(st.binary(max_size=30))
def test_text_or_none(data: bytes) -> None:
    """Whatever the bytes: a text without NUL, or None."""
    text = as_text(data)
    assert text is None or (
        "\0" not in text and text.encode() == data.removeprefix(b"\xef\xbb\xbf")
    )
