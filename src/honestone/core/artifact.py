"""Artifacts: what is judged or improved. A file's bytes, or a folder's files; named by a digest of
the content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct


def digest_of(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Entry(Struct, frozen=True):
    """One file of a version: its bytes and whether it may be executed."""

    data: bytes
    executable: bool = False


class Version(Struct, frozen=True, dict=True):
    """The content of an artifact at one moment.

    `files` maps a path relative to the artifact (POSIX, sorted) to its entry. A file artifact has
    one, under its own name, and `is_folder` is False.
    """

    files: Mapping[str, Entry]
    is_folder: bool

    @classmethod
    def of_text(cls, text: str, name: str = "artifact.txt") -> Version:
        return cls({name: Entry(text.encode())}, is_folder=False)

    @cached_property
    def digest(self) -> str:
        """The digest of a file's bytes, or of a folder's paths, modes and contents. The name of the
        folder does not count.
        """
        if not self.is_folder:
            (entry,) = self.files.values()
            return digest_of(entry.data)
        whole = hashlib.sha256(b"folder\0")
        for path, entry in sorted(self.files.items()):
            mode = b"x" if entry.executable else b"-"
            whole.update(path.encode() + b"\0" + mode + hashlib.sha256(entry.data).digest())
        return "sha256:" + whole.hexdigest()

    @cached_property
    def texts(self) -> dict[str, str]:
        """The files that are text, in path order. Files with NUL bytes or not UTF-8 are left out."""
        found = {}
        for path in sorted(self.files):
            text = as_text(self.files[path].data)
            if text is not None:
                found[path] = text
        return found

    @cached_property
    def text(self) -> str:
        """A file's text, or all texts of a folder one after another (what evidence is looked up
        in).
        """
        if not self.is_folder:
            (entry,) = self.files.values()
            return as_text(entry.data) or ""
        return "\n".join(self.texts.values())

    def named(self, name: str) -> Version:
        """A file under this name, because files with the same bytes have one digest; a folder as it
        is.
        """
        return (
            self
            if self.is_folder
            else Version(dict.fromkeys([name], *self.files.values()), is_folder=False)
        )

    @property
    def size(self) -> int:
        return sum(len(entry.data) for entry in self.files.values())


def as_text(data: bytes) -> str | None:
    """The text of a file, or None for binary data. A byte-order mark is dropped."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


class Artifact(Struct, frozen=True):
    """A version together with the path that the person named."""

    path: str
    version: Version
