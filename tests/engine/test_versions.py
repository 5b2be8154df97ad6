"""Versions in the store: every one can be had back byte for byte, and nothing is kept twice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.artifact import Entry, Version, digest_of
from honestone.core.errors import StoreError
from honestone.engine.place import load_version, version_blobs

names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=12)
entries = st.builds(Entry, st.binary(max_size=40), st.booleans())
folders = st.dictionaries(names, entries, max_size=5).map(
    lambda files: Version(files, is_folder=True)
)
single = st.tuples(names, entries).map(lambda pair: Version(dict([pair]), is_folder=False))


@given(folders | single)
def test_every_version_comes_back(version: Version) -> None:
    """Bytes, modes and names, under its own digest."""
    store = MemoryStore()
    store.keep_blobs(version_blobs(version))
    again = load_version(store, version.digest)
    assert again == version and again.digest == version.digest


@given(folders, folders)
def test_two_versions_never_share_a_digest_unless_they_are_equal(
    one: Version, other: Version
) -> None:
    """The digest covers every path, mode and byte."""
    assert (one.digest == other.digest) == (one == other)


def test_equal_content_is_kept_once() -> None:
    """Two files with the same bytes, in two versions that differ in one mode, are one blob."""
    first = Version({"a": Entry(b"same"), "b": Entry(b"same")}, is_folder=True)
    second = Version({"a": Entry(b"same", executable=True), "b": Entry(b"same")}, is_folder=True)
    content = {
        digest
        for v in (first, second)
        for digest in version_blobs(v)
        if not digest.startswith("version:")
    }
    assert content == {digest_of(b"same")} and first.digest != second.digest


def test_a_version_that_the_store_does_not_hold_is_an_error() -> None:
    """Also one of which a file was lost: named, never an empty text in its place."""
    version = Version({"a.md": Entry(b"text")}, is_folder=True)
    with pytest.raises(StoreError, match="does not hold"):
        load_version(MemoryStore(), version.digest)
    store = MemoryStore()
    store.keep_blobs({k: v for k, v in version_blobs(version).items() if k.startswith("version:")})
    with pytest.raises(StoreError, match=r"lost a\.md"):
        load_version(store, version.digest)
