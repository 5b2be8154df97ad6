"""What code judges here: one digest of this package's files and of the packages that add to it.

A version is not enough: two checkouts of one version may differ, and a judge would answer under one
contract by two programs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final

# Folders that are not code, or that only an installed package has.
_LEFT_OUT: Final = ("__pycache__", "_examples")


def code_digest(package: Path, added: Iterable[Distribution] | None = None) -> str:
    """Of the files below the folder of this package, by name and content, and of the distributions
    that add judges, checks, formats or the like; those that are installed unless they are given.
    """
    hasher = hashlib.sha256()
    for path in sorted(_files(package), key=lambda path: path.relative_to(package).as_posix()):
        hasher.update(f"{path.relative_to(package).as_posix()}\0".encode())
        hasher.update(hashlib.sha256(path.read_bytes()).digest())
    for line in sorted(set(_plugins(distributions() if added is None else added))):
        hasher.update(f"{line}\0".encode())
    return f"sha256:{hasher.hexdigest()}"


def _files(package: Path) -> Iterator[Path]:
    for path in package.rglob("*"):
        below = path.relative_to(package).parts
        if (
            path.is_file()
            and path.suffix != ".pyc"
            and not any(part in _LEFT_OUT for part in below)
        ):
            yield path


def _plugins(every: Iterable[Distribution]) -> Iterator[str]:
    """Name, version and the list of files with their digests of each distribution that adds
    something.
    """
    for one in every:
        if one.name != "honestone" and any(
            point.group.startswith("honestone.") for point in one.entry_points
        ):
            record = one.read_text("RECORD") or ""
            yield f"{one.name} {one.version} {hashlib.sha256(record.encode()).hexdigest()}"
