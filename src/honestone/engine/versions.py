"""Versions in the store: content by content, so that nothing is kept twice and every version can be had back."""

from __future__ import annotations

import json

from honestone.core.artifact import Entry, Version, digest_of
from honestone.core.errors import StoreError
from honestone.ports import Store


def version_blobs(version: Version) -> dict[str, bytes]:
    """Everything of a version, by digest: its files, and under `version:DIGEST` the list of them."""
    blobs = {digest_of(entry.data): entry.data for entry in version.files.values()}
    listing = {
        "folder": version.is_folder,
        "files": {path: [digest_of(entry.data), entry.executable] for path, entry in version.files.items()},
    }
    blobs[f"version:{version.digest}"] = json.dumps(listing).encode()
    return blobs


def load_version(store: Store, digest: str) -> Version:
    """A version by its digest. Raises StoreError when the store does not hold it."""
    data = store.blob(f"version:{digest}")
    if data is None:
        raise StoreError(f"the store does not hold the version {digest[:19]}")
    listing = json.loads(data)
    files = {}
    for path, (file_digest, executable) in listing["files"].items():
        content = store.blob(file_digest)
        if content is None:
            raise StoreError(f"the store has lost {path} of the version {digest[:19]}")
        files[path] = Entry(content, executable)
    return Version(files, is_folder=listing["folder"])
